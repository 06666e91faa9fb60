/// Says who may read what through `rosterctl web`. Pure.
struct WebGate {
  /// What becomes of a request.
  enum Decision: Equatable {
    /// What the daemon is asked instead. `cookie`: a field for its answer, so that the address is needed once.
    case forward([UInt8], cookie: String?)
    case refuse(WebAnswer)
  }

  /// The reading routes of the status socket.
  static let paths: Set<String> = [
    "/", "/page.css", "/page.js", "/page.svg", "/v1/status", "/v1/syncs", "/v1/events", "/v1/changes", "/v1/explain",
    "/metrics", "/openapi.json",
  ]

  let port: UInt16
  let token: String
  /// Opens the page once: it stands in the command line of a browser, which every user of the machine may see.
  private(set) var ticket: String?

  init(port: UInt16, token: String) { (self.port, self.token) = (port, token) }

  /// Of the address that opens the page.
  func address(_ token: String) -> String { "http://127.0.0.1:\(port)/?token=\(token)" }

  /// Another one every time; the one before it opens nothing any more.
  mutating func issueTicket() -> String {
    let new = String.secret()
    ticket = new
    return new
  }

  mutating func decide(_ request: WebRequest) -> Decision {
    // Any other name is another site's, which its owner has made to mean this machine (DNS rebinding).
    guard let host = request["host"], hosts.contains(host.lowercased()) else {
      return .refuse(.init(403, "this is at 127.0.0.1:\(port) only, not at another name"))
    }
    guard request.method == "GET" || request.method == "HEAD" else {
      return .refuse(.init(405, "rosterctl web only reads: it takes GET and HEAD", ["Allow: GET, HEAD"]))
    }
    guard let cookie = admit(request) else {
      return .refuse(.init(403, "the token is missing or wrong: open the address that rosterctl web has printed"))
    }
    guard Self.paths.contains(request.path) else { return .refuse(.init(404, "nothing is at \(request.path)")) }
    return .forward(question(request), cookie: cookie.isEmpty ? nil : cookie)
  }

  private var hosts: [String] {
    ["127.0.0.1", "localhost"].flatMap { port == Self.usual ? [$0, "\($0):\(port)"] : ["\($0):\(port)"] }
  }
  /// Of http, which a browser leaves out.
  private static let usual: UInt16 = 80

  /// nil: not with these; else the field that sets the cookie, empty where it is there. A token in the address has to
  /// be right even where the cookie is.
  private mutating func admit(_ request: WebRequest) -> String? {
    // Of this port: cookies are those of all ports (RFC 6265 §8.5), and several of us may run.
    let name = "rosterd-\(port)"
    let given = request.parameters("token")
    if given.isEmpty { return request.cookie(name).map { Self.isSame($0, token) } == true ? "" : nil }
    let isTicket = ticket.map { Self.isSame(given[0], $0) } ?? false
    guard given.count == 1, isTicket || Self.isSame(given[0], token) else { return nil }
    if isTicket { ticket = nil }
    return "Set-Cookie: \(name)=\(token); Path=/; HttpOnly; SameSite=Strict\r\n"
  }

  /// In a time that does not tell how much of it is right.
  private static func isSame(_ given: Substring, _ right: String) -> Bool {
    guard given.utf8.count == right.utf8.count else { return false }
    return zip(given.utf8, right.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  /// Made anew: nothing that a browser sends gets to the daemon but what it is asked.
  private func question(_ request: WebRequest) -> [UInt8] {
    let query = request.query.filter { !$0.hasPrefix("token=") }.joined(separator: "&")
    var head = "\(request.method) \(request.path)\(query.isEmpty ? "" : "?\(query)") "
    head += "HTTP/1.\(request.isHTTP11 ? 1 : 0)\r\nHost: localhost\r\nConnection: close\r\n"
    if let last = request["last-event-id"], last.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
      head += "Last-Event-ID: \(last)\r\n"
    }
    return Array((head + "\r\n").utf8)
  }
}

/// What is answered here: one sentence.
struct WebAnswer: Equatable {
  var status: Int
  var sentence: String
  var fields: [String]

  init(_ status: Int, _ sentence: String, _ fields: [String] = []) {
    (self.status, self.sentence, self.fields) = (status, sentence, fields)
  }

  /// As it is sent; `HEAD` gets no body.
  func bytes(for method: String?) -> [UInt8] {
    let body = sentence + "\n"
    let head =
      [
        "HTTP/1.1 \(status) \(Self.titles[status] ?? "Error")", "Content-Type: text/plain; charset=utf-8",
        "Content-Length: \(body.utf8.count)", "Cache-Control: no-store", "X-Content-Type-Options: nosniff",
        "Connection: close",
      ] + fields
    return Array((head.joined(separator: "\r\n") + "\r\n\r\n" + (method == "HEAD" ? "" : body)).utf8)
  }

  /// RFC 9110 §15 and RFC 6585 §5.
  private static let titles = [
    400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 408: "Request Timeout",
    431: "Request Header Fields Too Large", 502: "Bad Gateway",
  ]
}
