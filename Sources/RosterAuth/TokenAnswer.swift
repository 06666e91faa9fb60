import RosterModel

extension Response {
  /// The body of a token server's answer: JSON, or a form as an object of texts. nil for anything else.
  var tokenDocument: JSONValue? {
    if let json = JSONValue(answer: body) { return json }
    let type = self["Content-Type"]?.lowercased() ?? ""
    guard type.hasPrefix("application/x-www-form-urlencoded") else { return nil }
    return .object(
      body.split(separator: UInt8(ascii: "&")).map { field in
        let parts = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        let texts = parts.map { String(decoding: $0.percentDecoded(isForm: true), as: UTF8.self) }
        return JSONValue.Member(texts[0], .text(texts.count > 1 ? texts[1] : ""))
      })
  }
}

extension TokenSource {
  /// True if the body of an answer does not matter for the token.
  var isInHeaders: Bool {
    switch self {
    case .header, .cookie: true
    case .member, .body: false
    }
  }

  /// nil if the answer has no token there, or one that could not be sent.
  func token(in response: Response, _ document: JSONValue) -> Secret? {
    let text: String? =
      switch self {
      case .member(let pointer): document[pointer]?.text
      case .header(let name): response[name]
      case .cookie: cookie(in: response)?.value
      case .body: document.text
      }
    return text.map { Secret($0) }.flatMap { $0.fitsHeader ? $0 : nil }
  }

  /// The cookie as the answer sets it; nil without one, and for another place.
  func cookie(in response: Response) -> (value: String, maxAge: Double?)? {
    guard case .cookie(let name) = self else { return nil }
    let lines = response.headers.filter { $0.isNamed("Set-Cookie") }.map { header in
      header.value.split(separator: ";").map { part in
        part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(\.trimmed)
      }
    }
    // The last one wins in a browser.
    guard let parts = lines.last(where: { $0.first?.first == name }), let pair = parts.first, pair.count == 2 else {
      return nil
    }
    let age = parts.dropFirst().first { $0.first?.lowercased() == "max-age" }
    return (pair[1], age.flatMap { $0.count == 2 ? Double($0[1]) : nil })
  }
}

extension Substring {
  fileprivate var trimmed: String {
    let start = drop { $0 == " " || $0 == "\t" }
    return String(start.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }
}
