import RosterCore
import RosterFetch
import RosterSimulator
import RosterTestSupport
import Testing

/// Runs the body with a running upstream, and stops both after it.
func withTransport(
  _ scenario: Scenario = Scenario(), settings: HTTPTransport.Settings = .init(),
  body: (Simulator, HTTPTransport) async throws -> Void
) async throws {
  let upstream = try await Simulator.start(scenario)
  let transport = HTTPTransport(settings)
  do { try await body(upstream, transport) } catch {
    await transport.shutdown()
    await upstream.stop()
    throw error
  }
  await transport.shutdown()
  await upstream.stop()
}

private func page(_ number: Int, of upstream: Simulator) -> Request {
  Request(.get, "\(upstream.baseURL)/character?page=\(number)")
}

private func reason(_ send: () async throws -> Response) async -> Failure.Reason? {
  do {
    _ = try await send()
    return nil
  } catch { return (error as? Failure)?.reason }
}

@Suite struct HTTPTransportTests {
  @Test("27: connections are kept and used again")
  func keptConnections() async throws {
    try await withTransport { upstream, transport in
      for _ in 1...5 { _ = try await transport.send(page(1, of: upstream)) }
      #expect(upstream.counts.connections == 1)
    }
  }

  @Test(
    "24: the kinds of interruption are distinguished",
    arguments: [
      (.drop, .connection), (.cut(after: .nothing, .close), .connection), (.cut(after: .half, .close), .truncated),
      (.cut(after: .half, .reset), .truncated), (.cut(after: .head, .close), .truncated),
    ] as [(Fault, Failure.Reason)])
  func broken(fault: Fault, expected: Failure.Reason) async throws {
    try await withTransport(Scenario(rules: [.on(.page(1), fault)])) { upstream, transport in
      #expect(await reason { try await transport.send(page(1, of: upstream)) } == expected)
    }
  }

