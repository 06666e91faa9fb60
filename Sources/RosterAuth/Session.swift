import FoundationEssentials
import RosterCore

/// The content of the token store. The credential files start a session, and each refresh continues it.
struct Session: Sendable, Equatable {
  /// The client and the servers that the tokens are for; other ones must not receive them.
  struct Binding: Sendable, Equatable {
    var flow: String
    var clientID: Secret?
    var baseOrigin: String
    var tokenOrigin: String
  }

  /// The state of the access token as requests see it.
  enum Status: Sendable, Equatable {
    case token(IssuedToken)
    /// It needs a token first: it has none, or upstream has refused the one that it had.
    case absent, refused
    case ended(Ending)
  }

  /// Why it ended.
  struct Ending: Sendable, Equatable {
    var at: Date
    /// A clause, no secret in it.
    var cause: String
    /// The credential file to mend.
    var file: String
    /// Digest of all that decides whether another try is worth a request.
    var tried: String
    /// Number of further attempts that ended in the same way.
    var trials = 0

    /// True if the client's own grant is tried again: after an interval, which doubles to a day.
    func isTriedAgain(at now: Date, _ settings: TokenSettings) -> Bool {
      let day = Duration.seconds(86_400)
      let pause = min(settings.syncInterval * (1 << min(trials, 20)), day)
      return now.timeIntervalSince(at) >= pause.seconds
    }
  }

  /// Whether the token may be refreshed before its end.
  enum EarlyRefresh: String, Sendable {
    case allowed
    /// Upstream refused it for the current token.
    case refused
    /// Upstream grants at the end of a token only.
    case never
  }

  var binding: Binding
  /// Digests of the credential bytes that it began with, by file name.
  var began: [String: String]
  /// Digests of the settings that its access token was asked for with, by request; empty if they are unknown.
  var asked: [String: String] = [:]
  var standing: Status
  var refreshToken: Secret?
  /// The access token that a refresh of `exchange` sends to be replaced; nil if it sends none.
  var renewedAccess: Secret?
  /// The life of what renews; nil if its end is unknown.
  var renewal: RenewalPeriod?
  /// A request with this refresh token brought no answer: upstream may have rotated it.
  var isUnanswered = false
  /// Whether early refreshes are worth a request.
  var early = EarlyRefresh.allowed
  /// Number of passing refusals of a login with a password since the last token.
  var passingRefusals = 0
  /// The pause that the token server asked for; nil if it asked for none since the last token.
  private(set) var pause: RetryAfterHold?
  /// The uptime at which that pause ends; not stored. nil before `startPause`.
  var pauseEnd: Duration?
}

extension Session {
  /// Notes the pause that the token server asked for; nil changes nothing. Returns whether there is one.
  mutating func notePause(_ duration: Duration?, at now: ClockReading) -> Bool {
    guard let duration else { return false }
    pause = RetryAfterHold(setAt: now.date, until: now.date + duration.seconds)
    pauseEnd = nil
    startPause(now)
    return true
  }

  /// Starts to measure a stored pause by uptime, so that setting the wall clock no longer changes it.
  mutating func startPause(_ now: ClockReading) {
    if pauseEnd == nil { pauseEnd = pause.map { now.uptime + ($0.remaining(at: now.date) ?? .zero) } }
  }

  /// The rest of the pause; nil if a token request may begin.
  func remainingPause(_ now: ClockReading) -> Duration? {
    pauseEnd.flatMap { $0 > now.uptime ? $0 - now.uptime : nil }
  }

  /// Takes over the pause of an earlier session if the token server is the same.
  mutating func takePause(of earlier: [Session]) {
    let source = earlier.first { $0.binding.tokenOrigin == binding.tokenOrigin && $0.pause != nil }
    (pause, pauseEnd) = (source?.pause, source?.pauseEnd)
  }
}

extension Session {
  var access: IssuedToken? {
    if case .token(let issued) = standing { issued } else { nil }
  }

  var ending: Ending? {
    if case .ended(let ending) = standing { ending } else { nil }
  }

