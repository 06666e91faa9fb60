import FoundationEssentials
import RosterCore
import RosterDecode

/// Why an answer to a token request grants nothing.
enum GrantRefusal: Error, Sendable, Equatable {
  /// `said` is nil if the answer is not a JSON object, or is an empty one. `isFinal`: it is a statement about the grant
  /// or the client, which ends the session.
  case refused(status: Int, said: ServerStatement?, isFinal: Bool)
  case incomplete(field: String, said: ServerStatement?)
  /// The store could not give it back.
  case tooLarge
  case malformed
  case other(status: Int, said: ServerStatement?)
  /// A redirect, which is not followed: `address` is upstream's text.
  case moved(status: Int, address: String)
  /// A rate limit, a fault of the server, or one that it calls passing. `isRefusal`: the answer would be a refusal
  /// without that word or its Retry-After.
  case passing(Int, said: ServerStatement?, retryAfter: Duration?, isRefusal: Bool)
}

struct GrantAnswer: Sendable, Equatable {
  var issued: IssuedToken
  /// nil if the old refresh token remains valid.
  var refreshToken: Secret?
  /// The access token, if a refresh of `exchange` sends it to be replaced.
  var renewedAccess: Secret?
  /// The time before which upstream refuses the access token (`nbf` of a JWT).
  var wait = Duration.zero
  /// nil if upstream does not say when what renews ends.
  var renewal: RenewalPeriod?
}

extension Grant {
  /// `now` is the time of the answer, from which `expires_in` counts.
  func read(_ response: Response, now: Date) throws(GrantRefusal) -> GrantAnswer {
    let status = response.status
    if (200...299).contains(status) { return try readGranted(response, now: now) }
    let said = ServerStatement(response)
    let pause = response.pause(now: now)?.duration
    if StatusRule(status).retriesTokens || response.isSpent {
      throw .passing(status, said: said, retryAfter: pause, isRefusal: response.isSpent)
    }
    if let refusal = Self.refusal(status, said: said, pause: pause) { throw refusal }
    if (300...399).contains(status), let address = response["Location"] {
      throw .moved(status: status, address: address)
    }
    throw Self.refusals.contains(status)
      ? .refused(status: status, said: said, isFinal: false) : .other(status: status, said: said)
  }

  private static let refusals = [400, 401, 403]

  /// nil if the answer says nothing about the grant, the client or a later attempt.
  private static func refusal(_ status: Int, said: ServerStatement?, pause: Duration?) -> GrantRefusal? {
    switch said?.about {
    case .grant, .client: .refused(status: status, said: said, isFinal: true)
    case .passing: .passing(status, said: said, retryAfter: pause, isRefusal: true)
    case nil: pause.map { .passing(status, said: said, retryAfter: $0, isRefusal: refusals.contains(status)) }
    }
  }

  private func readGranted(_ response: Response, now: Date) throws(GrantRefusal) -> GrantAnswer {
    let document = response.tokenDocument
    guard document != nil || answer.access?.isInHeaders == true else { throw .malformed }
    let json = document ?? .null
    guard let access = answer.access?.token(in: response, json) else {
      let pause = response.pause(now: now)?.duration
      throw Self.refusal(response.status, said: ServerStatement(response), pause: pause)
        ?? incomplete(accessField, response: response)
    }
    let refresh = token(json, place: answer.refresh)
    if refresh == nil, refreshRequired || hasToken(json, place: answer.refresh) {
      throw incomplete(answer.refresh.map(field) ?? "", response: response)
    }
    let issued = IssuedToken(
      access: access, obtainedAt: now,
      expiresAt: life(json, access: access, response: response, now: now).map { now + $0 })
    return GrantAnswer(
      issued: issued, refreshToken: refresh, renewedAccess: renewsAccess ? access : nil,
      wait: wait(for: access, response: response, now: now),
      renewal: RenewalPeriod(obtainedAt: now, endsAt: renewalEnd(json, issued: issued, now: now)))
  }

