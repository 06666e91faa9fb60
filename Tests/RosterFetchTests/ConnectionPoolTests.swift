import NIOCore
import RosterCore
import RosterSimulator
import Testing

@testable import RosterFetch

@Suite struct ConnectionPoolTests {
  @Test("27: requests beyond the limit of connections wait for one, and none is lost")
  func limit() async throws {
    try await withTransport(Scenario(), settings: .init(connections: 1)) { upstream, transport in
      upstream.hold(.anyPage)
      try await withThrowingTaskGroup(of: Int.self) { group in
        for page in 1...6 {
          let request = Request(.get, "\(upstream.baseURL)/character?page=\(page)")
          group.addTask { try await transport.send(request).status }
        }
        // One more than the setting: a token request must not wait for a page's connection.
        try await upstream.waitFor { $0.held == 2 }
        upstream.release()
        for try await status in group { #expect(status == 200) }
      }
      #expect(upstream.counts.connections == 2)
    }
  }

  @Test("30: a request whose token expired before it had a connection is not sent, and its connection is kept")
  func outlived() async throws {
    try await withTransport(Scenario()) { upstream, transport in
      var request = Request(.get, "\(upstream.baseURL)/character?page=1")
      request.tokenLife = .zero
      let fault = await #expect(throws: Failure.self) { try await transport.send(request) }
      #expect(fault?.exchange?.isOfOutlivedToken == true && fault?.exchange?.isUnsent == true)
      #expect(fault?.reason == .timeout)
      let status = try await transport.send(request).status
      #expect(status == 200)
      request.tokenLife = .seconds(1e12)
      _ = try await transport.send(request)
      #expect(upstream.counts.connections == 1)
    }
  }

  @Test("30: a request whose token expires while it waits for another request is not sent")
  func outlivedInLine() async throws {
    try await withTransport(Scenario(), settings: .init(connections: 1)) { upstream, transport in
      upstream.hold(.anyPage)
      let request = Request(.get, "\(upstream.baseURL)/character?page=1")
      async let first = transport.send(request)
      async let second = transport.send(request)
      try await upstream.waitFor { $0.held == 2 }
      var late = request
      late.tokenLife = .zero
      let third = late
      // On the transport's loop, the request is in line before the loop reads the answers.
      let isOutlived = try await transport.run {
        async let answer = transport.send(third)
        await Task.yield()
        upstream.release()
        do { _ = try await answer } catch let fault as Failure { return fault.exchange?.isOfOutlivedToken == true }
        return false
      }
      #expect(isOutlived)
      let statuses = try await [first.status, second.status]
      #expect(statuses == [200, 200])
    }
  }

  @Test("A request that is cancelled while it waits for a connection leaves its place to the next")
  func givenUpWhileWaiting() async throws {
    try await withTransport(Scenario(), settings: .init(timeout: .seconds(2), connections: 1)) { upstream, transport in
      upstream.hold(.anyPage)
      let request = Request(.get, "\(upstream.baseURL)/character?page=1")
      await withTaskGroup(of: (any Error)?.self) { group in
        for _ in 1...4 {
          group.addTask {
            do {
              _ = try await transport.send(request)
              return nil
            } catch { return error }
          }
        }
        for await error in group { #expect((error as? Failure)?.reason == .timeout) }
      }
      upstream.release()
      let response = try await transport.send(request)
      #expect(response.status == 200)
    }
  }

  @Test("A connection that is no longer needed is closed")
  func idle() async throws {
    let page = RawServer.Answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", ending: .keep)
    try await RawServer.run(page) { server in
      let transport = HTTPTransport(.init(), maxIdle: .milliseconds(1))
      let request = Request(.get, "http://127.0.0.1:\(server.port)/")
      for _ in 1...2 {
        let response = try await transport.send(request)
        #expect(response.status == 200)
        await server.connectionEnds()
      }
      #expect(server.connections == 2)
      await transport.shutdown()
    }
  }
}
