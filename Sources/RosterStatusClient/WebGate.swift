/// Decides which requests `rosterctl web` passes on to the daemon. Pure.
struct WebGate {
  /// The way in which a request is handled.
  enum Decision: Equatable {
    /// The daemon is asked this. `cookie` is a header field for its answer; nil if the browser has the cookie.
    case forward(WebQuestion, cookie: String?)
    case answer(WebAnswer)
  }

  /// The reading routes of the status socket.
  static let paths: Set<String> = [
    "/", "/page.css", "/page.js", "/page.svg", "/v1/status", "/v1/syncs", "/v1/events", "/v1/changes", "/v1/explain",
    "/metrics", "/openapi.json",
  ]

  let port: UInt16
  /// Token of the printed address. It opens the page once, because a browser's history keeps addresses.
  private(set) var token = String.secret()
  /// Opens the page once. `--open` writes it into the file that the browser gets.
  private(set) var ticket: String?
  /// The value of the cookie.
  private let session = String.secret()
  /// The page's folder. A browser sends a cookie to all ports of 127.0.0.1 (RFC 6265 §8.5), but only with the cookie's
  /// path, which no other program knows.
  private let folder = "/" + String.secret() + "/"

  init(port: UInt16) { self.port = port }

  /// The address that opens the page.
  func address(_ token: String) -> String { "http://127.0.0.1:\(port)/?token=\(token)" }

  /// Makes a new ticket. The previous one becomes invalid.
  mutating func issueTicket() -> String {
    let new = String.secret()
    ticket = new
    return new
  }

  mutating func decide(_ request: WebRequest) -> Decision {
    // Any other name is another site's, which its owner has made to mean this machine (DNS rebinding).
    guard let host = request["host"], hosts.contains(host.lowercased()) else {
      return .answer(.init(403, sentence: "this is at 127.0.0.1:\(port) only, not at another name"))
    }
    let path = request.path.hasPrefix(folder) ? "/" + request.path.dropFirst(folder.count) : request.path
    if let refusal = crossSiteRefusal(of: request, host: host, path: path) {
      return .answer(.init(403, sentence: refusal))
    }
    guard request.method == "GET" || request.method == "HEAD" else {
      return .answer(
        .init(405, sentence: "rosterctl web only reads: it takes GET and HEAD", fields: ["Allow: GET, HEAD"]))
    }
    guard let admission = admission(of: request) else {
      let sentence = "the token is missing, wrong or used: open the address that rosterctl web prints now"
      return .answer(.init(403, sentence: sentence))
    }
    guard Self.paths.contains(path) else { return .answer(.init(404, sentence: "nothing is at \(path)")) }
    let question = WebQuestion(request, path: path)
    if admission == .cookie { return .forward(question, cookie: nil) }
    // A browser asks for more than heads: a HEAD neither uses the token nor gets the cookie.
    guard request.method == "GET" else {
      return path == "/" ? .answer(.entrance(to: folder, cookie)) : .forward(question, cookie: nil)
    }
    use(admission)
    return path == "/" ? .answer(.entrance(to: folder, cookie)) : .forward(question, cookie: cookie + "\r\n")
  }

  /// The reason why the request is refused as on the status socket; nil if no other site can have caused
  /// it. Such a site on another port of 127.0.0.1 is the same site to a browser, which then sends the cookie.
  private func crossSiteRefusal(of request: WebRequest, host: Substring, path: String) -> String? {
    let own = "http://\(host.lowercased())"
    if let origin = request.values(of: "origin").first(where: { $0.lowercased() != own }) {
      return "the request comes from another web site (Origin: \(origin)); only this page may send it"
    }
    let opensPage =
      path == "/" && request.method == "GET" && request["sec-fetch-mode"] == "navigate"
      && request["sec-fetch-dest"] == "document"
    let site = request.values(of: "sec-fetch-site").first { $0 != "same-origin" && $0 != "none" }
    guard let site, !opensPage else { return nil }
    return "the request comes from another web site (Sec-Fetch-Site: \(site)); only this page may send it"
  }

  private var hosts: [String] {
    ["127.0.0.1", "localhost"].flatMap { port == Self.usual ? [$0, "\($0):\(port)"] : ["\($0):\(port)"] }
  }
  /// Port of http, which a browser omits in the Host header.
  private static let usual: UInt16 = 80

  /// The reason to admit a request.
  private enum Admission { case cookie, token, ticket }

  /// nil if nothing lets the request in. A token in the address has to be right even where the cookie is.
  private func admission(of request: WebRequest) -> Admission? {
    let given = request.parameters("token")
    if given.isEmpty { return request.cookie(name).map { Self.isSame($0, session) } == true ? .cookie : nil }
    guard given.count == 1 else { return nil }
    if Self.isSame(given[0], token) { return .token }
    return ticket.map { Self.isSame(given[0], $0) } == true ? .ticket : nil
  }

  private mutating func use(_ admission: Admission) {
    switch admission {
    case .token: token = .secret()
    case .ticket: ticket = nil
    case .cookie: break
    }
  }

  /// Several of us may run, and cookies of one host are those of all its ports.
  private var name: String { "rosterd-\(port)" }

  private var cookie: String { "Set-Cookie: \(name)=\(session); Path=\(folder); HttpOnly; SameSite=Strict" }

  /// Compares in a time that does not reveal the length of the equal part.
  private static func isSame(_ given: Substring, _ right: String) -> Bool {
    guard given.utf8.count == right.utf8.count else { return false }
    return zip(given.utf8, right.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}

/// The request to the daemon. The head has only the browser's path, query and event id.
struct WebQuestion: Equatable {
  let head: [UInt8]
  /// The answer has no end of its own.
  let isStream: Bool

  init(_ request: WebRequest, path: String) {
    let query = request.query.filter { !$0.hasPrefix("token=") }.joined(separator: "&")
    var head = "\(request.method) \(path)\(query.isEmpty ? "" : "?\(query)") "
    head += "HTTP/1.\(request.isHTTP11 ? 1 : 0)\r\nHost: localhost\r\nConnection: close\r\n"
    if let last = request["last-event-id"], last.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
      head += "Last-Event-ID: \(last)\r\n"
    }
    self.head = Array((head + "\r\n").utf8)
    isStream = path == "/v1/events"
  }
}
