import RosterCore

extension Configuration {
  static var flowRules: [KeyRule<Configuration>] {
    [
      .key("auth.token_url", beside: [flow], of: "F7.8", allowed: "a URL or a path in auth.token_url") {
        $0.auth.flow.usesTokenURL && $0.auth.tokenURL.isEmpty ? "\($0.flowText) needs a token_url" : nil
      },
      noTokenURL("auth.token_url") { !$0.auth.tokenURL.isEmpty },
      noTokenURL("auth.scope") { !$0.auth.scope.isEmpty },
      ofOAuth("auth.client") { $0.auth.client != .basic },
      ofOAuth("auth.params") { !$0.auth.parameters.isEmpty },
    ]
  }

  static var sendRules: [KeyRule<Configuration>] {
    [
      send(allowed: "the flow \"static\" for keys that upstream gave you", "sends no credential") {
        !$0.auth.flow.sendsToken && $0.sent != [.accessToken]
      },
      send(allowed: "an entry with {access_token}", "gets an access token, which no entry sends") {
        $0.auth.flow.refreshes && !$0.sent.contains(.accessToken) && !$0.sent.contains(.jwt)
      },
      send(allowed: "{access_token}", "sends {refresh_token} to its token server only") {
        $0.auth.flow.refreshes && $0.sent.contains(.refreshToken)
      },
      send(allowed: "{jwt} with the flow \"jwt\"", "signs no token for {jwt}") {
        $0.auth.flow.sendsToken && !$0.auth.flow.signsToken && $0.sent.contains(.jwt)
      },
      .each(["upstream.headers", flow, "auth.send"], of: "F7.10", allowed: "this header with the flow \"none\"") {
        configuration in
        configuration.sentHeaders.map { .init(entry: [$0], problem: "\(configuration.flowText) sends its own") }
      },
    ]
  }

  static var exchangeRules: [KeyRule<Configuration>] {
    [
      .key(
        "auth.login.url", beside: [flow], of: "F5.1", allowed: "a URL or a path in auth.login.url or auth.refresh.url"
      ) {
        $0.auth.flow.usesTemplates && $0.auth.login.url.isEmpty && $0.auth.refresh.url.isEmpty
          ? "\($0.flowText) needs [auth.login] or [auth.refresh]" : nil
      },
      .key(
        "auth.answer.access", beside: [flow], of: "F5.1",
        allowed: "a JSON Pointer such as \"/access\" in auth.answer.access, header:NAME, cookie:NAME or body"
      ) {
        $0.auth.flow.usesTemplates && $0.auth.answer.access == nil
          ? "\($0.flowText) needs the place of the access token in an answer" : nil
      },
      // Secrets may be sent to one origin only.
      .key(
        "auth.refresh.url", beside: ["auth.login.url"], of: "F5.2",
        "auth.login.url and auth.refresh.url have different origins",
        allowed: "two addresses of one scheme, host and port"
      ) {
        guard let login = $0.exchange?.login?.url, let refresh = $0.exchange?.refresh?.url else { return false }
        return WebAddress.comparableOrigin(of: login) != WebAddress.comparableOrigin(of: refresh)
      },
      noToken("auth.login.body") { $0.auth.login.body.placeholders },
      noToken("auth.login.send") { $0.auth.login.send?.placeholders ?? [] },
      onlyExchange("auth.answer", keys: ["access", "refresh", "expires_in", "expires_in_ms", "expires_at"]) {
        $0.auth.answer != TokenExchange.Answer()
      },
    ] + stepRules("auth.login") { $0.auth.login } + stepRules("auth.refresh") { $0.auth.refresh }
  }

  /// Rules of `[auth.login]` and `[auth.refresh]`.
  private static func stepRules(
    _ table: String, step: @escaping @Sendable (Configuration) -> TokenExchange.Step
  ) -> [KeyRule<Configuration>] {
    let keys = ["url", "body", "send", "format"]
    return [
      onlyExchange(table, keys: keys) { step($0) != TokenExchange.Step() },
      .each(keys.map { "\(table).\($0)" }, of: "F5.1", allowed: "a URL or a path in \(table).url") {
        let isLacking = $0.auth.flow.usesTemplates && step($0) != TokenExchange.Step() && step($0).url.isEmpty
        return isLacking ? [.init(problem: "[\(table)] has no url")] : []
      },
      .key("\(table).body", of: "F5.2", allowed: CredentialPlaceholder.allowed) {
        unknown($0.auth.flow.usesTemplates ? step($0).body.texts : [])
      },
      .key("\(table).send", of: "F5.2", allowed: CredentialPlaceholder.allowed) {
        unknown($0.auth.flow.usesTemplates ? [step($0).send?.value ?? ""] : [])
      },
      .each(["\(table).body", "\(table).format"], of: "F5.3", allowed: "texts, numbers and booleans") {
        guard $0.auth.flow.usesTemplates, step($0).format == .form, let member = step($0).body.nestedMember else {
          return []
        }
        return [.init(entry: [member.name], problem: "a form has no nested table or list")]
      },
    ]
  }

