package import RosterCore

/// The words of a token server about a refusal, unmasked. Only `shown(hiding:)` may be shown.
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

/// The subject of the error code in a token server's answer. A session ends only by a statement about its grant
/// or its client.
enum GrantStatement: Sendable, Equatable {
  /// The token that the request sent to be replaced is invalid: it expired, was revoked or was used.
  case grant
  /// The client is unknown, disabled or not identified.
  case client
  /// The fault will pass.
  case passing

  /// The statement of an answer; nil without a known code.
  init?(_ answer: JSONValue) {
    for code in Self.places.compactMap({ JSONPointer($0).flatMap { answer[$0]?.text } }) {
      guard let statement = Self.codes[code.asCode] else { continue }
      self = statement
      return
    }
    return nil
  }

  /// Where providers write a code. Twitch and Square have theirs as the words of a message.
  private static let places = [
    "/error", "/code", "/error_code", "/errorCode", "/error/code", "/error/type", "/error/message",
    "/errors/0/errorType",
    "/errors/0/code", "/status", "/message",
  ]

  /// The known codes, in lower case and with `_` between words, with their sources.
  private static let codes: [String: GrantStatement] = [
    // RFC 6749 §5.2
    "invalid_grant": .grant, "invalid_client": .client, "unauthorized_client": .client,
    // RFC 6749 §4.1.2.1 and §4.2.2.1, which servers use at the token endpoint too; RFC 8628 §3.5
    "temporarily_unavailable": .passing, "server_error": .passing, "slow_down": .passing, "expired_token": .grant,
    // RFC 6750 §3.1, for flows that authenticate a token request by the token to be replaced
    "invalid_token": .grant,
    // OpenID Connect Core §3.1.2.6 and RFC 9470; Microsoft Entra (MSAL InteractionRequiredAuthErrorCodes)
    "interaction_required": .grant, "login_required": .grant, "consent_required": .grant, "bad_token": .grant,
    // GitHub: "Refreshing user access tokens", "Troubleshooting OAuth app access token request errors"
    "bad_refresh_token": .grant, "incorrect_client_credentials": .client,
    // Slack: oauth.v2.access, oauth.v2.exchange, auth.test
    "invalid_refresh_token": .grant, "token_revoked": .grant, "token_expired": .grant, "account_inactive": .grant,
    "authorization_not_found": .grant, "bad_client_secret": .client, "invalid_client_id": .client,
    // Salesforce: "OAuth 2.0 Authorization Errors"
    "inactive_user": .grant, "inactive_org": .grant, "invalid_client_credentials": .client,
    // Google: "Using OAuth 2.0 for Web Server Applications", authorization errors
    "deleted_client": .client, "disabled_client": .client,
    // Zoho: "Refresh access tokens"
    "invalid_code": .grant, "invalid_client_secret": .client,
    // djangorestframework-simplejwt: TokenError and AuthenticationFailed
    "token_not_valid": .grant, "no_active_account": .grant,
    // LinkedIn: "Programmatic Refresh Tokens"
    "revoked_access_token": .grant, "expired_access_token": .grant,
    // Facebook and Instagram: "Handling Invalidated Access Tokens"
    "session_expired": .grant,
  ]
}

extension String {
  /// A code or a short message as the table writes it; other texts match nothing.
  fileprivate var asCode: String {
    guard utf8.count <= 64 else { return "" }
    return lowercased().map { $0 == " " || $0 == "-" ? "_" : String($0) }.joined()
  }
}

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
