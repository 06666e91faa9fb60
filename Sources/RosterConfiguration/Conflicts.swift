import RosterDefinition
import RosterFiles
import RosterModel

extension Configuration {
  /// Conflicts that the values alone show. The paths must be filled in.
  @Rules<Conflict> func conflicts() -> [Conflict] {
    tokenConflicts
    if !upstream.tls.pins.isEmpty, !WebAddress.isHTTPS(upstream.baseURL) {
      Conflict(
        keys: ["upstream.tls.pins", "upstream.base_url"], problem: "an http base_url has no key that could be pinned",
        allowed: "pins with an https base_url")
    }
    if retry.maxDelay < retry.baseDelay {
      Conflict(
        keys: ["retry.max_delay", "retry.base_delay"],
        problem: "a max_delay of \(retry.maxDelay.text) is less than a base_delay of \(retry.baseDelay.text)",
        allowed: "a max_delay of base_delay or more")
    }
    socketConflicts
    if !upstream.tls.certFile.isEmpty, !WebAddress.isHTTPS(upstream.baseURL) {
      Conflict(
        keys: ["upstream.tls.cert_file", "upstream.base_url"],
        problem: "an http base_url has no client certificate", allowed: "a cert_file with an https base_url")
    }
    if upstream.tls.certFile.isEmpty, !upstream.tls.keyFile.isEmpty {
      Conflict(
        keys: ["upstream.tls.key_file", "upstream.tls.cert_file"], problem: "a key_file needs a cert_file",
        allowed: "both, or none")
    }
    exchangeConflicts
    assertionConflicts
    resourcesInClear
    loginURLsInClear
    sharedPaths
    unusableProxies
  }

  @Rules<Conflict> private var tokenConflicts: [Conflict] {
    if auth.flow.usesTokenURL, auth.tokenURL.isEmpty {
      Conflict(
        keys: ["auth.token_url", "auth.flow"], problem: "the flow \"\(auth.flow.rawValue)\" needs a token_url",
        allowed: "a URL or a path in auth.token_url")
    }
    if WebAddress.isHTTPS(upstream.baseURL), !auth.flow.usesTemplates, let url = resolvedTokenURL,
      !WebAddress.isHTTPS(url)
    {
      Conflict(
        keys: ["auth.token_url", "upstream.base_url"],
        problem: "an http token_url does not go with an https base_url",
        allowed: "an https URL or a path in auth.token_url")
    }
    if auth.flow.refreshes, !auth.flow.usesTokenURL, let first = keysOfTokenURL.first {
      Conflict(
        keys: keysOfTokenURL + ["auth.flow"],
        problem: "the flow \"\(auth.flow.rawValue)\" has no \(first.dropFirst("auth.".count))",
        allowed: auth.flow.usesTemplates
          ? "the addresses in auth.login.url and auth.refresh.url" : "the claims of the assertion in auth.jwt.claims")
    }
    for key in auth.flow.identifiesClient ? [] : keysOfOAuth {
      Conflict(
        keys: [key, "auth.flow"],
        problem: "\(key) is for a flow of OAuth 2, and auth.flow is \(auth.flow.rawValue.tomlString)",
        allowed: "this key with oauth2_refresh or oauth2_client_credentials")
    }
    sendConflicts
  }

