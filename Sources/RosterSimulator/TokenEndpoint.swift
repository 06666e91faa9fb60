internal import FoundationEssentials
import RosterCore
internal import RosterDecode

/// The content of the credential files. The values are generated, so they need no protection. nil if the flow does not
/// use the file.
package struct SimulatedCredentials: Sendable, Equatable {
  /// The file `access_token`.
  package var accessToken: String?
  /// The file `refresh_token`.
  package var refreshToken: String?
  /// The file `client_id`.
  package var clientID: String?
  /// The file `client_secret`.
  package var clientSecret: String?
  /// The file `username`.
  package var username: String?
  /// The file `password`.
  package var password: String?

  /// The contents by their file names in `credentials_dir`.
  package var files: [String: String] {
    [
      "access_token": accessToken, "refresh_token": refreshToken, "client_id": clientID, "client_secret": clientSecret,
      "username": username, "password": password,
    ].compactMapValues { $0 }
  }
}

/// Grants tokens with strict rotation and decides which ones are valid. It is a value with one method for each event,
/// and the time is an argument.
struct TokenEndpoint {
  private struct Access {
    var generation: Int
    var dies: Date?
    var usesLeft: Int?
  }

  var settings: Scenario.Tokens
  private(set) var credentials = SimulatedCredentials()
  /// All tokens and secrets ever granted, for tests that look for leaks.
  private(set) var secrets: [String] = []
  private var generation = 0
  private var access: [String: Access] = [:]
  private var generations: [String: Int] = [:]
  private var refreshToken: String?
  private var spent: Set<String> = []

  init(_ settings: Scenario.Tokens, now: Date) {
    self.settings = settings
    newSession(now: now)
  }

  /// Invalidates everything granted before, and starts with generation 0.
  mutating func newSession(now: Date) {
    revoke()
    generation = 0
    credentials = SimulatedCredentials()
    let flow = settings.flow
    guard flow.sendsToken else { return }
    if flow.source == .userAndPassword { return grantPassword() }
    if flow.usesTemplates {
      credentials.username = "roster user"
      credentials.password = secret("pass:word")
      return
    }
    if !flow.hasClientGrant { credentials.accessToken = grantAccess(now: now) }
    if flow.replacedFile == .refreshToken { credentials.refreshToken = grantRefresh() }
    if flow.identifiesClient {
      credentials.clientID = "roster:client"  // the colon must travel encoded (RFC 6749 §2.3.1)
      credentials.clientSecret = secret("client+secret%")
    }
  }

  /// Invalidates all tokens granted so far, the refresh token included.
  mutating func revoke() {
    access = [:]
    if let refreshToken { spent.insert(refreshToken) }
    refreshToken = nil
  }

  /// Invalidates the access tokens granted so far; the refresh token stays valid.
  mutating func killAccess() { access = [:] }

  /// Generation of the request's token, whether valid or not.
  func generation(of request: Request) -> Int? {
    token(of: request).flatMap { generations[$0] }
  }

  /// True if the request's token is valid; this uses the token once.
  mutating func admit(_ request: Request, now: Date) -> Bool {
    if !settings.flow.sendsToken { return true }
    guard let token = token(of: request), let found = access[token] else { return false }
    if let dies = found.dies, dies <= now { return false }
    if found.usesLeft == 0 { return false }
    access[token]?.usesLeft = found.usesLeft.map { $0 - 1 }
    return true
  }

  /// A POST to the token URL.
  mutating func answer(_ request: Request, now: Date) -> (response: Response, outcome: TokenOutcome) {
    let authorization = Response(status: 0, headers: request.headers)["Authorization"]
    let form = Form(request.body)
    switch settings.flow.source {
    case .nothing, .file, .userAndPassword, .assertion: return refuse("unsupported_grant_type")
    case .templates: return exchange(request.body, now: now)
    case .request(let step, _):
      let sent = step.send == nil ? form["refreshToken"] : request.body.isEmpty ? bearer(authorization) : nil
      guard let sent else { return refuse("invalid_request") }
      return refresh(sent, now: now)
    case .oauth2:
      guard isClient(authorization) else { return refuse("invalid_client", status: 401) }
      if form["grant_type"] == "refresh_token", let token = form["refresh_token"] { return refresh(token, now: now) }
      guard settings.flow.hasClientGrant, form["grant_type"] == "client_credentials" else {
        return refuse("unsupported_grant_type")
      }
      return grant(refresh: settings.grantRefreshToken ? grantRefresh() : nil, now: now)
    }
  }

  /// Django's simplejwt: a login by user name and password, or a refresh.
  private mutating func exchange(_ body: [UInt8], now: Date) -> (Response, TokenOutcome) {
    guard let json = try? JSONValue(json: body) else { return refuse("invalid_request") }
    if let token = json["refresh"]?.text { return refresh(token, now: now) }
    guard credentials.username != nil, json["username"]?.text == credentials.username,
      json["password"]?.text == credentials.password
    else { return refuse("no_active_account", status: 401) }
    return grant(refresh: grantRefresh(), now: now)
  }

