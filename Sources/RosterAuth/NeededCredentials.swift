import RosterCore

/// The credential files of a flow, and the settings of its requests.
extension TokenSettings {
  /// Names of the credential files without which no session can begin. The token store may replace a file (`mayKeep`).
  package var neededCredentials: [String] { neededFiles.map(\.rawValue) }

  var neededFiles: [CredentialFile] {
    let named = filesOfFlow + filesBesideToken
    return CredentialFile.allCases.filter(named.contains)
  }

  private var filesOfFlow: [CredentialFile] {
    guard exchange == nil else { return exchangeFiles + (exchange?.login == nil ? refreshFiles : []) }
    // Without a token in `auth.send` the files that it names are the credentials.
    if !flow.refreshes, !sendsToken { return [] }
    // An assertion identifies the client, too.
    let files = flow.neededFiles.filter { assertion == nil || ![.clientID, .clientSecret].contains($0) }
    return files + assertionFiles
  }

  /// True if a request carries the token.
  private var sendsToken: Bool { places == [.basic] || places.placeholders.contains(.accessToken) }

  /// The files that start a session. The client's id is part of the binding, and a new secret alone keeps the tokens.
  var sessionFiles: [CredentialFile] {
    switch flow.source {
    case .nothing: []
    case .file: [.accessToken]
    case .userAndPassword: [.username, .password]
    case .oauth2: [.refreshToken, .accessToken]
    case .request: flow.neededFiles + [.accessToken]
    case .templates: exchangeFiles.filter { $0 == .username || $0 == .password } + [.refreshToken, .accessToken]
    case .assertion: [.privateKey, .hmacKey]
    }
  }

  /// The files that `auth.send`, or a header or a parameter of a token request, contains unchanged. They must fit a
  /// header, even in a query.
  var sentFiles: [CredentialFile] {
    let fields = [exchange?.login, exchange?.refresh].compactMap { $0?.send?.placeholders }
    // An assertion fits a header, whatever its key is, and so does an encoded pair.
    let sent = files(fields.reduce(Set(sentBesideToken)) { $0.union($1) }.subtracting([.jwt, .basic]))
    guard case .request(let step, _) = flow.source, step.send != nil else { return sent }
    return sent + flow.neededFiles
  }

  /// The file that starts a new session, or is the token.
  var credential: CredentialFile {
    if flow.usesTemplates { return loginCredential ?? renewed }
    if flow.source == .userAndPassword { return .password }
    if flow.source == .file, !sendsToken { return neededFiles.first ?? .accessToken }
    if flow.hasClientGrant || flow.signsToken { return assertion?.keyFile ?? sessionKey }
    return flow.neededFiles.first ?? .refreshToken
  }

  private var sessionKey: CredentialFile { flow.signsToken ? .privateKey : .clientSecret }

  /// The file that a login of `exchange` most likely lacks; nil without a login.
  var loginCredential: CredentialFile? {
    let files: [CredentialFile] = [.password, .clientSecret, .username, .clientID]
    guard exchange?.login != nil else { return nil }
    if loginPlaceholders.contains(.jwt), let assertion { return assertion.keyFile }
    return files.first { file in loginPlaceholders.contains { $0.files.contains(file) } } ?? .password
  }

  /// The file of what a token request sends to be replaced.
  var renewed: CredentialFile {
    flow.replacedFile == .accessToken || refreshFiles == [.accessToken] ? .accessToken : .refreshToken
  }

  /// True if the token store has the successor of this needed credential after the first token request. The file may be
  /// missing then.
  package func mayKeep(_ name: String) -> Bool {
    flow.refreshes && CredentialFile(rawValue: name)?.isToken == true
  }

  /// True if the token store at `path` certainly has no successor of this credential. Its session has none, or belongs
  /// to another server, flow or client. A store that cannot be read may have one.
  /// - Parameter client: the credentials with the client's id; nil if they cannot be read.
  package func lacksStored(_ name: String, at path: String, client: Credentials?) -> Bool {
    do {
      let store = TokenStore(path: path)
      let binding = Session.Binding(self, credentials: client ?? Credentials())
      let session =
        client == nil
        ? try store.sessions().first { $0.binding.belongs(to: binding) } : try store.content(for: binding).session
      return CredentialFile(rawValue: name).flatMap { session?.token(of: $0, flow) } == nil
    } catch { return false }
  }

  /// The placeholders of `auth.send` that the access token does not replace. `basic` with its own place has none.
  var sentBesideToken: [CredentialPlaceholder] {
    if !flow.sendsToken || places == [.basic] { return [] }
    let tokens: Set<CredentialPlaceholder> = flow.signsToken ? [.accessToken, .jwt] : [.accessToken]
    let named = places.placeholders.subtracting(tokens)
    return CredentialPlaceholder.allCases.filter(named.contains)
  }

  /// The files that `auth.send` names beside the access token.
  var filesBesideToken: [CredentialFile] { files(Set(sentBesideToken)) }

