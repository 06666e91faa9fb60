import FoundationEssentials
import Glibc
import RosterCore
import RosterDecode
import RosterFetch
import RosterSimulator
import RosterTestSupport
import Synchronization
import Testing

/// The delays of three retries without jitter.
private let backoff = [1.0, 2.0, 4.0]
private let short = Duration.milliseconds(100)

@Suite struct PageFetcherTests {
  // MARK: The connection

  @Test("24: a refused connection is retried with backoff")
  func refused() async throws {
    // A port that no other test's server can get.
    try await withBench(at: "http://127.0.0.1:1/api") { bench in
      let failure = await bench.failure()
      #expect(failure?.reason == .connection && failure?.kind == .unreachable)
      #expect(bench.naps.delays == backoff)
    }
  }

  @Test(
    "24: an interrupted answer is retried with backoff, and the page survives it",
    arguments: [
      (.drop, .connection), (.cut(after: .nothing, .close), .connection), (.cut(after: .half, .reset), .truncated),
      (.cut(after: .half, .close), .truncated),
    ] as [(Fault, Failure.Reason)])
  func brokenOff(fault: Fault, reason: Failure.Reason) async throws {
    try await withBench([.on(.page(1), fault)]) { upstream, bench in
      #expect(await bench.failure()?.reason == reason)
      #expect(bench.naps.delays == backoff)
      #expect(upstream.counts.pageRequests.count == 4)
      #expect(bench.tally.now.retries == 3)
    }
    try await withBench([.on(.page(1), times: 3, fault)]) { _, bench in
      _ = try await bench.page()
    }
  }

  @Test(
    "24: an answer whose first or next byte does not arrive in time is retried with backoff",
    arguments: [Fault.Cut.nothing, .head, .half])
  func stalled(cut: Fault.Cut) async throws {
    try await withBench([.on(.page(1), .cut(after: cut, .stall))], timeout: short) { _, bench in
      #expect(await bench.failure()?.reason == .timeout)
      #expect(bench.naps.delays == backoff)
    }
  }

  @Test("24: a chunked body without its end is truncated")
  func chunked() async throws {
    try await RawServer.run(
      headed("200 OK", headers: "Transfer-Encoding: chunked\r\n", body: Array("5\r\n{\"inf\r\n".utf8))
    ) {
      server in
      try await withBench(at: "http://127.0.0.1:\(server.port)") { bench in
        #expect(await bench.failure()?.reason == .truncated)
        #expect(server.requests == 4)
      }
    }
  }

  @Test("24: a connection that is not made in time is retried with backoff")
  func connectTimeout() async throws {
    let (full, port) = try fullListener()
    defer { for descriptor in full { close(descriptor) } }
    try await withBench(at: "http://127.0.0.1:\(port)", timeout: short) { bench in
      #expect(await bench.failure()?.reason == .timeout)
      #expect(bench.naps.delays == backoff)
    }
  }

  @Test("24: a name that cannot be resolved is retried with backoff")
  func dns() async throws {
    // No label may be longer than 63 (RFC 1035 §2.3.4), so no resolver sends a query for this name.
    try await withBench(at: "http://\(String(repeating: "a", count: 64)).invalid") { bench in
      #expect(await bench.failure()?.reason == .dns)
      #expect(bench.naps.delays == backoff)
    }
  }

  @Test("24: TLS that is interrupted is retried with backoff")
  func tls() async throws {
    try await RawServer.run(.init()) { server in
      try await withBench(at: "https://127.0.0.1:\(server.port)") { bench in
        #expect(await bench.failure()?.reason == .tls)
        #expect(bench.naps.delays == backoff)
      }
    }
  }

  @Test("24: a GET whose kept connection ends before the first byte is repeated once at once, uncounted")
  func keptConnection() async throws {
    try await withBench([.on(.request(2), .cut(after: .nothing, .close))]) { upstream, bench in
      _ = try await bench.fetch(1)
      _ = try await bench.fetch(2)
      #expect(upstream.counts.pageRequests.count == 3)
      #expect(bench.naps.delays.isEmpty && bench.tally.now.retries == 0)
    }
    try await withBench([.on(.page(2), .cut(after: .nothing, .close))]) { upstream, bench in
      _ = try await bench.fetch(1)
      #expect(await bench.failure(2)?.reason == .connection)
      #expect(upstream.counts.requests(ofPage: 2).count == 5)
      #expect(bench.naps.delays == backoff)
    }
  }