  /// A request that used it has no answer. Returns whether that is worth a note: the refresh token may have been
  /// rotated unseen.
  mutating func noteUnanswered() -> Bool {
    guard hasReplaceableToken, !isUnanswered else { return false }
    isUnanswered = true
    return true
  }

  /// The session with this ending, unless it has one; nil changes nothing.
  func ended(_ ending: Ending?) -> Session {
    guard let ending, self.ending == nil else { return self }
    var session = self
    session.standing = .ended(ending)
    return session
  }

  /// The session after an answer that grants a token.
  func granted(_ answer: GrantAnswer) -> Session {
    Session(
      binding: binding, began: began, asked: asked, standing: .token(answer.issued),
      refreshToken: answer.refreshToken ?? refreshToken, renewedAccess: answer.renewedAccess,
      renewal: answer.renewal ?? (answer.refreshToken == nil ? renewal : nil),
      early: early == .allowed ? .allowed : .never)
  }

  /// After an early refresh that brought the same token again: its end is the later one, and no early refresh follows.
  mutating func keepEnd(of old: Session) {
    guard case .token(var issued) = standing, let former = old.access, issued.access == former.access else { return }
    early = .never
    guard let end = former.expiresAt, issued.expiresAt.map({ $0 < end }) ?? true else { return }
    (issued.obtainedAt, issued.expiresAt) = (former.obtainedAt, end)
    standing = .token(issued)
  }

  /// The session with digests that it did not record: an older release recorded fewer of them.
  func recording(_ settings: TokenSettings, credentials: Credentials) -> Session {
    var session = self
    let digests = credentials.sessionDigests(settings).filter { !Self.isToken($0.key) }
    session.began.merge(digests) { recorded, _ in recorded }
    if asked.isEmpty { session.asked = settings.asked }
    return session
  }

  private static func isToken(_ name: String) -> Bool { CredentialFile(rawValue: name)?.isToken == true }

  /// False for a token, and for a file that only `auth.send` names: tokens of the same user remain valid beside it.
  private static func isOfUser(_ name: String) -> Bool { !isToken(name) && !name.hasPrefix(sentPrefix) }

  /// Begins the name of the digest of a file that only `auth.send` names.
  fileprivate static let sentPrefix = "send."

  /// True if a token request may use up what it sends.
  var hasReplaceableToken: Bool { refreshToken != nil || renewedAccess != nil }

  /// True if the next token request of `exchange` is a login.
  func logsIn(_ settings: TokenSettings) -> Bool {
    guard let exchange = settings.exchange, exchange.login != nil else { return false }
    return exchange.refresh == nil || !knowsTokens(of: settings) || needsLogin(settings)
  }

  /// True if the session has each token that a refresh of `exchange` contains; a refresh without a token is a login by
  /// another name.
  fileprivate func knowsTokens(of settings: TokenSettings) -> Bool {
    let files = settings.refreshFiles
    return !files.isEmpty && files.allSatisfy { token(of: $0, settings.flow) != nil }
  }

  /// The successor of the token in this file.
  func token(of file: CredentialFile, _ flow: Flow) -> Secret? {
    file == .accessToken && flow.replacedFile != file ? renewedAccess : refreshToken
  }

  /// Forgets the tokens that upstream refused to replace, so that a login follows.
  mutating func forgetTokens() {
    refreshToken = nil
    renewedAccess = nil
  }
}

extension Session.Binding {
  init(_ settings: TokenSettings, credentials: Credentials) {
    flow = settings.flow.rawValue
    clientID = settings.identifiesClient ? credentials.clientID : nil
    baseOrigin = settings.baseOrigin
    tokenOrigin = settings.tokenOrigin
  }
}

extension Session {
  /// The effect of the credential files on the current session.
  enum Change: Equatable {
    case none
    /// It had ended, and something changed that may mend it.
    case lift
    case begin(Session)
  }

