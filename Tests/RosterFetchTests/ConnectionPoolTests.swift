import NIOCore
import RosterModel
import RosterSimulator
import Testing

@testable import RosterFetch

@Suite struct ConnectionPoolTests {
  @Test("P1.3: requests beyond the limit of connections wait for one, and none is lost")
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
        for await error in group { #expect((error as? RequestFault)?.reason == .timeout) }
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
