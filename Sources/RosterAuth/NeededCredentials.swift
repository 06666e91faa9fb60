import RosterModel

extension TokenSettings {
  /// Names of the credential files without which no session can begin. The token store may replace a file (`mayKeep`).
  package var neededCredentials: [String] { neededFiles.map(\.rawValue) }

  var neededFiles: [CredentialFile] {
    CredentialFile.allCases.filter((filesOfFlow + files(Set(sentBesideToken))).contains)
  }

  private var filesOfFlow: [CredentialFile] {
    switch flow {
    case .none: []
    case .static: send.placeholders.contains(.accessToken) ? [.accessToken] : []
    case .bearerRenew: [.accessToken]
    case .basic: places == [.basic] ? [.username] : []
    case .authenticateForm, .bearerRefresh: [.refreshToken]
    case .oauth2Refresh: [.refreshToken] + assertionFiles
    case .oauth2ClientCredentials: assertion == nil ? [.clientID, .clientSecret] : assertionFiles
    case .jwt: assertionFiles
    case .exchange: exchangeFiles + (exchange?.login == nil ? refreshFiles : [])
    }
  }

  /// True if the token store has the successor of this needed credential after the first token request. The file may be
  /// missing then.
  package func mayKeep(_ name: String) -> Bool {
    flow.refreshes && CredentialFile(rawValue: name)?.isToken == true
  }

  /// True if the token store at `path` certainly has no successor of this credential. Its session has none, or belongs
  /// to another server, flow or client (T8.5). A store that cannot be read may have one.
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
}

extension TokenSettings {
  /// The files that both requests of `exchange` name, without tokens (T13.2).
  var exchangeFiles: [CredentialFile] { files(loginPlaceholders.union(refreshPlaceholders)).filter { !$0.isToken } }

  /// The files without which no assertion can be signed.
  private var assertionFiles: [CredentialFile] { assertion?.files ?? [] }

  /// True if the token request contains an assertion.
  /// - Parameter logsIn: true for a login of `exchange`.
  func sendsAssertion(logsIn: Bool) -> Bool {
    guard assertion != nil else { return false }
    return exchange == nil || (logsIn ? loginPlaceholders : refreshPlaceholders).contains(.jwt)
  }

  /// The tokens that a refresh of `exchange` contains.
  var refreshFiles: [CredentialFile] { files(refreshPlaceholders).filter(\.isToken) }

  /// The files that start a session of `exchange`: those of both requests, without the client, and the tokens (T10).
  var exchangeSessionFiles: [CredentialFile] {
    exchangeFiles.filter { $0 == .username || $0 == .password } + [.refreshToken, .accessToken]
  }

  /// The placeholders of `auth.send` that the access token does not replace. `basic` with its own place has none.
  var sentBesideToken: [TokenExchange.Placeholder] {
    if flow == .none || places == [.basic] { return [] }
    let tokens: Set<TokenExchange.Placeholder> = flow == .jwt ? [.accessToken, .jwt] : [.accessToken]
    let named = places.placeholders.subtracting(tokens)
    return TokenExchange.Placeholder.allCases.filter(named.contains)
  }

  /// The files that `auth.send` names beside the access token (T10.2).
  var filesBesideToken: [CredentialFile] { files(Set(sentBesideToken)) }

  /// The files that `auth.send`, or `send` of a request of `exchange`, contains unchanged. They must fit a header,
  /// even in a query.
  var sentFiles: [CredentialFile] {
    let steps = [exchange?.login, exchange?.refresh].compactMap { $0?.send?.placeholders }
    // An assertion fits a header, whatever its key is, and so does an encoded pair.
    return files(steps.reduce(Set(sentBesideToken)) { $0.union($1) }.subtracting([.jwt, .basic]))
  }

  /// True if a `send` contains this credential, so that it must not be empty.
  package func sends(_ name: String) -> Bool { sentFiles.contains { $0.rawValue == name } }

  /// True if the flow cannot use this needed credential if it is empty. An empty password or secret is one elsewhere.
  package func refusesEmpty(_ name: String) -> Bool {
    guard name == CredentialFile.password.rawValue || name == CredentialFile.clientSecret.rawValue else { return true }
    return sends(name) || (flow != .exchange && name == CredentialFile.clientSecret.rawValue)
  }

  /// True if an `exchange` names the client, which a stored token belongs to then (T8).
  var exchangeIdentifiesClient: Bool { exchangeFiles.contains(.clientID) }

  var loginPlaceholders: Set<TokenExchange.Placeholder> { exchange?.login?.placeholders ?? [] }

  var refreshPlaceholders: Set<TokenExchange.Placeholder> { exchange?.refresh?.placeholders ?? [] }

  private func files(_ placeholders: Set<TokenExchange.Placeholder>) -> [CredentialFile] {
    let files = placeholders.flatMap(\.files) + (placeholders.contains(.jwt) ? assertionFiles : [])
    return CredentialFile.allCases.filter(files.contains)
  }
}

extension TokenSettings {
  /// The keys that change the form of a token request, each as a text; empty without them.
  var requestForm: [String] {
    (client == .basic ? [] : [client.rawValue]) + parameters.map { "\($0.name)=\($0.value)" }
      + headers.map { "\($0.name): \($0.value)" }
  }
}