  /// Throws `Failure` 78 where the flow lacks a credential, or has one that cannot be sent.
  /// - Parameter newest: the session in memory, whose tokens come before those of a stored one.
  static func change(
    from current: Session?, newest: Session? = nil, _ settings: TokenSettings, credentials: Credentials
  ) throws(Failure) -> Change {
    if let current, current.fits(settings, credentials: credentials) {
      try credentials.check(settings, stored: current)
      return current.isMended(by: settings, credentials) ? .lift : .none
    }
    let earlier = [newest, current].compactMap(\.self).first { $0.isOfSameUser(settings, credentials) }
    try credentials.check(settings, stored: earlier)
    var session = Session(settings, credentials: credentials)
    if let earlier { session.takeTokens(of: earlier, settings) }
    return .begin(session)
  }

  /// Takes over the tokens whose files are missing or unchanged: they may be successors of the files' tokens.
  private mutating func takeTokens(of earlier: Session, _ settings: TokenSettings) {
    // Otherwise its next token comes from the client's own grant, or from the changed file.
    guard settings.flow.replacedFile == .refreshToken else { return }
    if let token = earlier.refreshToken, takeDigest(.refreshToken, of: earlier) {
      refreshToken = token
      isUnanswered = earlier.isUnanswered
    }
    guard settings.refreshPlaceholders.contains(.accessToken) else { return }
    if let token = earlier.renewedAccess, takeDigest(.accessToken, of: earlier) { renewedAccess = token }
  }

  /// Takes over the digest of a file that is missing now. Returns false if the file has changed.
  private mutating func takeDigest(_ file: CredentialFile, of earlier: Session) -> Bool {
    let name = file.rawValue
    if began[name] == nil { began[name] = earlier.began[name] }
    return began[name] == earlier.began[name]
  }

  init(_ settings: TokenSettings, credentials: Credentials) {
    binding = Binding(settings, credentials: credentials)
    began = credentials.sessionDigests(settings)
    asked = settings.asked
    standing = credentials.firstToken(settings).map { .token($0) } ?? .absent
    refreshToken = settings.flow.replacedFile.flatMap { credentials[$0] }
    if settings.refreshPlaceholders.contains(.accessToken) { renewedAccess = credentials.accessToken }
    if settings.flow.replacedFile == .accessToken || renewedAccess != nil {
      renewal = RenewalPeriod(obtainedAt: access?.obtainedAt, endsAt: access?.expiresAt)
    }
  }

  /// True if the session continues with these settings and credentials.
  func fits(_ settings: TokenSettings, credentials: Credentials) -> Bool {
    belongs(to: settings, credentials) && !isOutdated(by: credentials.sessionDigests(settings), settings.flow)
  }

  private func belongs(to settings: TokenSettings, _ credentials: Credentials) -> Bool {
    binding == Binding(settings, credentials: credentials)
  }

  /// False if a file has another user or another password than the session recorded.
  private func isOfSameUser(_ settings: TokenSettings, _ credentials: Credentials) -> Bool {
    guard belongs(to: settings, credentials) else { return false }
    return credentials.sessionDigests(settings).allSatisfy { name, digest in
      !Self.isOfUser(name) || began[name].map { $0 == digest } ?? true
    }
  }

  /// A removed file changes nothing, because the token store may replace it. Nor does a user or a password that the
  /// session did not record: it may be the one of the tokens.
  private func isOutdated(by digests: [String: String], _ flow: Flow) -> Bool {
    if !flow.refreshes { return digests != began }
    return digests.contains { name, digest in began[name].map { $0 != digest } ?? Self.isToken(name) }
  }

  /// True if a file or setting has changed since the session ended. A removed file does not count, because it cannot
  /// repair anything.
  private func isMended(by settings: TokenSettings, _ credentials: Credentials) -> Bool {
    guard let ending else { return false }
    let files = credentials.digests
    let recorded = began.filter { CredentialFile(rawValue: $0.key) != nil }
    return [files, files.merging(recorded) { file, _ in file }].allSatisfy {
      Self.tried(settings, digests: $0) != ending.tried
    }
  }

  /// A change of any of these lifts an ended session.
  static func tried(_ settings: TokenSettings, credentials: Credentials) -> String {
    tried(settings, digests: credentials.digests)
  }