  @Test("24: without a network nothing is retried")
  func offline() async throws {
    // TCP to a multicast address is ENETUNREACH on every Linux (tcp_v4_connect), network or not.
    try await withBench(at: "http://224.0.0.1") { bench in
      let failure = await bench.failure()
      #expect(failure?.cause.contains("there is no network") == true, "\(String(describing: failure))")
      #expect(failure?.kind == .unreachable && failure?.reason == nil)
      #expect(bench.naps.delays.isEmpty)
    }
  }

  // MARK: The status

  @Test(
    "24: 408 and server errors that may pass are retried with backoff",
    arguments: [408, 500, 502, 503, 504, 507, 520, 524, 529, 599])
  func passing(status: Int) async throws {
    try await withBench([.on(.page(1), .status(status))]) { upstream, bench in
      let failure = await bench.failure()
      #expect(failure?.kind == .unreachable)
      #expect(failure?.cause == "upstream answered \(status), and says \"simulated\" (4 attempts)")
      #expect(upstream.counts.pageRequests.count == 4)
      #expect(bench.naps.delays == backoff)
    }
  }

  @Test("24: a request for which it is too early is sent again once, at once")
  func tooEarly() async throws {
    try await withBench([.on(.page(1), .status(425))]) { upstream, bench in
      let failure = await bench.failure()
      #expect(failure?.kind == .unreachable && failure?.cause.contains("425") == true)
      #expect(upstream.counts.pageRequests.count == 2)
      #expect(bench.naps.delays == [.zero])
    }
  }

  @Test("24: other statuses are not retried", arguments: [400, 403, 404, 410, 418, 501, 505, 511])
  func final(status: Int) async throws {
    try await withBench([.on(.page(1), .status(status))]) { upstream, bench in
      #expect(await bench.failure()?.kind == .badAnswer)
      #expect(upstream.counts.pageRequests.count == 1)
    }
  }

  @Test("24: Retry-After of a 503 is the minimum delay, in seconds and as a date")
  func retryAfter() async throws {
    try await withBench([.on(.page(1), times: 1, .status(503, retryAfter: "7"))]) { _, bench in
      _ = try await bench.fetch()
      #expect(bench.naps.delays == [7])
    }
    let dates = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:50:07 GMT\r\n"
    try await RawServer.run(headed("503 Later", headers: dates + "Content-Length: 0\r\n"), headed("404 Gone")) {
      server in
      try await withBench(at: "http://127.0.0.1:\(server.port)") { bench in
        _ = await bench.failure()
        #expect(bench.naps.delays == [30])
      }
    }
  }

  @Test("25: after a 429 no page is requested before the end of Retry-After, and the time is stored")
  func tooManyRequests() async throws {
    let clock = ManualClock()
    let stored = Mutex<[RetryAfterHold]>([])
    let rules = [Rule.on(.page(1), times: 1, .status(429, retryAfter: "30"))]
    try await withTransport(Scenario(rules: rules)) { upstream, transport in
      let hold = RetryAfterGate { time in stored.withLock { $0.append(time) } }
      let bench = try Bench(upstream.baseURL, transport: transport, clock: clock.wallClock, hold: hold)
      let started = clock.now
      async let first = bench.fetch(1)
      await clock.sleepers(1)
      async let second = bench.fetch(2)
      await clock.sleepers(2)
      #expect(clock.pending == [.seconds(30), .seconds(30)])
      #expect(upstream.counts.pageRequests.count == 1)
      clock.advance(by: .seconds(30))
      _ = try await (first, second)
      #expect(upstream.counts.pageRequests.count == 3)
      #expect(stored.withLock { $0 } == [RetryAfterHold(setAt: started, until: started + 30)])
    }
  }

  @Test("25: a Retry-After beyond max_retry_after fails with 69 at once, and is stored", arguments: [429, 503])
  func tooLong(status: Int) async throws {
    try await withBench([.on(.page(1), .status(status, retryAfter: "121"))]) { upstream, bench in
      #expect(await bench.failure()?.kind == .unreachable)
      #expect(upstream.counts.pageRequests.count == 1)
      #expect(bench.hold.remaining(bench.naps.clock) == .seconds(121))
    }
  }

