import FoundationEssentials
import RosterCache
import RosterTestSupport
import Testing

@testable import RosterSync

private let day = Duration.seconds(86_400)

/// Syncs one after the other. Each has the facts that the cache would give it.
private struct Run {
  let period: Duration?
  let pages: Int
  var starts: [Date] = []
  /// The audited pages of each sync.
  var audits: [Range<Int>] = []

  init(period: Duration? = day, pages: Int) {
    self.period = period
    self.pages = pages
  }

  mutating func sync(at seconds: Double) {
    let now = Date(timeIntervalSince1970: 1_750_000_000 + seconds)
    let schedule = AuditSchedule(
      period: period, sync: Int64(starts.count + 1), now: now,
      history: AuditHistory(first: starts.first, verified: starts.reversed()))
    audits.append(schedule.places(pages: pages) ?? 0..<0)
    starts.append(now)
  }

  /// How often each page was audited by these syncs.
  func counts(_ syncs: Range<Int>) -> [Int] {
    audits[syncs].joined().reduce(into: Array(repeating: 0, count: pages)) { $0[$1] += 1 }
  }

  var isBounded: Bool { audits.allSatisfy { $0.count <= max(1, pages / 100) } }
}

struct AuditScheduleTests {
  @Test(
    "P15.1: syncs every minute audit each page once in each day", arguments: [1, 3, 42, 140, 199, 200, 1_000, 4_321])
  func dense(pages: Int) {
    var run = Run(pages: pages)
    for sync in 0...(4 * 1_440) { run.sync(at: Double(sync) * 60) }
    #expect(run.isBounded)
    for start in stride(from: 1, through: 3 * 1_440, by: 333) {
      let counts = run.counts(start..<start + 1_441)
      #expect(counts.allSatisfy { (1...2).contains($0) }, "\(pages) pages, sync \(start)")
      #expect(counts.reduce(0, +) <= pages + max(1, pages / 100))
    }
  }

  @Test(
    "P15.2: if syncs are too rare for 1 percent, each audits the next pages in rotation",
    arguments: [3_600, 86_400, 260_000.5])
  func rare(interval: Double) {
    for pages in [1, 3, 42, 4_000] {
      var run = Run(period: interval == 3_600 ? .seconds(7_200) : day, pages: pages)
      for sync in 0..<900 { run.sync(at: Double(sync) * interval) }
      #expect(run.isBounded)
      let slots = min(pages, 100)
      // The first rotations, and those after the history is longer than the schedule looks back.
      let isRare = Double(slots) > (interval == 3_600 ? 2 : 86_400 / interval)
      guard isRare else { continue }
      for start in [1, 1 + slots] where start + slots < 200 {
        #expect(run.counts(start..<start + slots).allSatisfy { $0 == 1 }, "\(pages) pages, sync \(start)")
      }
      for start in stride(from: 300, to: 900 - slots, by: 77) {
        #expect(run.counts(start..<start + slots).allSatisfy { $0 == 1 }, "\(pages) pages, sync \(start)")
      }
    }
  }

  @Test("P15.1: the default interval, with its jitter, audits each page in about a day", arguments: [42, 1_000, 4_000])
  func usual(pages: Int) {
    var run = Run(pages: pages)
    var dice = SeededDice(seed: 7)
    var time = 0.0
    for _ in 0..<800 {
      run.sync(at: time)
      time += 905 + Double.random(in: 0..<30, using: &dice)
    }
    #expect(run.isBounded)
    for start in stride(from: 310, to: 690, by: 23) {
      #expect(run.counts(start..<start + 101).allSatisfy { $0 > 0 }, "\(pages) pages, sync \(start)")
    }
  }

  @Test("P15.1: after hours without a sync the next ones catch up")
  func gap() {
    var run = Run(pages: 42)
    for sync in 0..<400 { run.sync(at: Double(sync) * 300) }
    let resumed = 400.0 * 300 + 6 * 3_600
    for sync in 0..<60 { run.sync(at: resumed + Double(sync) * 300) }
    // A day ends with the 48th of these syncs: its pages are those that the syncs before the gap had not audited.
    #expect(run.isBounded)
    #expect(run.counts(400 - 168..<400 + 60).allSatisfy { $0 >= 1 })
  }

  @Test("P15.1: irregular syncs, a restart at each, miss no page")
  func irregular() {
    var dice = SeededDice(seed: 3)
    for pages in [5, 60, 300] {
      var run = Run(pages: pages)
      var time = 0.0
      var days: [Int] = []
      for _ in 0..<3_000 {
        run.sync(at: time)
        days.append(Int(time / 86_400))
        time += Double(Int.random(in: 0..<(Int.random(in: 0..<8, using: &dice) == 1 ? 1_500 : 200), using: &dice) + 1)
      }
      #expect(run.isBounded)
      for day in 1..<(days.last ?? 0) - 1 {
        let syncs = days.indices.filter { days[$0] == day || days[$0] == day + 1 }
        let counts = run.counts((syncs.first ?? 0)..<(syncs.last ?? 0) + 1)
        #expect(counts.allSatisfy { $0 >= 1 }, "\(pages) pages, day \(day)")
      }
    }
  }

  @Test("P15.2: a sync soon after the first one, whose pages were all transferred, audits none")
  func soonAfter() {
    var run = Run(pages: 1)
    for sync in 0..<20 { run.sync(at: Double(sync)) }
    #expect(run.audits.allSatisfy { $0.isEmpty })
  }

  @Test("P15.1: audit_every = \"never\" audits nothing, and so does a resource without pages")
  func never() {
    var never = Run(period: nil, pages: 10)
    var empty = Run(period: .milliseconds(1), pages: 0)
    for sync in 0..<20 {
      never.sync(at: Double(sync) * 86_400)
      empty.sync(at: Double(sync) * 86_400)
    }
    #expect(never.audits.allSatisfy { $0.isEmpty } && empty.audits.allSatisfy { $0.isEmpty })
  }

  @Test("P15.2: a clock that is set back audits no page twice, and audits go on later")
  func setBack() {
    var run = Run(period: .seconds(10), pages: 10)
    for sync in 0..<20 { run.sync(at: Double(sync)) }
    run.sync(at: 5)
    #expect(run.audits.last?.isEmpty == true)
    for sync in 20..<45 { run.sync(at: Double(sync)) }
    #expect(run.counts(34..<45).allSatisfy { $0 >= 1 })
  }
}