  private static func tried(_ settings: TokenSettings, digests: [String: String]) -> String {
    let files = digests.map { "\($0.key)=\($0.value)" }.sorted()
    let exchange = [settings.exchange?.written, settings.assertion?.written].compactMap(\.self)
    let places = settings.send == [.bearer] ? [] : settings.send.map(\.text)
    let parts =
      files + [settings.flow.rawValue, settings.tokenURL, settings.scope] + exchange + settings.requestForm + places
    return digest(Secret(parts.joined(separator: "\n")))
  }

  static func digest(_ secret: Secret) -> String {
    sha256(Array(secret.reveal().utf8)).map(\.hex).joined()
  }
}

extension Credentials {
  /// Digests of the files' bytes, by name.
  fileprivate var digests: [String: String] {
    CredentialFile.allCases.reduce(into: [:]) { $0[$1.rawValue] = self[$1].map(Session.digest) }
  }

  /// Digests of the files that start a session. The client's id is part of the binding, and a new secret alone keeps
  /// the tokens.
  fileprivate func sessionDigests(_ settings: TokenSettings) -> [String: String] {
    let files = settings.sessionFiles
    let all = digests
    var digests = all.filter { digest in files.contains { $0.rawValue == digest.key } }
    for file in settings.filesBesideToken where !files.contains(file) {
      digests[Session.sentPrefix + file.rawValue] = self[file].map(Session.digest)
    }
    // The token consists of them.
    if settings.flow.signsToken { digests["auth.jwt"] = settings.assertion.map { Session.digest(Secret($0.written)) } }
    return digests
  }

  /// The access token that the files contain; it is sent before any token request.
  fileprivate func firstToken(_ settings: TokenSettings) -> IssuedToken? {
    switch settings.flow.source {
    case .nothing, .assertion: return nil
    case .userAndPassword: return basicPair.map { IssuedToken(access: $0) }
    // The content of one file represents all of them.
    case .file where !settings.send.placeholders.contains(.accessToken):
      return settings.sentBesideToken.first.flatMap(value(of:)).map { IssuedToken(access: $0) }
    case .file, .oauth2, .request, .templates:
      return accessToken.map { token in
        let times = JWTTimes(token)
        return IssuedToken(access: token, obtainedAt: times?.issued, expiresAt: times?.expiry)
      }
    }
  }

  fileprivate func check(_ settings: TokenSettings, stored: Session?) throws(Failure) {
    for file in settings.neededFiles {
      let stored = settings.mayKeep(file.rawValue) ? stored?.token(of: file, settings.flow) : nil
      // An empty user or secret of `exchange` is one.
      let mayBeEmpty =
        (settings.flow.usesTemplates && !file.isToken) || (file == .password && !settings.refusesEmpty(file.rawValue))
      guard let known = self[file] ?? stored, mayBeEmpty || !known.reveal().isEmpty else {
        throw .missingCredential(file, settings: settings)
      }
    }
    let isPair = settings.flow.source == .userAndPassword
    if isPair || settings.sentBesideToken.contains(.basic) { try checkPair(settings) }
    try checkKey(settings)
    for file in settings.sentFiles + (isPair || settings.flow.signsToken ? [] : [.accessToken]) {
      guard let secret = self[file], !secret.fitsHeader else { continue }
      throw .unsendableCredential(file, holding: secret, settings: settings)
    }
  }

  /// RFC 7617 §2: the colon ends the user's name, and neither may hold a control character.
  private func checkPair(_ settings: TokenSettings) throws(Failure) {
    for (secret, file) in [(username, CredentialFile.username), (password, .password)] {
      let text = secret?.reveal() ?? ""
      if text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) || (file == .username && text.contains(":")) {
        throw .unfitForBasic(file, settings: settings)
      }
    }
  }
}

extension Session {
  /// The tokens of the session, for `ServerStatement`.
  var secrets: [Secret] { [access?.access, refreshToken, renewedAccess].compactMap { $0 } }
}
