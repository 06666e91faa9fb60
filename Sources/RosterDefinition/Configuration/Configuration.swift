import FoundationEssentials
package import Logging
package import RosterCore

/// The settings of one rosterd, key by key (rosterd.toml(5)). A new value has the defaults; `load` adds the paths,
/// which depend on the environment.
package struct Configuration: Sendable, Equatable {
  /// `[upstream]`: the server of the pages.
  package struct Upstream: Sendable, Equatable {
    /// Base URL without a trailing slash.
    package var baseURL = "https://rickandmortyapi.com/api"
    /// Sorted by name.
    package var headers: [Request.Header] = []
    /// Longest duration of one attempt, from connect to last byte.
    package var timeout: Duration = .seconds(30)
    /// The rule for next-page addresses at another origin.
    package var links = NextLinks.sameOrigin
    /// The proxy setting for its server and token_url's; `proxies` has the resulting rules.
    package var proxy = ProxyChoice.environment
    /// The proxy settings of the environment.
    package var environmentProxies = EnvironmentProxies()
    /// The settings by which its server is verified.
    package var tls = TLS()
  }

  /// `[upstream.tls]`
  package struct TLS: Sendable, Equatable {
    /// Path of a PEM bundle; empty for the system's roots.
    package var caFile = ""
    /// Places of the system's roots.
    package var systemRoots = RootPlaces()
    /// Pins "sha256/BASE64", each of 32 bytes.
    package var pins: [String] = []
    /// Chain of the client certificate; empty if it is not set.
    package var certFile = ""
    /// Private key of the certificate; empty if it is not set, or if the key is a credential file.
    package var keyFile = ""
  }

  /// `[sync]`: when pages are requested, and how many at once.
  package struct Sync: Sendable, Equatable {
    /// Time from the end of a sync to the next.
    package var interval: Duration = .seconds(15 * 60)
    /// Largest random addition to the interval.
    package var jitter: Duration = .seconds(30)
    /// Delay after a failed sync, which doubles up to the interval.
    package var retryInterval: Duration = .seconds(60)
    /// Largest number of pages in flight.
    package var concurrency = 8
    /// Largest number of pages of one list: ten times as many as a list for people is likely to have.
    package var maxPages = 100_000
    /// Percent of a resource's records that one sync may remove.
    package var maxRemoval = 20
  }

  /// `[retry]`: retries of one request.
  package struct Retry: Sendable, Equatable {
    /// Number of retries after the first attempt.
    package var maxRetries = 3
    /// Delay before the first retry, which doubles with each further one.
    package var baseDelay: Duration = .seconds(1)
    /// The longest of these delays.
    package var maxDelay: Duration = .seconds(10)
    /// Largest random addition to each delay.
    package var jitter: Duration = .milliseconds(500)
    /// Longest Retry-After that a sync waits for.
    package var maxRetryAfter: Duration = .seconds(2 * 60)
  }

  /// `[limit]`: limits for the load on upstream.
  package struct Limit: Sendable, Equatable {
    /// Requests per second; 0 means no limit.
    package var rate = 0.0
    /// nil without a limit.
    package var budget: RequestBudget?
  }

  /// `[auth]`: the access token.
  package struct Auth: Sendable, Equatable {
    /// The way to get the token.
    package var flow = Flow.none
    /// The places of the token and of other secrets in a request.
    package var send = [TokenPlace.bearer]
    /// The address as given; requests use `resolvedTokenURL`.
    package var tokenURL = ""
    /// The scope of a token request of OAuth 2.
    package var scope = ""
    /// How a token request of OAuth 2 identifies the client.
    package var client = ClientForm.basic
    /// Further fields of the requests of OAuth 2.
    package var parameters: [Request.Parameter] = []
    /// Further headers of token requests.
    package var headers: [Request.Header] = []
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
    /// `[auth.jwt]`; not set without claims.
    package var jwt = AssertionTemplate()
    /// A token this close to its expiry is refreshed first.
    package var earlyRefresh: Duration = .seconds(60)
    /// Longest duration of a token request, from connect to last byte.
    package var timeout: Duration = .seconds(20)
    /// `[auth.expired]`: answers that call the token expired, beside a 401.
    package var expired = ExpiredAnswers()
    /// Statuses of page requests that end the session.
    package var logoutStatus: [Int] = []
    /// The folder of the credential files; empty if there is no such folder.
    package var credentialsDir = ""
    /// The file of the session.
    package var tokenStore = ""
  }

  /// `[cache]`
  package struct Cache: Sendable, Equatable {
    /// The database.
    package var path = ""
    /// Period for which syncs and changes are kept.
    package var history: Duration = .seconds(90 * 86400)
  }

  /// `[status]`
  package struct Status: Sendable, Equatable {
    /// Path of the status socket.
    package var socket = ""
    /// Mode of the socket, which decides who may connect.
    package var socketMode: UInt16 = 0o660
  }

  /// `[log]`
  package struct Log: Sendable, Equatable {
    /// Lowest severity of messages that are logged.
    package var level = Logger.Level.info
    /// Format of log messages.
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
  /// `[resource.*]`, in the file's order. Never empty.
  package var resources = [Resource.character]
  /// Path of the configuration file; nil if the defaults apply without a file.
  package var path: String?

  /// The address for token requests as an absolute URL: `auth.token_url`, or with `exchange` the address of
  /// `auth.refresh` or else `auth.login`. nil if none is set.
  package var resolvedTokenURL: String? {
    guard auth.flow.usesTemplates else { return resolved(auth.tokenURL) }
    return resolved(auth.refresh.url) ?? resolved(auth.login.url)
  }

  /// `auth.authorize_url` as an absolute URL; nil if it is not set.
  package var resolvedAuthorizeURL: String? { resolved(auth.authorizeURL) }

  /// `auth.device_url` as an absolute URL; nil if it is not set.
  package var resolvedDeviceURL: String? { resolved(auth.deviceURL) }

  /// Requests of the flow `exchange`, with absolute addresses; nil with another flow.
  package var exchange: TokenExchange? {
    guard auth.flow.usesTemplates else { return nil }
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
  /// The masked settings, so that a log line or a failed test shows no secret.
  package var description: String { rendered() }
}

extension Configuration {
  /// The proxies for the servers. A variable that no request needs is never checked.
  package var proxies: ProxyRules {
    let environment = upstream.environmentProxies
    return switch upstream.proxy {
    case .none: ProxyRules()
    case .server(let server): ProxyRules(http: server, https: server)
    case .environment:
      ProxyRules(
        http: try? environment.http?.server(), https: try? environment.https?.server(),
        exceptions: environment.exceptions)
    }
  }

  /// A sentence if the environment names a proxy only in a variable that rosterd does not read.
  var proxyWarning: String? {
    guard upstream.proxy == .environment, let name = upstream.environmentProxies.ignored else { return nil }
    return
      "\(name) is ignored, so upstream is asked without a proxy; set HTTPS_PROXY and HTTP_PROXY, or upstream.proxy (\"none\" to confirm)"
  }

  /// Variables without a usable proxy that a request would need.
  var unusableProxies: [Conflict] {
    let environment = upstream.environmentProxies
    guard upstream.proxy == .environment else { return [] }
    let servers = [upstream.baseURL, resolvedTokenURL ?? ""].compactMap { URLComponents(string: $0) }
    return [("http", environment.http), ("https", environment.https)].compactMap { scheme, variable in
      guard let variable else { return nil }
      let isAsked = servers.contains { server in
        let port = server.port ?? (scheme == "https" ? 443 : 80)
        return server.scheme?.lowercased() == scheme
          && !environment.exceptions.contains { $0.covers(host: server.plainHost, port: port) }
      }
      guard isAsked else { return nil }
      do throws(Mistakes) { _ = try variable.server() } catch {
        return Conflict(
          keys: [variable.name], problem: error.list.first?.problem ?? "",
          allowed: "http://[USER:PASSWORD@]HOST[:PORT]; or upstream.proxy = \"none\"")
      }
      return nil
    }
  }
}
