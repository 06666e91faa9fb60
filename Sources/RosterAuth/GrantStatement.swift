import RosterModel

/// The subject of the error code in a token server's answer (T6.1). A session ends only by a statement about its grant
/// or its client.
enum GrantStatement: Sendable, Equatable {
  /// The token that the request sent to be replaced is invalid: it expired, was revoked or was used.
  case grant
  /// The client is unknown, disabled or not identified.
  case client
  /// The fault will pass.
  case passing

  /// The statement of an answer; nil if none of its codes is known.
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
