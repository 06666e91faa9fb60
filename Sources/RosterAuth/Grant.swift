import FoundationEssentials
package import RosterModel

/// How one flow asks for a token, and which fields its answer has (CONTRACT 3). One value a flow.
package struct Grant: Sendable {
  let accessField: String
  let refreshField: String
  let refreshRequired: Bool
  let fill: @Sendable (inout Request, TokenSettings, Credentials, Secret?) -> Void

  /// The token request; without a refresh token it is the client-credentials grant.
  package func request(_ settings: TokenSettings, _ credentials: Credentials, refreshToken: Secret?) -> Request {
    var request = Request(
      .post, settings.tokenURL,
      headers: [
        Request.Header("Accept", "application/json"), Request.Header("User-Agent", "rosterd/\(rosterdVersion)"),
      ])
    fill(&request, settings, credentials, refreshToken)
    return request
  }
}

extension Grant {
  /// nil: the flow sends no token request.
  package init?(_ flow: Flow) {
    switch flow {
    case .none, .static, .basic: return nil
    case .oauth2Refresh, .oauth2ClientCredentials: self = .oauth2
    case .authenticateForm: self = .authenticateForm
    case .bearerRefresh: self = .bearerRefresh
    case .bearerRenew: self = .bearerRenew
    }
  }

  /// RFC 6749 §6 with a refresh token, §4.4 without.
  private static let oauth2 = Grant(
    accessField: "access_token", refreshField: "refresh_token", refreshRequired: false
  ) { request, settings, credentials, refreshToken in
    var fields =
      refreshToken.map { [("grant_type", "refresh_token"), ("refresh_token", $0.reveal())] }
      ?? [("grant_type", "client_credentials")]
    if !settings.scope.isEmpty { fields.append(("scope", settings.scope)) }
    request.setForm(fields)
    if let id = credentials.clientID {
      request.setBasic(id, credentials.clientSecret ?? Secret(""))
    }
  }

  private static let authenticateForm = Grant(
    accessField: "token", refreshField: "refreshToken", refreshRequired: true
  ) { request, _, _, refreshToken in
    request.setForm([("refreshToken", refreshToken?.reveal() ?? "")])
  }

  private static let bearerRefresh = Grant(
    accessField: "accessToken", refreshField: "refreshToken", refreshRequired: true, fill: fillBearer)

  /// The token that is sent is the access token to be replaced: the answer's is the next one to be sent, too.
  private static let bearerRenew = Grant(
    accessField: "accessToken", refreshField: "accessToken", refreshRequired: true, fill: fillBearer)

  @Sendable private static func fillBearer(
    _ request: inout Request, _: TokenSettings, _: Credentials, _ token: Secret?
  ) {
    request.headers.append(Request.Header("Authorization", "Bearer \(token?.reveal() ?? "")"))
  }
}

extension Request {
  fileprivate mutating func setForm(_ fields: [(name: String, value: String)]) {
    headers.append(Header("Content-Type", "application/x-www-form-urlencoded"))
    body = Array(fields.map { "\($0.name)=\($0.value.formEncoded)" }.joined(separator: "&").utf8)
  }

  /// Both halves are form-encoded first (RFC 6749 §2.3.1), so that a colon in the id parts nothing.
  fileprivate mutating func setBasic(_ id: Secret, _ secret: Secret) {
    let pair = "\(id.reveal().formEncoded):\(secret.reveal().formEncoded)"
    headers.append(Header("Authorization", "Basic \(Data(pair.utf8).base64EncodedString())"))
  }
}

extension String {
  /// application/x-www-form-urlencoded, a space as %20: some servers decode a Basic pair as parts of a URL, where "+"
  /// is itself.
  fileprivate var formEncoded: String {
    utf8.reduce(into: "") { text, byte in
      let scalar = UnicodeScalar(byte)
      switch scalar {
      case "A"..."Z", "a"..."z", "0"..."9", "*", "-", ".", "_": text.unicodeScalars.append(scalar)
      default:
        let hex = String(byte, radix: 16, uppercase: true)
        text += hex.utf8.count == 1 ? "%0\(hex)" : "%\(hex)"
      }
    }
  }
}
