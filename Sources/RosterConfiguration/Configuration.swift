package import Logging
package import RosterModel

/// What a rosterd was told to do. A fresh value holds the defaults; `load` fills in the paths, which depend on the environment.
package struct Configuration: Sendable, Equatable {
  package struct Upstream: Sendable, Equatable {
    /// Without a trailing slash.
    package var baseURL = "https://rickandmortyapi.com/api"
    /// Sorted by name.
    package var headers: [Request.Header] = []
    package var timeout: Duration = .seconds(30)
    package var tls = TLS()
  }

  package struct TLS: Sendable, Equatable {
    /// Empty: the system's roots.
    package var caFile = ""
    /// "sha256/BASE64", each of 32 bytes.
    package var pins: [String] = []
  }

  package struct Sync: Sendable, Equatable {
    package var interval: Duration = .seconds(15 * 60)
    package var jitter: Duration = .seconds(30)
    package var retryInterval: Duration = .seconds(60)
    package var concurrency = 8
    /// Percent.
    package var maxRemoval = 20
  }

  package struct Retry: Sendable, Equatable {
    package var maxRetries = 3
    package var baseDelay: Duration = .seconds(1)
    package var maxDelay: Duration = .seconds(10)
    package var jitter: Duration = .milliseconds(500)
    package var maxRetryAfter: Duration = .seconds(2 * 60)
  }

  package struct Auth: Sendable, Equatable {
    package var flow = Flow.none
    /// As it was given; requests go to `resolvedTokenURL`.
    package var tokenURL = ""
    package var scope = ""
    package var earlyRefresh: Duration = .seconds(60)
    package var logoutStatus: [Int] = []
    /// Empty: there are no credential files.
    package var credentialsDir = ""
    package var tokenStore = ""
    /// systemd fills its folder once, when the service starts: a reload does not see a changed credential.
    package var credentialsNeedRestart = false
  }

  package struct Cache: Sendable, Equatable {
    package var path = ""
    package var history: Duration = .seconds(90 * 86400)
  }

  package struct Status: Sendable, Equatable {
    package var socket = ""
    package var socketMode: UInt16 = 0o660
  }

  package struct Log: Sendable, Equatable {
    package var level = Logger.Level.info
    package var format = LogFormat.auto
  }

  package var upstream = Upstream()
  package var sync = Sync()
  package var retry = Retry()
  package var auth = Auth()
  package var cache = Cache()
  package var status = Status()
  package var log = Log()
  /// The file that it came from; nil: none, the defaults hold.
  package var path: String?

  package init() {}

  /// `auth.token_url` as an absolute URL; nil where it is not set.
  package var resolvedTokenURL: String? {
    auth.tokenURL.isEmpty ? nil : WebAddress.resolve(auth.tokenURL, against: upstream.baseURL)
  }
}

extension Configuration: CustomStringConvertible {
  /// Masked, so that a log line or a failed test shows no secret (T9).
  package var description: String { rendered() }
}
