import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterSync

struct AuditScheduleTests {
  private static let day = Duration.seconds(86_400)
  private static let start = Date(timeIntervalSince1970: 1_750_000_000)
  private static let digest = PageDigest(first: 1, second: 2)
  private static let pages = (1...400).map { "https://api.test/things?page=\($0)" }

  /// How often each page is audited by syncs at these times.
  private static func counts(_ times: [Double]) -> [Int] {
    pages.map { page in
      zip(times, times.dropFirst()).count { last, now in
        AuditSchedule(period: day, last: start.addingTimeInterval(last), now: start.addingTimeInterval(now))
          .isDue(page, digest: digest)
      }
    }
  }

  @Test("20: each page is audited once in a period, however irregular the syncs are", arguments: 1...20)
  func once(seed: UInt64) {
    var dice = SeededDice(seed: seed)
    let inner = (0..<Int.random(in: 0...200, using: &dice)).map { _ in Double.random(in: 0...86_400, using: &dice) }
    #expect(Self.counts([0] + inner.sorted() + [86_400]).allSatisfy { $0 == 1 })
  }

  @Test("20: the default interval audits about 1 percent of the pages in a sync")
  func spread() {
    let times = (0...96).map { Double($0) * 900 }
    let audits = zip(times, times.dropFirst()).map { last, now in Self.counts([last, now]).reduce(0, +) }
    #expect(audits.reduce(0, +) == Self.pages.count)
    #expect(audits.allSatisfy { $0 <= Self.pages.count / 20 })
  }

  @Test("20: audit_every = \"never\", a first sync, and a clock that is set back audit nothing")
  func never() {
    let (now, later) = (Self.start, Self.start.addingTimeInterval(90_000))
    for schedule in [
      AuditSchedule(period: nil, last: now, now: later), AuditSchedule(period: Self.day, last: nil, now: later),
      AuditSchedule(period: Self.day, last: later, now: now),
    ] {
      #expect(!Self.pages.contains { schedule.isDue($0, digest: Self.digest) })
    }
  }
}
