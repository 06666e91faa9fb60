import FoundationEssentials
import RosterCore

extension Session.Binding {
  /// Names the store's file of this identity.
  var digest: String {
    let parts = [flow, clientID?.reveal() ?? "", clientID == nil ? "" : "client", baseOrigin, tokenOrigin]
    return String(Session.digest(Secret(parts.joined(separator: "\n"))).prefix(16))
  }

  /// True if the identities differ at most in the client.
  func belongs(to other: Self) -> Bool {
    flow == other.flow && baseOrigin == other.baseOrigin && tokenOrigin == other.tokenOrigin
  }

  /// A clause about a store that has a session of this identity, for a configuration with another one. It names what
  /// differs; the client's id is a credential and is not shown.
  /// - Parameter path: the file of the other identity; nil if it is unknown.
  func foreignText(to own: Self, path: String?) -> String {
    var parts: [String] = []
    if flow != own.flow { parts.append("auth.flow \"\(flow)\" instead of \"\(own.flow)\"") }
    if baseOrigin != own.baseOrigin { parts.append("base_url at \(baseOrigin) instead of \(own.baseOrigin)") }
    if tokenOrigin != own.tokenOrigin { parts.append("token_url at \(tokenOrigin) instead of \(own.tokenOrigin)") }
    if clientID != own.clientID {
      parts.append(
        clientID == nil
          ? "no client_id instead of one" : own.clientID == nil ? "a client_id instead of none" : "another client_id")
    }
    let place = path.map { "; this one uses \($0)" } ?? ""
    return "has the session of another identity (\(parts.joined(separator: ", "))), which is kept\(place)"
  }
}

extension Session {
  /// The session, ended if one of another identity has exchanged its refresh token. A server that sees a used token
  /// again may revoke the tokens of both. It stays alive if a login with a password can follow.
  func endedIfSpent(
    in store: TokenStore, _ settings: TokenSettings, credentials: Credentials, at now: Date
  ) throws(Failure) -> Session {
    let file = CredentialFile.refreshToken.rawValue
    guard settings.flow.replacedFile == .refreshToken, settings.loginCredential == nil, let begun = began[file],
      let other = try store.sessions().first(where: {
        $0.binding != binding && $0.began[file] == begun && $0.refreshToken.map(Self.digest) != begun
      })
    else { return self }
    let cause =
      "the refresh token is used up: \(store.path(of: other.binding)) \(other.binding.foreignText(to: binding, path: nil)) and continues when that is undone"
    return ended(Ending(at: now, cause: cause, file: file, tried: Self.tried(settings, credentials: credentials)))
  }

  /// Throws 78 if a dry run would replace this session.
  func expectEnded(_ settings: TokenSettings, store: TokenStore) throws(Failure) {
    guard ending == nil else { return }
    throw Failure(
      .configuration, step: "begin a session for a dry run", subject: store.path(of: binding),
      cause: "the credential files have changed since the stored session began, and a dry run replaces no live session",
      hint: "run rosterd sync without --dry-run, or restore the former files in \(settings.credentialsDirectory)")
  }
}

extension TokenSettings {
  /// A sentence about the token store at `path`; nil if it has no session, or one of this identity.
  /// - Parameter client: the credentials with the client's id; nil if they cannot be read.
  package func foreignSession(at path: String, client: Credentials?) -> String? {
    guard flow.refreshes else { return nil }
    let store = TokenStore(path: path)
    let binding = Session.Binding(self, credentials: client ?? Credentials())
    guard var other = try? store.content(for: binding).other?.binding else { return nil }
    if client == nil { other.clientID = binding.clientID }
    guard other != binding else { return nil }
    let place = client.map { _ in store.path(of: binding) }
    return "the token store \(path) \(other.foreignText(to: binding, path: place))"
  }
}
