import RosterModel

extension Configuration {
  /// Mistakes in the tables of the flow `exchange` (F5.1, F5.2, F5.3).
  var exchangeConflicts: [Conflict] {
    let steps = [
      ExchangeTable(name: "auth.login", step: auth.login), ExchangeTable(name: "auth.refresh", step: auth.refresh),
    ]
    guard auth.flow == .exchange else { return tablesWithoutExchange(steps) }
    return [keysOfOAuth, requestsMissing, accessMissing, originsDiffer].compactMap { $0 } + tokensInLogin
      + steps.flatMap(\.conflicts)
  }

  private func tablesWithoutExchange(_ steps: [ExchangeTable]) -> [Conflict] {
    var tables = steps.filter(\.isWritten).map { (name: $0.name, keys: ExchangeTable.keys) }
    if auth.answer != TokenExchange.Answer() {
      tables.append(("auth.answer", ["access", "refresh", "expires_in", "expires_at"]))
    }
    return tables.map { name, keys in
      Conflict(
        keys: keys.map { "\(name).\($0)" } + ["auth.flow"],
        problem: "the table [\(name)] is for the flow \"exchange\", and auth.flow is \(auth.flow.rawValue.tomlString)",
        allowed: "this table with auth.flow = \"exchange\"")
    }
  }

  private var keysOfOAuth: Conflict? {
    let keys = [("auth.token_url", auth.tokenURL), ("auth.scope", auth.scope)].filter { !$0.1.isEmpty }.map(\.0)
    guard let first = keys.first else { return nil }
    return Conflict(
      keys: keys + ["auth.flow"], problem: "the flow \"exchange\" has no \(first.dropFirst("auth.".count))",
      allowed: "the addresses in auth.login.url and auth.refresh.url")
  }

  private var requestsMissing: Conflict? {
    guard auth.login.url.isEmpty, auth.refresh.url.isEmpty else { return nil }
    return Conflict(
      keys: ["auth.login.url", "auth.flow"], problem: "the flow \"exchange\" needs [auth.login] or [auth.refresh]",
      allowed: "a URL or a path in auth.login.url or auth.refresh.url")
  }

  private var accessMissing: Conflict? {
    guard auth.answer.access == nil else { return nil }
    return Conflict(
      keys: ["auth.answer.access", "auth.flow"],
      problem: "the flow \"exchange\" needs the place of the access token in an answer",
      allowed: "a JSON Pointer such as \"/access\" in auth.answer.access")
  }

  /// Secrets may be sent to one origin only (T13.7).
  private var originsDiffer: Conflict? {
    guard let login = exchange?.login?.url, let refresh = exchange?.refresh?.url,
      WebAddress.comparableOrigin(of: login) != WebAddress.comparableOrigin(of: refresh)
    else { return nil }
    return Conflict(
      keys: ["auth.refresh.url", "auth.login.url"],
      problem: "auth.login.url and auth.refresh.url have different origins",
      allowed: "two addresses of one scheme, host and port")
  }

  private var tokensInLogin: [Conflict] {
    let tokens = auth.login.placeholders.intersection([.refreshToken, .accessToken])
    return tokens.sorted { $0.rawValue < $1.rawValue }.map { token in
      Conflict(
        keys: [auth.login.body.placeholders.contains(token) ? "auth.login.body" : "auth.login.send"],
        problem: "a login has no \(token.text)",
        allowed: "{username}, {password}, {client_id} and {client_secret}")
    }
  }
}

/// One of the tables `[auth.login]` and `[auth.refresh]`, with the mistakes in it.
private struct ExchangeTable {
  static let keys = ["url", "body", "send", "format"]

  let name: String
  let step: TokenExchange.Step

  var isWritten: Bool { step != TokenExchange.Step() }

  var conflicts: [Conflict] {
    guard isWritten else { return [] }
    return [urlMissing, unknownInBody, unknownInField, nestedForm].compactMap { $0 }
  }

  private var urlMissing: Conflict? {
    guard step.url.isEmpty else { return nil }
    return Conflict(
      keys: Self.keys.map { "\(name).\($0)" }, problem: "[\(name)] has no url",
      allowed: "a URL or a path in \(name).url")
  }

  private var unknownInBody: Conflict? { step.body.unknownPlaceholder.map { unknown($0, key: "\(name).body") } }

  private var unknownInField: Conflict? {
    step.send?.value.unknownPlaceholder.map { unknown($0, key: "\(name).send") }
  }

  private func unknown(_ text: String, key: String) -> Conflict {
    Conflict(
      keys: [key], problem: "\(text) is no placeholder",
      allowed: TokenExchange.Placeholder.allCases.map(\.text).joined(separator: " "))
  }

  private var nestedForm: Conflict? {
    guard step.format == .form, case .object(let members) = step.body else { return nil }
    let nested = members.first { member in
      switch member.value {
      case .object, .list: true
      case .null, .boolean, .number, .text: false
      }
    }
    return nested.map { member in
      Conflict(
        keys: ["\(name).body", "\(name).format"], entry: member.name, problem: "a form has no nested table or list",
        allowed: "texts, numbers and booleans with format = \"form\"")
    }
  }
}

extension String {
  /// The first `{NAME}` that T13.2 does not define; nil if all are defined.
  fileprivate var unknownPlaceholder: String? {
    let known = Set(TokenExchange.Placeholder.allCases.map(\.text))
    return matches(of: /\{[A-Za-z_][A-Za-z0-9_]*\}/).map { String($0.0) }.first { !known.contains($0) }
  }
}

extension JSONValue {
  fileprivate var unknownPlaceholder: String? { texts.lazy.compactMap(\.unknownPlaceholder).first }
}
