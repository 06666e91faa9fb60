import RosterCore

/// The settings that decide which access token upstream grants. A change of them takes effect by a new token.
extension TokenSettings {
  /// Digests of these settings, by request; empty if no token request follows from them.
  var asked: [String: String] {
    let parts: [String: [String]] =
      switch flow.source {
      // A session begins with the template of its assertions.
      case .nothing, .file, .userAndPassword, .assertion: [:]
      case .oauth2:
        ["refresh": [tokenURL, scope] + parameters.map { "\($0.name)=\($0.value)" } + written(of: assertion)]
      case .request: ["refresh": [tokenURL]]
      case .templates:
        [
          "login": written(of: exchange?.login, logsIn: true), "refresh": written(of: exchange?.refresh, logsIn: false),
          "access": exchange?.answer.access.map { [$0.text] } ?? [],
        ]
      }
    let sent = headers.map { "\($0.name): \($0.value)" }
    return parts.filter { !$0.value.isEmpty }.mapValues { Session.digest(Secret(($0 + sent).joined(separator: "\n"))) }
  }

  private func written(of step: TokenExchange.Step?, logsIn: Bool) -> [String] {
    guard let step else { return [] }
    return [step.written] + (sendsAssertion(logsIn: logsIn) ? written(of: assertion) : [])
  }

  private func written(of assertion: AssertionTemplate?) -> [String] { assertion.map { [$0.written] } ?? [] }
}

extension Session {
  /// True if the access token was asked for with other settings. False if that is unknown.
  func isOutdated(by settings: TokenSettings) -> Bool {
    access != nil && !asked.isEmpty && asked != settings.asked
  }

  /// True if the login has changed since the last token: a refresh would bring a token of the former login.
  func needsLogin(_ settings: TokenSettings) -> Bool {
    guard !asked.isEmpty, let login = settings.asked["login"] else { return false }
    return asked["login"] != login
  }
}
