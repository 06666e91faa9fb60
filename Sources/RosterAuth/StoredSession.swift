import FoundationEssentials
import RosterModel

/// The document of the token store.
struct StoredSession: Codable {
  static let currentVersion = 1

  var version = currentVersion
  var flow: String
  var clientID: String?
  var baseOrigin: String
  var tokenOrigin: String
  var began: [String: String]
  var accessToken: String?
  var obtainedAt: String?
  var expiresAt: String?
  var refreshToken: String?
  var renewedAccess: String?
  /// True if a token request may be unanswered; nil means false.
  var unanswered: Bool?
  var ended: Ended?
  /// nil without a pause that the token server asked for.
  var paused: Paused?

  struct Paused: Codable {
    var at: String
    var until: String
  }

  struct Ended: Codable {
    var at: String
    var cause: String
    var file: String
    var tried: String
  }

  /// Read first: the rest of a newer version may look different.
  struct Version: Codable {
    var version: Int
  }

  enum CodingKeys: String, CodingKey {
    case version, flow, unanswered, ended, paused
    case clientID = "client_id"
    case baseOrigin = "base_origin"
    case tokenOrigin = "token_origin"
    case began = "began_with_sha256"
    case accessToken = "access_token"
    case obtainedAt = "obtained_at"
    case expiresAt = "expires_at"
    case refreshToken = "refresh_token"
    case renewedAccess = "renewed_access_token"
  }

  init(_ session: Session) {
    flow = session.binding.flow
    clientID = session.binding.clientID?.reveal()
    baseOrigin = session.binding.baseOrigin
    tokenOrigin = session.binding.tokenOrigin
    began = session.began
    accessToken = session.access?.access.reveal()
    obtainedAt = session.access?.obtainedAt?.rfc3339
    expiresAt = session.access?.expiresAt?.rfc3339
    refreshToken = session.refreshToken?.reveal()
    renewedAccess = session.renewedAccess?.reveal()
    unanswered = session.isUnanswered ? true : nil
    ended = session.ending.map { Ended(at: $0.at.rfc3339, cause: $0.cause, file: $0.file, tried: $0.tried) }
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
      standing = .ended(.init(at: at, cause: ended.cause, file: ended.file, tried: ended.tried))
    }
    var pause: RetryAfterHold?
    if let paused {
      guard let at = Date(rfc3339: paused.at), let until = Date(rfc3339: paused.until) else { return nil }
      pause = RetryAfterHold(setAt: at, until: until)
    }
    return Session(
      binding: .init(
        flow: flow, clientID: clientID.map { Secret($0) }, baseOrigin: baseOrigin, tokenOrigin: tokenOrigin),
      began: began, standing: standing, refreshToken: refreshToken.map { Secret($0) },
      renewedAccess: renewedAccess.map { Secret($0) }, isUnanswered: unanswered ?? false,
      pause: pause)
  }
}
