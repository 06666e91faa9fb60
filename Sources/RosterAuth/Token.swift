package import FoundationEssentials
import RosterCore

/// An access token for requests.
package struct Token: Sendable, Equatable {
  /// Grows with every token of this process: tells a late 401 from one for the current token.
  package let generation: Int
  let issued: IssuedToken
  /// Places of the token and of other secrets in a request.
  var places = [TokenPlace.bearer]
  /// Other secrets that these places name.
  var files: [CredentialPlaceholder: Secret] = [:]
  /// True if rosterd has signed it.
  var isAssertion = false
  /// False if rosterd cannot replace it: it is sent although its end seems to be past.
  var isRenewed = true

  /// The token itself.
  package var access: Secret { issued.access }
  /// The time at which the token expires; nil if unknown.
  package var expiresAt: Date? { issued.expiresAt }

  func isExpired(_ now: ClockReading) -> Bool {
    issued.remaining(now).map { $0 <= 0 } ?? false
  }

  /// Seconds; nil if unknown, and for a token that is used although its life is over.
  func remaining(_ now: ClockReading) -> Double? {
    isBornExpired || !isRenewed ? nil : issued.remaining(now)
  }

  /// Its life was over when it came.
  var isBornExpired: Bool { issued.life.map { $0 <= 0 } ?? false }

  /// True if the token is due for an early refresh: `early`, but at most half of its life, before its end.
  func isDue(_ now: ClockReading, early: Duration) -> Bool {
    issued.remaining(now).map { $0 <= min(early.seconds, (issued.life ?? .infinity) / 2) } ?? false
  }
}

/// An access token as the store keeps it: without a generation, which has no meaning outside this process.
struct IssuedToken: Sendable, Equatable {
  var access: Secret
  /// The time at which upstream granted the token; nil if it is unknown, and with it the whole life of the token.
  var obtainedAt: Date?
  var expiresAt: Date?
  /// The uptime at which its life is over; not stored.
  var deadline: Duration?

  /// Seconds; nil: unknown.
  fileprivate var life: Double? {
    obtainedAt.flatMap { obtainedAt in expiresAt.map { $0.timeIntervalSince(obtainedAt) } }
  }

  /// Starts to measure the token's life by uptime. A clock that is set back no longer extends it, nor does a clock that
  /// was ahead when the token was obtained.
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

/// Contents of the credential files, which RosterDaemon reads; nil for a file that does not exist.
package struct Credentials: Sendable, Equatable {
  /// Starts a session of `oauth2_refresh`, `authenticate_form` and `bearer_refresh`.
  package var refreshToken: Secret?
  /// The token itself, of `static`, `bearer_renew` and `exchange`.
  package var accessToken: Secret?
  /// Name of rosterd at the token endpoint; `oauth2_client_credentials` needs it.
  package var clientID: Secret?
  /// Goes with `clientID`.
  package var clientSecret: Secret?
  /// User name of the flows `basic` and `exchange`.
  package var username: Secret?
  /// Password of the flows `basic` and `exchange`; nil means an empty one.
  package var password: Secret?
  /// PEM text of the key that signs assertions, and perhaps its certificate.
  package var privateKey: Secret?
  /// Passphrase of an encrypted `privateKey`.
  package var privateKeyPassphrase: Secret?
  /// Shared secret that signs assertions with HS256.
  package var hmacKey: Secret?
  /// The assertion of one request; no file has it.
  var assertion: Assertion?

  /// No files, unless given.
  package init(
    refreshToken: Secret? = nil, accessToken: Secret? = nil, clientID: Secret? = nil, clientSecret: Secret? = nil,
    username: Secret? = nil, password: Secret? = nil, privateKey: Secret? = nil,
    privateKeyPassphrase: Secret? = nil, hmacKey: Secret? = nil
  ) {
    self.refreshToken = refreshToken
    self.accessToken = accessToken
    self.clientID = clientID
    self.clientSecret = clientSecret
    self.username = username
    self.password = password
    self.privateKey = privateKey
    self.privateKeyPassphrase = privateKeyPassphrase
    self.hmacKey = hmacKey
  }
}

/// An assertion of `[auth.jwt]` in the compact form (RFC 7515 §7.1).
struct Assertion: Sendable, Equatable {
  var token: Secret
  /// The time in its `exp`; nil without one.
  var expiresAt: Date?
}

extension Credentials {
  subscript(file: CredentialFile) -> Secret? {
    switch file {
    case .refreshToken: refreshToken
    case .accessToken: accessToken
    case .clientID: clientID
    case .clientSecret: clientSecret
    case .username: username
    case .password: password
    case .privateKey: privateKey
    case .privateKeyPassphrase: privateKeyPassphrase
    case .hmacKey: hmacKey
    }
  }
}

extension Credentials {
  /// The content of the files that replace a placeholder; nil if one does not exist, and for an assertion.
  func value(of placeholder: CredentialPlaceholder) -> Secret? {
    placeholder == .basic ? basicPair : placeholder.files.first.flatMap { self[$0] }
  }

  /// User and password as HTTP Basic encodes them (RFC 7617 §2); nil without a user.
  var basicPair: Secret? {
    username.map { Secret(Data("\($0.reveal()):\(password?.reveal() ?? "")".utf8).base64EncodedString()) }
  }
}

/// A time by two clocks. The wall clock serves times that upstream announces; uptime measures intervals.
struct ClockReading: Sendable, Equatable {
  var date: Date
  /// Grows evenly and is independent of the wall clock; its zero means nothing.
  var uptime: Duration
}

extension WallClock {
  var moment: ClockReading { ClockReading(date: now(), uptime: uptime()) }
}

/// The life of what renews the access token, if upstream says when it ends: the refresh token, or a token that renews
/// itself. After its end only a person can begin the session again.
struct RenewalPeriod: Sendable, Equatable {
  var obtainedAt: Date
  var endsAt: Date

  /// nil without a life of more than 0 seconds.
  init?(obtainedAt: Date?, endsAt: Date?) {
    guard let obtainedAt, let endsAt, endsAt > obtainedAt else { return nil }
    self.obtainedAt = obtainedAt
    self.endsAt = endsAt
  }

  /// The time at which a daemon renews it without a sync: after 80 % of its life.
  var due: Date { obtainedAt + endsAt.timeIntervalSince(obtainedAt) * 0.8 }
}
