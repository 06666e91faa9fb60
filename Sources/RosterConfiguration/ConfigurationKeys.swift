import RosterModel

extension ConfigurationKey {
  /// All keys, in the order of the file. Their defaults are those of a new `Configuration`.
  package static let all: [ConfigurationKey] = upstream + sync + retry + limit + auth + exchange + rest

  private static let upstream = [
    ConfigurationKey(
      "upstream.base_url", \.upstream.baseURL, .baseURL, restart: true,
      "Where the API is: paths of resources count from there."),
    ConfigurationKey(
      "upstream.headers", \.upstream.headers, .headers,
      "Added to every page request; User-Agent and Accept may be replaced."),
    ConfigurationKey(
      "upstream.timeout", \.upstream.timeout, .duration(atLeast: .milliseconds(100)),
      "One attempt, from connect to last byte."),
    ConfigurationKey(
      "upstream.links", \.upstream.links, .choice,
      "A next page's address at another origin: refused, or asked of base_url's."),
    ConfigurationKey(
      "upstream.proxy", \.upstream.proxy, .proxy,
      "Proxy for upstream; empty: the proxy of HTTPS_PROXY, HTTP_PROXY and NO_PROXY."),
    ConfigurationKey(
      "upstream.tls.ca_file", \.upstream.tls.caFile, .text("a PEM bundle, or nothing"),
      "PEM bundle used instead of the system's roots."),
    ConfigurationKey(
      "upstream.tls.pins", \.upstream.tls.pins, .pins,
      "The server's own SubjectPublicKeyInfo, besides the chain's verification; for token_url's server too."),
    ConfigurationKey(
      "upstream.tls.cert_file", \.upstream.tls.certFile, .text("a PEM chain, or nothing"),
      "Client certificate with its chain, leaf first; for token_url's server too."),
    ConfigurationKey(
      "upstream.tls.key_file", \.upstream.tls.keyFile, .text("a PEM key, or nothing"),
      "Private key of cert_file; the alternative is the credential client_key."),
  ]

  private static let sync = [
    ConfigurationKey(
      "sync.interval", \.sync.interval, .duration(atLeast: .milliseconds(100)),
      "From the end of a sync to the next; the first starts at once."),
    ConfigurationKey(
      "sync.jitter", \.sync.jitter, .duration(atLeast: .zero),
      "Up to this much is added to the interval, at random."),
    ConfigurationKey(
      "sync.retry_interval", \.sync.retryInterval, .duration(atLeast: .milliseconds(100)),
      "After a failed sync; doubles up to interval."),
    ConfigurationKey("sync.concurrency", \.sync.concurrency, .integer(1...64), "Pages in flight."),
    ConfigurationKey(
      "sync.max_pages", \.sync.maxPages, .integer(1...1_000_000_000),
      "Limit for one list; a longer one ends the sync."),
    ConfigurationKey(
      "sync.max_removal", \.sync.maxRemoval, .integer(0...100),
      "Percent of a resource's records that one sync may remove."),
  ]

  private static let retry = [
    ConfigurationKey(
      "retry.max_retries", \.retry.maxRetries, .integer(0...20), "Of one request, after its first attempt."),
    ConfigurationKey(
      "retry.base_delay", \.retry.baseDelay, .duration(atLeast: .zero),
      "Before the first retry; doubles with each further one."),
    ConfigurationKey(
      "retry.max_delay", \.retry.maxDelay, .duration(atLeast: .zero), "The longest delay; not less than base_delay."),
    ConfigurationKey(
      "retry.jitter", \.retry.jitter, .duration(atLeast: .zero),
      "Up to this much is added to each delay, at random."),
    ConfigurationKey(
      "retry.max_retry_after", \.retry.maxRetryAfter, .duration(atLeast: .zero),
      "A longer Retry-After ends the sync; the next one waits for it."),
  ]

  private static let limit = [
    ConfigurationKey(
      "limit.rate", \.limit.rate, .rate, "Requests a second, token requests included; 0: no limit."),
    ConfigurationKey(
      "limit.budget", \.limit.budget, .budget, "Largest number of requests in any such time, restarts included."),
  ]

