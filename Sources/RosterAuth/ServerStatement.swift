import RosterModel

/// The words of a token server about a refusal (T14.1), unmasked. Only `shown(hiding:)` may be shown.
struct ServerStatement: Sendable, Equatable {
  /// The code of RFC 6749 §5.2 or RFC 8628 §3.5 at `error`, or another text there.
  var error: String?
  /// The statement of its codes about the grant or the client; nil if no code is known.
  let about: GrantStatement?
  private var texts: [String]
  private var fields: [String]
  /// Texts of the answer that may be credentials, by their names.
  private var secrets: [String]

  /// nil if the answer is no JSON object with a member.
  init?(_ response: Response) {
    guard case .object(let members)? = response.tokenDocument, !members.isEmpty else { return nil }
    let answer = JSONValue.object(members)
    error = answer["error"]?.text
    about = GrantStatement(answer)
    texts = Self.places.compactMap { answer[$0]?.text }.reduce(into: []) { texts, text in
      if !text.isEmpty, !texts.contains(text) { texts.append(text) }
    }
    fields = members.map(\.name)
    secrets = answer.secretTexts
  }

  /// The places of RFC 6749 and of common frameworks; then those of an error that is an object or the first of a list.
  private static let places: [JSONPointer] =
    ["error", "error_description", "detail", "message"].map { JSONPointer(segments: [$0]) }
    + ["code", "status", "message", "description", "detail"].map { JSONPointer(segments: ["error", $0]) }
    + [JSONPointer(segments: ["errors", "0"])]
    + ["code", "title", "message", "detail"].map { JSONPointer(segments: ["errors", "0", $0]) }
  private static let maxLetters = 200
  private static let maxFields = 10

  /// A clause without credentials: the texts, else the names of the fields.
  func shown(hiding known: [Secret]) -> String {
    let masks = known.map { $0.reveal() } + secrets
    let isTold = !texts.isEmpty
    let shown = (isTold ? texts : Array(fields.prefix(Self.maxFields))).masking(masks).map {
      $0.printable.shortened(to: Self.maxLetters)
    }
    if isTold { return shown.joined(separator: ", ") }
    return "an answer with \(shown.joined(separator: ", "))\(fields.count > shown.count ? ", …" : "")"
  }
}

extension Credentials {
  /// All files, for `ServerStatement`.
  var secrets: [Secret] {
    let files = CredentialFile.allCases.compactMap { self[$0] } + [assertion?.token].compactMap(\.self)
    guard let username, let password else { return files }
    return files + [Secret("\(username.reveal()):\(password.reveal())")]
  }
}

extension JSONValue {
  /// The texts under a credential's name.
  var secretTexts: [String] { secretTexts(isSecret: false) }

  private func secretTexts(isSecret: Bool) -> [String] {
    switch self {
    case .text(let text): isSecret ? [text] : []
    case .list(let elements): elements.flatMap { $0.secretTexts(isSecret: isSecret) }
    case .object(let members):
      members.flatMap { $0.value.secretTexts(isSecret: isSecret || $0.name.namesSecret) }
    case .null, .boolean, .number: []
    }
  }
}

extension String {
  fileprivate func shortened(to letters: Int) -> String {
    count > letters ? prefix(letters - 1) + "…" : self
  }
}
