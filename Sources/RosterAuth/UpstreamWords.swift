package import RosterModel

/// The words of upstream about a request for records that it does not answer as promised. Only texts without
/// credentials and without keys of records are made.
package enum UpstreamWords {
  private static let maxLetters = 200

  /// A clause in quotes; empty if upstream says nothing.
  /// - Parameters:
  ///   - request: Parts of its address that `shownURL` does not have are hidden.
  ///   - showsBody: True to show the beginning of a body without a message. A body with records is not shown.
  package static func clause(of response: Response, to request: Request?, showsBody: Bool) -> String {
    guard let text = text(of: response.body, showsBody: showsBody) else { return "" }
    let hidden =
      (response.token?.texts ?? []) + response.secrets + text.secrets
      + (request.map { keys(of: $0) } ?? [])
    let shown = [text.words].masking(hidden).map { $0.printable }.joined()
    let line = shown.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    if line.isEmpty { return "" }
    return ", and says \"\(line.prefix(maxLetters))\(line.count > maxLetters ? "…" : "")\""
  }

  private static func text(of body: [UInt8], showsBody: Bool) -> (words: String, secrets: [String])? {
    let answer = JSONValue(answer: body)
    if let answer, let words = message(in: answer) { return (words, answer.secretTexts) }
    // A cut credential would not be recognized.
    guard showsBody, !body.isEmpty, body.count <= maxBody else { return nil }
    return (String(decoding: body, as: UTF8.self), answer?.secretTexts ?? [])
  }

  private static let maxBody = 4096

  /// The first text at one of the usual places.
  private static func message(in answer: JSONValue) -> String? {
    let first: [JSONValue?] = places.map { answer[$0] }
    return first.lazy.compactMap { $0?.text }.first { !$0.isEmpty }
  }

  private static let places =
    [
      ["message"], ["error"], ["error", "message"], ["error", "description"], ["detail"], ["errors", "0", "message"],
      ["errors", "0", "detail"], ["errors", "0"], ["errors", "message"], ["error_description"], ["fault"],
      ["fault", "message"], ["fault", "faultstring"], ["description"], ["msg"], ["title"], ["reason"],
    ].map { JSONPointer(segments: $0) }

  /// Parts of the address that hide a key of a record.
  private static func keys(of request: Request) -> [String] {
    func parts(_ url: String) -> [String] { url.split { "/?&=,".contains($0) }.map(String.init) }
    let shown = Set(parts(request.shownURL))
    return parts(request.url).filter { !shown.contains($0) }.map {
      String(decoding: $0.utf8.percentDecoded(isForm: false), as: UTF8.self)
    }
  }
}
