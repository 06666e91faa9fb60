import FoundationEssentials
package import RosterCore
import RosterDecode

/// One authorization request of `rosterd login` (RFC 6749 §4.1) with its proof key (RFC 7636) and its state.
package struct AuthorizationRequest: Sendable {
  /// Which answer of the browser belongs to this request.
  package let state: String
  /// The proof that only this process can give.
  let verifier: Secret
  /// Address on this machine that receives the answer (RFC 8252 §7.3).
  package let redirect: String

  /// Makes a state and a verifier of 256 random bits each.
  package init(redirect: String) {
    self.init(redirect: redirect, state: Self.random(), verifier: Self.random())
  }

  init(redirect: String, state: String, verifier: String) {
    self.redirect = redirect
    self.state = state
    self.verifier = Secret(verifier)
  }

  /// The address for the browser; a query of `authorize_url` is kept.
  package func address(
    _ authorizeURL: String, clientID: Secret, scope: String, parameters: [Request.Parameter] = []
  ) -> String {
    var fields = [
      ("response_type", "code"), ("client_id", clientID.reveal()), ("redirect_uri", redirect), ("state", state),
      ("code_challenge", challenge), ("code_challenge_method", "S256"),
    ]
    if !scope.isEmpty { fields.append(("scope", scope)) }
    let query = fields.adding(parameters).map { "\($0.name.formEncoded)=\($0.value.formEncoded)" }
      .joined(separator: "&")
    return authorizeURL + (authorizeURL.contains("?") ? authorizeURL.hasSuffix("?") ? "" : "&" : "?") + query
  }

  private var challenge: String { Data(sha256(Array(verifier.reveal().utf8))).base64URL }

  private static func random() -> String {
    Data((0..<32).map { _ in UInt8.random(in: 0...UInt8.max) }).base64URL
  }
}

extension Data {
  /// RFC 7515 §2: the URL-safe alphabet, no padding.
  var base64URL: String {
    base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }
}

/// The code that a device shows to its user (RFC 8628 §3.2).
package struct DeviceCode: Sendable, Equatable {
  let code: Secret
  /// Text that the user enters.
  package let userCode: String
  /// Address at which the user enters the code.
  package let address: String
  /// The same address with the code in it; nil if upstream has none.
  package let completeAddress: String?
  let expiresIn: Duration
  let interval: Duration

  /// nil if the answer has all required fields.
  static func firstMissingField(of answer: JSONValue) -> String? {
    if let field = ["device_code", "user_code"].first(where: { answer[$0]?.text == nil }) { return field }
    return (answer["verification_uri"] ?? answer["verification_url"])?.text == nil ? "verification_uri" : nil
  }

  init?(_ answer: JSONValue) {
    guard let code = answer["device_code"]?.text, let userCode = answer["user_code"]?.text,
      let address = (answer["verification_uri"] ?? answer["verification_url"])?.text, address.isWebAddress
    else { return nil }
    let complete = answer["verification_uri_complete"]?.text
    self.code = Secret(code)
    self.userCode = userCode
    self.address = address
    completeAddress = complete.flatMap { $0.isWebAddress ? $0 : nil }
    expiresIn = .seconds(max(Lifetime.left(answer["expires_in"]?.seconds) ?? 900, 1))
    interval = .seconds(max(Lifetime.left(answer["interval"]?.seconds) ?? 5, 1))
  }
}

extension JSONValue {
  fileprivate var isObject: Bool { if case .object = self { true } else { false } }

  /// True if an object has a value other than null at this name.
  fileprivate func has(_ name: String) -> Bool { self[name].map { $0 != .null } ?? false }
}

extension String {
  fileprivate var isWebAddress: Bool { hasPrefix("https://") || hasPrefix("http://") }
}

