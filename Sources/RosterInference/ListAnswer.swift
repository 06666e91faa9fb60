import RosterJSON
package import RosterModel

/// One answer of a list, and how it was asked for: all that a definition is inferred from.
package struct ListAnswer: Sendable {
  /// How an answer was asked for.
  package struct Asked: Sendable {
    /// Of the list.
    package var address: ListAddress
    /// That the user gave; some may be secrets.
    package var headers: [Request.Header]

    /// With no headers of the user's own unless given.
    package init(_ address: ListAddress, headers: [Request.Header] = []) {
      self.address = address
      self.headers = headers
    }
  }

  /// nil: it was handed over, and nobody says where it came from.
  package var asked: Asked?
  /// Its own.
  package var headers: [Request.Header]
  /// Read.
  package var body: JSONValue

  /// Throws `Failure` (65) where the body is no JSON, or nests deeper than 136 levels.
  package init(_ body: [UInt8], headers: [Request.Header] = [], asked: Asked? = nil) throws(Failure) {
    self.asked = asked
    self.headers = headers
    let text = body.withoutByteOrderMark
    do throws(Malformed) { self.body = try JSONValue(json: text) } catch {
      throw Self.failure(asked, "the answer is \(Self.look(of: text) ?? "not JSON: \(error)")", hint: Self.useTheAPI)
    }
  }

  /// An answer with its head before it, as `curl -i` prints it; without one it is the body.
  /// Throws as `init(_:headers:asked:)`.
  package init(printed text: [UInt8]) throws(Failure) {
    var body = text[...]
    var headers: [Request.Header] = []
    // Heads of interim answers and redirects come before the last one.
    while body.starts(with: "HTTP/".utf8), let head = AnswerHead(&body) { headers = head.headers }
    try self.init(Array(body), headers: headers)
  }

  /// What people paste by mistake; nil: something else.
  private static func look(of text: [UInt8]) -> String? {
    switch text.first(where: { $0 > 0x20 }) {
    case nil: "empty"
    case UInt8(ascii: "<"): "HTML or XML, not JSON"
    default: nil
    }
  }

  private static let useTheAPI = "give the address of the API's list, not of a web page"

  /// A `Failure` (65) of this answer.
  /// - Parameter cause: a clause; holds no value of the answer.
  func failure(_ cause: String, hint: String) -> Failure { Self.failure(asked, cause, hint: hint) }

  private static func failure(_ asked: Asked?, _ cause: String, hint: String) -> Failure {
    Failure(
      .badAnswer, step: "infer a definition", subject: asked?.address.shown ?? "standard input", cause: cause,
      hint: hint)
  }
}

/// A status line and header fields (RFC 9112 §2.1).
private struct AnswerHead {
  var headers: [Request.Header] = []

  /// Takes it from the front; nil: it has no end, and nothing was taken.
  init?(_ text: inout ArraySlice<UInt8>) {
    var rest = text
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      let line = String(decoding: rest[..<end], as: UTF8.self)
      rest = rest[(end + 1)...]
      if line.allSatisfy(\.isWhitespace) {
        text = rest
        return
      }
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers.append(Request.Header(String(line[..<colon]), line[line.index(after: colon)...].trimmed))
    }
    return nil
  }
}

extension Substring {
  /// Without white space at both ends.
  var trimmed: String {
    String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
  }
}