  /// Faults of `auth.send` beside the flow (F5.7).
  @Rules<Conflict> private var sendConflicts: [Conflict] {
    let named = auth.send.placeholders
    let flow = "the flow \"\(auth.flow.rawValue)\""
    let isToken = named.contains(.accessToken) || named.contains(.jwt)
    if !auth.flow.sendsToken, named != [.accessToken] {
      sendConflict("\(flow) sends no credential", allowed: "the flow \"static\" for keys that upstream gave you")
    }
    if auth.flow.refreshes, !isToken {
      sendConflict("\(flow) gets an access token, which no entry sends", allowed: "an entry with {access_token}")
    }
    if auth.flow.refreshes, named.contains(.refreshToken) {
      sendConflict("\(flow) sends {refresh_token} to its token server only", allowed: "{access_token}")
    }
    if auth.flow.sendsToken, !auth.flow.signsToken, named.contains(.jwt) {
      sendConflict("\(flow) signs no token for {jwt}", allowed: "{jwt} with the flow \"jwt\"")
    }
    let own = named == [.accessToken] ? auth.flow.fixedPlace.map { [$0] } : nil
    for place in auth.flow.sendsToken ? own ?? auth.send : [] where place.carrier == .header {
      if let header = upstream.headers.first(where: { $0.name.lowercased() == place.name.lowercased() }) {
        Conflict(
          keys: ["upstream.headers", "auth.flow", "auth.send"], entry: header.name,
          problem: "\(flow) sends its own", allowed: "this header with the flow \"none\"")
      }
    }
  }

  private func sendConflict(_ problem: String, allowed: String) -> Conflict {
    Conflict(keys: ["auth.send", "auth.flow"], problem: problem, allowed: allowed)
  }

  /// The keys of requests to `auth.token_url` that are set.
  private var keysOfTokenURL: [String] {
    (auth.tokenURL.isEmpty ? [] : ["auth.token_url"]) + (auth.scope.isEmpty ? [] : ["auth.scope"])
  }

  /// The keys for OAuth 2 alone that are set.
  private var keysOfOAuth: [String] {
    (auth.client == .basic ? [] : ["auth.client"]) + (auth.parameters.isEmpty ? [] : ["auth.params"])
  }

  @Rules<Conflict> private var socketConflicts: [Conflict] {
    if status.socket.utf8.count > UnixSocket.maxPath {
      Conflict(
        keys: ["status.socket"], problem: "\(status.socket.tomlString) is too long for a socket",
        allowed: "at most \(UnixSocket.maxPath) bytes")
    }
    if ["", ".", ".."].contains(status.socket.split(separator: "/", omittingEmptySubsequences: false).last) {
      Conflict(
        keys: ["status.socket"], problem: "\(status.socket.tomlString) names a folder",
        allowed: "the path of a file in it")
    }
  }

  @Rules<Conflict> private var loginURLsInClear: [Conflict] {
    let addresses = [
      ("auth.authorize_url", resolvedAuthorizeURL), ("auth.device_url", resolvedDeviceURL),
      ("auth.login.url", exchange?.login?.url), ("auth.refresh.url", exchange?.refresh?.url),
    ]
    for (key, url) in WebAddress.isHTTPS(upstream.baseURL) ? addresses : [] {
      if let url, !WebAddress.isHTTPS(url) {
        Conflict(
          keys: [key, "upstream.base_url"], problem: "an http address does not go with an https base_url",
          allowed: "an https URL or a path")
      }
    }
  }

  /// A token goes to these addresses too (T8.3).
  @Rules<Conflict> private var resourcesInClear: [Conflict] {
    for resource in WebAddress.isHTTPS(upstream.baseURL) ? resources : [] {
      if let url = resource.baseURL, !WebAddress.isHTTPS(url) {
        Conflict(
          keys: ["resource.\(resource.name).base_url", "upstream.base_url"],
          problem: "an http address does not go with an https base_url", allowed: "an https URL")
      }
    }
  }

  /// Two settings must not name the same file, in whatever spelling or by a hard link (F7.13).
  private var sharedPaths: [Conflict] {
    let paths = [
      ("cache.path", cache.path), ("auth.token_store", auth.tokenStore), ("status.socket", status.socket),
    ]
    return paths.indices.flatMap { later in
      paths[..<later].filter { areOneFile($0.1, paths[later].1) }.map { earlier in
        Conflict(
          keys: [paths[later].0, earlier.0], problem: "\(paths[later].0) and \(earlier.0) name one file",
          allowed: "a file of its own")
      }
    }
  }

  private func areOneFile(_ one: String, _ other: String) -> Bool {
    place(of: one) == place(of: other) || Inode(one).map { $0 == Inode(other) } ?? false
  }
}
