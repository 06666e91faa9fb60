import RosterCore

extension Configuration {
  /// Rules of `[auth.jwt]`, and of its use.
  static var assertionRules: [KeyRule<Configuration>] {
    [
      .key(
        "auth.jwt.headers", beside: ["auth.jwt.alg", claims], of: "F5.5", "[auth.jwt] has no claims",
        allowed: claimsText
      ) { !$0.auth.jwt.isSet && $0.auth.jwt != AssertionTemplate() },
      .key(claims, beside: ["auth.flow"], of: "F5.5", allowed: claimsText) {
        $0.auth.jwt == AssertionTemplate() && $0.auth.flow.signsToken ? "\($0.flowText) needs [auth.jwt]" : nil
      },
      .each([claims], of: "F5.5", allowed: "{jwt} with auth.jwt.claims") {
        guard $0.auth.jwt == AssertionTemplate(), let key = $0.keyWithAssertion else { return [] }
        return [.init(of: key, problem: "{jwt} needs the table [auth.jwt]")]
      },
      .each(["auth.jwt.*"], of: "F5.5", allowed: AssertionPlaceholder.allowed) { configuration in
        guard configuration.auth.jwt.isSet else { return [] }
        return configuration.auth.jwt.unknownPlaceholders.map {
          .init(of: "auth.jwt.\($0.0)", problem: "\($0.1) is no placeholder of an assertion")
        }
      },
      .each(["auth.jwt.headers"], of: "F5.5", allowed: "other headers, such as kid") {
        $0.auth.jwt.isSet && $0.auth.jwt.headers["alg"] != nil
          ? [.init(entry: ["alg"], problem: "the header alg is that of auth.jwt.alg")] : []
      },
      .each([claims], of: "F5.5", allowed: "a time after iat, such as {now+10m}") {
        $0.auth.jwt.isSet ? $0.problemOfExpiry.map { [.init(entry: ["exp"], problem: $0)] } ?? [] : []
      },
      .key(claims, beside: ["auth.flow"], of: "F5.5", allowed: "exp = \"{now+10m}\" in auth.jwt.claims") {
        $0.auth.jwt.isSet && $0.auth.jwt.claims["exp"] == nil && $0.auth.flow.signsToken
          ? "\($0.flowText) makes a new assertion before the last one expires, and the claims have no exp" : nil
      },
      .key(claims, beside: unused, of: "F5.5", allowed: "{jwt} in auth.login.body or auth.login.send") {
        $0.auth.jwt.isSet && $0.auth.flow.usesTemplates && $0.keyWithAssertion == nil
          ? "no request of \($0.flowText) contains {jwt}" : nil
      },
      .key(claims, beside: unused, of: "F5.5", allowed: "a flow that sends an assertion") {
        $0.auth.jwt.isSet && !$0.auth.flow.usesTemplates && !$0.auth.flow.takesAssertion
          ? "\($0.flowText) sends no assertion" : nil
      },
    ]
  }

  private static let claims = "auth.jwt.claims"
  private static let claimsText = "claims, such as { iss = \"{client_id}\", exp = \"{now+10m}\" }"
  private static let unused = ["auth.jwt.headers", "auth.jwt.alg", "auth.flow"]

  private var problemOfExpiry: String? {
    let issued = auth.jwt.offset(of: "iat") ?? 0
    guard let expiry = auth.jwt.offset(of: "exp") else {
      return auth.jwt.claims["exp"].map { _ in "exp is not a time that each assertion sets" }
    }
    guard expiry <= 0 || expiry <= issued else { return nil }
    return "the assertion expires before \(expiry <= issued && issued != 0 ? "its iat" : "it is sent")"
  }

  /// The key of the first template of `exchange` that contains `{jwt}`.
  private var keyWithAssertion: String? {
    guard auth.flow.usesTemplates else { return nil }
    let templates = [
      ("auth.login.body", auth.login.body.placeholders), ("auth.login.send", auth.login.send?.placeholders ?? []),
      ("auth.refresh.body", auth.refresh.body.placeholders),
      ("auth.refresh.send", auth.refresh.send?.placeholders ?? []),
    ]
    return templates.first { $0.1.contains(.jwt) }?.0
  }
}