/// The first refresh token of `oauth2_refresh`. It sends what `send` sends, and stores nothing.
package struct Login: Sendable {
  private let settings: TokenSettings
  private let credentials: Credentials
  private let send: Send
  private let clock: WallClock

  /// The credential `client_id` exists.
  package init(
    _ settings: TokenSettings, credentials: Credentials, send: @escaping Send, clock: WallClock = .system
  ) {
    self.settings = settings
    self.credentials = credentials
    self.send = send
    self.clock = clock
  }

  private static let step = "get the first refresh token"

  private func failure(_ kind: Failure.Kind, at url: String? = nil, cause: String, hint: String) -> Failure {
    Failure(kind, step: Self.step, subject: (url ?? settings.tokenURL).queryMasked, cause: cause, hint: hint)
  }

  /// Exchanges the code for a refresh token.
  /// - Throws: a `Failure`: 65 without a refresh token in the answer, 69, or 77 if upstream refuses the code.
  package func refreshToken(code: Secret, _ request: AuthorizationRequest) async throws -> Secret {
    let fields = [
      ("grant_type", "authorization_code"), ("code", code.reveal()), ("redirect_uri", request.redirect),
      ("code_verifier", request.verifier.reveal()),
    ]
    let response = try await post(settings.tokenURL, fields: fields)
    return try refreshToken(response, hiding: [code, request.verifier])
  }

  /// Asks for a code that a user confirms elsewhere.
  package func deviceCode(at url: String) async throws -> DeviceCode {
    var fields = [("client_id", credentials.clientID?.reveal() ?? "")]
    if !settings.scope.isEmpty { fields.append(("scope", settings.scope)) }
    let response = try await post(url, fields: fields)
    guard response.status == 200, let answer = response.tokenDocument, !answer.has("error") else {
      throw refusal(response, at: url, hiding: [], what: "the device code")
    }
    guard let code = DeviceCode(answer) else {
      let field = DeviceCode.firstMissingField(of: answer)
      throw refusal(
        response, at: url, hiding: [], what: "the device code", lacking: field ?? "a web address in verification_uri")
    }
    return code
  }

  /// Polls until the user has confirmed the code (RFC 8628 §3.5). A code that expires within one interval is polled
  /// once, at its end.
  /// - Throws: a `Failure`: 1 after the code has expired, else as `refreshToken(code:_:)`.
  package func refreshToken(_ device: DeviceCode) async throws -> Secret {
    let fields = [
      ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", device.code.reveal()),
    ]
    let end = clock.uptime() + device.expiresIn
    var interval = device.interval
    var next = min(clock.uptime() + interval, end)
    while next <= end {
      try await clock.sleep(next - clock.uptime())
      defer { next = clock.uptime() + interval }
      let response: Response
      do { response = try await post(settings.tokenURL, fields: fields) } catch let failure as Failure
        where failure.kind == .unreachable
      {
        // RFC 8628 §3.5: less often after a timeout.
        interval = max(interval, min(interval * 2, .seconds(60)))
        continue
      }
      switch ServerStatement(response)?.error {
      case "authorization_pending": continue
      case "slow_down": interval += .seconds(5)
      case "expired_token": throw expired
      default: return try refreshToken(response, hiding: [device.code])
      }
    }
    try await clock.sleep(end - clock.uptime())
    throw expired
  }

  private var expired: Failure {
    failure(.cancelled, cause: "the code was not confirmed before it expired", hint: "run rosterd login again")
  }

  private func post(_ url: String, fields: [(String, String)]) async throws -> Response {
    var request = Request(
      .post, url,
      headers: [
        Request.Header("Accept", "application/json"), Request.Header("User-Agent", "rosterd/\(rosterdVersion)"),
      ])
    var fields = fields
    request.identify(try credentials.asserting(settings, now: clock.now()), as: settings.client, fields: &fields)
    var names: Set<String> = []
    request.setForm(fields.filter { names.insert($0.0).inserted }.adding(settings.parameters))
    request.add(settings.headers)
    let response: Response
    do { response = try await send(request) } catch let fault as Failure where fault.exchange != nil {
      throw fault.ofStep(Self.step, subject: url.queryMasked)
    }
    guard StatusRule(response.status).retriesTokens else { return response }
    throw Failure(
      .unreachable, step: Self.step, subject: url.queryMasked, cause: "upstream answered \(response.status)",
      hint: "try again later", reason: .status(response.status))
  }

  private func refreshToken(_ response: Response, hiding secrets: [Secret]) throws -> Secret {
    guard let answer = granted(response) else {
      throw refusal(response, at: settings.tokenURL, hiding: secrets, what: "the login")
    }
    if let token = answer["refresh_token"]?.text.map({ Secret($0) }), token.fitsHeader { return token }
    guard !answer.has("refresh_token") else {
      throw failure(
        .badAnswer, cause: "the answer has a refresh_token that cannot be sent in a header (allowed: printable ASCII)",
        hint: "report it to the operator of \(settings.addressKey)")
    }
    let statement = answer["access_token"]?.text == nil ? ServerStatement(response) : nil
    let said = statement.map { " (\(response.status), \($0.shown(hiding: credentials.secrets + secrets)))" } ?? ""
    throw failure(
      .badAnswer, cause: "the answer has no refresh_token\(said)",
      hint:
        "ask for one as upstream's documentation says, such as by a scope (offline_access) or a parameter of auth.authorize_url (access_type=offline)"
    )
  }

  /// The answer that grants something: a JSON object with a token or without an error. nil for a refusal.
  private func granted(_ response: Response) -> JSONValue? {
    guard (200...299).contains(response.status), let answer = response.tokenDocument, answer.isObject,
      !answer.has("error") || answer["access_token"]?.text != nil || answer["refresh_token"]?.text != nil
    else { return nil }
    return answer
  }

  /// - Parameter field: what a successful answer lacks; nil for an answer of another kind.
  private func refusal(
    _ response: Response, at url: String, hiding secrets: [Secret], what: String, lacking field: String? = nil
  ) -> Failure {
    let said = ServerStatement(response).map { ", \($0.shown(hiding: credentials.secrets + secrets))" } ?? ""
    let isHTML = (200...299).contains(response.status) && response.tokenDocument?.isObject != true
    let form = isHTML ? ", and the answer is not a JSON object" : ""
    let lack = field.map { "upstream granted \(what), but the answer lacks \($0)" }
    return failure(
      .refused, at: url,
      cause: "\(lack ?? "upstream refuses \(what)") (\(response.status)\(said)\(form))",
      hint: "see whether client_id, auth.scope and the addresses in [auth] are those that upstream registered"
        + (ServerStatement(response)?.about == .client ? settings.clientAdvice(credentials) : ""))
  }

  /// The failure for an answer of the browser without a code.
  /// - Parameter said: `error` and `error_description` of the answer.
  package func denied(_ said: [String]) -> Failure {
    let text = said.masking(credentials.secrets.map { $0.reveal() }).map { $0.printable.prefix(200) }
    return failure(
      .refused,
      cause: "upstream or its user denied the login\(text.isEmpty ? "" : " (\(text.joined(separator: ", ")))")",
      hint: "run rosterd login again and allow the access")
  }

  /// The answer of the browser belongs to another request.
  package var foreignState: Failure {
    failure(
      .refused, cause: "the browser's answer has another state than this login",
      hint: "run rosterd login again, and use only the address that it prints")
  }

  /// No answer of the browser came in time.
  package var unanswered: Failure {
    failure(
      .cancelled, cause: "the browser has sent no answer within 5 minutes", hint: "run rosterd login again")
  }
}

