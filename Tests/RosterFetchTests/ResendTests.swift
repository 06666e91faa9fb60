import Logging
import RosterCore
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterFetch

@Suite("24: the second sending of a GET whose kept connection ended") final class ResendTests: Sendable {
  private let request = Request(.get, "http://localhost/character")
  private let sent = Mutex<[Request]>([])

  /// Records each request, and lets the first `ends` of them fail as on a kept connection that ended.
  private func transport(ends: Int) -> Send {
    { request in
      let number = self.sent.withLock { sent in
        sent.append(request)
        return sent.count
      }
      guard number <= ends else { return Response(status: 200) }
      var fault = Failure(.unreachable, cause: "the server closed the connection", reason: .connection)
      fault.exchange?.isOfKeptConnection = true
      throw fault
    }
  }

  @Test("24: a GET is sent once more on a new connection, not a third time, and a POST is not sent again")
  func once() async throws {
    let send = Interceptor.chain([.resend], to: transport(ends: 3))
    await #expect(throws: Failure.self) { try await send(request) }
    #expect(sent.withLock { $0.map(\.needsNewConnection) } == [false, true])
    await #expect(throws: Failure.self) { try await send(Request(.post, "http://localhost/token")) }
    #expect(try await send(request).status == 200)
    #expect(sent.withLock { $0.count } == 4)
  }

  @Test("24, 26: both sendings count against limit.budget, and as one request")
  func counted() async throws {
    let workspace = Workspace()
    let clock = ManualClock().wallClock
    let ledger = BudgetLedger(
      path: workspace.path("roster.db.budget"), upstream: "http://localhost", clock: clock,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    try ledger.change(RequestBudget(limit: 10, window: .seconds(60)))
    let tally = Tally()
    let codes = Mutex<[Int?]>([])
    let measure = Interceptor.measure(tally, clock: clock) { code, _, _ in codes.withLock { $0.append(code) } }
    let send = Interceptor.chain([.resend, .budget(ledger), measure], to: transport(ends: 1))
    #expect(try await send(request).status == 200)
    #expect(ledger.usage?.used == 2)
    #expect(tally.now.requests == 1 && codes.withLock { $0 } == [200])
  }

  @Test("30: a request that was not sent, because its token expired before it had a connection, does not count")
  func outlived() async throws {
    let tally = Tally()
    let codes = Mutex<[Int?]>([])
    let measure = Interceptor.measure(tally, clock: ManualClock().wallClock) { code, _, _ in
      codes.withLock { $0.append(code) }
    }
    var fault = Failure(.unreachable, cause: "test", reason: .timeout)
    fault.exchange?.isOfOutlivedToken = true
    let send = Interceptor.chain([measure]) { [fault] _ in throw fault }
    let current = RequestContext(sync: 1, resource: "thing")
    await #expect(throws: Failure.self) {
      try await RequestContext.$current.withValue(current) { try await send(request) }
    }
    #expect(tally.now.requests == 0 && tally.now.requestsOf["thing"] == 0 && codes.withLock { $0 }.isEmpty)
  }

  @Test("24: a POST of a list is not sent twice: it counts as a request without an answer")
  func post() async throws {
    let tally = Tally()
    let codes = Mutex<[Int?]>([])
    let measure = Interceptor.measure(tally, clock: ManualClock().wallClock) { code, _, _ in
      codes.withLock { $0.append(code) }
    }
    let send = Interceptor.chain([.resend, measure], to: transport(ends: 1))
    await #expect(throws: Failure.self) { try await send(Request(.post, "http://localhost/search")) }
    #expect(tally.now.requests == 1 && codes.withLock { $0 } == [nil])
  }
}
