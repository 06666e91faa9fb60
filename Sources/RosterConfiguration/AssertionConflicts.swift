import RosterDefinition
import RosterModel

extension Configuration {
  /// Mistakes in `[auth.jwt]`, and in its use (F5.5, F5.6).
  @Rules<Conflict> var assertionConflicts: [Conflict] {
    if auth.jwt.isSet {
      templateConflicts
      timeConflicts
      unusedAssertion
    } else {
      missingClaims
    }
  }

  private static let keys = ["auth.jwt.claims", "auth.jwt.headers", "auth.jwt.alg"]

  @Rules<Conflict> private var missingClaims: [Conflict] {
    if auth.jwt != AssertionTemplate() {
      Conflict(
        keys: ["auth.jwt.headers", "auth.jwt.alg", "auth.jwt.claims"], problem: "[auth.jwt] has no claims",
        allowed: "claims, such as { iss = \"{client_id}\", exp = \"{now+10m}\" }")
    } else if auth.flow.signsToken {
      Conflict(
        keys: ["auth.jwt.claims", "auth.flow"], problem: "the flow \"\(auth.flow.rawValue)\" needs [auth.jwt]",
        allowed: "claims, such as { iss = \"{client_id}\", exp = \"{now+10m}\" }")
    } else if let key = exchangeKeyWithAssertion {
      Conflict(
        keys: [key, "auth.jwt.claims"], problem: "{jwt} needs the table [auth.jwt]",
        allowed: "{jwt} with auth.jwt.claims")
    }
  }

  @Rules<Conflict> private var templateConflicts: [Conflict] {
    for (member, text) in auth.jwt.unknownPlaceholders {
      Conflict(
        keys: ["auth.jwt.\(member)"], problem: "\(text) is no placeholder of an assertion",
        allowed: AssertionPlaceholder.allowed)
    }
    if auth.jwt.headers["alg"] != nil {
      Conflict(
        keys: ["auth.jwt.headers"], entry: "alg", problem: "the header alg is that of auth.jwt.alg",
        allowed: "other headers, such as kid")
    }
  }

  @Rules<Conflict> private var timeConflicts: [Conflict] {
    let issued = auth.jwt.offset(of: "iat") ?? 0
    if let expiry = auth.jwt.offset(of: "exp") {
      if expiry <= 0 || expiry <= issued {
        Conflict(
          keys: ["auth.jwt.claims"], entry: "exp",
          problem: "the assertion expires before \(expiry <= issued && issued != 0 ? "its iat" : "it is sent")",
          allowed: "a time after iat, such as {now+10m}")
      }
    } else if auth.jwt.claims["exp"] != nil {
      Conflict(
        keys: ["auth.jwt.claims"], entry: "exp", problem: "exp is not a time that each assertion sets",
        allowed: "a time such as {now+10m}")
    } else if auth.flow.signsToken {
      Conflict(
        keys: ["auth.jwt.claims", "auth.flow"],
        problem:
          "the flow \"\(auth.flow.rawValue)\" makes a new assertion before the last one expires, and the claims have no exp",
        allowed: "exp = \"{now+10m}\" in auth.jwt.claims")
    }
  }

  @Rules<Conflict> private var unusedAssertion: [Conflict] {
    if auth.flow.usesTemplates, exchangeKeyWithAssertion == nil {
      Conflict(
        keys: Self.keys + ["auth.flow"],
        problem: "no request of the flow \"\(auth.flow.rawValue)\" contains {jwt}",
        allowed: "{jwt} in auth.login.body or auth.login.send")
    } else if !auth.flow.usesTemplates, !auth.flow.takesAssertion {
      Conflict(
        keys: Self.keys + ["auth.flow"], problem: "the flow \"\(auth.flow.rawValue)\" sends no assertion",
        allowed: "[auth.jwt] with the flows jwt, exchange, oauth2_client_credentials and oauth2_refresh")
    }
  }

  /// The key of the first template of `exchange` that contains `{jwt}`.
  private var exchangeKeyWithAssertion: String? {
    guard auth.flow.usesTemplates else { return nil }
    let templates = [
      ("auth.login.body", auth.login.body.placeholders), ("auth.login.send", auth.login.send?.placeholders ?? []),
      ("auth.refresh.body", auth.refresh.body.placeholders),
      ("auth.refresh.send", auth.refresh.send?.placeholders ?? []),
    ]
    return templates.first { $0.1.contains(.jwt) }?.0
  }
}
