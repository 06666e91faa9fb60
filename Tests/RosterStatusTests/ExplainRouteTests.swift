import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterStatus

@Suite struct ExplainRouteTests {
  private func explanation(_ response: Response) throws -> Explanation {
    #expect(response.status == 200 && response["content-type"] == "application/json")
    return try JSONDecoder().decode(Explanation.self, from: Data(response.body))
  }

  private func now(_ routes: StatusRoutes) throws -> Explanation? {
    guard case .now(let response) = routes.answer(StatusRequest(method: "GET", target: "/v1/explain")) else {
      return nil
    }
    return try explanation(response)
  }

  @Test("44: /v1/explain reads the database for rejected records only")
  func database() async throws {
    #expect(try now(makeRoutes(makeBoard(cache: snapshot, last: makeReport())))?.state == .idle)
    var failed = makeReport(18, outcome: .failed)
    failed.trouble = Diagnosis(.serverError, "cannot pull page 3", [.page(3, of: "character", url: "http://localhost")])
    let end = failed.finishedAt
    failed.trouble?.since = end
    let told = try now(makeRoutes(makeBoard(cache: snapshot, last: failed)))
    #expect(told?.state == .degraded && told?.since == end && told?.concerned == failed.trouble?.concerned)

    var rejecting = makeReport()
    rejecting.rejected = 1
    let record = AffectedItem.record("5", of: "character", page: 1, position: 4, reason: "/name is not a string")
    for records in [[record], []] {
      let routes = makeRoutes(
        makeBoard(cache: snapshot, last: rejecting),
        rejected: {
          if records.isEmpty { throw TestError(what: "no cache") }
          return records
        })
      guard case .later(let work) = routes.answer(StatusRequest(method: "GET", target: "/v1/explain")) else {
        Issue.record("it does not ask")
        continue
      }
      let told = try explanation(await work())
      #expect(told.state == .degraded && told.concerned == records && told.todo.contains("rosterctl rejects"))
    }
  }

  @Test("explain knows the board's facts: a refused reload, a held WAL, a sync that hangs, an ended session")
  func board() throws {
    let clock = ManualClock()
    var facts = snapshot
    facts.isWALPinned = true
    let board = makeBoard(clock: clock, cache: facts, last: makeReport())
    board.report(Event(.configRefused, error: "rosterd.toml:2: sync.interval is too short"))
    board.stands(since: clock.now)
    var token = TokenStatus(flow: "oauth2_refresh", state: .unauthorized)
    token.lastError = "upstream refuses the refresh token (401)"
    board.token(token)
    let told = try #require(try now(makeRoutes(board)))
    #expect(told.state == .unauthorized)
    for what in ["refuses the refresh token", "rosterd.toml:2", "log", "Nothing has moved since 20"] {
      #expect(told.what.contains(what), "\(told.what)")
    }
    #expect(told.concerned == [.file("/cache/roster.db-wal")])
  }

  @Test("explain reports a sync for which limit.budget is not enough, with the used requests and its start")
  func postponed() throws {
    let clock = ManualClock()
    let board = makeBoard(clock: clock) {
      var limits = StatusBoard.Limits()
      limits.budget = (RequestBudget(limit: 100, window: .seconds(3600)), 99)
      return limits
    }
    board.nextSync(at: clock.now + 60, isPostponed: true)
    let told = try #require(try now(makeRoutes(board)))
    #expect(told.state == .starting && told.what.contains("99 of 100 requests are used"))
    #expect(told.nextAt == (clock.now + 60).rfc3339 && told.concerned == [.setting("limit.budget")])
  }
}