  /// The files that a request carries, if the flow replaces no token.
  var fixedFiles: [CredentialFile] {
    flow.source == .userAndPassword && sentBesideToken.isEmpty ? sessionFiles : neededFiles
  }

  /// True if a `send` contains this credential, so that it must not be empty.
  package func sends(_ name: String) -> Bool { sentFiles.contains { $0.rawValue == name } }

  /// True if the flow cannot use this needed credential if it is empty. An empty password or secret is one elsewhere.
  package func refusesEmpty(_ name: String) -> Bool {
    guard name == CredentialFile.password.rawValue || name == CredentialFile.clientSecret.rawValue else { return true }
    return sends(name) || (!flow.usesTemplates && name == CredentialFile.clientSecret.rawValue)
  }
}

/// The files of the flow `exchange`, whose templates name them.
extension TokenSettings {
  /// The files that both requests name, without tokens.
  private var exchangeFiles: [CredentialFile] {
    files(loginPlaceholders.union(refreshPlaceholders)).filter { !$0.isToken }
  }

  /// The tokens that a refresh contains.
  var refreshFiles: [CredentialFile] { files(refreshPlaceholders).filter(\.isToken) }

  /// True if the requests name the client, which a stored token belongs to then.
  var identifiesClient: Bool { flow.identifiesClient || exchangeFiles.contains(.clientID) }

  var loginPlaceholders: Set<CredentialPlaceholder> { exchange?.login?.placeholders ?? [] }

  var refreshPlaceholders: Set<CredentialPlaceholder> { exchange?.refresh?.placeholders ?? [] }

  /// The files without which no assertion can be signed.
  private var assertionFiles: [CredentialFile] { assertion?.files ?? [] }

  private func files(_ placeholders: Set<CredentialPlaceholder>) -> [CredentialFile] {
    let files = placeholders.flatMap(\.files) + (placeholders.contains(.jwt) ? assertionFiles : [])
    return CredentialFile.allCases.filter(files.contains)
  }
}

extension TokenSettings {
  /// True if the token request contains an assertion.
  /// - Parameter logsIn: true for a login of `exchange`.
  func sendsAssertion(logsIn: Bool) -> Bool {
    guard assertion != nil else { return false }
    return exchange == nil || (logsIn ? loginPlaceholders : refreshPlaceholders).contains(.jwt)
  }

  /// The keys that change the form of a token request, each as a text; empty without them.
  var requestForm: [String] {
    (client == .basic ? [] : [client.rawValue]) + parameters.map { "\($0.name)=\($0.value)" }
      + headers.map { "\($0.name): \($0.value)" }
  }
}

extension Credentials {
  /// The contents that `auth.send` names, beside the access token.
  func sent(_ settings: TokenSettings) -> [CredentialPlaceholder: Secret] {
    settings.sentBesideToken.reduce(into: [:]) { $0[$1] = value(of: $1) }
  }
}

extension Secret {
  /// The oddity of a credential file's content, as a clause; nil without one. rosterd sends the content unchanged,
  /// because any of this may belong to a credential.
  package var oddity: String? {
    let bytes = Array(reveal().utf8)
    guard let first = bytes.first, let last = bytes.last else { return nil }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return "begins with a byte order mark" }
    if bytes.contains(0) { return "contains a NUL byte" }
    if bytes.contains(where: \.endsLine) {
      return first.endsLine || last.endsLine ? "has an empty line" : "has more than one line"
    }
    if first.isBlank || last.isBlank { return "\(first.isBlank ? "begins" : "ends") with a blank" }
    if bytes.count > 1, first == last, first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") {
      return "is in quotes"
    }
    return isAssignment ? "looks like NAME=VALUE" : nil
  }

  /// True for `REFRESH_TOKEN=…`, as a file of variables has it.
  private var isAssignment: Bool {
    let name = reveal().utf8.prefix { $0 != UInt8(ascii: "=") }
    guard name.count < reveal().utf8.count, name.contains(UInt8(ascii: "_")) else { return false }
    return name.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || $0 == UInt8(ascii: "_") }
  }
}

extension UInt8 {
  fileprivate var endsLine: Bool { self == UInt8(ascii: "\n") || self == UInt8(ascii: "\r") }

  fileprivate var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}

extension Credentials {
  /// Oddities of the files, as clauses for a refusal; empty without any.
  /// - Parameter session: the session that was refused, whose refresh token may not be that of the file.
  func oddities(_ settings: TokenSettings, session: Session?) -> String {
    let files = settings.flow.refreshes ? CredentialFile.allCases : settings.fixedFiles
    return files.compactMap { file in
      guard let secret = self[file], let oddity = secret.oddity else { return nil }
      if file == .refreshToken, let session, session.refreshToken != secret { return nil }
      return "; \(settings.path(file.rawValue)) \(oddity)"
    }.joined()
  }
}
