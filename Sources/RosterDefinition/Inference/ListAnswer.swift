package import RosterCore
import RosterDecode

/// One answer of a list with its request: everything that a definition is inferred from.
package struct ListAnswer: Sendable {
  /// The request that was answered.
  package struct Asked: Sendable {
    /// The list's address, after redirects.
    package var address: ListAddress
    /// The address that the user gave; nil if it did not redirect.
    package var redirected: ListAddress?
    /// The user's own headers; some may be secrets.
    package var headers: [Request.Header]
    /// The columns of `--of`, the parent's last; empty if the list is no child.
    package var parents: [GivenParent]
    /// The file of `--ca-file`; nil without it.
    package var caFile: String?

    /// No redirect, no headers and no parents by default.
    package init(
      _ address: ListAddress, redirected: ListAddress? = nil, headers: [Request.Header] = [],
      parents: [GivenParent] = [], caFile: String? = nil
    ) {
      self.caFile = caFile
      self.address = address
      self.redirected = redirected
      self.headers = headers
      self.parents = parents
    }
  }

  /// nil for an answer from standard input.
  package var asked: Asked?
  /// The answer's headers.
  package var headers: [Request.Header]
  /// The answer's JSON.
  package var body: JSONValue
  /// The text of `body`, without a byte order mark.
  package let bytes: [UInt8]

  /// Throws `Failure` (65) if the body is not JSON, or nests deeper than 136 levels.
  package init(_ body: [UInt8], headers: [Request.Header] = [], asked: Asked? = nil) throws(Failure) {
    self.asked = asked
    self.headers = headers
    let text = body.withoutByteOrderMark
    bytes = text
    do throws(Malformed) { self.body = try JSONValue(json: text) } catch {
      if let reason = NamedMalformation(error, in: text) {
        throw Self.failure(
          asked, cause: "the answer is not JSON: \(reason)", hint: "rosterd reads JSON in UTF-8 only (RFC 8259)")
      }
      throw Self.failure(
        asked, cause: "the answer is \(Self.look(of: text) ?? "not JSON: \(error)")", hint: Self.useTheAPI)
    }
  }

  /// Reads an answer with its head, as `curl -i` prints it, or a body alone. Throws the same errors as
  /// `init(_:headers:asked:)`.
  package init(printed text: [UInt8]) throws(Failure) {
    var body = text[...]
    var headers: [Request.Header] = []
    // The heads of interim answers and redirects precede the final head.
    while body.starts(with: "HTTP/".utf8), let head = AnswerHead(&body) { headers = head.headers }
    try self.init(Array(body), headers: headers)
  }

  /// A name for content that users paste by mistake; nil for anything else.
  private static func look(of text: [UInt8]) -> String? {
    switch text.first(where: { $0 > 0x20 }) {
    case nil: "empty"
    case UInt8(ascii: "<"): "HTML or XML, not JSON"
    default: nil
    }
  }

  private static let useTheAPI = "give the address of the API's list, not of a web page"

  /// A `Failure` (65) of this answer.
  /// - Parameter cause: a clause without values of the answer.
  func failure(_ cause: String, hint: String) -> Failure { Self.failure(asked, cause: cause, hint: hint) }

  private static func failure(_ asked: Asked?, cause: String, hint: String) -> Failure {
    Failure(
      .badAnswer, step: "infer a definition", subject: asked?.address.shown ?? "standard input", cause: cause,
      hint: hint)
  }
}

/// A status line and header fields (RFC 9112 §2.1).
private struct AnswerHead {
  var headers: [Request.Header] = []

  /// Reads a head at the beginning of the text and removes it; nil, with the text unchanged, if the head has no end.
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
