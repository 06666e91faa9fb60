package import RosterCore

/// The part of the configuration that concerns tokens, resolved.
package struct TokenSettings: Sendable, Equatable {
  /// The way to obtain tokens: `auth.flow`.
  package var flow: Flow
  /// `auth.send`: where a request carries the token and other secrets.
  package var send: [TokenPlace]
  /// Absolute; with `exchange` the address of a refresh, or else of a login.
  package var tokenURL: String
  /// Scope of OAuth token requests; an empty one is not sent.
  package var scope: String
  /// How a token request of OAuth 2 identifies the client.
  package var client: ClientForm
  /// Further fields of the token requests of OAuth 2: `auth.params`.
  package var parameters: [Request.Parameter]
  /// Further headers of all token requests: `auth.headers`.
  package var headers: [Request.Header]
  /// Time before a token's end at which it is refreshed.
  package var earlyRefresh: Duration
  /// `scheme://host:port` of base_url.
  package var baseOrigin: String
  /// `scheme://host:port` of token_url.
  package var tokenOrigin: String
  /// Absolute: `token.json`.
  package var storePath: String
  /// Folder of the credential files; empty if there are no files.
  package var credentialsDirectory: String
  /// Delays between attempts of a token request.
  package var retry: RetryDelays
  /// Longest duration of one token request: `auth.timeout`.
  package var timeout: Duration
  /// Time between two syncs: the first pause after a final refusal of the client's own grant.
  package var syncInterval: Duration
  /// The first pause after a passing refusal of a login with a password, which doubles.
  package var retryInterval: Duration
  /// Requests of the flow `exchange`; nil with another flow.
  package var exchange: TokenExchange?
  /// `auth.jwt`; nil if it has no claims.
  package var assertion: AssertionTemplate?

  /// Defaults as rosterd.toml(5) has them; `tokenURL` and `tokenOrigin` are for flows that ask for tokens.
  package init(
    flow: Flow, send: [TokenPlace] = [.bearer], tokenURL: String = "", scope: String = "",
    client: ClientForm = .basic, parameters: [Request.Parameter] = [], headers: [Request.Header] = [],
    earlyRefresh: Duration = .seconds(60),
    baseOrigin: String, tokenOrigin: String = "", storePath: String, credentialsDirectory: String = "",
    retry: RetryDelays = RetryDelays(), timeout: Duration = .seconds(20), syncInterval: Duration = .seconds(900),
    retryInterval: Duration = .seconds(60), exchange: TokenExchange? = nil, assertion: AssertionTemplate? = nil
  ) {
    self.flow = flow
    self.send = send
    self.tokenURL = tokenURL
    self.scope = scope
    self.client = client
    self.parameters = parameters
    self.headers = headers
    self.earlyRefresh = earlyRefresh
    self.baseOrigin = baseOrigin
    self.tokenOrigin = tokenOrigin
    self.storePath = storePath
    self.credentialsDirectory = credentialsDirectory
    self.retry = retry
    self.timeout = timeout
    self.syncInterval = syncInterval
    self.retryInterval = retryInterval
    self.exchange = exchange
    self.assertion = assertion
  }

  /// The places of a request. A fixed place of the flow counts unless `auth.send` names a file.
  package var places: [TokenPlace] { send.placeholders == [.accessToken] ? flow.fixedPlace.map { [$0] } ?? send : send }
}
