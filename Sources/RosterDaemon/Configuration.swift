import FoundationEssentials
package import RosterAuth
import RosterModel

/// Everything that can be set, as it will be used: section 2 of the contract.
package struct Configuration: Sendable, Equatable {
  package struct Upstream: Sendable, Equatable {
    /// Without a trailing /.
    package var baseURL = "https://rickandmortyapi.com/api"
    package var headers: [String: String] = [:]
    package var timeout = Duration.seconds(30)
    /// Empty: the system's roots.
    package var caFile = ""
    package var pins: [String] = []
  }

  package struct Sync: Sendable, Equatable {
    package var interval = Duration.seconds(15 * 60)
    package var jitter = Duration.seconds(30)
    package var retryInterval = Duration.seconds(60)
    package var concurrency = 8
    /// Percent.
    package var maxRemoval = 20
  }

  package struct Retry: Sendable, Equatable {
    package var maxRetries = 3
    package var baseDelay = Duration.seconds(1)
    package var maxDelay = Duration.seconds(10)
    package var jitter = Duration.milliseconds(500)
    package var maxRetryAfter = Duration.seconds(2 * 60)
  }

  package struct Auth: Sendable, Equatable {
    package var flow = Flow.none
    /// As it was given; `Configuration.tokenURL` is the whole of it.
    package var tokenURL = ""
    package var scope = ""
    package var earlyRefresh = Duration.seconds(60)
    package var logoutStatus: [Int] = []
    package var credentialsDir = ""
    package var tokenStore = ""
    /// systemd fills its own folder once, when the service starts.
    package var credentialsNeedRestart = false
  }

  package struct Cache: Sendable, Equatable {
    package var path = ""
    package var history = Duration.seconds(90 * 86400)
  }

  package struct Status: Sendable, Equatable {
    package var socket = ""
    package var socketMode: UInt16 = 0o660
  }

  package struct Log: Sendable, Equatable {
    package var level = "info"
    package var format = "auto"
  }

  package var upstream = Upstream()
  package var sync = Sync()
  package var retry = Retry()
  package var auth = Auth()
  package var cache = Cache()
  package var status = Status()
  package var log = Log()
  /// The file it was read from; nil: none, the defaults hold.
  package var path: String?

  init(_ defaults: DefaultPaths) {
    auth.credentialsDir = defaults.credentials
    auth.credentialsNeedRestart = !defaults.credentials.isEmpty
    auth.tokenStore = defaults.tokenStore
    cache.path = defaults.cache
    status.socket = defaults.socket
  }

  /// Absolute: a path is taken from the origin if it starts with /, else below base_url.
  var tokenURL: String {
    if auth.tokenURL.isEmpty || auth.tokenURL.contains("://") { return auth.tokenURL }
    guard auth.tokenURL.hasPrefix("/") else { return "\(upstream.baseURL)/\(auth.tokenURL)" }
    let authority = upstream.baseURL.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).prefix(3)
    return authority.joined(separator: "/") + auth.tokenURL
  }
}
