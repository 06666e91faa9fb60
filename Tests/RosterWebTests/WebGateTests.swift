import Testing

@testable import RosterWeb

@Suite struct WebGateTests {
  private let token = "0123456789abcdef0123456789abcdef"
  private var gate: WebGate { WebGate(port: 9000, token: token) }

  private func decide(
    _ target: String, _ method: String = "GET", host: String? = "127.0.0.1:9000", fields: [String] = [],
    gate: WebGate? = nil
  ) throws -> WebGate.Decision {
    var gate = gate ?? self.gate
    return gate.decide(try request(target, method, host: host, fields: fields))
  }

  private func request(
    _ target: String, _ method: String = "GET", host: String? = "127.0.0.1:9000", fields: [String] = []
  ) throws -> WebRequest {
    let lines = ["\(method) \(target) HTTP/1.1"] + (host.map { ["Host: \($0)"] } ?? []) + fields
    return try WebRequest(head: Array(lines.joined(separator: "\r\n").utf8))
  }

  private func status(_ decision: WebGate.Decision) -> Int {
    switch decision {
    case .forward: 200
    case .refuse(let answer): answer.status
    }
  }

  private var cookie: String { "Cookie: rosterd-9000=\(token)" }

  @Test("Web: the token in the address opens every reading route, and sets the cookie that opens it from then on")
  func admitted() throws {
    let set = "Set-Cookie: rosterd-9000=\(token); Path=/; HttpOnly; SameSite=Strict\r\n"
    let question = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    #expect(try decide("/?token=\(token)") == .forward(Array(question.utf8), cookie: set))
    #expect(try decide("/", fields: [cookie]) == .forward(Array(question.utf8), cookie: nil))
    #expect(WebGate.paths.contains("/openapi.json"))
    for path in WebGate.paths {
      #expect(status(try decide(path, fields: [cookie])) == 200, "\(path)")
      #expect(status(try decide("\(path)?token=\(token)", "HEAD", host: "LocalHost:9000")) == 200, "\(path)")
    }
  }

  @Test("Web: of a browser's request the daemon sees the path, the query without the token, and Last-Event-ID")
  func question() throws {
    let fields = [cookie, "Last-Event-ID: 17", "X-Forwarded-For: a", "Content-Length: 7", "Connection: upgrade"]
    let question =
      "GET /v1/syncs?limit=9&a=%0d HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nLast-Event-ID: 17\r\n\r\n"
    #expect(
      try decide("/v1/syncs?limit=9&token=\(token)&a=%0d", fields: fields).question == question)
    #expect(try decide("/v1/events", fields: [cookie, "Last-Event-ID: 1 7"]).question?.contains("Last-Event") == false)
  }

  @Test(
    "Web: another Host than the loopback's is 403, token or not",
    arguments: ["evil.example", "evil.example:9000", "127.0.0.1", "127.0.0.1:9001", "127.0.0.1.evil:9000", "", nil])
  func host(host: String?) throws {
    #expect(status(try decide("/?token=\(token)", host: host, fields: [cookie])) == 403)
    #expect(status(try decide("/v1/sync", "POST", host: host, fields: [cookie])) == 403)
  }

  @Test("Web: on port 80 the Host needs no port")
  func usualPort() throws {
    let gate = WebGate(port: 80, token: token)
    for host in ["localhost", "127.0.0.1:80"] {
      #expect(status(try decide("/?token=\(token)", host: host, gate: gate)) == 200)
    }
  }

  @Test("Web: without the token, with a wrong one or with two it is 403")
  func wrongToken() throws {
    for query in ["", "?token=", "?token=\(token)0", "?token=\(token.dropLast())", "?Token=\(token)", "?x=\(token)"] {
      #expect(status(try decide("/" + query)) == 403, "\(query)")
    }
    #expect(status(try decide("/?token=\(token)&token=\(token)")) == 403)
    #expect(status(try decide("/", fields: ["Cookie: rosterd-9001=\(token)"])) == 403)
    #expect(status(try decide("/", fields: ["Cookie: rosterd-9000="])) == 403)
    // A token that is wrong is an old address, whatever the cookie says.
    #expect(status(try decide("/?token=old", fields: [cookie])) == 403)
  }

  @Test("Web: another method is 405 with Allow, another path 404, each in one sentence")
  func others() throws {
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE"] {
      let decision = try decide("/v1/sync", method, fields: [cookie])
      #expect(
        decision == .refuse(WebAnswer(405, "rosterctl web only reads: it takes GET and HEAD", ["Allow: GET, HEAD"])))
    }
    for path in ["/v1/sync", "/v1/cancel", "/healthz", "/v1/%73tatus", "//", "/../", "/favicon.ico"] {
      #expect(try decide(path, fields: [cookie]) == .refuse(WebAnswer(404, "nothing is at \(path)")))
    }
  }

  @Test("Web: a ticket opens the page once, and the cookie that it sets is the token's")
  func ticket() throws {
    var gate = gate
    let ticket = gate.issueTicket()
    #expect(ticket != token && ticket.count == 32)
    guard case .forward(_, let cookie) = gate.decide(try request("/?token=\(ticket)")) else {
      Issue.record("the ticket is refused")
      return
    }
    #expect(cookie?.contains(token) == true)
    #expect(status(gate.decide(try request("/?token=\(ticket)"))) == 403)
    #expect(status(gate.decide(try request("/?token=\(token)"))) == 200)
  }

  @Test("Web: a refusal is plain text with its length; HEAD gets none of it")
  func refusal() {
    let text = { (method: String) in
      String(decoding: WebAnswer(404, "nothing is at /x").bytes(for: method), as: UTF8.self)
    }
    #expect(
      text("GET").hasPrefix(
        "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 17\r\n"))
    #expect(text("GET").hasSuffix("\r\n\r\nnothing is at /x\n") && text("HEAD").hasSuffix("\r\n\r\n"))
  }

  @Test("Web: secrets are 128 bits, as hexadecimal digits, and no two are the same")
  func secrets() {
    let secrets = (0..<100).map { _ in String.secret() }
    #expect(Set(secrets).count == 100)
    #expect(secrets.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
  }
}

extension WebGate.Decision {
  fileprivate var question: String? {
    if case .forward(let bytes, _) = self { String(decoding: bytes, as: UTF8.self) } else { nil }
  }
}
