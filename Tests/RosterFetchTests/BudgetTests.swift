import FoundationEssentials
import RosterCore
import RosterFetch
import RosterTestSupport
import Testing

private let tenInAMinute = RequestBudget(limit: 10, window: .seconds(60))

/// A budget with a single user.
private final class Counted {
  var budget: Budget

  init(_ rule: RequestBudget) { budget = Budget(rule) }

  func spend(at now: Duration) -> Int? { budget.spend(at: now) }
  func ended(_ id: Int, at now: Duration) { budget.ended(id, at: now, isSent: true) }
  func used(at now: Duration) -> Int { budget.used(at: now) }
  func wait(for requests: Int, at now: Duration) -> Duration? { budget.wait(for: requests, at: now) }

  /// Sends a request that takes no time; true if the budget permitted it.
  func send(at now: Duration, isSent: Bool = true) -> Bool {
    guard let id = budget.spend(at: now) else { return false }
    budget.ended(id, at: now, isSent: isSent)
    return true
  }
}

@Suite("26: limit.budget") struct BudgetTests {
  @Test("26: a window has room for `limit` requests, and for the next one when its first has left it")
  func window() {
    let budget = Counted(tenInAMinute)
    for second in 0..<10 { #expect(budget.send(at: .seconds(second))) }
    #expect(!budget.send(at: .seconds(10)) && !budget.send(at: .milliseconds(59_999)))
    #expect(budget.used(at: .milliseconds(59_999)) == 10 && budget.used(at: .seconds(60)) == 9)
    #expect(budget.send(at: .seconds(60)) && !budget.send(at: .seconds(60)))
    #expect(budget.used(at: .seconds(3600)) == 0)
  }

  @Test("26: a request counts until a window after its end, as it may have reached upstream then")
  func latency() throws {
    let budget = Counted(RequestBudget(limit: 1, window: .seconds(60)))
    let id = try #require(budget.spend(at: .zero))
    #expect(budget.used(at: .seconds(100)) == 1)
    budget.ended(id, at: .seconds(100))
    #expect(budget.used(at: .seconds(159)) == 1 && budget.used(at: .seconds(160)) == 0)
  }

  @Test("26: a request that cannot have reached upstream does not count")
  func unsent() {
    let budget = Counted(tenInAMinute)
    for _ in 0..<100 { #expect(budget.send(at: .zero, isSent: false)) }
    #expect(budget.used(at: .zero) == 0)
  }

  @Test("26: a sync waits until it fits; one that is larger than the budget waits for an empty window")
  func wait() throws {
    let budget = Counted(tenInAMinute)
    #expect(budget.wait(for: 10, at: .zero) == nil && budget.wait(for: 1000, at: .zero) == nil)
    for second in [0, 20, 40] { for _ in 0..<3 { #expect(budget.send(at: .seconds(second))) } }
    let now = Duration.seconds(50)
    #expect(budget.wait(for: 1, at: now) == nil && budget.wait(for: 0, at: now) == nil)
    #expect(budget.wait(for: 2, at: now) == .seconds(10))
    #expect(budget.wait(for: 5, at: now) == .seconds(30))
    for more in [8, 10, 11, .max] { #expect(budget.wait(for: more, at: now) == .seconds(50)) }
    let id = try #require(budget.spend(at: now))
    #expect(budget.wait(for: 10, at: .seconds(55)) == .seconds(60), "one that is under way ends now at the soonest")
    budget.ended(id, at: .seconds(55))
    #expect(budget.wait(for: 10, at: .seconds(56)) == .seconds(59))
  }

  @Test("26: another budget counts the requests that the window still knows")
  func changed() {
    let budget = Counted(tenInAMinute)
    for _ in 0..<10 { #expect(budget.send(at: .zero)) }
    budget.budget.change(RequestBudget(limit: 12, window: .seconds(60)))
    #expect(budget.send(at: .seconds(1)) && budget.send(at: .seconds(1)) && !budget.send(at: .seconds(1)))
    budget.budget.change(RequestBudget(limit: 1, window: .seconds(10)))
    #expect(budget.used(at: .seconds(10)) == 2 && !budget.send(at: .seconds(10)) && budget.send(at: .seconds(11)))
  }

  @Test("26: a reload with a longer window counts the requests of that window, as a restart does")
  func longerWindow() {
    let budget = Counted(RequestBudget(limit: 50, window: .seconds(1)))
    for second in 0..<300 { #expect(budget.send(at: .seconds(second * 2))) }
    budget.budget.change(RequestBudget(limit: 100, window: .seconds(3600)))
    #expect(budget.used(at: .seconds(600)) == Budget.maxEntries && !budget.send(at: .seconds(600)))
    budget.budget.change(RequestBudget(limit: 100, window: .seconds(60)))
    #expect(budget.used(at: .seconds(600)) == 29)
  }

  /// Upstream's view: each request reached it at some time between its start and its end.
  private struct Walk {
    var arrivals: [Duration] = []
    var refused = 0
    var maxEntries = 0
  }

  private func walk(_ rule: RequestBudget, seed: UInt64) -> Walk {
    var dice = SeededDice(seed: seed)
    var (budget, walk, now) = (Budget(rule), Walk(), Duration.zero)
    var open: [(id: Int, end: Duration)] = []
    let longest =
      Int(rule.window.seconds * 1000) * Int.random(in: 1...3, using: &dice) / Int.random(in: 1...40, using: &dice)
    for _ in 0..<3000 {
      now += rule.window * Int.random(in: 0...20, using: &dice) / Int.random(in: 20...4000, using: &dice)
      for ended in open.filter({ $0.end <= now }).sorted(by: { $0.end < $1.end }) {
        budget.ended(ended.id, at: ended.end, isSent: true)
      }
      open.removeAll { $0.end <= now }
      guard let id = budget.spend(at: now) else {
        walk.refused += 1
        continue
      }
      let took = Int.random(in: 0...longest, using: &dice)
      open.append((id, now + .milliseconds(took)))
      walk.arrivals.append(now + .milliseconds(Int.random(in: 0...took, using: &dice)))
      walk.maxEntries = max(walk.maxEntries, budget.entries.count)
      // An occasional restart: the file contains the same entries.
      if open.isEmpty, Int.random(in: 0..<50, using: &dice) == 0 { budget = Budget(rule, entries: budget.entries) }
    }
    return walk
  }

  @Test("26: upstream never sees more than the limit in any window, for random requests of random duration")
  func anyWindow() {
    var refused = 0
    for seed in UInt64(1)...60 {
      var dice = SeededDice(seed: seed &* 77)
      let rule = RequestBudget(
        limit: Int.random(in: 1...400, using: &dice), window: .milliseconds(Int.random(in: 1000...90_000, using: &dice))
      )
      let walk = walk(rule, seed: seed)
      refused += walk.refused
      #expect(walk.maxEntries <= Budget.maxEntries, "seed \(seed)")
      let arrivals = walk.arrivals.sorted()
      for index in arrivals.indices.dropFirst(rule.limit) {
        #expect(arrivals[index] - arrivals[index - rule.limit] >= rule.window, "seed \(seed), request \(index)")
      }
    }
    #expect(refused > 1000)
  }

  @Test("Room in the budget returns within a 240th of the window")
  func generous() {
    let budget = Counted(RequestBudget(limit: 1000, window: .seconds(240)))
    for millisecond in 0..<1000 { #expect(budget.send(at: .milliseconds(millisecond))) }
    #expect(budget.used(at: .seconds(240)) == 1000 && budget.used(at: .milliseconds(240_999)) == 0)
  }
}
