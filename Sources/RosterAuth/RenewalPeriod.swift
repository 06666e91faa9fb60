import FoundationEssentials

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

  /// The time at which a daemon renews it without a sync: after 80 % of its life (T7.5).
  var due: Date { obtainedAt + endsAt.timeIntervalSince(obtainedAt) * 0.8 }
}