  private mutating func refresh(_ token: String, now: Date) -> (Response, TokenOutcome) {
    if spent.contains(token) {
      revoke()
      return (refuse("invalid_grant").response, .reused)
    }
    guard token == refreshToken else { return refuse("invalid_grant") }
    if settings.flow.identifiesClient && !settings.rotate { return grant(refresh: nil, now: now) }
    spent.insert(token)
    return grant(refresh: renewsAccess ? nil : grantRefresh(), now: now)
  }

  private mutating func grant(refresh: String?, now: Date) -> (Response, TokenOutcome) {
    generation += 1
    let access = grantAccess(now: now)
    let fields: [(String, String?)] =
      switch settings.flow.source {
      case .request(_, let answer):
        // Each place is a pointer with one segment.
        [(String(answer.access?.text.dropFirst() ?? ""), access), (answer.refresh?.segments[0] ?? "", refresh)]
      case .templates: [("access", access), ("refresh", refresh)]
      case .nothing, .file, .userAndPassword, .assertion, .oauth2:
        [("access_token", access), ("refresh_token", refresh), ("token_type", "Bearer")]
      }
    var members = fields.compactMap { name, value in value.map { #""\#(name)":"\#($0)""# } }
    if let expiresIn = settings.expiresIn { members.append(#""expires_in":\#(expiresIn)"#) }
    return (Response(status: 200, body: Array("{\(members.joined(separator: ","))}".utf8)), .granted)
  }

  private func refuse(_ error: String, status: Int = 400) -> (response: Response, outcome: TokenOutcome) {
    (Response(status: status, body: Array(#"{"error":"\#(error)"}"#.utf8)), .refused)
  }

  private mutating func grantAccess(now: Date) -> String {
    let dies = settings.lifetime.map { now + $0.seconds }
    let uses = generation < settings.uses.count ? settings.uses[generation] : nil
    let token = settings.areJWTs ? jwt(dies: dies ?? now + Self.hour) : secret("access-\(generation)")
    if settings.areJWTs { secrets.append(token) }
    access[token] = Access(generation: generation, dies: dies, usesLeft: uses)
    generations[token] = generation
    // The next token is requested with this one.
    if renewsAccess { refreshToken = token }
    return token
  }

  private var renewsAccess: Bool { settings.flow.replacedFile == .accessToken }

  private mutating func grantPassword() {
    let (user, password) = ("roster user", secret("pass:word"))
    credentials.username = user
    credentials.password = password
    let token = Data("\(user):\(password)".utf8).base64EncodedString()
    access[token] = Access(generation: generation)
    generations[token] = generation
  }

  private mutating func grantRefresh() -> String {
    let token = secret("refresh-\(generation)")
    refreshToken = token
    return token
  }

  /// Random, so that another simulator does not accept it.
  private mutating func secret(_ name: String) -> String {
    secrets.append("\(name)-\(String(UInt64.random(in: 0...UInt64.max), radix: 16))")
    return secrets[secrets.count - 1]
  }

  private mutating func jwt(dies: Date) -> String {
    let id = secret("jwt-\(generation)")
    let claims = #"{"exp":\#(Int(dies.timeIntervalSince1970)),"jti":"\#(id)"}"#
    return [#"{"alg":"none","typ":"JWT"}"#, claims, id].map(base64URL).joined(separator: ".")
  }

  /// Base64url without padding (RFC 7515 §2).
  private func base64URL(_ text: String) -> String {
    Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  /// nil if the token's place is empty.
  private func token(of request: Request) -> String? {
    let place = settings.flow.fixedPlace ?? settings.place
    let value: String? =
      switch place.carrier {
      case .header: Response(status: 0, headers: request.headers)[place.name]
      // The simulator's pages are read by GET.
      case .body: nil
      case .parameter:
        request.url.firstIndex(of: "?").flatMap { Form(Array(request.url[$0...].utf8.dropFirst()))[place.name] }
      }
    guard let value, let (before, after) = place.partsAroundToken, value.hasPrefix(before), value.hasSuffix(after)
    else {
      return nil
    }
    return String(value.dropFirst(before.count).dropLast(after.count))
  }

  private func bearer(_ authorization: String?) -> String? {
    guard let authorization, authorization.hasPrefix("Bearer ") else { return nil }
    return String(authorization.dropFirst("Bearer ".count))
  }

  /// HTTP Basic with form-encoded parts (RFC 6749 §2.3.1).
  private func isClient(_ authorization: String?) -> Bool {
    guard let authorization, authorization.hasPrefix("Basic "),
      let decoded = Data(base64Encoded: String(authorization.dropFirst("Basic ".count)))
    else { return false }
    let parts = decoded.split(separator: UInt8(ascii: ":"), maxSplits: 1).map { Form.decode($0) }
    return parts == [credentials.clientID, credentials.clientSecret]
  }

  private static let hour = 3600.0
}
