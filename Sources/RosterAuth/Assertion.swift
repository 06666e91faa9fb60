package import FoundationEssentials
package import RosterCore
import RosterDecode

extension AssertionTemplate {
  /// Fills both templates and signs them.
  /// - Throws: `Failure` 78 if the key cannot sign.
  func signed(
    with credentials: Credentials, settings: TokenSettings, now: Date, uuid: String
  ) throws(Failure) -> Assertion {
    let key: AssertionKey
    do { key = try AssertionKey(self, credentials: credentials) } catch {
      throw .unusableKey(error, settings: settings)
    }
    let seconds = Int(now.timeIntervalSince1970.rounded(.down))
    let (publicKey, certificate) = (key.publicKeyDigest, key.certificateDigest)
    let value = { (placeholder: AssertionPlaceholder) -> JSONValue in
      switch placeholder {
      case .credential(let name): .text(credentials.value(of: name)?.reveal() ?? "")
      case .time(let offset): .integer(seconds + offset)
      case .uuid: .text(uuid)
      case .publicKeyDigest: .text(Data(publicKey).base64EncodedString())
      case .certificateDigest: .text(Data(certificate).base64URL)
      }
    }
    let input = [header(value), claims.filledForAssertion(value)]
      .map { Data(JSONWriter($0).bytes).base64URL }.joined(separator: ".")
    guard let signature = key.signature(of: Array(input.utf8), algorithm: algorithm) else {
      throw .unusableKey(KeyFault(key.file, cause: "libcrypto refuses to sign with it"), settings: settings)
    }
    return Assertion(
      token: Secret("\(input).\(Data(signature).base64URL)"),
      expiresAt: offset(of: "exp").map { Date(timeIntervalSince1970: Double(seconds + $0)) })
  }

  /// RFC 7515 §4.1: a template may replace `typ`, but not `alg`.
  private func header(_ value: (AssertionPlaceholder) -> JSONValue) -> JSONValue {
    guard case .object(let members) = headers.filledForAssertion(value) else { return .object([]) }
    let typ = headers["typ"] == nil ? [JSONValue.Member("typ", .text("JWT"))] : []
    return .object([JSONValue.Member("alg", .text(algorithm.rawValue))] + typ + members)
  }

  /// All of it as one text, whose digest shows a change.
  var written: String { JSONWriter(.list([.text(algorithm.rawValue), headers, claims])).text }

  /// The credential file of the key.
  var keyFile: CredentialFile { algorithm.isSymmetric ? .hmacKey : .privateKey }

  /// The files without which it cannot be signed.
  var files: [CredentialFile] {
    [keyFile] + CredentialFile.allCases.filter { credentials.flatMap(\.files).contains($0) }
  }
}

extension Credentials {
  /// The credentials with a new assertion, which `{jwt}` and `client_assertion` send; unchanged without `[auth.jwt]`.
  func asserting(_ settings: TokenSettings, now: Date) throws(Failure) -> Credentials {
    guard let template = settings.assertion else { return self }
    guard self[template.keyFile] != nil else { throw .missingCredential(template.keyFile, settings: settings) }
    var credentials = self
    credentials.assertion = try template.signed(
      with: self, settings: settings, now: now, uuid: UUID().uuidString.lowercased())
    return credentials
  }

  /// These credentials with the keys of others.
  func withKeys(of files: Credentials) -> Credentials {
    var credentials = self
    credentials.privateKey = files.privateKey
    credentials.privateKeyPassphrase = files.privateKeyPassphrase
    credentials.hmacKey = files.hmacKey
    return credentials
  }

  /// Throws `Failure` 78 if there is a key, and it cannot sign the assertion of these settings.
  package func checkKey(_ settings: TokenSettings) throws(Failure) {
    guard let template = settings.assertion, self[template.keyFile] != nil else { return }
    _ = try template.signed(with: self, settings: settings, now: Date(timeIntervalSince1970: 0), uuid: "")
  }
}

extension Failure {
  static func unusableKey(_ fault: KeyFault, settings: TokenSettings) -> Failure {
    let cure = fault.cure.map { "\($0). Then " } ?? ""
    return Failure(
      .configuration, step: "sign the assertion of auth.jwt", subject: settings.path(fault.file.rawValue),
      cause: fault.cause, hint: cure + settings.mend(fault.file.rawValue)
    ).with(.missingCredential)
  }

  static func freshAssertionRefused(_ settings: TokenSettings) -> Failure {
    Failure(
      .refused, step: "read from upstream", subject: settings.baseOrigin,
      cause: "upstream refuses (401) an assertion that has just been signed",
      hint: "see whether auth.jwt.claims, auth.jwt.headers and the key are those that upstream has registered"
    ).with(.freshRefused, [.setting(settings.addressKey), .file(settings.path(settings.credential.rawValue))])
  }

  /// With the difference of the clocks, if the answer refuses an assertion that was sent as a token.
  package func comparingClocks(of response: Response, token: Token?, now: Date) -> Failure {
    guard let token, token.isAssertion, let clock = response.clockComparison(now: now) else { return self }
    var failure = self
    failure.cause += "; \(clock.clause)"
    return failure
  }

  /// A refusal that a wrong clock explains ends no session: it may succeed as soon as the clock is right.
  static func refusedByClock(_ ending: Session.Ending, settings: TokenSettings) -> Failure {
    Failure(
      .refused, step: refreshing, subject: settings.tokenURL.queryMasked, cause: ending.cause,
      hint: "set this machine's clock; the next sync signs another assertion")
  }
}

extension GrantAnswer {
  /// The grant of the flow `jwt`: the assertion itself is the token.
  init(_ assertion: Assertion, now: Date) {
    self.init(issued: IssuedToken(access: assertion.token, obtainedAt: now, expiresAt: assertion.expiresAt))
  }
}

extension Response {
  /// The difference between the clocks, which may be the reason why an assertion was refused. nil without a `Date`.
  func clockComparison(now: Date) -> ClockComparison? {
    self["Date"].flatMap { Date(httpDate: $0) }.map { ClockComparison(ahead: now.timeIntervalSince($0)) }
  }
}

/// This machine's clock as an answer shows it.
struct ClockComparison: Sendable, Equatable {
  /// Seconds; negative if this clock is behind.
  let ahead: Double

  /// The times of an answer have whole seconds, and the answer took a while.
  private static let tolerance = 5.0
  /// Servers usually tolerate up to a minute.
  private static let usual = 60.0

  /// True if the clock alone explains a refusal, so that another attempt may succeed once it is set.
  var explainsRefusal: Bool { abs(ahead) > Self.usual }

  /// A clause for the message of a refusal.
  var clause: String {
    guard abs(ahead) > Self.tolerance else { return "this machine's clock agrees with the Date of that answer" }
    let seconds = Int(abs(ahead).rounded())
    let advice = explainsRefusal ? "; set the clock (timedatectl shows it)" : ""
    return "this machine's clock is \(seconds) s \(ahead > 0 ? "ahead of" : "behind") the Date of that answer\(advice)"
  }
}
