import RosterJSON
import RosterModel

extension Grant {
  /// One of the two requests of `exchange`.
  init(_ step: TokenExchange.Step, exchange: TokenExchange) {
    self.init(step, answer: exchange.answer, refreshRequired: false)
    url = step.url
    renewsAccess = exchange.refresh?.placeholders.contains(.accessToken) ?? false
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
