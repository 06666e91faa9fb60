package import FoundationEssentials
package import RosterModel

/// An access token as it is handed to requests.
package struct Token: Sendable, Equatable {
  package let access: Secret
  /// Grows with every token of this process: tells a late 401 from one for the current token.
  package let generation: Int
  /// nil: unknown.
  package let expiresAt: Date?
  let obtainedAt: Date?

  init(_ issued: IssuedToken, generation: Int) {
    access = issued.access
    expiresAt = issued.expiresAt
    obtainedAt = issued.obtainedAt
    self.generation = generation
  }

  package var authorization: Request.Header {
    Request.Header("Authorization", "Bearer \(access.reveal())")
  }

  func isExpired(_ now: Date) -> Bool {
    expiresAt.map { $0 <= now } ?? false
  }

  /// Whether it is to be refreshed ahead of time (T2): half of its life stands in for `early` where that is longer.
  func isDue(_ now: Date, early: Duration) -> Bool {
    guard let expiresAt else { return false }
    let halfLife = obtainedAt.map { expiresAt.timeIntervalSince($0) / 2 } ?? .infinity
    return now >= expiresAt - min(early.seconds, halfLife)
  }
}

/// An access token as the store keeps it: without a generation, which has no meaning outside this process.
struct IssuedToken: Sendable, Equatable {
  var access: Secret
  /// nil: unknown, and so is its whole life.
  var obtainedAt: Date?
  var expiresAt: Date?
}

/// What the credential files hold; RosterDaemon reads them. nil: no such file.
package struct Credentials: Sendable, Equatable {
  package var refreshToken: Secret?
  package var accessToken: Secret?
  package var clientID: Secret?
  package var clientSecret: Secret?

  package init(
    refreshToken: Secret? = nil, accessToken: Secret? = nil, clientID: Secret? = nil, clientSecret: Secret? = nil
  ) {
    self.refreshToken = refreshToken
    self.accessToken = accessToken
    self.clientID = clientID
    self.clientSecret = clientSecret
  }
}
