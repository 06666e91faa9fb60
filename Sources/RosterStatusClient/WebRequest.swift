import RosterCore

/// The head of one request from a browser, read strictly: what could be understood in two ways is refused (RFC 9112).
struct WebRequest {
  /// The bytes are not a valid request.
  struct Malformed: Error {}

  /// Method as sent.
  let method: String
  /// Path of the target as sent, with its escapes.
  let path: String
  /// Parts of the query as sent, in their order.
  let query: [Substring]
  /// HTTP/1.0 knows no chunks.
  let isHTTP11: Bool
  /// Names in lower case.
  private let fields: [(name: String, value: Substring)]

  /// The bytes up to the empty line that ends it.
  init(head: some Collection<UInt8>) throws(Malformed) {
    // CR LF is one character in Swift. A CR or LF alone remains in its line, which is refused.
    let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
    guard lines.allSatisfy({ $0.utf8.allSatisfy(Self.isText) }), lines[0].utf8.allSatisfy({ $0 < 0x7F }) else {
      throw Malformed()
    }
    let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[0].utf8.allSatisfy(Self.isCapital), !words[0].isEmpty, words[1].first == "/",
      !words[1].contains("#"), words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0"
    else { throw Malformed() }
    method = String(words[0])
    let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = String(target[0])
    query = target.dropFirst().flatMap { $0.split(separator: "&") }
    isHTTP11 = words[2] == "HTTP/1.1"
    var found: [(String, Substring)] = []
    for line in lines.dropFirst() { found.append(try Self.field(line)) }
    fields = found
  }

  /// The value of the only field with that name in lower case; nil if the field is missing or repeated.
  subscript(name: String) -> Substring? {
    let found = values(of: name)
    return found.count == 1 ? found[0] : nil
  }

  /// The values of all fields with that name in lower case.
  func values(of name: String) -> [Substring] { fields.filter { $0.name == name }.map(\.value) }

  /// Every value of a query's parameter.
  func parameters(_ name: String) -> [Substring] { query.compactMap { $0.value(of: name) } }

  /// The value of a cookie (RFC 6265 §4.2.1); nil if the client did not send the cookie.
  func cookie(_ name: String) -> Substring? {
    (self["cookie"] ?? "").split(separator: ";").lazy.compactMap { $0.trimmed[...].value(of: name) }.first
  }

  private static func field(_ line: Substring) throws(Malformed) -> (String, Substring) {
    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    // A space before the colon, or at the line's beginning, was read differently by different servers (§5.1, §5.2).
    guard parts.count == 2, !parts[0].isEmpty, !parts[0].contains(where: { $0 == " " || $0 == "\t" }) else {
      throw Malformed()
    }
    return (parts[0].lowercased(), parts[1].trimmed[...])
  }

  /// No control; bytes beyond ASCII may be another program's cookie (§5.5, obs-text).
  private static func isText(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }

  private static func isCapital(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }
}

extension Substring {
  /// The text after `name=`; nil if the text does not begin with it.
  fileprivate func value(of name: String) -> Substring? {
    hasPrefix(name + "=") ? dropFirst(name.count + 1) : nil
  }
}

/// An answer that `rosterctl web` makes itself.
struct WebAnswer: Equatable {
  let status: Int
  let body: String
  /// `text/plain` or `text/html`.
  private let type: String
  private let fields: [String]

  /// A sentence.
  init(_ status: Int, sentence: String, fields: [String] = []) {
    self.init(status, body: sentence + "\n", type: "text/plain", fields: fields)
  }

  private init(_ status: Int, body: String, type: String, fields: [String]) {
    self.status = status
    self.body = body
    self.type = type
    self.fields = fields
  }

  /// Leads a browser to the folder of the page. A redirect by status would lose the cookie if the link was on another
  /// site, such as a terminal in a browser (SameSite=Strict).
  static func entrance(to folder: String, _ cookie: String) -> WebAnswer {
    let body = """
      <!doctype html>
      <meta charset="utf-8"><title>rosterd</title><meta http-equiv="refresh" content="0;url=\(folder)">
      <p><a href="\(folder)">The page of rosterd</a>

      """
    return WebAnswer(200, body: body, type: "text/html", fields: [cookie])
  }

  /// The bytes of the answer. `HEAD` gets no body and no cookie.
  func bytes(for method: String) -> [UInt8] {
    let isHead = method == "HEAD"
    let head =
      [
        "HTTP/1.1 \(status) \(Self.titles[status] ?? "Error")", "Content-Type: \(type); charset=utf-8",
        "Content-Length: \(body.utf8.count)", "Cache-Control: no-store",
        "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'", "X-Content-Type-Options: nosniff",
        "Cross-Origin-Resource-Policy: same-origin", "Cross-Origin-Opener-Policy: same-origin",
        "Referrer-Policy: no-referrer", "Connection: close",
      ] + fields.filter { !isHead || !$0.hasPrefix("Set-Cookie") }
    return Array((head.joined(separator: "\r\n") + "\r\n\r\n" + (isHead ? "" : body)).utf8)
  }

  /// RFC 9110 §15 and RFC 6585 §5.
  private static let titles = [
    200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    408: "Request Timeout", 431: "Request Header Fields Too Large", 502: "Bad Gateway",
  ]
}
