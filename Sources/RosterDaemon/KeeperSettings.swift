import Logging
import RosterAuth
import RosterConfiguration
import RosterFetch
import RosterModel
import RosterStatus

extension TokenSettings {
  init(_ configuration: Configuration) {
    self.init(
      flow: configuration.auth.flow, send: configuration.auth.send, tokenURL: configuration.resolvedTokenURL ?? "",
      scope: configuration.auth.scope, client: configuration.auth.client, parameters: configuration.auth.parameters,
      headers: configuration.auth.headers, earlyRefresh: configuration.auth.earlyRefresh,
      baseOrigin: Origin(url: configuration.upstream.baseURL)?.description ?? "",
      tokenOrigin: configuration.resolvedTokenURL.flatMap { Origin(url: $0) }?.description ?? "",
      storePath: configuration.tokenStoreFile,
      credentialsDirectory: configuration.auth.credentialsDir, retry: RetryDelays(configuration.retry),
      timeout: configuration.auth.timeout, syncInterval: configuration.sync.interval,
      retryInterval: configuration.sync.retryInterval,
      exchange: configuration.exchange, assertion: configuration.auth.jwt.isSet ? configuration.auth.jwt : nil)
  }
}

extension RetryDelays {
  init(_ retry: Configuration.Retry) {
    self.init(
      maxRetries: retry.maxRetries, base: retry.baseDelay, max: retry.maxDelay, jitter: retry.jitter,
      maxRetryAfter: retry.maxRetryAfter)
  }
}

extension Configuration {
  /// The file to which `auth.token_store` leads if it is a link. Its lock is in the same folder (P14.3). A new token
  /// replaces the file, not the link.
  var tokenStoreFile: String { resolved(auth.tokenStore) }
}
