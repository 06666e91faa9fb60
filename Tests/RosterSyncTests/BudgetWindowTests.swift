import FoundationEssentials
import Logging
import RosterCore
import RosterFetch
import RosterSync
import RosterTestSupport
import Testing

/// Lists of more pages than `limit.budget`, whose pages have validators.
struct BudgetWindowTests {
  private static let styles: [Resource.Style] = [
    .number(last: .body(at("info", "pages"))),
    .cursor(param: .query("page"), at: .body(at("next"))), .next(at: .body(at("address"))),
  ]

  private static func thing(_ style: Resource.Style) -> Resource {
    var thing = listed("thing")
    thing.pages = .init(style, count: .body(at("info", "count")))
    thing.auditEvery = nil
    return thing
  }

  /// Ten pages; 4 requests in each hour.
  private static func bench() throws -> SyncBench {
    var bench = try SyncBench(["/thing": records(1...20)])
    bench.budget = RequestBudget(limit: 4, window: .seconds(3600))
    return bench
  }

  /// Syncs in each window until one is published.
  private func windows(_ bench: SyncBench, _ thing: Resource, from start: Double) async throws -> [Int32?] {
    var exits: [Int32?] = []
    repeat {
      exits.append(try await bench.sync([thing], after: start + Double(exits.count) * 3601).exit)
    } while exits.last != 0 && exits.count < 6
    return exits
  }

  @Test(
    "40: a list of more pages than limit.budget is pulled in several windows, each later page once", arguments: styles
  )
  func first(style: Resource.Style) async throws {
    let (bench, thing) = (try Self.bench(), Self.thing(style))
    #expect(try await windows(bench, thing, from: 0) == [69, 69, 0])
    // Each sync requests the first page.
    #expect(bench.shelf.asked().count == 12)
    #expect(try bench.list("thing").count == 20)
  }

  @Test("26: a sync that waits for the whole budget names the budget, and no requests of the last sync")
  func message() async throws {
    let (workspace, start) = (Workspace(), Date(timeIntervalSince1970: 1_795_424_400))
    let clock = WallClock(now: { start }, sleep: { _ in }, uptime: { .seconds(1000) })
    let ledger = BudgetLedger(
      path: workspace.path("budget"), upstream: Shelf.baseURL, clock: clock,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    try ledger.change(RequestBudget(limit: 4, window: .seconds(3600)))
    func cause() -> String? {
      Postponement(ledger, requests: 2, baseURL: Shelf.baseURL, clock: clock)?.failure.cause
    }
    for _ in 0..<3 { ledger.ended(try await ledger.spend(), isSent: true) }
    #expect(cause() == "limit.budget (4/1h) has 1 request left of those 2 that the last sync took")
    ledger.ended(try await ledger.spend(), isSent: true)
    await #expect(throws: Failure.self) { try await ledger.spend() }
    #expect(
      cause() == "limit.budget (4/1h) has 0 requests left of 4, all of which a sync needs after one that used it up")
  }

  @Test("40: pages that upstream confirmed are not requested again in the next window", arguments: styles)
  func unchanged(style: Resource.Style) async throws {
    let (bench, thing) = (try Self.bench(), Self.thing(style))
    _ = try await windows(bench, thing, from: 0)
    _ = bench.asked()
    #expect(try await windows(bench, thing, from: 100_000) == [69, 69, 0])
    let asked = bench.shelf.asked()
    #expect(asked.count == 12 && asked.allSatisfy { $0.status == 304 })
    #expect(try bench.ask("SELECT count(*) FROM syncs WHERE added + changed + removed > 0") == ["1"])
  }

  @Test("40: a thousand pages that upstream confirmed before a window are not requested again")
  func many() async throws {
    var bench = try SyncBench(["/thing": records(1...2000)])
    bench.budget = RequestBudget(limit: 1000, window: .seconds(3600))
    let thing = Self.thing(Self.styles[0])
    #expect(try await windows(bench, thing, from: 0) == [0])
    _ = bench.asked()
    bench.budget = RequestBudget(limit: 700, window: .seconds(3600))
    #expect(try await windows(bench, thing, from: 100_000) == [69, 0])
    // The first page is requested by each sync.
    #expect(bench.shelf.asked().count == 1001)
  }

  @Test("40: a page that was confirmed before a window and has changed since is received by the next sync")
  func changedLater() async throws {
    let (bench, thing) = (try Self.bench(), Self.thing(Self.styles[0]))
    _ = try await windows(bench, thing, from: 0)
    #expect(try await bench.sync([thing], after: 100_000).exit == 69)
    bench.shelf.update { $0.lists["/thing"]?[3] = (4, #"{"id":4,"name":"other"}"#) }
    #expect(try await windows(bench, thing, from: 103_601) == [69, 0])
    #expect(try bench.ask("SELECT name FROM things WHERE id = 4") == ["name 4"])
    #expect(try await windows(bench, thing, from: 200_000) == [69, 69, 0])
    #expect(try bench.ask("SELECT name FROM things WHERE id = 4") == ["other"])
  }

  @Test("40: a kept page is requested again if requests were allowed for 15 min")
  func tooOld() async throws {
    let (bench, thing) = (try Self.bench(), Self.thing(Self.styles[1]))
    #expect(try await bench.sync([thing]).exit == 69)
    _ = bench.asked()
    #expect(try await bench.sync([thing], after: 3600 + 901).exit == 69)
    #expect(bench.shelf.asked().map(\.status) == [304, 304, 304, 304])
    #expect(try await windows(bench, thing, from: 3600 + 901 + 3601) == [69, 0])
  }

  @Test("21, 40: a whole pull in several windows has the mark of its first answer")
  func mark() async throws {
    var thing = Self.thing(Self.styles[1])
    thing.since = Since(
      at: at("id"), param: .query("since"), form: .number, overlap: .number(1),
      listing: thing.listing)
    let bench = try Self.bench()
    #expect(try await windows(bench, thing, from: 0) == [69, 69, 0])
    #expect(bench.shelf.asked().count == 12)
    #expect(try bench.ask("SELECT mark FROM resource_lists") == ["20"])
  }
}
