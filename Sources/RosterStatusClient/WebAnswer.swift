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
