import RosterCore
import Testing

@testable import RosterFetch

@Suite struct ConnectionTests {
  @Test("An unrequested answer is not used for the next request: the connection is closed")
  func unasked() async throws {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
    try await RawServer.run(.init("\(answer)[]\(answer){}", ending: .keep), order: .ofConnection(crowd: 1)) { server in
      let transport = HTTPTransport(.init())
      for _ in 1...2 {
        let response = try await transport.send(Request(.get, "http://127.0.0.1:\(server.port)/"))
        #expect(response.body == Array("[]".utf8))
      }
      #expect(server.connections == 2)
      await transport.shutdown()
    }
  }

  @Test(
    "A connection that a server does not continue is not used again",
    arguments: ["HTTP/1.0 200 OK\r\nContent-Length: 2", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2"])
  func last(head: String) async throws {
    try await RawServer.run(.init("\(head)\r\n\r\n{}", ending: .keep), order: .ofConnection(crowd: 1)) { server in
      let transport = HTTPTransport(.init())
      for _ in 1...2 { _ = try await transport.send(Request(.get, "http://127.0.0.1:\(server.port)/")) }
      #expect(server.connections == 2)
      await transport.shutdown()
    }
  }

  @Test("HTTP/1.0 with keep-alive is kept, and 1xx before an answer is skipped (RFC 9110 §15.2)")
  func kept() async throws {
    let answer = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}"
    try await RawServer.run(
      .init("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\(answer)", ending: .keep), order: .ofConnection(crowd: 1)
    ) { server in
      let transport = HTTPTransport(.init())
      for _ in 1...3 {
        let response = try await transport.send(Request(.get, "http://127.0.0.1:\(server.port)/"))
        #expect(response.status == 200)
      }
      #expect(server.connections == 1)
      await transport.shutdown()
    }
  }

  /// Answers one connection after the other, and ends each with or without TLS's close_notify.
  private static let server = #"""
    import socket, ssl, sys
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("good.pem", "good.key")
    server = socket.create_server(("127.0.0.1", 0))
    print("PORT " + str(server.getsockname()[1]) + " READY", flush=True)
    while True:
        client = context.wrap_socket(server.accept()[0], server_side=True)
        client.recv(65536)
        client.sendall("\r\n".join(["HTTP/1.1 200 OK", *sys.argv[2:], "", "{}"]).encode())
        if sys.argv[1] == "goodbye": client.unwrap()
        client.close()
    """#

  @Test(
    "Without a TLS close a body of unknown length is truncated, one of known length is whole (RFC 8446 §6.1)",
    arguments: [
      ("none 'Content-Length: 2'", nil), ("goodbye", nil), ("none", .truncated),
      ("goodbye 'Content-Length: 9'", .truncated),
    ] as [(String, Failure.Reason?)])
  func goodbye(arguments: String, reason: Failure.Reason?) async throws {
    try await Authority.with { authority in
      let command = "cd '\(authority.folder)' && exec python3 -c '\(Self.server)' \(arguments)"
      try await Command.run(command) { server in
        let said = try await server.said(" READY")
        let number = said.split(separator: "PORT ").last.flatMap { Int($0.prefix { $0.isNumber }) }
        let port = try #require(number, "\(said)")
        let transport = HTTPTransport(.init(roots: .bundle(try CABundle(path: authority.file("ca.pem")))))
        let response = await Result { () async throws in
          try await transport.send(Request(.get, "https://127.0.0.1:\(port)/"))
        }
        await transport.shutdown()
        switch response {
        case .success(let response): #expect(reason == nil && response.body == Array("{}".utf8))
        case .failure(let error): #expect((error as? Failure)?.reason == reason, "\(error)")
        }
      }
    }
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
