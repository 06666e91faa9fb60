import FoundationEssentials
import Logging
import RosterCore
import RosterFetch
import RosterTestSupport
import Synchronization
import Testing

/// Collects values.
private final class Kept<Value: Sendable>: Sendable {
  private let values = Mutex<[Value]>([])
  var all: [Value] { values.withLock { $0 } }
  func add(_ value: Value) { values.withLock { $0.append(value) } }
}

private struct KeptLog: LogHandler {
  let lines: Kept<String>
  var logLevel = Logger.Level.trace
  var metadata: Logger.Metadata = [:]

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { lines.add("\(event.message) \(event.metadata ?? [:])") }
}

private let request = Request(.get, "http://upstream/api/character?page=1")

@Suite struct InterceptorTests {
  @Test("The first interceptor of a chain sees the request first and the answer last")
  func order() async throws {
    let seen = Kept<String>()
    func link(_ name: String) -> Interceptor {
      Interceptor { request, next in
        seen.add("\(name) asks")
        defer { seen.add("\(name) has it") }
        return try await next(request)
      }
    }
    let send = Interceptor.chain([link("outer"), link("inner")]) { _ in
      seen.add("sent")
      return Response(status: 200)
    }
    _ = try await send(request)
    #expect(seen.all == ["outer asks", "inner asks", "sent", "inner has it", "outer has it"])
  }

  @Test("A page request has User-Agent and Accept; configured headers are added, and replace both in any case")
  func headers() async throws {
    let sent = Kept<Request>()
    func headers(_ configured: [Request.Header], own: [Request.Header] = []) async throws -> [Request.Header] {
      let send = Interceptor.chain([.headers(configured)]) { request in
        sent.add(request)
        return Response(status: 200)
      }
      var request = request
      request.headers = own
      _ = try await send(request)
      return sent.all.last?.headers ?? []
    }
    let agent = Request.Header("User-Agent", "rosterd/\(rosterdVersion)")
    let accept = Request.Header("Accept", "application/json, application/*+json;q=0.9, */*;q=0.1")
    #expect(try await headers([]) == [agent, accept])
    #expect(try await headers([.init("X-Team", "blue")]) == [.init("X-Team", "blue"), agent, accept])
    let both = [Request.Header("accept", "text/plain"), .init("user-agent", "me")]
    #expect(try await headers(both) == both)
    let conditional = Request.Header("If-None-Match", "\"a\"")
    #expect(try await headers([.init("if-none-match", "\"b\"")], own: [conditional]) == [conditional, agent, accept])
  }

  @Test("The duration of an exchange is not negative if the clock is set meanwhile")
  func measuredTime() async throws {
    let took = Kept<Double>()
    let clock = ManualClock()
    let measure = Interceptor.measure(Tally(), clock: clock.wallClock) { _, seconds, _ in took.add(seconds) }
    let send = Interceptor.chain([measure]) { _ in
      clock.advance(by: .seconds(2))
      clock.set(clock.now - 3600)
      return Response(status: 200)
    }
    _ = try await send(request)
    #expect(took.all == [2])
  }

  @Test("A cancelled exchange is one without an answer")
  func measuredEnd() async throws {
    let codes = Kept<Int?>()
    let measure = Interceptor.measure(Tally(), clock: ManualClock().wallClock) { code, _, _ in codes.add(code) }
    await #expect(throws: CancellationError.self) {
      try await Interceptor.chain([measure]) { _ in throw CancellationError() }(request)
    }
    #expect(codes.all == [nil])
  }

  @Test("48: the log line of an exchange has the sync and the page")
  func sync() async throws {
    let lines = Kept<String>()
    let logger = Logger(label: "test") { _ in KeptLog(lines: lines) }
    let answered = Interceptor.chain([.log(to: logger, clock: ManualClock().wallClock)]) { _ in Response(status: 200) }
    try await RequestContext.$current.withValue(.init(sync: 17, page: .init(3, of: "gadget"))) {
      _ = try await answered(request)
    }
    #expect(lines.all.first?.contains("17") == true && lines.all.first?.contains("gadget") == true)
  }

  @Test("38: the log has method, URL and status, and neither headers nor bodies")
  func redaction() async throws {
    let lines = Kept<String>()
    let logger = Logger(label: "test") { _ in KeptLog(lines: lines) }
    let secret = "canary-7f3a"
    var request = request
    request.headers = [.init("Authorization", "Bearer \(secret)")]
    let clock = ManualClock().wallClock
    let answered = Interceptor.chain([.log(to: logger, clock: clock)]) { _ in
      Response(status: 200, headers: [.init("Set-Cookie", secret)], body: Array(secret.utf8))
    }
    _ = try await answered(request)
    let failed = Interceptor.chain([.log(to: logger, clock: clock)]) { _ in
      throw Failure(.unreachable, cause: "no", reason: .timeout)
    }
    await #expect(throws: Failure.self) { try await failed(request) }
    #expect(lines.all.count == 2)
    #expect(lines.all.allSatisfy { $0.contains("character?page=1") && !$0.contains(secret) })
    #expect(lines.all.first?.contains("200") == true)
  }
}
