import RosterCore

extension ConfigurationKey {
  /// All keys, in the order of the file. Their defaults are those of a new `Configuration`.
  package static let all: [ConfigurationKey] =
    upstream + sync + retry + limit + auth + expired + exchange + assertion + rest

  private static let upstream = [
    ConfigurationKey(
      "upstream.base_url", field: \.upstream.baseURL, type: .baseURL, restart: true,
      doc: "Where the API is: paths of resources count from there."),
    ConfigurationKey(
      "upstream.headers", field: \.upstream.headers, type: .headers,
      doc: "Added to every page request; User-Agent and Accept may be replaced."),
    ConfigurationKey(
      "upstream.timeout", field: \.upstream.timeout, type: .duration(atLeast: .milliseconds(100)),
      doc: "One attempt, from connect to last byte."),
    ConfigurationKey(
      "upstream.links", field: \.upstream.links, type: .choice,
      doc: "A next page's address at another origin: refused, or asked of base_url's."),
    ConfigurationKey(
      "upstream.proxy", field: \.upstream.proxy, type: .proxy,
      doc: "Proxy for upstream; empty: the proxy of HTTPS_PROXY, HTTP_PROXY and NO_PROXY."),
    ConfigurationKey(
      "upstream.tls.ca_file", field: \.upstream.tls.caFile, type: .text("a PEM bundle, or nothing"),
      doc: "PEM bundle used instead of the system's roots."),
    ConfigurationKey(
      "upstream.tls.pins", field: \.upstream.tls.pins, type: .pins,
      doc: "The server's own SubjectPublicKeyInfo, besides the chain's verification; for token_url's server too."),
    ConfigurationKey(
      "upstream.tls.cert_file", field: \.upstream.tls.certFile, type: .text("a PEM chain, or nothing"),
      doc: "Client certificate with its chain, leaf first; for token_url's server too."),
    ConfigurationKey(
      "upstream.tls.key_file", field: \.upstream.tls.keyFile, type: .text("a PEM key, or nothing"),
      doc: "Private key of cert_file; the alternative is the credential client_key."),
  ]

  private static let sync = [
    ConfigurationKey(
      "sync.interval", field: \.sync.interval, type: .duration(atLeast: .milliseconds(100)),
      doc: "From the end of a sync to the next; the first starts at once."),
    ConfigurationKey(
      "sync.jitter", field: \.sync.jitter, type: .duration(atLeast: .zero),
      doc: "Up to this much is added to the interval, at random."),
    ConfigurationKey(
      "sync.retry_interval", field: \.sync.retryInterval, type: .duration(atLeast: .milliseconds(100)),
      doc: "After a failed sync; doubles up to interval."),
    ConfigurationKey("sync.concurrency", field: \.sync.concurrency, type: .integer(1...64), doc: "Pages in flight."),
    ConfigurationKey(
      "sync.max_pages", field: \.sync.maxPages, type: .integer(1...1_000_000_000),
      doc: "Limit for one list; a longer one ends the sync."),
    ConfigurationKey(
      "sync.max_removal", field: \.sync.maxRemoval, type: .integer(0...100),
      doc: "Percent of a resource's records that one sync may remove."),
  ]

  private static let retry = [
    ConfigurationKey(
      "retry.max_retries", field: \.retry.maxRetries, type: .integer(0...20),
      doc: "Of one request, after its first attempt."
    ),
    ConfigurationKey(
      "retry.base_delay", field: \.retry.baseDelay, type: .duration(atLeast: .zero),
      doc: "Before the first retry; doubles with each further one."),
    ConfigurationKey(
      "retry.max_delay", field: \.retry.maxDelay, type: .duration(atLeast: .zero),
      doc: "The longest delay; not less than base_delay."),
    ConfigurationKey(
      "retry.jitter", field: \.retry.jitter, type: .duration(atLeast: .zero),
      doc: "Up to this much is added to each delay, at random."),
    ConfigurationKey(
      "retry.max_retry_after", field: \.retry.maxRetryAfter, type: .duration(atLeast: .zero),
      doc: "A longer Retry-After ends the sync; the next one waits for it."),
  ]

  private static let limit = [
    ConfigurationKey(
      "limit.rate", field: \.limit.rate, type: .rate, doc: "Requests a second, token requests included; 0: no limit."),
    ConfigurationKey(
      "limit.budget", field: \.limit.budget, type: .budget,
      doc: "Largest number of requests in any such time, restarts included."),
  ]

