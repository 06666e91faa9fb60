import FoundationEssentials
package import RosterCore
import RosterDecode

/// How one flow asks for a token, and which fields its answer has. Each flow has one.
package struct Grant: Sendable {
  /// The tokens that a request sends to be replaced.
  struct SentTokens {
    var refresh: Secret?
    var access: Secret?
  }

  let answer: TokenExchange.Answer
  let refreshRequired: Bool
  /// nil if the request goes to `auth.token_url`.
  var url: String?
  /// True if a refresh of `exchange` sends the access token, too.
  var renewsAccess = false
  let fill: @Sendable (inout Request, TokenSettings, Credentials, SentTokens) -> Void

  /// The token request; without a refresh token it is the client-credentials grant, or a login.
  package func request(
    _ settings: TokenSettings, credentials: Credentials, refreshToken: Secret?, renewedAccess: Secret? = nil
  ) -> Request {
    var request = Request(
      .post, url ?? settings.tokenURL,
      headers: [
        Request.Header("Accept", "application/json"), Request.Header("User-Agent", "rosterd/\(rosterdVersion)"),
      ])
    fill(&request, settings, credentials, SentTokens(refresh: refreshToken, access: renewedAccess))
    request.add(settings.headers)
    return request
  }
}

extension Grant {
  /// nil if the flow sends no token request, and for `exchange`, whose grant depends on the session.
  package init?(_ flow: Flow) {
    switch flow.source {
    case .nothing, .file, .userAndPassword, .templates, .assertion: return nil
    case .oauth2: self = .oauth2
    case .request(let step, let answer): self.init(step, answer: answer, refreshRequired: true)
    }
  }

  /// RFC 6749 §5.1 and §6 with a refresh token, §4.4 without.
  private static let oauth2 = Grant(
    answer: TokenExchange.Answer(
      access: .member(JSONPointer(segments: ["access_token"])), refresh: JSONPointer(segments: ["refresh_token"]),
      expiresIn: JSONPointer(segments: ["expires_in"])),
    refreshRequired: false
  ) { request, settings, credentials, tokens in
    var fields =
      tokens.refresh.map { [("grant_type", "refresh_token"), ("refresh_token", $0.reveal())] }
      ?? [("grant_type", "client_credentials")]
    if !settings.scope.isEmpty { fields.append(("scope", settings.scope)) }
    request.identify(credentials, as: settings.client, fields: &fields)
    request.setForm(fields.adding(settings.parameters))
  }
}

extension Grant {
  /// A request whose templates name what it sends.
  init(_ step: TokenExchange.Step, answer: TokenExchange.Answer, refreshRequired: Bool) {
    self.init(answer: answer, refreshRequired: refreshRequired) { request, _, credentials, tokens in
      let value = { (placeholder: CredentialPlaceholder) in credentials.value(of: placeholder, tokens) }
      request.setBody(step.body.filled(value), format: step.format)
      if let place = step.send { request.carry(place.value.filled(value), at: place) }
    }
  }
}

extension Credentials {
  fileprivate func value(of placeholder: CredentialPlaceholder, _ tokens: Grant.SentTokens) -> String {
    let secret =
      switch placeholder {
      case .refreshToken: tokens.refresh
      case .accessToken: tokens.access
      case .jwt: assertion?.token
      case .username, .password, .clientID, .clientSecret, .basic: self.value(of: placeholder)
      }
    return secret?.reveal() ?? ""
  }
}

extension Request {
  /// An empty object sends no body.
  fileprivate mutating func setBody(_ body: JSONValue, format: BodyFormat) {
    guard case .object(let members) = body, !members.isEmpty else { return }
    switch format {
    // The configuration has only scalars in a form.
    case .form: setForm(members.map { (name: $0.name, value: $0.value.queryText) })
    case .json:
      headers.append(Header("Content-Type", "application/json"))
      self.body = JSONWriter(body).bytes
    }
  }
}

extension Request {
  /// An assertion (RFC 7523 §2.2) replaces the secret. A client without a secret is named in the form (RFC 6749 §2.3.1,
  /// §3.2.1).
  mutating func identify(_ credentials: Credentials, as form: ClientForm, fields: inout [(String, String)]) {
    if let assertion = credentials.assertion {
      fields.append(("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"))
      fields.append(("client_assertion", assertion.token.reveal()))
      if let id = credentials.clientID { fields.append(("client_id", id.reveal())) }
      return
    }
    guard let id = credentials.clientID?.reveal() else { return }
    guard let secret = credentials.clientSecret?.reveal() else {
      fields.append(("client_id", id))
      return
    }
    switch form {
    // Both halves are form-encoded, so that a colon in the id parts nothing.
    case .basic: setBasic("\(id.formEncoded):\(secret.formEncoded)")
    case .basicRaw: setBasic("\(id):\(secret)")
    case .body: fields += [("client_id", id), ("client_secret", secret)]
    }
  }

  /// The headers of `auth.headers`, in the place of those with the same name.
  mutating func add(_ added: [Header]) {
    headers.removeAll { header in added.contains { header.isNamed($0.name) } }
    headers += added
  }

  mutating func setForm(_ fields: [(name: String, value: String)]) {
    headers.append(Header("Content-Type", "application/x-www-form-urlencoded"))
    body = Array(fields.map { "\($0.name.formEncoded)=\($0.value.formEncoded)" }.joined(separator: "&").utf8)
  }

  private mutating func setBasic(_ pair: String) {
    headers.append(Header("Authorization", "Basic \(Data(pair.utf8).base64EncodedString())"))
  }
}

extension [(String, String)] {
  /// The fields with those of `auth.params`, which replace none.
  func adding(_ parameters: [Request.Parameter]) -> [(name: String, value: String)] {
    let names = Set(map(\.0))
    return map { (name: $0.0, value: $0.1) }
      + parameters.filter { !names.contains($0.name) }.map { (name: $0.name, value: $0.value) }
  }
}

extension String {
  /// application/x-www-form-urlencoded, a space as %20: some servers decode a Basic pair as parts of a URL, where "+"
  /// is itself.
  var formEncoded: String {
    percentEncoded { $0 == UInt8(ascii: "*") || $0.isUnreserved && $0 != UInt8(ascii: "~") }
  }
}
