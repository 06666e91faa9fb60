/// `auth.flow`: the way to get an access token.
package enum Flow: String, Sendable, CaseIterable {
  case none
  case `static`
  case basic
  case oauth2Refresh = "oauth2_refresh"
  case oauth2ClientCredentials = "oauth2_client_credentials"
  case authenticateForm = "authenticate_form"
  case bearerRefresh = "bearer_refresh"
  case bearerRenew = "bearer_renew"
  case exchange
  case jwt

  /// True if the flow gets or makes new tokens. The other flows open no token store.
  package var refreshes: Bool {
    switch self {
    case .none, .static, .basic: false
    case .oauth2Refresh, .oauth2ClientCredentials, .authenticateForm, .bearerRefresh, .bearerRenew, .exchange, .jwt:
      true
    }
  }

  /// True if the token request identifies a client, so that a stored token belongs to that client (T8).
  package var identifiesClient: Bool {
    switch self {
    case .oauth2Refresh, .oauth2ClientCredentials: true
    case .none, .static, .basic, .authenticateForm, .bearerRefresh, .bearerRenew, .exchange, .jwt: false
    }
  }
}