  private static func unknown(_ texts: [String]) -> String? {
    texts.lazy.compactMap(\.unknownPlaceholder).first.map { "\($0) is no placeholder" }
  }

  private static let flow = "auth.flow"

  /// The flow in a sentence.
  var flowText: String { "the flow \(auth.flow.rawValue.tomlString)" }

  /// A key of requests to `auth.token_url`, with a flow that gets its tokens in another way.
  private static func noTokenURL(
    _ key: String, isSet: @escaping @Sendable (Configuration) -> Bool
  ) -> KeyRule<Configuration> {
    .key(key, beside: [flow], of: "F5.1", allowed: "the addresses of [auth.login], or the claims of [auth.jwt]") {
      $0.auth.flow.refreshes && !$0.auth.flow.usesTokenURL && isSet($0)
        ? "\($0.flowText) has no \(key.dropFirst("auth.".count))" : nil
    }
  }

  private static func ofOAuth(
    _ key: String, isSet: @escaping @Sendable (Configuration) -> Bool
  ) -> KeyRule<Configuration> {
    .key(key, beside: [flow], of: "F5.4", allowed: "this key with oauth2_refresh or oauth2_client_credentials") {
      isSet($0) && !$0.auth.flow.identifiesClient
        ? "is for a flow of OAuth 2, and auth.flow is \($0.auth.flow.rawValue.tomlString)" : nil
    }
  }

  private static func onlyExchange(
    _ table: String, keys: [String], isWritten: @escaping @Sendable (Configuration) -> Bool
  ) -> KeyRule<Configuration> {
    .each(keys.map { "\(table).\($0)" } + [flow], of: "F5.1", allowed: "this table with auth.flow = \"exchange\"") {
      guard !$0.auth.flow.usesTemplates, isWritten($0) else { return [] }
      let flow = $0.auth.flow.rawValue.tomlString
      return [.init(problem: "the table [\(table)] is for the flow \"exchange\", and auth.flow is \(flow)")]
    }
  }

  private static func noToken(
    _ key: String, placeholders: @escaping @Sendable (Configuration) -> Set<CredentialPlaceholder>
  ) -> KeyRule<Configuration> {
    .key(key, beside: [flow], of: "F5.3", allowed: "{username}, {password}, {client_id} and {client_secret}") {
      let tokens = $0.auth.flow.usesTemplates ? placeholders($0).intersection([.refreshToken, .accessToken]) : []
      return tokens.min { $0.rawValue < $1.rawValue }.map { "a login has no \($0.text)" }
    }
  }

  private static func send(
    allowed: String, _ problem: String, if isBroken: @escaping @Sendable (Configuration) -> Bool
  ) -> KeyRule<Configuration> {
    .key("auth.send", beside: [flow], of: "F5.7", allowed: allowed) {
      isBroken($0) ? "\($0.flowText) \(problem)" : nil
    }
  }

  private var sent: Set<CredentialPlaceholder> { auth.send.placeholders }

  /// The headers of `upstream.headers` that the flow sends too.
  private var sentHeaders: [String] {
    let own = sent == [.accessToken] ? auth.flow.fixedPlace.map { [$0] } : nil
    let places = auth.flow.sendsToken ? own ?? auth.send : []
    let names = Set(places.filter { $0.carrier == .header }.map { $0.name.lowercased() })
    return upstream.headers.map(\.name).filter { names.contains($0.lowercased()) }
  }
}

extension String {
  /// The first `{NAME}` that is not a placeholder of a credential; nil if all are defined.
  var unknownPlaceholder: String? {
    let known = Set(CredentialPlaceholder.allCases.map(\.text))
    return matches(of: /\{[A-Za-z_][A-Za-z0-9_]*\}/).map { String($0.0) }.first { !known.contains($0) }
  }
}