  private static let auth = [
    ConfigurationKey("auth.flow", field: \.auth.flow, type: .choice, doc: "How rosterd gets its access token."),
    ConfigurationKey(
      "auth.send", field: \.auth.send, type: .tokenPlaces,
      doc:
        "How a request carries its secrets: a header, a ?parameter or a /member of a POST, with placeholders; or a list."
    ),
    ConfigurationKey(
      "auth.token_url", field: \.auth.tokenURL, type: .tokenURL,
      doc: "Where tokens come from: a URL, a path from the origin (/token), or one below base_url (token)."),
    ConfigurationKey(
      "auth.scope", field: \.auth.scope, type: .text("any text"), doc: "Sent with a token request of OAuth 2."),
    ConfigurationKey(
      "auth.client", field: \.auth.client, type: .choice,
      doc: "How OAuth 2 identifies a client with a secret: HTTP Basic, in the body, or HTTP Basic without encoding."),
    ConfigurationKey(
      "auth.params", field: \.auth.parameters, type: .parameters,
      doc: "Further fields of the requests of OAuth 2, such as audience."),
    ConfigurationKey(
      "auth.headers", field: \.auth.headers, type: .headers,
      doc: "Added to every token request. User-Agent and Accept may be replaced."),
    ConfigurationKey(
      "auth.authorize_url", field: \.auth.authorizeURL, type: .tokenURL,
      doc: "Where rosterd login sends the browser; written as token_url."),
    ConfigurationKey(
      "auth.device_url", field: \.auth.deviceURL, type: .tokenURL,
      doc: "Where rosterd login --device asks for a code; written as token_url."),
    ConfigurationKey(
      "auth.early_refresh", field: \.auth.earlyRefresh, type: .duration(atLeast: .zero),
      doc: "A token this close to its expiry is refreshed first."),
    ConfigurationKey(
      "auth.timeout", field: \.auth.timeout, type: .duration(atLeast: .milliseconds(100)),
      doc: "Longest duration of a token request, from connect to last byte."),
    ConfigurationKey(
      "auth.logout_status", field: \.auth.logoutStatus, type: .integers(400...599),
      doc: "Statuses of page requests that end the session at once."),
    ConfigurationKey(
      "auth.credentials_dir", field: \.auth.credentialsDir, type: .text("a folder, or nothing"),
      doc: "Where the credential files are; by default $CREDENTIALS_DIRECTORY."),
    ConfigurationKey(
      "auth.token_store", field: \.auth.tokenStore, type: .text("a file, or nothing"), restart: true,
      doc: "Where tokens are kept; by default $STATE_DIRECTORY/token.json, else /var/lib/rosterd/token.json."),
  ]

  /// The tables of the flow `exchange`.
  private static let exchange =
    [
      ConfigurationKey(
        "auth.login.url", field: \.auth.login.url, type: .tokenURL, doc: "Where a login is sent. Written as token_url."),
      ConfigurationKey(
        "auth.login.body", field: \.auth.login.body, type: .template, doc: "Template of the body; {} sends none."),
      ConfigurationKey("auth.login.format", field: \.auth.login.format, type: .choice, doc: "How the body is written."),
      ConfigurationKey(
        "auth.login.send", field: \.auth.login.send, type: .templateField,
        doc: "A header or a query parameter, as in auth.send, with any placeholder."),
      ConfigurationKey(
        "auth.refresh.url", field: \.auth.refresh.url, type: .tokenURL,
        doc: "Where a refresh is sent. Written as token_url."
      ),
      ConfigurationKey(
        "auth.refresh.body", field: \.auth.refresh.body, type: .template, doc: "Template of the body; {} sends none."),
      ConfigurationKey(
        "auth.refresh.format", field: \.auth.refresh.format, type: .choice, doc: "How the body is written."),
      ConfigurationKey(
        "auth.refresh.send", field: \.auth.refresh.send, type: .templateField,
        doc: "A header or a query parameter, as in auth.send, with any placeholder."),
    ] + answer

  private static let answer = [
    ConfigurationKey(
      "auth.answer.access", field: \.auth.answer.access, type: .tokenSource,
      doc: "Place of the access token: a JSON Pointer, header:NAME, cookie:NAME, or body for a JSON string."),
    ConfigurationKey(
      "auth.answer.refresh", field: \.auth.answer.refresh, type: .optionalPointer,
      doc: "Place of the refresh token; without one in an answer the old one stays."),
    ConfigurationKey(
      "auth.answer.expires_in", field: \.auth.answer.expiresIn, type: .optionalPointer,
      doc: "Place of the token's life in seconds."),
    ConfigurationKey(
      "auth.answer.expires_in_ms", field: \.auth.answer.expiresInMilliseconds, type: .optionalPointer,
      doc: "Place of the token's life in milliseconds."),
    ConfigurationKey(
      "auth.answer.expires_at", field: \.auth.answer.expiresAt, type: .optionalPointer,
      doc: "Place of the token's end: RFC 3339, or seconds since 1970."),
  ]

