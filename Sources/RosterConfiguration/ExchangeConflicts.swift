import RosterDefinition
import RosterModel

extension Configuration {
  /// Mistakes in the tables of the flow `exchange` (F5.1, F5.2, F5.3).
  @Rules<Conflict> var exchangeConflicts: [Conflict] {
    let steps = [
      ExchangeTable(name: "auth.login", step: auth.login), ExchangeTable(name: "auth.refresh", step: auth.refresh),
    ]
    if auth.flow.usesTemplates {
      requestConflicts
      tokensInLogin
      steps.flatMap(\.conflicts)
    } else {
      tablesWithoutExchange(steps)
    }
  }

  private func tablesWithoutExchange(_ steps: [ExchangeTable]) -> [Conflict] {
    var tables = steps.filter(\.isWritten).map { (name: $0.name, keys: ExchangeTable.keys) }
    if auth.answer != TokenExchange.Answer() {
      tables.append(("auth.answer", ["access", "refresh", "expires_in", "expires_in_ms", "expires_at"]))
    }
    return tables.map { name, keys in
      Conflict(
        keys: keys.map { "\(name).\($0)" } + ["auth.flow"],
        problem: "the table [\(name)] is for the flow \"exchange\", and auth.flow is \(auth.flow.rawValue.tomlString)",
        allowed: "this table with auth.flow = \"exchange\"")
    }
  }

  @Rules<Conflict> private var requestConflicts: [Conflict] {
    if auth.login.url.isEmpty, auth.refresh.url.isEmpty {
      Conflict(
        keys: ["auth.login.url", "auth.flow"], problem: "the flow \"exchange\" needs [auth.login] or [auth.refresh]",
        allowed: "a URL or a path in auth.login.url or auth.refresh.url")
    }
    if auth.answer.access == nil {
      Conflict(
        keys: ["auth.answer.access", "auth.flow"],
        problem: "the flow \"exchange\" needs the place of the access token in an answer",
        allowed: "a JSON Pointer such as \"/access\" in auth.answer.access, header:NAME, cookie:NAME or body")
    }
    // Secrets may be sent to one origin only (T13.7).
    if let login = exchange?.login?.url, let refresh = exchange?.refresh?.url,
      WebAddress.comparableOrigin(of: login) != WebAddress.comparableOrigin(of: refresh)
    {
      Conflict(
        keys: ["auth.refresh.url", "auth.login.url"],
        problem: "auth.login.url and auth.refresh.url have different origins",
        allowed: "two addresses of one scheme, host and port")
    }
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

  @Rules<Conflict> var conflicts: [Conflict] {
    if isWritten, step.url.isEmpty {
      Conflict(
        keys: Self.keys.map { "\(name).\($0)" }, problem: "[\(name)] has no url",
        allowed: "a URL or a path in \(name).url")
    }
    for (key, text) in [("body", step.body.unknownPlaceholder), ("send", step.send?.value.unknownPlaceholder)] {
      if let text {
        Conflict(
          keys: ["\(name).\(key)"], problem: "\(text) is no placeholder",
          allowed: CredentialPlaceholder.allowed)
      }
    }
    if step.format == .form, let member = step.body.nestedMember {
      Conflict(
        keys: ["\(name).body", "\(name).format"], entry: member.name, problem: "a form has no nested table or list",
        allowed: "texts, numbers and booleans with format = \"form\"")
    }
  }
}

extension String {
  /// The first `{NAME}` that T13.2 does not define; nil if all are defined.
  var unknownPlaceholder: String? {
    let known = Set(CredentialPlaceholder.allCases.map(\.text))
    return matches(of: /\{[A-Za-z_][A-Za-z0-9_]*\}/).map { String($0.0) }.first { !known.contains($0) }
  }
}

extension JSONValue {
  fileprivate var unknownPlaceholder: String? { texts.lazy.compactMap(\.unknownPlaceholder).first }

  /// The first member of an object that is an object or a list.
  fileprivate var nestedMember: Member? {
    guard case .object(let members) = self else { return nil }
    return members.first { member in
      switch member.value {
      case .object, .list: true
      case .null, .boolean, .number, .text: false
      }
    }
  }
}