extension Grant {
  /// One of the two requests of `exchange`.
  init(_ step: TokenExchange.Step, exchange: TokenExchange) {
    self.init(step, answer: exchange.answer, refreshRequired: false)
    url = step.url
    renewsAccess = exchange.refresh?.placeholders.contains(.accessToken) ?? false
  }
}

extension TokenExchange {
  /// All of it as one text, whose digest shows a change.
  var written: String {
    let places = [answer.refresh, answer.expiresIn, answer.expiresAt].map { $0?.description ?? "" }
    // A key that is not set leaves the text, and with it the digest, as earlier versions have it.
    let later = [answer.expiresInMilliseconds?.description].compactMap(\.self)
    let texts = [answer.access?.text ?? ""] + places + later
    let parts = [login, refresh].map { $0?.json ?? .null } + texts.map(JSONValue.text)
    return JSONWriter(.list(parts)).text
  }
}

extension TokenExchange.Step {
  /// The request as one text, whose digest shows a change.
  var written: String { JSONWriter(json).text }

  fileprivate var json: JSONValue {
    .list([.text(url), body, .text(format.rawValue), .text(send?.text ?? "")])
  }
}

extension Grant {
  /// The grant for the next token request of a session; nil if the flow sends no token request.
  init?(_ settings: TokenSettings, session: Session) {
    guard let exchange = settings.exchange else {
      self.init(settings.flow)
      return
    }
    let logsIn = session.logsIn(settings)
    guard let step = logsIn ? exchange.login : exchange.refresh ?? exchange.login else { return nil }
    self = Grant(step, exchange: exchange)
  }
}