  private static let assertion = [
    ConfigurationKey(
      "auth.jwt.alg", field: \.auth.jwt.algorithm, type: .choice,
      doc: "How the assertion is signed: HS256 with the credential hmac_key, the others with private_key."),
    ConfigurationKey(
      "auth.jwt.headers", field: \.auth.jwt.headers, type: .template,
      doc: "Template of its header, such as kid; alg and typ are added."),
    ConfigurationKey(
      "auth.jwt.claims", field: \.auth.jwt.claims, type: .template,
      doc: "Template of its claims; {} signs none. {now+10m} is a time, {uuid} another text for each."),
  ]

  private static let expired = [
    ConfigurationKey(
      "auth.expired.status", field: \.auth.expired.statuses, type: .integers(300...599),
      doc: "Statuses of pages, beside 401, that call the token expired."),
    ConfigurationKey(
      "auth.expired.where", field: \.auth.expired.conditions, type: .conditions,
      doc: "A 2xx answer that meets all of these calls the token expired; as where of a definition."),
  ]

  private static let rest = [
    ConfigurationKey(
      "cache.path", field: \.cache.path, type: .text("a file, or nothing"), restart: true,
      doc: "The database; by default $STATE_DIRECTORY/roster.db, else /var/lib/rosterd/roster.db."),
    ConfigurationKey(
      "cache.history", field: \.cache.history, type: .duration(atLeast: .seconds(86400)),
      doc: "How long syncs and changes are kept."),
    ConfigurationKey(
      "status.socket", field: \.status.socket, type: .text("a path, or nothing"), restart: true,
      doc: "The status socket; by default $RUNTIME_DIRECTORY/status.sock, else /run/rosterd/status.sock."),
    ConfigurationKey(
      "status.socket_mode", field: \.status.socketMode, type: .mode, doc: "File mode of the status socket, in octal."),
    ConfigurationKey("log.level", field: \.log.level, type: .choice, doc: "The least severe messages that are logged."),
    ConfigurationKey(
      "log.format", field: \.log.format, type: .choice, doc: "auto: journald where stderr is the journal, else text."),
  ]
}

/// One key, with the facts that the file, the environment, `check` and the man page need.
package struct ConfigurationKey: Sendable {
  /// The path of the key, such as "upstream.tls.ca_file".
  package let name: String
  /// The type with an article, such as "a duration".
  package let type: String
  /// The permitted values in words, such as "1 to 64".
  package let allowed: String
  /// One line for people.
  package let doc: String
  /// True if a reload does not change the value.
  package let needsRestart: Bool
  /// The default in TOML; "" for a path that depends on the environment.
  package let defaultValue: String

  let isBare: Bool
  let read: @Sendable (TOMLItem, inout Configuration) throws(Mistakes) -> Void
  let write: @Sendable (Configuration) -> String
  let isSame: @Sendable (Configuration, Configuration) -> Bool
  let copy: @Sendable (Configuration, inout Configuration) -> Void

  init<Value>(
    _ name: String, field: any WritableKeyPath<Configuration, Value> & Sendable, type: ValueType<Value>,
    restart: Bool = false, doc: String
  ) {
    self.name = name
    self.type = type.name
    allowed = type.allowed
    self.doc = doc
    needsRestart = restart
    defaultValue = type.write(Configuration()[keyPath: field]).toml
    isBare = type.isBare
    read = { (item, configuration) throws(Mistakes) in configuration[keyPath: field] = try type.read(item) }
    write = { type.write($0[keyPath: field]).toml }
    isSame = { $0[keyPath: field] == $1[keyPath: field] }
    copy = { $1[keyPath: field] = $0[keyPath: field] }
  }

  var path: [String] { name.split(separator: ".").map(String.init) }

  /// The name of the variable, such as "ROSTERD_UPSTREAM_TLS_CA_FILE".
  package var variable: String {
    Self.variablePrefix + String(name.uppercased().map { $0 == "." ? "_" : $0 })
  }

  static let variablePrefix = "ROSTERD_"
}
