package import RosterModel

/// The configuration as far as tokens go, resolved.
package struct TokenSettings: Sendable, Equatable {
  package var flow: Flow
  /// Absolute.
  package var tokenURL: String
  package var scope: String
  package var earlyRefresh: Duration
  /// `scheme://host:port` of base_url.
  package var baseOrigin: String
  /// `scheme://host:port` of token_url.
  package var tokenOrigin: String
  package var storePath: String
  package var credentialsDirectory: String
  /// systemd fills the folder once, when the service starts: a reload does not see a changed credential.
  package var credentialsNeedRestart: Bool
  package var retry: RetryDelays

  package init(
    flow: Flow, tokenURL: String = "", scope: String = "", earlyRefresh: Duration = .seconds(60),
    baseOrigin: String, tokenOrigin: String = "", storePath: String, credentialsDirectory: String = "",
    credentialsNeedRestart: Bool = false, retry: RetryDelays = RetryDelays()
  ) {
    self.flow = flow
    self.tokenURL = tokenURL
    self.scope = scope
    self.earlyRefresh = earlyRefresh
    self.baseOrigin = baseOrigin
    self.tokenOrigin = tokenOrigin
    self.storePath = storePath
    self.credentialsDirectory = credentialsDirectory
    self.credentialsNeedRestart = credentialsNeedRestart
    self.retry = retry
  }
}
