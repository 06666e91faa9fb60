import FoundationEssentials
import RosterJSON
import RosterModel

/// Why an answer to a token request grants nothing.
enum GrantRefusal: Error, Sendable, Equatable {
  /// `said` is nil if the answer is not a JSON object, or is an empty one.
  case refused(status: Int, said: ServerStatement?)
  case incomplete(field: String, said: ServerStatement?)
  /// The store could not give it back.
  case tooLarge
  case malformed
  case other(status: Int, said: ServerStatement?)
  case passing(Failure.Reason, retryAfter: Duration?)
}

struct GrantAnswer: Sendable, Equatable {
  var issued: IssuedToken
  /// nil if the old refresh token remains valid.
  var refreshToken: Secret?
  /// The access token, if a refresh of `exchange` sends it to be replaced.
  var renewedAccess: Secret?
}

extension Grant {
  /// `now` is the time of the answer, from which `expires_in` counts.
  func read(_ response: Response, now: Date) throws(GrantRefusal) -> GrantAnswer {
    let status = response.status
    switch status {
    case 200...299: return try readGranted(response, now: now)
    case _ where response.isSpent: throw .passing(.status(status), retryAfter: response.pause(now: now)?.duration)
    case 400, 401, 403: throw .refused(status: status, said: ServerStatement(response))
    case _ where StatusRule(status).retriesTokens:
      throw .passing(.status(status), retryAfter: response.pause(now: now)?.duration)
    default: throw .other(status: status, said: ServerStatement(response))
    }
  }

  private func readGranted(_ response: Response, now: Date) throws(GrantRefusal) -> GrantAnswer {
    let document = response.tokenDocument
    guard document != nil || answer.access?.isInHeaders == true else { throw .malformed }
    let json = document ?? .null
    guard let access = answer.access?.token(in: response, json) else {
      throw incomplete(accessField, response: response)
    }
    let refresh = token(json, place: answer.refresh)
    if refresh == nil, refreshRequired || hasToken(json, place: answer.refresh) {
      throw incomplete(answer.refresh.map(field) ?? "", response: response)
    }
    let issued = IssuedToken(
      access: access, obtainedAt: now,
      expiresAt: life(json, access: access, response: response, now: now).map { now + $0 })
    return GrantAnswer(issued: issued, refreshToken: refresh, renewedAccess: renewsAccess ? access : nil)
  }

  /// T13.5: an end is corrected by the answer's `Date`.
  private func life(_ json: JSONValue, access: Secret, response: Response, now: Date) -> Double? {
    let seconds = answer.expiresIn.flatMap { json[$0]?.seconds }
    let milliseconds = answer.expiresInMilliseconds.flatMap { json[$0]?.seconds }
    if let life = Lifetime.positive(seconds ?? milliseconds.map { $0 / 1000 }) { return life }
    if let life = Lifetime.positive(answer.access?.cookie(in: response)?.maxAge) { return life }
    let end = answer.expiresAt.flatMap { json[$0]?.time } ?? JWTTimes(access)?.expiry
    let answered = response["Date"].flatMap { Date(httpDate: $0) } ?? now
    return Lifetime.left(end?.timeIntervalSince(answered))
  }

  private func incomplete(_ field: String, response: Response) -> GrantRefusal {
    .incomplete(field: field, said: ServerStatement(response))
  }

  private var accessField: String {
    if case .member(let pointer)? = answer.access { field(pointer) } else { answer.access?.text ?? "" }
  }

  private func field(_ place: JSONPointer) -> String {
    place.segments.count == 1 && url == nil ? place.segments[0] : place.description
  }

  /// A text that could not be sent is no token.
  private func token(_ answer: JSONValue, place: JSONPointer?) -> Secret? {
    place.flatMap { answer[$0]?.text }.map { Secret($0) }.flatMap { $0.fitsHeader ? $0 : nil }
  }

  /// True if upstream has replaced the token, whether or not the new one is usable.
  private func hasToken(_ answer: JSONValue, place: JSONPointer?) -> Bool {
    switch place.flatMap({ answer[$0] }) {
    case .text(let text): !text.isEmpty
    case .null, .boolean, nil: false
    default: true
    }
  }
}

/// How long a token lives, in seconds.
enum Lifetime {
  /// Longer than any token lives; beyond it a time cannot be written as RFC 3339.
  private static let longest = 100 * 365.25 * 86400

  static func positive(_ seconds: Double?) -> Double? {
    left(seconds).flatMap { $0 > 0 ? $0 : nil }
  }

  /// Zero for a life that has ended.
  static func left(_ seconds: Double?) -> Double? {
    seconds.map { min(max(0, $0), longest) }
  }
}

/// The times in a JWT (RFC 7519 §4.1), by the issuer's clock; nil if the text is not a JWT or has no `exp`.
struct JWTTimes: Equatable {
  var expiry: Date
  var issued: Date?

  init?(_ token: Secret) {
    let parts = token.reveal().split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let claims = Data(base64URL: parts[1]).flatMap({ JSONValue(answer: $0) }),
      let expiry = claims["exp"]?.seconds.flatMap(Self.date)
    else { return nil }
    self.expiry = expiry
    issued = claims["iat"]?.seconds.flatMap(Self.date)
  }

  /// Years 1970…9999: what RFC 3339 can write.
  fileprivate static func date(_ seconds: Double) -> Date? {
    (0..<253_402_300_800).contains(seconds) ? Date(timeIntervalSince1970: seconds) : nil
  }
}

extension JSONValue {
  /// nil if the answer is not JSON. A byte order mark before the JSON is ignored.
  init?(answer bytes: some Collection<UInt8>) {
    guard let value = try? JSONValue(json: Array(bytes).withoutByteOrderMark) else { return nil }
    self = value
  }

  /// Some servers write numbers as strings.
  var seconds: Double? {
    guard let number = number ?? text.flatMap({ Double($0) }), number.isFinite else { return nil }
    return number
  }

  /// RFC 3339, or seconds since 1970 in years that RFC 3339 can write.
  fileprivate var time: Date? { text.flatMap { Date(rfc3339: $0) } ?? seconds.flatMap(JWTTimes.date) }
}

extension Data {
  /// RFC 7515 §2: the URL-safe alphabet, no padding.
  fileprivate init?(base64URL text: some StringProtocol) {
    var base64 = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
    base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
    self.init(base64Encoded: base64)
  }
}
