import FoundationEssentials
import RosterCore

/// The document of the token store.
struct StoredSession: Codable {
  static let currentVersion = 1

  var version = currentVersion
  var flow: String
  var clientID: String?
  var baseOrigin: String
  var tokenOrigin: String
  var began: [String: String]
  /// Digests of the settings of its last token request; nil if they are unknown.
  var asked: [String: String]?
  var accessToken: String?
  var obtainedAt: String?
  var expiresAt: String?
  var refreshToken: String?
  var renewedAccess: String?
  /// The life of what renews; nil if its end is unknown.
  var renewal: Renewal?
  /// True if a token request may be unanswered; nil means false.
  var unanswered: Bool?
  /// "refused" or "never"; nil if early refreshes are allowed.
  var early: String?
  /// Passing refusals of a login since the last token; nil means none.
  var passingRefusals: Int?
  var ended: Ended?
  /// nil without a pause that the token server asked for.
  var paused: Paused?

  struct Paused: Codable {
    var at: String
    var until: String
  }

  struct Renewal: Codable {
    var obtained: String
    var ends: String
  }

  struct Ended: Codable {
    var at: String
    var cause: String
    var file: String
    var tried: String
    /// Further attempts that ended in the same way; nil means none.
    var trials: Int?
  }

  /// Read first: the rest of a newer version may look different.
  struct Version: Codable {
    var version: Int
  }

  enum CodingKeys: String, CodingKey {
    case version, flow, unanswered, early, renewal, ended, paused
    case clientID = "client_id"
    case baseOrigin = "base_origin"
    case tokenOrigin = "token_origin"
    case began = "began_with_sha256"
    case asked = "asked_with_sha256"
    case accessToken = "access_token"
    case obtainedAt = "obtained_at"
    case expiresAt = "expires_at"
    case refreshToken = "refresh_token"
    case passingRefusals = "passing_refusals"
    case renewedAccess = "renewed_access_token"
  }

  init(_ session: Session) {
    flow = session.binding.flow
    clientID = session.binding.clientID?.reveal()
    baseOrigin = session.binding.baseOrigin
    tokenOrigin = session.binding.tokenOrigin
    began = session.began
    asked = session.asked.isEmpty ? nil : session.asked
    accessToken = session.access?.access.reveal()
    obtainedAt = session.access?.obtainedAt?.rfc3339
    expiresAt = session.access?.expiresAt?.rfc3339
    refreshToken = session.refreshToken?.reveal()
    renewedAccess = session.renewedAccess?.reveal()
    renewal = session.renewal.map { Renewal(obtained: $0.obtainedAt.rfc3339, ends: $0.endsAt.rfc3339) }
    unanswered = session.isUnanswered ? true : nil
    early = session.early == .allowed ? nil : session.early.rawValue
    passingRefusals = session.passingRefusals == 0 ? nil : session.passingRefusals
    ended = session.ending.map {
      Ended(
        at: $0.at.rfc3339, cause: $0.cause, file: $0.file, tried: $0.tried, trials: $0.trials == 0 ? nil : $0.trials)
    }
    paused = session.pause.map { Paused(at: $0.setAt.rfc3339, until: $0.until.rfc3339) }
  }

  /// nil if a time or a token in the file is not in the form that rosterd writes.
  var session: Session? {
    var standing = Session.Status.absent
    if let accessToken {
      let issued = IssuedToken(
        access: Secret(accessToken), obtainedAt: obtainedAt.flatMap { Date(rfc3339: $0) },
        expiresAt: expiresAt.flatMap { Date(rfc3339: $0) })
      guard issued.access.fitsHeader, (issued.obtainedAt == nil) == (obtainedAt == nil),
        (issued.expiresAt == nil) == (expiresAt == nil)
      else { return nil }
      standing = .token(issued)
    }
    if let ended {
      guard let at = Date(rfc3339: ended.at) else { return nil }
      let trials = max(0, ended.trials ?? 0)
      standing = .ended(.init(at: at, cause: ended.cause, file: ended.file, tried: ended.tried, trials: trials))
    }
    var pause: RetryAfterHold?
    if let paused {
      guard let at = Date(rfc3339: paused.at), let until = Date(rfc3339: paused.until) else { return nil }
      pause = RetryAfterHold(setAt: at, until: until)
    }
    return Session(
      binding: .init(
        flow: flow, clientID: clientID.map { Secret($0) }, baseOrigin: baseOrigin, tokenOrigin: tokenOrigin),
      began: began, asked: asked ?? [:], standing: standing, refreshToken: refreshToken.map { Secret($0) },
      renewedAccess: renewedAccess.map { Secret($0) },
      renewal: renewal.flatMap {
        RenewalPeriod(obtainedAt: Date(rfc3339: $0.obtained), endsAt: Date(rfc3339: $0.ends))
      }, isUnanswered: unanswered ?? false,
      early: early.flatMap { Session.EarlyRefresh(rawValue: $0) } ?? .allowed,
      passingRefusals: max(0, passingRefusals ?? 0), pause: pause)
  }
}
