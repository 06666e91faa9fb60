import FoundationEssentials
import RosterCore
import RosterSimulator
import RosterTestSupport
import Testing

@testable import RosterFetch

private func server(_ proxy: ForwardProxy, user: String? = nil, setting: String = "upstream.proxy") -> ProxyServer {
  ProxyServer(
    host: "127.0.0.1", port: proxy.port, authorization: user.map { .init(user: $0, password: "geheim") },
    setting: setting)
}

private func rules(_ server: ProxyServer) -> ProxyRules { ProxyRules(http: server, https: server) }

/// base64 of "roster:geheim".
private let credentials = Data("roster:geheim".utf8).base64EncodedString()

private func port(of upstream: Simulator) -> Int { Int(upstream.origin.split(separator: ":").last ?? "") ?? 0 }

private func fault(_ transport: HTTPTransport, request: Request) async -> Failure? {
  await #expect(throws: Failure.self) { try await transport.send(request) }
}

@Suite(.timeLimit(.minutes(1))) struct ProxyTests {
  @Test("27: plain HTTP through upstream.proxy sends the whole address, and connections are kept")
  func relayed() async throws {
    try await ForwardProxy.run { proxy in
      try await withTransport(Scenario(), settings: .init(proxies: rules(server(proxy)))) { upstream, transport in
        proxy.configure { $0.target = port(of: upstream) }
        for page in 1...3 {
          let answer = try await transport.send(Request(.get, "http://upstream.invalid/api/character?page=\(page)"))
          #expect(answer.status == 200)
        }
        #expect(proxy.requests == (1...3).map { "GET http://upstream.invalid/api/character?page=\($0)" })
        #expect(proxy.connections == 1)
        #expect(upstream.counts.pageRequests.map { $0["Host"] } == Array(repeating: "upstream.invalid", count: 3))
        let token = Request(.post, "http://upstream.invalid:8080/token", body: Array("refreshToken=r".utf8))
        let refused = try await transport.send(token)
        #expect(refused.status == 400)
        #expect(upstream.counts.tokenRequests.last?.request.body == token.body)
        #expect(proxy.requests.last == "POST http://upstream.invalid:8080/token")
      }
    }
  }

  @Test("A token in the query (auth.send) goes through the proxy too, and no failure's address has it")
  func secret() async throws {
    try await ForwardProxy.run { proxy in
      try await withTransport(Scenario(), settings: .init(proxies: rules(server(proxy)))) { upstream, transport in
        proxy.configure { $0.target = port(of: upstream) }
        var request = Request(.get, "http://upstream.invalid/api/character?page=2&key=old")
        request.secrets = [.init("key", "ge heim")]
        let answer = try await transport.send(request)
        #expect(answer.status == 200)
        #expect(proxy.requests == ["GET http://upstream.invalid/api/character?page=2&key=ge%20heim"])
        upstream.configure { $0.rules = [.on(.anyPage, .cut(after: .half, .close))] }
        let fault = await fault(transport, request: request)
        #expect("\(String(describing: fault))".contains("heim") == false)
        #expect(fault?.cause == "the answer was cut off (through the proxy \(proxy.url))")
      }
    }
  }

  @Test("24: a kept connection to the proxy that ends is replaced at once, as one to upstream is")
  func keptConnection() async throws {
    try await ForwardProxy.run { proxy in
      let scenario = Scenario(rules: [.on(.request(2), .cut(after: .nothing, .close))])
      try await withTransport(scenario, settings: .init(proxies: rules(server(proxy)))) { upstream, transport in
        proxy.configure { $0.target = port(of: upstream) }
        let send = Interceptor.chain([.resend], to: transport.send)
        for _ in 1...2 { _ = try await send(Request(.get, "http://upstream.invalid/api/character?page=1")) }
        #expect(upstream.counts.pageRequests.count == 3)
      }
    }
  }

  @Test("Hosts of NO_PROXY are asked directly, all others through the proxy")
  func exceptions() async throws {
    try await ForwardProxy.run { proxy in
      var rules = rules(server(proxy))
      rules.exceptions = ProxyException.list("127.0.0.1")
      try await withTransport(Scenario(), settings: .init(proxies: rules)) { upstream, transport in
        _ = try await transport.send(Request(.get, "\(upstream.baseURL)/character?page=1"))
        #expect(proxy.requests.isEmpty && upstream.counts.pageRequests.count == 1)
        let local = "http://localhost:\(port(of: upstream))/api/character?page=1"
        _ = try await transport.send(Request(.get, local))
        #expect(proxy.requests == ["GET \(local)"])
      }
    }
  }

  @Test("user:password of the proxy are sent only to it, with each request and each CONNECT")
  func authorized() async throws {
    try await ForwardProxy.run { proxy in
      let settings = HTTPTransport.Settings(proxies: rules(server(proxy, user: "roster")))
      try await withTransport(Scenario(), settings: settings) { upstream, transport in
        proxy.configure { [target = port(of: upstream)] in
          $0.credentials = credentials
          $0.target = target
        }
        let answer = try await transport.send(Request(.get, "http://upstream.invalid/api/character"))
        #expect(answer.status == 200)
        #expect(upstream.counts.pageRequests.allSatisfy { $0["Proxy-Authorization"] == nil })
        // TLS fails inside the tunnel, which is open already.
        let fault = await fault(transport, request: Request(.get, "https://upstream.invalid/api/character"))
        #expect(fault?.reason == .tls && fault?.exchange?.isOfProxy == false)
        #expect(proxy.heads.allSatisfy { $0.contains("Basic \(credentials)\r\n") } && proxy.heads.count == 2)
      }
    }
  }

  @Test(
    "24: a proxy that refuses is named with its setting, and retried like a connection",
    arguments: ["http", "https"],
    [
      (407, nil, "wants a user and a password (407)"), (407, "roster", "refuses the user and the password (407)"),
    ] as [(Int, String?, String)])
  func wantsCredentials(scheme: String, _ case: (status: Int, user: String?, cause: String)) async throws {
    try await ForwardProxy.run { proxy in
      proxy.configure { $0.credentials = "another" }
      let settings = HTTPTransport.Settings(proxies: rules(server(proxy, user: `case`.user, setting: "HTTPS_PROXY")))
      try await withTransport(Scenario(), settings: settings) { _, transport in
        let fault = await fault(transport, request: Request(.get, "\(scheme)://upstream.invalid/api"))
        #expect(
          fault?.cause == "the proxy \(proxy.url) \(`case`.cause)" && fault?.reason == .connection
            && fault?.kind == .unreachable)
        #expect(fault?.exchange?.isOfProxy == true && fault?.exchange?.isUnsent == true)
        #expect(fault?.hint == "put the right ones into HTTPS_PROXY: http://USER:PASSWORD@127.0.0.1:\(proxy.port)")
      }
    }
  }

  @Test("24: a proxy that opens no tunnel is reported with its status", arguments: [403, 502, 504])
  func noTunnel(status: Int) async throws {
    try await ForwardProxy.run { proxy in
      proxy.configure { $0.refusal = status }
      try await withTransport(Scenario(), settings: .init(proxies: rules(server(proxy)))) { _, transport in
        let fault = await fault(transport, request: Request(.get, "https://upstream.invalid/api"))
        #expect(fault?.cause == "the proxy \(proxy.url) opens no tunnel to upstream.invalid:443 (\(status))")
        #expect(fault?.reason == .connection && fault?.exchange?.isUnsent == true && fault?.exchange?.isOfProxy == true)
        #expect(fault?.trouble == .proxy)
        #expect(fault?.hint?.contains("upstream.proxy = \"none\"") == true)
        #expect(proxy.requests == ["CONNECT upstream.invalid:443"])
      }
    }
  }

  @Test("24: a proxy that answers CONNECT with 401, as tinyproxy does, refuses the user and the password")
  func refusesPassword() async throws {
    try await ForwardProxy.run { proxy in
      proxy.configure { $0.refusal = 401 }
      try await withTransport(Scenario(), settings: .init(proxies: rules(server(proxy, user: "roster")))) {
        _, transport in
        let fault = await fault(transport, request: Request(.get, "https://upstream.invalid/api"))
        #expect(fault?.cause == "the proxy \(proxy.url) refuses the user and the password (401)")
        #expect(fault?.hint?.contains("upstream.proxy: http://USER:PASSWORD@") == true)
      }
    }
  }

  @Test(
    "34: a 401 to a plain request is the proxy's if its headers say so, otherwise upstream's",
    arguments: [
      (["Server: tinyproxy/1.11.1", "WWW-Authenticate: Basic realm=\"tinyproxy\""], true),
      (["Proxy-Authenticate: Basic realm=\"p\""], true), (["WWW-Authenticate: Bearer"], false),
      (["Server: tinyproxy/1.11.1", "Via: 1.1 proxy (tinyproxy/1.11.1)"], false),
    ])
  func plainRefusal(headers: [String], isOfProxy: Bool) async throws {
    try await ForwardProxy.run { proxy in
      proxy.configure {
        $0.refusal = 401
        $0.refusalHeaders = headers
      }
      try await withTransport(Scenario(), settings: .init(proxies: rules(server(proxy, user: "roster")))) {
        _, transport in
        let request = Request(.get, "http://upstream.invalid/api")
        guard isOfProxy else {
          let answer = try await transport.send(request)
          #expect(answer.status == 401)
          return
        }
        let fault = await fault(transport, request: request)
        #expect(fault?.cause == "the proxy \(proxy.url) refuses the user and the password (401)")
        #expect(fault?.exchange?.isOfProxy == true && fault?.kind == .unreachable)
      }
    }
  }

  @Test("24: a proxy that does not answer CONNECT is a timeout")
  func silent() async throws {
    try await ForwardProxy.run { proxy in
      proxy.configure { $0.isSilent = true }
      let settings = HTTPTransport.Settings(timeout: .milliseconds(200), proxies: rules(server(proxy)))
      try await withTransport(Scenario(), settings: settings) { _, transport in
        let fault = await fault(transport, request: Request(.get, "https://upstream.invalid/api"))
        #expect(fault?.reason == .timeout, "\(String(describing: fault))")
      }
    }
  }

  @Test(
    "24: a proxy that cannot be reached is named as the proxy, with the setting to repair",
    arguments: ["http", "https"])
  func unreachable(scheme: String) async throws {
    // tcpmux (RFC 1078): no service listens on this port, and no parallel test can.
    let proxy = ProxyServer(host: "127.0.0.1", port: 1, setting: "upstream.proxy")
    try await withTransport(Scenario(), settings: .init(proxies: rules(proxy))) { _, transport in
      let fault = await fault(transport, request: Request(.get, "\(scheme)://upstream.invalid/api"))
      #expect(
        fault?.cause
          == "the proxy http://127.0.0.1:1 is out of reach: the connection failed (Connection refused)")
      #expect(fault?.hint == "see whether it is up, and whether upstream.proxy is right")
      #expect(fault?.reason == .connection && fault?.exchange?.isUnsent == true)
    }
  }

  // MARK: TLS, with upstream

  @Test("In a tunnel TLS verifies upstream's name, address and pinned key, and the proxy sees no content")
  func tunnelled() async throws {
    try await Authority.with { authority in
      let roots = TrustedRoots.bundle(try CABundle(path: authority.file("ca.pem")))
      let (pin, other) = (try authority.pin(of: "good"), try authority.pin(of: "elsewhere"))
      try await authority.serve("good") { _, target in
        try await ForwardProxy.run { proxy in
          proxy.configure { $0.target = target }
          func answer(_ host: String, pins: [String]) async throws -> Result<Int, Failure> {
            let transport = HTTPTransport(.init(roots: roots, pins: pins, proxies: rules(server(proxy))))
            let request = Request(.get, "https://\(host)/page", headers: [.init("Authorization", "Bearer geheim")])
            let result: Result<Int, Failure>
            do { result = .success(try await transport.send(request).status) } catch let fault as Failure {
              result = .failure(fault)
            }
            await transport.shutdown()
            return result
          }
          #expect(try await answer("localhost", pins: [pin]) == .success(200))
          #expect(try await answer("127.0.0.1:8443", pins: []) == .success(200))
          #expect(proxy.requests == ["CONNECT localhost:443", "CONNECT 127.0.0.1:8443"])
          guard case .failure(let pinned) = try await answer("localhost", pins: [other]) else {
            Issue.record("another key is taken")
            return
          }
          #expect(pinned.cause.hasPrefix("the server's key is not in upstream.tls.pins: \(pin)"))
          // The certificate is for 127.0.0.1, where the proxy is, and for localhost.
          for host in ["upstream.invalid", "a.localhost", "127.0.0.2", "[::1]"] {
            guard case .failure(let named) = try await answer(host, pins: []) else {
              Issue.record("\(host) is taken")
              return
            }
            #expect(named.cause.hasPrefix("the server's certificate is for another host"), "\(named)")
            #expect(named.reason == nil && named.kind == .unreachable)
          }
          #expect(!proxy.heads.joined().contains("geheim"))
        }
      }
    }
  }

  @Test("A wildcard certificate covers each name below it, in a tunnel too")
  func wildcard() async throws {
    try await Authority.with { authority in
      try await authority.serve("wildcard") { _, target in
        try await ForwardProxy.run { proxy in
          proxy.configure { $0.target = target }
          let settings = HTTPTransport.Settings(
            roots: .bundle(try CABundle(path: authority.file("ca.pem"))), proxies: rules(server(proxy)))
          try await withTransport(Scenario(), settings: settings) { _, transport in
            let answer = try await transport.send(Request(.get, "https://API.wild.invalid/page"))
            #expect(answer.status == 200)
            for host in ["wild.invalid", "a.b.wild.invalid", "api.wild.invalid.example"] {
              let fault = await fault(transport, request: Request(.get, "https://\(host)/page"))
              #expect(fault?.cause.contains("for another host") == true, "\(host)")
            }
          }
        }
      }
    }
  }

  @Test(
    "24: the reason why a certificate is not trusted is reported through a tunnel too",
    arguments: [("expired", "expired at 20"), ("self", "is self-signed")])
  func untrusted(certificate: String, sentence: String) async throws {
    try await Authority.with { authority in
      try await authority.serve(certificate) { _, target in
        try await ForwardProxy.run { proxy in
          let roots = TrustedRoots.bundle(try CABundle(path: authority.file("ca.pem")))
          try await withTransport(Scenario(), settings: .init(roots: roots, proxies: rules(server(proxy)))) {
            _, transport in
            let fault = await fault(transport, request: Request(.get, "https://127.0.0.1:\(target)/page"))
            #expect(fault?.cause.contains(sentence) == true, "\(String(describing: fault))")
            #expect(fault?.reason == nil && fault?.exchange?.isOfProxy == false)
            #expect(proxy.requests == ["CONNECT 127.0.0.1:\(target)"])
          }
        }
      }
    }
  }
}