  private static let maxWait = 30.0

  /// Zero for a token that may be used at once, and for one that is further ahead than clocks differ.
  private func wait(for access: Secret, response: Response, now: Date) -> Duration {
    let answered = response["Date"].flatMap { Date(httpDate: $0) } ?? now
    guard let start = JWTTimes(access)?.notBefore?.timeIntervalSince(answered), (0...Self.maxWait).contains(start)
    else { return .zero }
    return .seconds(start)
  }

  /// Names of the refresh token's life: Keycloak, Microsoft and GitHub, Intuit.
  private static let refreshLives = [
    "refresh_expires_in", "refresh_token_expires_in", "x_refresh_token_expires_in",
  ]

  private func renewalEnd(_ json: JSONValue, issued: IssuedToken, now: Date) -> Date? {
    if renewsAccess || answer.refresh.map(TokenSource.member) == answer.access { return issued.expiresAt }
    let lives = Self.refreshLives.compactMap { Lifetime.positive(json[$0]?.seconds) }
    return lives.first.map { now + $0 }
  }

  /// An end is corrected by the answer's `Date`.
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
    place.flatMap { answer[$0]?.text }.map { Secret($0.trimmed) }.flatMap { $0.fitsHeader ? $0 : nil }
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
  var notBefore: Date?

  init?(_ token: Secret) {
    let parts = token.reveal().split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let claims = Data(base64URL: parts[1]).flatMap({ JSONValue(answer: $0) }),
      let expiry = claims["exp"]?.seconds.flatMap(Self.date)
    else { return nil }
    self.expiry = expiry
    issued = claims["iat"]?.seconds.flatMap(Self.date)
    notBefore = claims["nbf"]?.seconds.flatMap(Self.date)
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

extension Response {
  /// The body of a token server's answer: JSON, or a form as an object of texts. nil for anything else.
  var tokenDocument: JSONValue? {
    if let json = JSONValue(answer: body) { return json }
    let type = self["Content-Type"]?.lowercased() ?? ""
    guard type.hasPrefix("application/x-www-form-urlencoded") else { return nil }
    return .object(
      body.split(separator: UInt8(ascii: "&")).map { field in
        let parts = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        let texts = parts.map { String(decoding: $0.percentDecoded(isForm: true), as: UTF8.self) }
        return JSONValue.Member(texts[0], .text(texts.count > 1 ? texts[1] : ""))
      })
  }
}

extension TokenSource {
  /// True if the body of an answer does not matter for the token.
  var isInHeaders: Bool {
    switch self {
    case .header, .cookie: true
    case .member, .body: false
    }
  }

  /// nil if the answer has no token there, or one that could not be sent.
  func token(in response: Response, _ document: JSONValue) -> Secret? {
    let text: String? =
      switch self {
      case .member(let pointer): document[pointer]?.text
      case .header(let name): response[name]
      case .cookie: cookie(in: response)?.value
      case .body: document.text
      }
    return text.map { Secret($0.trimmed) }.flatMap { $0.fitsHeader ? $0 : nil }
  }

  /// The cookie as the answer sets it; nil without one, and for another place.
  func cookie(in response: Response) -> (value: String, maxAge: Double?)? {
    guard case .cookie(let name) = self else { return nil }
    let lines = response.headers.filter { $0.isNamed("Set-Cookie") }.map { header in
      header.value.split(separator: ";").map { part in
        part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(\.trimmed)
      }
    }
    // The last one wins in a browser.
    guard let parts = lines.last(where: { $0.first?.first == name }), let pair = parts.first, pair.count == 2 else {
      return nil
    }
    let age = parts.dropFirst().first { $0.first?.lowercased() == "max-age" }
    return (pair[1], age.flatMap { $0.count == 2 ? Double($0[1]) : nil })
  }
}
