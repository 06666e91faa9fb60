import FoundationEssentials
import Logging
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterFetch

@Suite("26: limit.budget over restarts", .timeLimit(.minutes(1))) struct BudgetLedgerTests {
  private let workspace = Workspace()
  private let clock = ManualClock()
  private let rule = RequestBudget(limit: 10, window: .seconds(60))

  private var path: String { workspace.path("roster.db.budget") }

  /// A ledger of another process, whose uptime starts at 0.
  private func ledger(_ rule: RequestBudget?, of upstream: String = "http://a/api") throws -> BudgetLedger {
    let (clock, begin) = (clock.wallClock, clock.wallClock.uptime())
    let own = WallClock(now: clock.now, sleep: clock.sleep, uptime: { clock.uptime() - begin })
    let ledger = BudgetLedger(
      path: path, upstream: upstream, clock: own, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    try ledger.change(rule)
    return ledger
  }

  private func send(_ count: Int, by ledger: BudgetLedger) async throws {
    for _ in 0..<count { ledger.ended(try await ledger.spend(), isSent: true) }
  }

  @Test("26: every sent request counts in the next process, however the previous one ended")
  func restart() async throws {
    try await send(7, by: try ledger(rule))
    clock.advance(by: .seconds(30))
    let second = try ledger(rule)
    #expect(second.usage?.used == 7)
    try await send(3, by: second)
    let failure = await #expect(throws: Failure.self) { try await second.spend() }
    #expect(failure?.kind == .unreachable && failure?.cause == "limit.budget (10/1m) is used up")
    clock.advance(by: .seconds(31))
    #expect(try ledger(rule).usage?.used == 3)
  }

  @Test("26: a killed process has counted its requests in flight, as they may have reached upstream")
  func killed() async throws {
    _ = try await ledger(rule).spend()
    clock.advance(by: .seconds(59))
    let next = try ledger(rule)
    clock.advance(by: .seconds(59))
    #expect(next.usage?.used == 1)
    clock.advance(by: .seconds(1))
    #expect(next.usage?.used == 0)
  }

  @Test(
    "A clock that is set neither frees the budget nor locks it for longer than a window",
    arguments: [-31_536_000.0, 31_536_000])
  func clockSet(step: Double) async throws {
    let first = try ledger(rule)
    try await send(6, by: first)
    clock.set(by: step)
    #expect(first.usage?.used == 6)
    clock.advance(by: .seconds(1))
    try await send(1, by: first)
    #expect(try ledger(rule).usage?.used == 7)
  }

  @Test("A clock that is set back between two processes locks the budget for a window at most")
  func clockSetBackMeanwhile() async throws {
    try await send(10, by: try ledger(rule))
    clock.set(by: -86_400)
    let next = try ledger(rule)
    #expect(next.usage?.used == 10 && next.wait(for: 1) == .seconds(60))
    clock.advance(by: .seconds(60))
    #expect(try ledger(rule).usage?.used == 0)
  }

  @Test("26: a sync that the budget interrupted starts when the window is empty, restarts included")
  func short() async throws {
    let first = try ledger(rule)
    try await send(2, by: first)
    clock.advance(by: .seconds(20))
    try await send(8, by: first)
    #expect(first.wait(for: 2) == .seconds(40))
    await #expect(throws: Failure.self) { try await first.spend() }
    #expect(first.wait(for: 2) == .seconds(60))
    let second = try ledger(rule)
    #expect(second.wait(for: 2) == .seconds(60))
    clock.advance(by: .seconds(60))
    #expect(second.wait(for: 2) == nil)
    try await send(4, by: second)
    second.syncWentWell()
    #expect(try ledger(rule).wait(for: 6) == nil)
    await #expect(throws: Failure.self) { try await send(7, by: second) }
    try second.change(RequestBudget(limit: 20, window: .seconds(60)))
    #expect(second.wait(for: 6) == nil, "another budget is another matter")
  }

  @Test("Requests to another upstream do not count, and another program's file is ignored")
  func foreign() async throws {
    try await send(7, by: try ledger(rule))
    #expect(try ledger(rule, of: "http://b/api").usage?.used == 0)
    for bytes in [
      [], Array("[limit]\n".utf8), [UInt8](repeating: 0x5A, count: 16_384), [UInt8](repeating: 0, count: 99),
    ] {
      try workspace.write(bytes: bytes, to: "roster.db.budget")
      #expect(try ledger(rule).usage?.used == 0)
    }
  }

  @Test("A damaged slot counts nothing and does not change the others")
  func damaged() async throws {
    let first = try ledger(rule)
    try await send(2, by: first)
    clock.advance(by: .seconds(10))
    try await send(3, by: first)
    var bytes = Array(try #require(FileManager.default.contents(atPath: path)))
    bytes[2 * 64 + 16] ^= 1
    try workspace.write(bytes: bytes, to: "roster.db.budget")
    #expect(try ledger(rule).usage?.used == 3)
  }

  @Test("26: a request without room is refused after the ones in flight have ended, and no other gets in meanwhile")
  func drained() async throws {
    let ledger = try ledger(RequestBudget(limit: 2, window: .milliseconds(100)))
    let first = try await ledger.spend()
    let second = try await ledger.spend()
    async let refused: Failure? = #expect(throws: Failure.self) { try await ledger.spend() }
    while ledger.refusals < 1 { await Task.yield() }
    clock.advance(by: .milliseconds(500))
    ledger.ended(first, isSent: false)
    async let late: Failure? = #expect(throws: Failure.self) { try await ledger.spend() }
    while ledger.refusals < 2 { await Task.yield() }
    ledger.ended(second, isSent: false)
    #expect(await refused != nil)
    #expect(await late != nil)
    #expect(try await ledger.spend() != nil)
  }

  @Test("Without a budget there is no file; a file that cannot be made is 73")
  func files() async throws {
    let none = try ledger(nil)
    #expect(try await none.spend() == nil && none.usage == nil && none.wait(for: 9) == nil)
    #expect(!FileManager.default.fileExists(atPath: path))
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let failure = #expect(throws: Failure.self) { try ledger(rule) }
    #expect(failure?.kind == .cannotWrite && failure?.subject == path)
  }

  @Test("26: counted requests hold for another window, and for a budget that was removed and added again")
  func changed() async throws {
    let ledger = try ledger(rule)
    try await send(7, by: ledger)
    try ledger.change(RequestBudget(limit: 5, window: .seconds(30)))
    #expect(ledger.usage?.used == 7)
    try ledger.change(nil)
    try await send(3, by: ledger)
    try ledger.change(rule)
    #expect(ledger.usage?.used == 7)
  }
}
