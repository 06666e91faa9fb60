package import Logging
package import RosterModel

/// What a rosterd was told to do, key by key (docs/CONTRACT.md, section 2). A fresh value holds the defaults; `load`
/// fills in the paths, which depend on the environment.
package struct Configuration: Sendable, Equatable {
  /// `[upstream]`: where pages come from.
  package struct Upstream: Sendable, Equatable {
    /// Without a trailing slash.
    package var baseURL = "https://rickandmortyapi.com/api"
    /// Sorted by name.
    package var headers: [Request.Header] = []
    /// Of one attempt, from connect to last byte.
    package var timeout: Duration = .seconds(30)
    /// What becomes of a next page's address at another origin.
    package var links = NextLinks.sameOrigin
    /// By way of what its server and token_url's are asked; `proxies` is what comes of it.
    package var proxy = ProxyChoice.environment
    /// What the environment says of it.
    package var environmentProxies = EnvironmentProxies()
    /// How its server is known.
    package var tls = TLS()
  }

  /// `[upstream.tls]`
  package struct TLS: Sendable, Equatable {
    /// Empty: the system's roots.
    package var caFile = ""
    /// Places of the system's roots.
    package var systemRoots = RootPlaces()
    /// "sha256/BASE64", each of 32 bytes.
    package var pins: [String] = []
    /// Chain of the client certificate; empty if it is not set.
    package var certFile = ""
    /// Its private key; empty if it is not set, or if the key is a credential file.
    package var keyFile = ""
  }

  /// `[sync]`: when pages are asked for, and how many at once.
  package struct Sync: Sendable, Equatable {
    /// From the end of a sync to the next.
    package var interval: Duration = .seconds(15 * 60)
    /// Up to this much is added to the interval.
    package var jitter: Duration = .seconds(30)
    /// After a failed sync; doubles up to the interval.
    package var retryInterval: Duration = .seconds(60)
    /// Pages in flight.
    package var concurrency = 8
    /// Of one list: ten times what a list that people page through is likely to have.
    package var maxPages = 100_000
    /// Percent.
    package var maxRemoval = 20
  }

  /// `[retry]`: of one request.
  package struct Retry: Sendable, Equatable {
    /// After the first attempt.
    package var maxRetries = 3
    /// Before the first retry; doubles with each further one.
    package var baseDelay: Duration = .seconds(1)
    /// The longest of these delays.
    package var maxDelay: Duration = .seconds(10)
    /// Up to this much is added to each.
    package var jitter: Duration = .milliseconds(500)
    /// A longer Retry-After ends the sync.
    package var maxRetryAfter: Duration = .seconds(2 * 60)
  }

  /// `[limit]`: what upstream is spared.
  package struct Limit: Sendable, Equatable {
    /// Requests a second; 0: no limit.
    package var rate = 0.0
    /// nil: no limit.
    package var budget: RequestBudget?
  }

  /// `[auth]`: the access token.
  package struct Auth: Sendable, Equatable {
    /// How it is come by.
    package var flow = Flow.none
    /// Where a request carries it.
    package var send = TokenPlace.bearer
    /// As it was given; requests go to `resolvedTokenURL`.
    package var tokenURL = ""
    /// Of a token request of OAuth 2.
    package var scope = ""
    /// Where `rosterd login` sends the browser, unresolved; empty if it is not set.
    package var authorizeURL = ""
    /// Where `rosterd login` asks for a device code, unresolved; empty if it is not set.
    package var deviceURL = ""
    /// `[auth.login]`; not set without an address.
    package var login = TokenExchange.Step()
    /// `[auth.refresh]`; not set without an address.
    package var refresh = TokenExchange.Step()
    /// `[auth.answer]`
    package var answer = TokenExchange.Answer()
    /// A token this close to its expiry is refreshed first.
    package var earlyRefresh: Duration = .seconds(60)
    /// Statuses of page requests that end the session.
    package var logoutStatus: [Int] = []
    /// Empty: there are no credential files.
    package var credentialsDir = ""
    /// The file of the session.
    package var tokenStore = ""
  }

  /// `[cache]`
  package struct Cache: Sendable, Equatable {
    /// The database.
    package var path = ""
    /// How long syncs and changes are kept.
    package var history: Duration = .seconds(90 * 86400)
  }

  /// `[status]`
  package struct Status: Sendable, Equatable {
    /// Its path.
    package var socket = ""
    /// Who may connect.
    package var socketMode: UInt16 = 0o660
  }

  /// `[log]`
  package struct Log: Sendable, Equatable {
    /// The least severe messages that are logged.
    package var level = Logger.Level.info
    /// How they are written.
    package var format = LogFormat.auto
  }

  /// `[upstream]`
  package var upstream = Upstream()
  /// `[sync]`
  package var sync = Sync()
  /// `[retry]`
  package var retry = Retry()
  /// `[limit]`
  package var limit = Limit()
  /// `[auth]`
  package var auth = Auth()
  /// `[cache]`
  package var cache = Cache()
  /// `[status]`
  package var status = Status()
  /// `[log]`
  package var log = Log()
  /// `[resource.*]`, in the file's order: what is pulled. Never empty.
  package var resources = [Resource.character]
  /// The file that it came from; nil: none, the defaults hold.
  package var path: String?

  /// The defaults, without paths.
  package init() {}

  /// Where tokens come from, as an absolute URL: `auth.token_url`, with `exchange` the address of `auth.refresh` or
  /// else `auth.login`; nil if none is set.
  package var resolvedTokenURL: String? {
    guard auth.flow == .exchange else { return resolved(auth.tokenURL) }
    return resolved(auth.refresh.url) ?? resolved(auth.login.url)
  }

  /// `auth.authorize_url` as an absolute URL; nil if it is not set.
  package var resolvedAuthorizeURL: String? { resolved(auth.authorizeURL) }

  /// `auth.device_url` as an absolute URL; nil if it is not set.
  package var resolvedDeviceURL: String? { resolved(auth.deviceURL) }

  /// Requests of the flow `exchange`, with absolute addresses; nil with another flow.
  package var exchange: TokenExchange? {
    guard auth.flow == .exchange else { return nil }
    return TokenExchange(login: resolved(auth.login), refresh: resolved(auth.refresh), answer: auth.answer)
  }

  private func resolved(_ step: TokenExchange.Step) -> TokenExchange.Step? {
    guard let url = resolved(step.url) else { return nil }
    var step = step
    step.url = url
    return step
  }

  private func resolved(_ address: String) -> String? {
    address.isEmpty ? nil : WebAddress.resolve(address, against: upstream.baseURL)
  }
}

extension Configuration: CustomStringConvertible {
  /// Masked, so that a log line or a failed test shows no secret (T9).
  package var description: String { rendered() }
}
