import RosterJSON
import RosterModel

extension Grant {
  /// One of the two requests of `exchange`.
  init(_ step: TokenExchange.Step, exchange: TokenExchange) {
    self.init(step, answer: exchange.answer, refreshRequired: false)
    url = step.url
    renewsAccess = exchange.refresh?.placeholders.contains(.accessToken) ?? false
  }

  /// A request whose templates name what it sends (T13.2).
  init(_ step: TokenExchange.Step, answer: TokenExchange.Answer, refreshRequired: Bool) {
    self.init(answer: answer, refreshRequired: refreshRequired) { request, _, credentials, tokens in
      let value = { (placeholder: TokenExchange.Placeholder) in credentials.value(of: placeholder, tokens) }
      request.setBody(step.body.filled(value), format: step.format)
      guard let field = step.send else { return }
      let text = field.value.filled(value)
      switch field.carrier {
      case .header:
        request.headers.removeAll { $0.name.lowercased() == field.name.lowercased() }
        request.headers.append(Request.Header(field.name, text))
      case .parameter: request.secrets = [Request.Parameter(field.name, text)]
      // The configuration has no such field here.
      case .body: break
      }
    }
  }
}

extension Credentials {
  fileprivate func value(of placeholder: TokenExchange.Placeholder, _ tokens: Grant.SentTokens) -> String {
    let secret =
      switch placeholder {
      case .refreshToken: tokens.refresh
      case .accessToken: tokens.access
      case .jwt: assertion?.token
      case .username, .password, .clientID, .clientSecret, .basic: self.value(of: placeholder)
      }
    return secret?.reveal() ?? ""
  }
}

extension Request {
  /// An empty object sends no body.
  fileprivate mutating func setBody(_ body: JSONValue, format: TokenExchange.Format) {
    guard case .object(let members) = body, !members.isEmpty else { return }
    switch format {
    // The configuration has only scalars in a form (F5.3).
    case .form: setForm(members.map { (name: $0.name, value: $0.value.queryText) })
    case .json:
      headers.append(Header("Content-Type", "application/json"))
      self.body = JSONWriter(body).bytes
    }
  }
}

extension TokenExchange {
  /// All of it as one text, whose digest shows a change (T13.6).
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
