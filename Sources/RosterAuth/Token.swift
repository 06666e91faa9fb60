package import FoundationEssentials
package import RosterModel

/// An access token as it is handed to requests.
package struct Token: Sendable, Equatable {
  /// Grows with every token of this process: tells a late 401 from one for the current token.
  package let generation: Int
  let issued: IssuedToken
  /// Where a request carries it.
  package var place = TokenPlace.bearer

  /// The token itself.
  package var access: Secret { issued.access }
  /// nil: unknown.
  package var expiresAt: Date? { issued.expiresAt }

  func isExpired(_ now: ClockReading) -> Bool {
    issued.remaining(now).map { $0 <= 0 } ?? false
  }

  /// Its life was over when it came.
  var isBornExpired: Bool { issued.life.map { $0 <= 0 } ?? false }

  /// Whether it is to be refreshed ahead of time (T2): half of its life stands in for `early` where that is longer.
  func isDue(_ now: ClockReading, early: Duration) -> Bool {
    issued.remaining(now).map { $0 <= min(early.seconds, (issued.life ?? .infinity) / 2) } ?? false
  }
}

/// An access token as the store keeps it: without a generation, which has no meaning outside this process.
struct IssuedToken: Sendable, Equatable {
  var access: Secret
  /// nil: unknown, and so is its whole life.
  var obtainedAt: Date?
  var expiresAt: Date?
  /// The uptime at which its life is over; not stored.
  private var deadline: Duration?

  init(access: Secret, obtainedAt: Date? = nil, expiresAt: Date? = nil) {
    self.access = access
    self.obtainedAt = obtainedAt
    self.expiresAt = expiresAt
  }

  /// Seconds; nil: unknown.
  fileprivate var life: Double? {
    obtainedAt.flatMap { obtainedAt in expiresAt.map { $0.timeIntervalSince(obtainedAt) } }
  }

  /// From now on a clock that is set back makes its life no longer; nor does one that was ahead when it was obtained.
  mutating func start(_ now: ClockReading) {
    deadline = expiresAt.map {
      now.uptime + .seconds(min($0.timeIntervalSince(now.date), life ?? .infinity))
    }
  }

  /// Seconds; nil: unknown.
  fileprivate func remaining(_ now: ClockReading) -> Double? {
    expiresAt.map {
      min($0.timeIntervalSince(now.date), deadline.map { ($0 - now.uptime).seconds } ?? .infinity)
    }
  }
}

/// What the credential files hold; RosterDaemon reads them. nil: no such file.
package struct Credentials: Sendable, Equatable {
  /// Starts a session of `oauth2_refresh`, `authenticate_form` and `bearer_refresh`.
  package var refreshToken: Secret?
  /// The token itself, of `static`.
  package var accessToken: Secret?
  /// Who rosterd is to the token endpoint; what `oauth2_client_credentials` needs.
  package var clientID: Secret?
  /// Goes with `clientID`.
  package var clientSecret: Secret?
  /// With `basic`.
  package var username: Secret?
  /// With `basic`; nil: empty.
  package var password: Secret?

  /// No files, unless given.
  package init(
    refreshToken: Secret? = nil, accessToken: Secret? = nil, clientID: Secret? = nil, clientSecret: Secret? = nil,
    username: Secret? = nil, password: Secret? = nil
  ) {
    self.refreshToken = refreshToken
    self.accessToken = accessToken
    self.clientID = clientID
    self.clientSecret = clientSecret
    self.username = username
    self.password = password
  }
}