  @Test(
    "25: a 403 with no remaining requests is a rate limit until upstream's reset; any other 403 is final"
  )
  func spent() async throws {
    func refusal(_ remaining: String) -> Fault {
      .answer(status: 403, headers: [.init("X-RateLimit-Remaining", remaining), .init("X-RateLimit-Reset", "30")])
    }
    try await withBench([.on(.page(1), times: 1, refusal("0"))]) { upstream, bench in
      _ = try await bench.page()
      #expect(bench.naps.delays == [30] && upstream.counts.pageRequests.count == 2)
    }
    try await withBench(
      [.on(.page(1), refusal("0"))],
      body: { _, bench in
        let failure = await bench.failure()
        #expect(failure?.kind == .unreachable && failure?.reason == .rateLimit)
        #expect(failure?.cause.contains("403, and wants no request for 30 s (ratelimit-reset)") == true)
      })
    try await withBench([.on(.page(1), refusal("1"))]) { upstream, bench in
      #expect(await bench.failure()?.kind == .badAnswer)
      #expect(upstream.counts.pageRequests.count == 1 && bench.hold.remaining(bench.naps.clock) == nil)
    }
  }

  @Test("25: a rate limit delays all pages, also if upstream names no time")
  func backoffForAll() async throws {
    let clock = ManualClock()
    let rules = [Rule.on(.page(1), times: 1, .status(429))]
    try await withTransport(Scenario(rules: rules)) { upstream, transport in
      let bench = try Bench(upstream.baseURL, transport: transport, clock: clock.wallClock, hold: RetryAfterGate())
      async let first = bench.fetch(1)
      await clock.sleepers(1)
      async let second = bench.fetch(2)
      await clock.sleepers(2)
      #expect(clock.pending == [.seconds(1), .seconds(1)] && upstream.counts.pageRequests.count == 1)
      clock.advance(by: .seconds(1))
      _ = try await (first, second)
    }
  }

  @Test("25: a 429 without Retry-After is retried with backoff")
  func bareTooManyRequests() async throws {
    try await withBench([.on(.page(1), .status(429))]) { _, bench in
      #expect(await bench.failure()?.kind == .unreachable)
      #expect(bench.naps.delays == backoff)
      #expect(bench.hold.remaining(bench.naps.clock) == nil)
    }
  }

  // MARK: Redirects

  @Test(
    "24: five redirects within the origin are followed, relative ones too; six are not",
    arguments: [
      "/api/character?page=2", "character?page=2", "?page=2",
    ])
  func redirects(location: String) async throws {
    try await withBench([.on(.anyPage, times: 5, .redirect(to: location))]) { upstream, bench in
      _ = try await bench.fetch()
      #expect(upstream.counts.requests(ofPage: 2).count == 5)
      #expect(bench.tally.now.requests == 6)
    }
    try await withBench([.on(.anyPage, times: 6, .redirect(to: location))]) { upstream, bench in
      #expect(await bench.failure()?.kind == .badAnswer)
      #expect(upstream.counts.pageRequests.count == 6)
      #expect(bench.naps.delays.isEmpty)
    }
  }

  @Test("24, 39: a redirect to another origin is not followed")
  func otherOrigin() async throws {
    let other = try await Simulator.start()
    try await withBench([.on(.page(1), .redirect(to: "\(other.baseURL)/character?page=1"))]) { upstream, bench in
      let failure = await bench.failure()
      #expect(failure?.kind == .badAnswer)
      #expect(failure?.cause.contains("another origin, \(other.origin)") == true)
      #expect(upstream.counts.pageRequests.count == 1)
    }
    #expect(other.counts.pageRequests.isEmpty)
    await other.stop()
  }

}

/// Listens with a full backlog and accepts no connection: the next connection's SYN is dropped (listen(2)).
private func fullListener() throws -> (descriptors: [CInt], port: UInt16) {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = inet_addr("127.0.0.1")
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  func call(_ body: (UnsafeMutablePointer<sockaddr>) -> CInt) -> CInt {
    withUnsafeMutablePointer(to: &address) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
  }
  func make() -> CInt {
    socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
  }
  let listener = make()
  try #require(call { bind(listener, $0, length) } == 0 && listen(listener, 0) == 0)
  try #require(call { getsockname(listener, $0, &length) } == 0)
  let fillers = (1...4).map { _ in make() }
  for filler in fillers { _ = call { connect(filler, $0, length) } }
  return ([listener] + fillers, UInt16(bigEndian: address.sin_port))
}