  @Test("24, 32: a refused connection has sent no request")
  func refused() async throws {
    let transport = HTTPTransport(.init())
    // tcpmux (RFC 1078): no service listens on this port, and no parallel test can.
    let failure = await #expect(throws: Failure.self) {
      try await transport.send(Request(.get, "http://127.0.0.1:1/api"))
    }
    #expect(failure?.reason == .connection && failure?.exchange?.isUnsent == true)
    await transport.shutdown()
  }

  @Test(
    "24: an answer that does not arrive, or stops in the middle, is a timeout",
    arguments: [Fault.Cut.nothing, .head, .half])
  func timeout(cut: Fault.Cut) async throws {
    let scenario = Scenario(rules: [.on(.page(1), .cut(after: cut, .stall))])
    try await withTransport(scenario, settings: .init(timeout: .milliseconds(100))) { upstream, transport in
      #expect(await reason { try await transport.send(page(1, of: upstream)) } == .timeout)
    }
  }

  @Test("24: the end of a kept connection before the first byte is recognised; no request is sent twice")
  func keptConnectionEnds() async throws {
    try await withTransport(Scenario(rules: [.on(.page(2), .cut(after: .nothing, .close))])) { upstream, transport in
      _ = try await transport.send(page(1, of: upstream))
      for expected in [true, false] {
        let fault = await #expect(throws: Failure.self) { try await transport.send(page(2, of: upstream)) }
        #expect(fault?.exchange?.isOfKeptConnection == expected && fault?.exchange?.isUnsent == false)
      }
      #expect(upstream.counts.requests(ofPage: 2).count == 2)
    }
  }

  @Test("24: a kept connection that is reset after the first bytes of an answer is an ordinary failure")
  func keptConnectionIsReset() async throws {
    let page = RawServer.Answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", ending: .keep)
    for (bytes, isKept) in [("", true), ("HTTP/1.1 200 O", false)] {
      try await RawServer.run(page, .init(bytes, ending: .reset)) { server in
        let transport = HTTPTransport(.init())
        let request = Request(.get, "http://127.0.0.1:\(server.port)/")
        _ = try await transport.send(request)
        let fault = await #expect(throws: Failure.self) { try await transport.send(request) }
        #expect(fault?.exchange?.isOfKeptConnection == isKept && fault?.reason == (isKept ? .connection : .truncated))
        await transport.shutdown()
      }
    }
  }

  @Test("24: if all kept connections are dead, a request goes to a new connection, not to the next kept one")
  func allKeptConnectionsEnd() async throws {
    let page = RawServer.Answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", ending: .keep)
    let count = 8
    try await RawServer.run(page, .init([], ending: .close), order: .ofConnection(crowd: count)) { server in
      let transport = HTTPTransport(.init(connections: count))
      let send = Interceptor.chain([.resend], to: transport.send)
      let request = Request(.get, "http://127.0.0.1:\(server.port)/")
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 1...count { group.addTask { try await send(request).status } }
        for try await status in group { #expect(status == 200) }
      }
      #expect(await reason { try await send(request) } == nil)
      // The last request was sent once on a kept connection and once on a new one.
      #expect(server.connections == count + 1 && server.requests == count + 2)
      await transport.shutdown()
    }
  }

  @Test("24: a new connection that ends without an answer is an ordinary failure")
  func newConnectionEnds() async throws {
    let page = RawServer.Answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", ending: .keep)
    try await RawServer.run(page, .init([], ending: .close)) { server in
      let transport = HTTPTransport(.init())
      let send = Interceptor.chain([.resend], to: transport.send)
      let request = Request(.get, "http://127.0.0.1:\(server.port)/")
      _ = try await send(request)
      #expect(await reason { try await send(request) } == .connection)
      #expect(server.requests == 3)
      await transport.shutdown()
    }
  }

  @Test("41: a connection in progress delays neither a cancelled request nor the shutdown", .timeLimit(.minutes(1)))
  func connecting() async throws {
    let full = try FullBacklog()
    let transport = HTTPTransport(.init(timeout: .seconds(600)))
    await withTaskGroup(of: Void.self) { group in
      group.addTask { _ = try? await transport.send(Request(.get, "http://127.0.0.1:\(full.port)/")) }
      while !full.isAsked { await Task.yield() }
      group.cancelAll()
    }
    await transport.shutdown()
  }

  @Test("24: a token request on a kept connection is never sent twice")
  func tokenRequest() async throws {
    let rules = [Rule.on(.anyToken, .cut(after: .nothing, .close))]
    try await withTransport(Scenario(tokens: .init(flow: .authenticateForm), rules: rules)) { upstream, transport in
      _ = try await transport.send(page(1, of: upstream))
      let send = Interceptor.chain([.resend], to: transport.send)
      #expect(await reason { try await send(Request(.post, upstream.tokenURL)) } == .connection)
      #expect(upstream.counts.tokenRequests.count == 1)
    }
  }

  @Test("A cancelled request ends at once, as cancelled")
  func cancelled() async throws {
    try await withTransport { upstream, transport in
      upstream.hold(.anyPage)
      await #expect(throws: CancellationError.self) {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { _ = try await transport.send(page(1, of: upstream)) }
          try await upstream.waitFor { $0.held == 1 }
          group.cancelAll()
          try await group.waitForAll()
        }
      }
    }
  }

  @Test("A transport that was shut down sends nothing, and no request waits for it", .timeLimit(.minutes(1)))
  func afterShutdown() async throws {
    try await withTransport { upstream, transport in
      await transport.shutdown()
      await #expect(throws: CancellationError.self) { try await transport.send(page(1, of: upstream)) }
      #expect(upstream.counts.connections == 0)
    }
  }

  @Test("14: a body over 8 MiB is too large")
  func tooLarge() async throws {
    let body = String(repeating: " ", count: HTTPTransport.maxBytes + 1)
    try await withTransport(Scenario(rules: [.on(.page(1), .answer(status: 200, body: body))])) { upstream, transport in
      #expect(await reason { try await transport.send(page(1, of: upstream)) } == .tooLarge)
    }
  }
}