  private static let auth = [
    ConfigurationKey("auth.flow", \.auth.flow, .choice, "How rosterd gets its access token."),
    ConfigurationKey(
      "auth.send", \.auth.send, .tokenPlace,
      "How a request carries the token: NAME: {access_token}, a header, or ?NAME={access_token}, a query parameter."),
    ConfigurationKey(
      "auth.token_url", \.auth.tokenURL, .tokenURL,
      "Where tokens come from: a URL, a path from the origin (/token), or one below base_url (token)."),
    ConfigurationKey("auth.scope", \.auth.scope, .text("any text"), "Sent with a token request of OAuth 2."),
    ConfigurationKey(
      "auth.authorize_url", \.auth.authorizeURL, .tokenURL,
      "Where rosterd login sends the browser; written as token_url."),
    ConfigurationKey(
      "auth.device_url", \.auth.deviceURL, .tokenURL,
      "Where rosterd login --device asks for a code; written as token_url."),
    ConfigurationKey(
      "auth.early_refresh", \.auth.earlyRefresh, .duration(atLeast: .zero),
      "A token this close to its expiry is refreshed first."),
    ConfigurationKey(
      "auth.logout_status", \.auth.logoutStatus, .integers(400...599),
      "Statuses of page requests that end the session at once."),
    ConfigurationKey(
      "auth.credentials_dir", \.auth.credentialsDir, .text("a folder, or nothing"),
      "Where the credential files are; by default $CREDENTIALS_DIRECTORY."),
    ConfigurationKey(
      "auth.token_store", \.auth.tokenStore, .text("a file, or nothing"), restart: true,
      "Where tokens are kept; by default $STATE_DIRECTORY/token.json, else /var/lib/rosterd/token.json."),
  ]

  /// The tables of the flow `exchange`.
  private static let exchange =
    [
      ConfigurationKey("auth.login.url", \.auth.login.url, .tokenURL, "Where a login is sent. Written as token_url."),
      ConfigurationKey("auth.login.body", \.auth.login.body, .template, "Template of the body; {} sends none."),
      ConfigurationKey("auth.login.format", \.auth.login.format, .choice, "How the body is written."),
      ConfigurationKey(
        "auth.login.send", \.auth.login.send, .templateField,
        "A header or a query parameter, as in auth.send, with any placeholder."),
      ConfigurationKey(
        "auth.refresh.url", \.auth.refresh.url, .tokenURL, "Where a refresh is sent. Written as token_url."),
      ConfigurationKey("auth.refresh.body", \.auth.refresh.body, .template, "Template of the body; {} sends none."),
      ConfigurationKey("auth.refresh.format", \.auth.refresh.format, .choice, "How the body is written."),
      ConfigurationKey(
        "auth.refresh.send", \.auth.refresh.send, .templateField,
        "A header or a query parameter, as in auth.send, with any placeholder."),
    ] + answer

  private static let answer = [
    ConfigurationKey("auth.answer.access", \.auth.answer.access, .optionalPointer, "Place of the access token."),
    ConfigurationKey(
      "auth.answer.refresh", \.auth.answer.refresh, .optionalPointer,
      "Place of the refresh token; without one in an answer the old one stays."),
    ConfigurationKey(
      "auth.answer.expires_in", \.auth.answer.expiresIn, .optionalPointer, "Place of the token's life in seconds."),
    ConfigurationKey(
      "auth.answer.expires_at", \.auth.answer.expiresAt, .optionalPointer,
      "Place of the token's end: RFC 3339, or seconds since 1970."),
  ]

  private static let rest = [
    ConfigurationKey(
      "cache.path", \.cache.path, .text("a file, or nothing"), restart: true,
      "The database; by default $STATE_DIRECTORY/roster.db, else /var/lib/rosterd/roster.db."),
    ConfigurationKey(
      "cache.history", \.cache.history, .duration(atLeast: .seconds(86400)),
      "How long syncs and changes are kept."),
    ConfigurationKey(
      "status.socket", \.status.socket, .text("a path, or nothing"), restart: true,
      "The status socket; by default $RUNTIME_DIRECTORY/status.sock, else /run/rosterd/status.sock."),
    ConfigurationKey(
      "status.socket_mode", \.status.socketMode, .mode, "File mode of the status socket, in octal."),
    ConfigurationKey("log.level", \.log.level, .choice, "The least severe messages that are logged."),
    ConfigurationKey(
      "log.format", \.log.format, .choice, "auto: journald where stderr is the journal, else text."),
  ]
}
