import FoundationEssentials
import RosterCore
import RosterFetch
import RosterSimulator
import Testing

private func withTLS(
  _ settings: HTTPTransport.Settings, body: (HTTPTransport) async throws -> Void
) async throws {
  let transport = HTTPTransport(settings)
  do { try await body(transport) } catch {
    await transport.shutdown()
    throw error
  }
  await transport.shutdown()
}

private func failure(_ transport: HTTPTransport, request: Request) async -> Failure? {
  do {
    _ = try await transport.send(request)
    return nil
  } catch { return error as? Failure }
}

private func page(_ port: Int, host: String = "127.0.0.1", method: Request.Method = .get) -> Request {
  Request(method, "https://\(host):\(port)/page", body: method == .post ? Array("refreshToken=r1".utf8) : [])
}

@Suite struct TLSTests {
  @Test("ca_file is used instead of the system's roots", arguments: ["127.0.0.1", "localhost"])
  func ownAuthority(host: String) async throws {
    try await Authority.with { authority in
      try await authority.serve("good") { _, port in
        try await withTLS(.init(roots: .bundle(try CABundle(path: authority.file("ca.pem"))))) { transport in
          let response = try await transport.send(page(port, host: host))
          #expect(response.body == Array("{}".utf8))
        }
        try await withTLS(.init()) { transport in
          #expect(
            await failure(transport, request: page(port))?.cause.contains("no authority that is trusted") == true)
        }
      }
    }
  }

  @Test(
    "24: a certificate that is not trusted is not retried, and each reason has its own message",
    arguments: [
      ("expired", "ca.pem", "\"expired\" expired at 20"), ("self", "ca.pem", "is self-signed"),
      ("good", "self.pem", "no authority that is trusted here vouches for"),
      ("elsewhere", "ca.pem", "for another host"),
    ])
  func untrusted(certificate: String, caFile: String, sentence: String) async throws {
    try await Authority.with { authority in
      try await authority.serve(certificate) { _, port in
        try await withTLS(.init(roots: .bundle(try CABundle(path: authority.file(caFile))))) { transport in
          let failure = try #require(await failure(transport, request: page(port)))
          #expect(failure.cause.contains(sentence), "\(failure)")
          #expect(failure.kind == .unreachable && failure.reason == nil && failure.hint != nil)
          #expect(failure.trouble == .certificate)
        }
      }
    }
  }

  @Test("A certificate for the address that a name leads to is not one for the name")
  func addressForName() async throws {
    try await Authority.with { authority in
      // The certificate is for *.wild.invalid and 127.0.0.1.
      try await authority.serve("wildcard") { _, port in
        try await withTLS(.init(roots: .bundle(try CABundle(path: authority.file("ca.pem"))))) { transport in
          let failure = await failure(transport, request: page(port, host: "localhost"))
          #expect(failure?.cause.hasPrefix("the server's certificate is for another host") == true)
          let response = try await transport.send(page(port, host: "127.0.0.1"))
          #expect(response.status == 200)
        }
      }
    }
  }

  @Test("A self-signed certificate in ca_file is trusted")
  func selfSigned() async throws {
    try await Authority.with { authority in
      try await authority.serve("self") { _, port in
        try await withTLS(.init(roots: .bundle(try CABundle(path: authority.file("self.pem"))))) { transport in
          let response = try await transport.send(page(port))
          #expect(response.status == 200)
        }
      }
    }
  }

  @Test("A server with a pinned key is used; one with another key is refused, and the message names that key")
  func pins() async throws {
    try await Authority.with { authority in
      let (pinned, other) = (try authority.pin(of: "good"), try authority.pin(of: "elsewhere"))
      try await authority.serve("good") { _, port in
        try await withTLS(.init(roots: .bundle(try CABundle(path: authority.file("ca.pem"))), pins: [other, pinned])) {
          transport in
          let response = try await transport.send(page(port))
          #expect(response.status == 200)
        }
        try await withTLS(.init(roots: .bundle(try CABundle(path: authority.file("ca.pem"))), pins: [other])) {
          transport in
          let failure = try #require(await failure(transport, request: page(port)))
          #expect(failure.cause == "the server's key is not in upstream.tls.pins: \(pinned)")
          #expect(failure.kind == .unreachable && failure.reason == nil && failure.trouble == .pin)
        }
      }
    }
  }

  @Test(
    "A server whose key is not pinned receives no byte of any request, token requests included",
    arguments: [
      Request.Method.get, .post,
    ])
  func pinBeforeRequest(method: Request.Method) async throws {
    try await Authority.with { authority in
      try await authority.serve("good", mode: "-naccept 1") { server, port in
        try await withTLS(
          .init(
            roots: .bundle(try CABundle(path: authority.file("ca.pem"))), pins: [try authority.pin(of: "elsewhere")])
        ) { transport in
          #expect(
            await failure(transport, request: page(port, method: method))?.cause.contains("upstream.tls.pins") == true)
        }
        let received = try await server.everything()
        #expect(!received.contains("/page"))
      }
      // The same with the right pin, which shows that the check above can fail.
      try await authority.serve("good", mode: "-naccept 1") { server, port in
        try await withTLS(
          .init(roots: .bundle(try CABundle(path: authority.file("ca.pem"))), pins: [try authority.pin(of: "good")])
        ) { transport in
          try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { _ = try? await transport.send(page(port, method: method)) }
            _ = try await server.said("/page HTTP/1.1")
            group.cancelAll()
          }
        }
      }
    }
  }

  @Test(
    "24: an interrupted or invalid handshake is retried, and the message blames no certificate",
    arguments: [
      RawServer.Answer(), .init("HTTP/1.1 400 Bad Request\r\n\r\n"), .init([21, 3, 3, 0, 2, 2, 40]),
    ])
  func brokenOff(answer: RawServer.Answer) async throws {
    try await RawServer.run(answer) { server in
      try await withTLS(.init()) { transport in
        let failure = await failure(transport, request: page(server.port))
        #expect(failure?.reason == .tls, "\(String(describing: failure))")
      }
    }
  }

  /// Relays to the server, and ends the first connection in the middle of the handshake.
  private static let relay = #"""
    import socket, sys, threading
    first, target = bytes.fromhex(sys.argv[1]), int(sys.argv[2])
    server = socket.create_server(("127.0.0.1", 0))
    print("PORT " + str(server.getsockname()[1]) + " READY", flush=True)
    def copy(a, b):
        while data := a.recv(65536): b.sendall(data)
        b.shutdown(socket.SHUT_WR)
    client = server.accept()[0]
    client.recv(65536)
    client.sendall(first)
    client.close()
    while True:
        client, upstream = server.accept()[0], socket.create_connection(("127.0.0.1", target))
        for ends in ((client, upstream), (upstream, client)): threading.Thread(target=copy, args=ends, daemon=True).start()
    """#

  @Test(
    "24: a handshake that is interrupted once is retried and blames no certificate, though the server has one",
    arguments: ["", "15030300020228"])
  func brokenOffOnce(first: String) async throws {
    try await Authority.with { authority in
      try await authority.serve("good") { _, target in
        try await Command.run("exec python3 -c '\(Self.relay)' '\(first)' \(target)") { relay in
          let said = try await relay.said(" READY")
          let number = said.split(separator: "PORT ").last.flatMap { Int($0.prefix { $0.isNumber }) }
          let port = try #require(number, "\(said)")
          try await withTLS(.init(roots: .bundle(try CABundle(path: authority.file("ca.pem"))))) { transport in
            #expect(await failure(transport, request: page(port))?.reason == .tls)
            let answer = try await transport.send(page(port))
            #expect(answer.status == 200)
          }
        }
      }
    }
  }

  @Test("TLS is 1.2 or later", arguments: [("-tls1_1 -cipher ALL:@SECLEVEL=0", false), ("-tls1_2", true)])
  func version(options: String, isTaken: Bool) async throws {
    try await Authority.with { authority in
      try await authority.serve("good", mode: "-HTTP \(options)") { _, port in
        try await withTLS(.init(roots: .bundle(try CABundle(path: authority.file("ca.pem"))))) { transport in
          let failure = await failure(transport, request: page(port))
          #expect(failure?.reason == (isTaken ? nil : .tls) && (failure == nil) == isTaken)
        }
      }
    }
  }

  @Test("24, 39: a redirect from https to http is not followed")
  func downgrade() async throws {
    let upstream = try await Simulator.start()
    try await Authority.with { authority in
      let response = "HTTP/1.1 302 Found\r\nLocation: \(upstream.baseURL)/character?page=1\r\nContent-Length: 0\r\n\r\n"
      try Data(response.utf8).write(to: URL(filePath: authority.file("page")))
      try await authority.serve("good") { _, port in
        try await withTLS(.init(roots: .bundle(try CABundle(path: authority.file("ca.pem"))))) { transport in
          let send = Interceptor.chain([.redirects], to: transport.send)
          await #expect(throws: Failure.self) { try await send(page(port)) }
          #expect(upstream.counts.pageRequests.isEmpty)
        }
      }
    }
    await upstream.stop()
  }

  @Test(
    "A ca_file without a certificate is bad configuration at once",
    arguments: ["", "# none\n", "-----BEGIN CERTIFICATE-----\nAAAA\n"])
  func badFile(text: String) throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "ca-\(UInt64.random(in: 0 ... .max)).pem")
    try Data(text.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let failure = #expect(throws: Failure.self) { _ = try CABundle(path: file.path) }
    #expect(failure?.kind == .configuration)
  }
}
