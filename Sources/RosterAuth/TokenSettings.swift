package import RosterCore

/// The part of the configuration that concerns tokens, resolved.
package struct TokenSettings: Sendable, Equatable {
  /// The way to obtain tokens: `auth.flow`.
  package var flow: Flow
  /// `auth.send`: where a request carries the token and other secrets.
  package var send = [TokenPlace.bearer]
  /// Absolute; with `exchange` the address of a refresh, or else of a login.
  package var tokenURL: String
  /// Scope of OAuth token requests; an empty one is not sent.
  package var scope = ""
  /// How a token request of OAuth 2 identifies the client.
  package var client = ClientForm.basic
  /// Further fields of the token requests of OAuth 2: `auth.params`.
  package var parameters: [Request.Parameter] = []
  /// Further headers of all token requests: `auth.headers`.
  package var headers: [Request.Header] = []
  /// Time before a token's end at which it is refreshed.
  package var earlyRefresh = Duration.seconds(60)
  /// `scheme://host:port` of base_url.
  package var baseOrigin: String
  /// `scheme://host:port` of token_url.
  package var tokenOrigin: String
  /// Absolute: `token.json`.
  package var storePath: String
  /// Folder of the credential files; empty if there are no files.
  package var credentialsDirectory = ""
  /// Delays between attempts of a token request.
  package var retry = RetryDelays()
  /// Longest duration of one token request: `auth.timeout`.
  package var timeout = Duration.seconds(20)
  /// Time between two syncs: the first pause after a final refusal of the client's own grant.
  package var syncInterval = Duration.seconds(900)
  /// The first pause after a passing refusal of a login with a password, which doubles.
  package var retryInterval = Duration.seconds(60)
  /// Requests of the flow `exchange`; nil with another flow.
  package var exchange: TokenExchange?
  /// `auth.jwt`; nil if it has no claims.
  package var assertion: AssertionTemplate?

  /// Defaults as rosterd.toml(5) has them. The addresses of tokens are for flows that ask for tokens.
  package init(
    flow: Flow, tokenURL: String = "", baseOrigin: String, tokenOrigin: String = "", storePath: String
  ) {
    (self.flow, self.tokenURL, self.storePath) = (flow, tokenURL, storePath)
    (self.baseOrigin, self.tokenOrigin) = (baseOrigin, tokenOrigin)
  }

  /// The places of a request. A fixed place of the flow counts unless `auth.send` names a file.
  package var places: [TokenPlace] { send.placeholders == [.accessToken] ? flow.fixedPlace.map { [$0] } ?? send : send }
}
