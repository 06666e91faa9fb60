/// `auth.flow`: the way to get an access token. Other code asks for its traits, which are all in this file, and never
/// for a flow by name. A new flow is a case, a row of traits, and a source if no other flow has that one.
@dynamicMemberLookup
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

  /// A trait of the flow.
  package subscript<Value>(dynamicMember trait: KeyPath<FlowTraits, Value>) -> Value { traits[keyPath: trait] }

  private var traits: FlowTraits {
    switch self {
    case .none: .none
    case .static: .static
    case .basic: .basic
    case .oauth2Refresh: .oauth2Refresh
    case .oauth2ClientCredentials: .oauth2ClientCredentials
    case .authenticateForm: .authenticateForm
    case .bearerRefresh: .bearerRefresh
    case .bearerRenew: .bearerRenew
    case .exchange: .exchange
    case .jwt: .jwt
    }
  }
}

/// Everything that depends on the flow alone.
package struct FlowTraits: Sendable {
  /// The source of the next access token.
  package enum Source: Sendable, Equatable {
    /// Requests have no token.
    case nothing
    /// The file `access_token` is the token, and nothing replaces it.
    case file
    /// The files `username` and `password` are the token (RFC 7617).
    case userAndPassword
    /// A token request of OAuth 2 to `auth.token_url`: RFC 6749 §6 with a refresh token, §4.4 without.
    case oauth2
    /// This request to `auth.token_url`, and the places of its answer.
    case request(TokenExchange.Step, TokenExchange.Answer)
    /// The requests of `[auth.login]` and `[auth.refresh]`.
    case templates
    /// rosterd signs the token: the assertion of `[auth.jwt]` (RFC 7519).
    case assertion
  }

  /// The source of the next access token.
  package let source: Source
  /// The credential files without which no session can begin. Templates name further ones.
  package let neededFiles: [CredentialFile]
  /// The file of the token that the first token request sends to be replaced; nil if it sends none.
  package let replacedFile: CredentialFile?

  private init(_ source: Source, needs neededFiles: [CredentialFile] = [], replaces replacedFile: CredentialFile? = nil)
  {
    self.source = source
    self.neededFiles = neededFiles
    self.replacedFile = replacedFile
  }
}

extension FlowTraits {
  fileprivate static let none = FlowTraits(.nothing)
  fileprivate static let `static` = FlowTraits(.file, needs: [.accessToken])
  /// A missing password is an empty one.
  fileprivate static let basic = FlowTraits(.userAndPassword, needs: [.username])
  fileprivate static let oauth2Refresh = FlowTraits(.oauth2, needs: [.refreshToken], replaces: .refreshToken)
  /// It uses a refresh token only if upstream sends one.
  fileprivate static let oauth2ClientCredentials = FlowTraits(.oauth2, needs: [.clientID, .clientSecret])
  fileprivate static let authenticateForm = FlowTraits(
    .request(
      TokenExchange.Step(
        body: .object([JSONValue.Member("refreshToken", .text("{refresh_token}"))]), format: .form),
      answer(access: "token", refresh: "refreshToken")),
    needs: [.refreshToken], replaces: .refreshToken)
  fileprivate static let bearerRefresh = FlowTraits(
    .request(bearer, answer(access: "accessToken", refresh: "refreshToken")),
    needs: [.refreshToken], replaces: .refreshToken)
  /// The access token is sent to be replaced, so the token of an answer is the next one to be sent, too.
  fileprivate static let bearerRenew = FlowTraits(
    .request(bearer, answer(access: "accessToken", refresh: "accessToken")),
    needs: [.accessToken], replaces: .accessToken)
  fileprivate static let exchange = FlowTraits(.templates, replaces: .refreshToken)
  fileprivate static let jwt = FlowTraits(.assertion)

  private static let bearer = TokenExchange.Step(send: TokenPlace("Authorization: Bearer {refresh_token}"))

  private static func answer(access: String, refresh: String) -> TokenExchange.Answer {
    TokenExchange.Answer(
      access: .member(JSONPointer(segments: [access])), refresh: JSONPointer(segments: [refresh]),
      expiresIn: JSONPointer(segments: ["expires_in"]))
  }
}

extension FlowTraits {
  /// True if requests carry a token.
  package var sendsToken: Bool { source != .nothing }

  /// True if the flow gets or makes new tokens. The other flows open no token store.
  package var refreshes: Bool {
    switch source {
    case .nothing, .file, .userAndPassword: false
    case .oauth2, .request, .templates, .assertion: true
    }
  }

  /// True if `auth.token_url` has the address of the token request.
  package var usesTokenURL: Bool {
    switch source {
    case .oauth2, .request: true
    case .nothing, .file, .userAndPassword, .templates, .assertion: false
    }
  }

  /// True if the token request identifies a client, so that a stored token belongs to that client.
  package var identifiesClient: Bool { source == .oauth2 }

  /// True if the client gets a token without any other one.
  package var hasClientGrant: Bool { identifiesClient && replacedFile == nil }

  /// True if a user's login in a browser gives the first refresh token: `rosterd login`.
  package var hasUserLogin: Bool { identifiesClient && replacedFile != nil }

  /// True if `[auth.login]` and `[auth.refresh]` have the token requests.
  package var usesTemplates: Bool { source == .templates }

  /// True if rosterd signs the token.
  package var signsToken: Bool { source == .assertion }

  /// True if a token request, or the token, contains an assertion wherever `[auth.jwt]` is set. Templates contain it
  /// where they say so.
  package var takesAssertion: Bool { identifiesClient || signsToken }

  /// The place of the token; nil if `auth.send` decides.
  package var fixedPlace: TokenPlace? { source == .userAndPassword ? .basic : nil }

  /// The key that an administrator corrects where upstream grants no usable token; templates have other ones.
  package var addressKey: String { signsToken ? "auth.jwt.claims" : "auth.token_url" }
}
