import Testing

@testable import RosterStatusClient

@Suite struct WebGateTests {
  /// A gate whose token was used, and the browser's cookie.
  private struct Entered {
    var gate = WebGate(port: 9000)
    var folder = ""
    var cookie = ""

    init(port: UInt16 = 9000) throws {
      gate = WebGate(port: port)
      let request = try WebGateTests.request("/?token=\(gate.token)", host: "127.0.0.1:\(port)")
      guard case .answer(let entrance) = gate.decide(request) else { throw WebRequest.Malformed() }
      let text = String(decoding: entrance.bytes(for: "GET"), as: UTF8.self)
      let found = try #require(
        text.firstMatch(
          of: /Set-Cookie: (rosterd-\d+=[0-9a-f]{32}); Path=(\/[0-9a-f]{32}\/); HttpOnly; SameSite=Strict\r\n/))
      (cookie, folder) = ("Cookie: \(found.1)", String(found.2))
      #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.contains("content=\"0;url=\(found.2)\""))
    }

    mutating func decide(
      _ target: String, method: String = "GET", host: String? = "127.0.0.1:9000", fields: [String]? = nil
    ) throws -> WebGate.Decision {
      gate.decide(try WebGateTests.request(target, method: method, host: host, fields: fields ?? [cookie]))
    }
  }

  private static func request(
    _ target: String, method: String = "GET", host: String? = "127.0.0.1:9000", fields: [String] = []
  ) throws -> WebRequest {
    let lines = ["\(method) \(target) HTTP/1.1"] + (host.map { ["Host: \($0)"] } ?? []) + fields
    return try WebRequest(head: Array(lines.joined(separator: "\r\n").utf8))
  }

  private func status(_ decision: WebGate.Decision) -> Int {
    switch decision {
    case .forward: 200
    case .answer(let answer): answer.status
    }
  }

  @Test("46: the cookie opens every reading route in the page's folder, and beside it")
  func admitted() throws {
    var entered = try Entered()
    let question = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    #expect(try entered.decide(entered.folder).question == question)
    #expect(try entered.decide("/").question == question)
    #expect(WebGate.paths.contains("/openapi.json"))
    for path in WebGate.paths {
      #expect(status(try entered.decide(entered.folder + path.dropFirst())) == 200, "\(path)")
      #expect(status(try entered.decide(path, method: "HEAD", host: "LocalHost:9000")) == 200, "\(path)")
    }
    #expect(status(try entered.decide("/x" + entered.folder.dropFirst(2))) == 404)
  }

  @Test("46: the token opens the page once, and another one replaces it")
  func once() throws {
    var gate = WebGate(port: 9000)
    let token = gate.token
    #expect(status(gate.decide(try Self.request("/?token=\(token)", method: "HEAD"))) == 200 && gate.token == token)
    #expect(status(gate.decide(try Self.request("/nothing?token=\(token)"))) == 404 && gate.token == token)
    #expect(status(gate.decide(try Self.request("/?token=\(token)"))) == 200 && gate.token != token)
    #expect(status(gate.decide(try Self.request("/?token=\(token)"))) == 403)
    #expect(status(gate.decide(try Self.request("/?token=\(gate.token)"))) == 200)
  }

  @Test("46: HEAD with the token sets no cookie; the answer to GET of another route sets it at once")
  func cookies() throws {
    var gate = WebGate(port: 9000)
    guard case .answer(let entrance) = gate.decide(try Self.request("/?token=\(gate.token)", method: "HEAD")) else {
      Issue.record("no entrance")
      return
    }
    #expect(!String(decoding: entrance.bytes(for: "HEAD"), as: UTF8.self).contains("Set-Cookie"))
    let token = gate.token
    guard case .forward(_, nil) = gate.decide(try Self.request("/v1/status?token=\(token)", method: "HEAD")) else {
      Issue.record("a HEAD gets the cookie")
      return
    }
    #expect(gate.token == token)
    guard case .forward(let question, let cookie) = gate.decide(try Self.request("/v1/status?token=\(gate.token)"))
    else {
      Issue.record("the token is refused")
      return
    }
    #expect(String(decoding: question.head, as: UTF8.self).hasPrefix("GET /v1/status HTTP/1.1\r\n"))
    #expect(
      cookie?.wholeMatch(of: /Set-Cookie: rosterd-9000=\w{32}; Path=\/\w{32}\/; HttpOnly; SameSite=Strict\r\n/) != nil)
  }

  @Test("The daemon sees only path, query without the token, and Last-Event-ID of a browser's request")
  func question() throws {
    var entered = try Entered()
    let fields = [
      entered.cookie, "Last-Event-ID: 17", "X-Forwarded-For: a", "Content-Length: 7", "Connection: upgrade",
    ]
    let question =
      "GET /v1/syncs?limit=9&a=%0d HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nLast-Event-ID: 17\r\n\r\n"
    #expect(
      try entered.decide("/v1/syncs?limit=9&token=\(entered.gate.token)&a=%0d", fields: fields).question == question)
    let odd = try entered.decide("/v1/events", fields: [entered.cookie, "Last-Event-ID: 1 7"])
    #expect(odd.question?.contains("Last-Event") == false)
  }

  @Test(
    "rosterctl web: another Host than the loopback's is 403, with and without a token",
    arguments: ["evil.example", "evil.example:9000", "127.0.0.1", "127.0.0.1:9001", "127.0.0.1.evil:9000", "", nil])
  func host(host: String?) throws {
    var entered = try Entered()
    #expect(status(try entered.decide("/?token=\(entered.gate.token)", host: host)) == 403)
    #expect(status(try entered.decide("/v1/sync", method: "POST", host: host)) == 403)
  }

  @Test(
    "46: rosterctl web refuses what another site sends, also with the cookie (403)",
    arguments: [
      ["Origin: http://evil"], ["Origin: http://127.0.0.1:9001"], ["Origin: http://localhost:9000"], ["Origin: null"],
      ["Sec-Fetch-Site: cross-site"], ["Sec-Fetch-Site: same-site"],
      ["Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site"],
    ])
  func otherSite(fields: [String]) throws {
    var entered = try Entered()
    for path in ["/v1/status", entered.folder + "v1/status", "/v1/sync", "/"] {
      #expect(status(try entered.decide(path, fields: [entered.cookie] + fields)) == 403, "\(path)")
    }
    #expect(status(try entered.decide("/?token=\(entered.gate.token)", fields: fields)) == 403)
  }

  @Test("46: rosterctl web answers its own page, and opens the page by a link on another site")
  func ownSite() throws {
    var entered = try Entered()
    let own = [entered.cookie, "Origin: http://127.0.0.1:9000", "Sec-Fetch-Site: same-origin"]
    #expect(status(try entered.decide(entered.folder + "v1/status", fields: own)) == 200)
    let link = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]
    #expect(status(try entered.decide("/v1/status?token=\(entered.gate.token)", fields: link)) == 403)
    #expect(status(try entered.decide("/?token=\(entered.gate.token)", fields: link)) == 200)
  }

  @Test("rosterctl web: on port 80 the Host needs no port")
  func usualPort() throws {
    var entered = try Entered(port: 80)
    for host in ["localhost", "127.0.0.1:80"] { #expect(status(try entered.decide("/", host: host)) == 200) }
  }

  @Test("46: without the token, with a wrong one or with two it is 403")
  func wrongToken() throws {
    var entered = try Entered()
    let token = entered.gate.token
    for query in ["", "?token=", "?token=\(token)0", "?token=\(token.dropLast())", "?Token=\(token)", "?x=\(token)"] {
      #expect(status(try entered.decide("/" + query, fields: [])) == 403, "\(query)")
    }
    #expect(status(try entered.decide("/?token=\(token)&token=\(token)", fields: [])) == 403)
    // The token is not the cookie's value.
    for cookie in ["rosterd-9001=\(entered.cookie.suffix(32))", "rosterd-9000=", "rosterd-9000=\(token)"] {
      #expect(status(try entered.decide("/", fields: ["Cookie: " + cookie])) == 403, "\(cookie)")
    }
    // A wrong token means an old address, whatever the cookie is.
    #expect(status(try entered.decide("/?token=old")) == 403)
  }

  @Test("rosterctl web: another method is 405 with Allow, another path 404, each in one sentence")
  func others() throws {
    var entered = try Entered()
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE"] {
      let decision = try entered.decide("/v1/sync", method: method)
      #expect(
        decision
          == .answer(
            WebAnswer(405, sentence: "rosterctl web only reads: it takes GET and HEAD", fields: ["Allow: GET, HEAD"])))
    }
    for path in ["/v1/sync", "/v1/cancel", "/healthx", "/v1/%73tatus", "//", "/../", "/favicon.ico"] {
      #expect(try entered.decide(path) == .answer(WebAnswer(404, sentence: "nothing is at \(path)")))
    }
  }

  @Test("A ticket opens the page once, and the printed token remains valid")
  func ticket() throws {
    var gate = WebGate(port: 9000)
    let token = gate.token
    let ticket = gate.issueTicket()
    #expect(ticket != token && ticket.count == 32)
    #expect(status(gate.decide(try Self.request("/?token=\(ticket)"))) == 200)
    #expect(status(gate.decide(try Self.request("/?token=\(ticket)"))) == 403)
    #expect(gate.token == token)
    #expect(status(gate.decide(try Self.request("/?token=\(token)"))) == 200)
  }

  @Test("46: a refusal is plain text with its length, useless to other sites, and without text for HEAD")
  func refusal() {
    let text = { (method: String) in
      String(decoding: WebAnswer(404, sentence: "nothing is at /x").bytes(for: method), as: UTF8.self)
    }
    #expect(
      text("GET").hasPrefix(
        "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 17\r\n"))
    for field in ["nosniff", "Resource-Policy: same-origin", "Opener-Policy: same-origin", "frame-ancestors 'none'"] {
      #expect(text("GET").contains(field))
    }
    #expect(text("GET").hasSuffix("\r\n\r\nnothing is at /x\n") && text("HEAD").hasSuffix("\r\n\r\n"))
  }

  @Test("The secrets of rosterctl web are 128 bits in hexadecimal digits, and no two are the same")
  func secrets() {
    let secrets = (0..<100).map { _ in String.secret() }
    #expect(Set(secrets).count == 100)
    #expect(secrets.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
  }
}

extension WebGate.Decision {
  fileprivate var question: String? {
    if case .forward(let question, _) = self { String(decoding: question.head, as: UTF8.self) } else { nil }
  }
}
