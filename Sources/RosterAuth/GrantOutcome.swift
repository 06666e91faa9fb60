import FoundationEssentials
import RosterJSON
import RosterModel

/// Why an answer to a token request grants nothing.
enum GrantRefusal: Error, Sendable, Equatable {
  /// `error`: the code of RFC 6749 §5.2, where the answer names one.
  case refused(status: Int, error: String?)
  case incomplete(field: String)
  /// The store could not give it back.
  case tooLarge
  case malformed
  case other(status: Int)
  case passing(Failure.Reason, retryAfter: Duration?)
}

struct GrantAnswer: Sendable, Equatable {
  var issued: IssuedToken
  /// nil: the old one stays.
  var refreshToken: Secret?
}

extension Grant {
  /// `now` is the time of the answer, from which `expires_in` counts.
  func read(_ response: Response, now: Date) throws(GrantRefusal) -> GrantAnswer {
    let status = response.status
    switch status {
    case 200...299: return try readGranted(response, now: now)
    case 400, 401, 403: throw .refused(status: status, error: Self.errorCode(response))
    case 408, 429, 500...599: throw .passing(.status(status), retryAfter: response.retryAfter(now: now))
    default: throw .other(status: status)
    }
  }

  private func readGranted(_ response: Response, now: Date) throws(GrantRefusal) -> GrantAnswer {
    guard let answer = JSONValue(answer: response.body) else { throw .malformed }
    guard let access = token(answer[accessField]) else { throw .incomplete(field: accessField) }
    let refresh = token(answer[refreshField])
    if refresh == nil, refreshRequired { throw .incomplete(field: refreshField) }
    let life =
      Lifetime.positive(answer["expires_in"]?.seconds)
      ?? Lifetime.left(
        JWTTimes(access)?.expiry.timeIntervalSince(response["Date"].flatMap { Date(httpDate: $0) } ?? now))
    let issued = IssuedToken(access: access, obtainedAt: now, expiresAt: life.map { now + $0 })
    return GrantAnswer(issued: issued, refreshToken: refresh)
  }

  /// A text that could not be sent is no token.
  private func token(_ value: JSONValue?) -> Secret? {
    value?.text.map { Secret($0) }.flatMap { $0.fitsHeader ? $0 : nil }
  }

  /// Only the codes that the RFC lists: any other text is upstream's, and might repeat a secret.
  private static func errorCode(_ response: Response) -> String? {
    let codes = [
      "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
      "invalid_scope",
    ]
    return JSONValue(answer: response.body)?["error"]?.text.flatMap { codes.contains($0) ? $0 : nil }
  }
}

/// How long a token lives, in seconds.
enum Lifetime {
  /// Longer than any token lives; beyond it a time cannot be written as RFC 3339.
  private static let longest = 100 * 365.25 * 86400

  static func positive(_ seconds: Double?) -> Double? {
    left(seconds).flatMap { $0 > 0 ? $0 : nil }
  }

  /// 0: it is over already.
  static func left(_ seconds: Double?) -> Double? {
    seconds.map { min(max(0, $0), longest) }
  }
}

/// What a JWT says of its own life (RFC 7519 §4.1), by the clock of who issued it. nil: no JWT, or one without `exp`.
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
  private static func date(_ seconds: Double) -> Date? {
    (0..<253_402_300_800).contains(seconds) ? Date(timeIntervalSince1970: seconds) : nil
  }
}

extension JSONValue {
  /// nil: not JSON. A byte order mark before it costs nobody a session.
  fileprivate init?(answer bytes: some Collection<UInt8>) {
    guard let value = try? JSONValue(json: Array(bytes).withoutByteOrderMark) else { return nil }
    self = value
  }

  /// Some servers write numbers as strings.
  fileprivate var seconds: Double? {
    guard let number = number ?? text.flatMap({ Double($0) }), number.isFinite else { return nil }
    return number
  }
}

extension Data {
  /// RFC 7515 §2: the URL-safe alphabet, no padding.
  fileprivate init?(base64URL text: some StringProtocol) {
    var base64 = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
    base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
    self.init(base64Encoded: base64)
  }
}
