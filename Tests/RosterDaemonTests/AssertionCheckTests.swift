import RosterCore
import RosterTestSupport
import Testing

@testable import RosterDaemon
@testable import RosterDefinition

/// `rosterd check` and `[auth.jwt]`.
struct AssertionCheckTests {
  let workspace = Workspace()

  private func configuration(_ flow: Flow, claims: [String]) -> Configuration {
    var configuration = Configuration()
    configuration.auth.flow = flow
    configuration.auth.credentialsDir = workspace.folder
    configuration.auth.jwt.claims = .object(claims.map { .init($0, .text($0 == "exp" ? "{now+10m}" : "x")) })
    return configuration
  }

  @Test("55: check notes the claims that RFC 7523 requires, and only of an assertion in its sense")
  func missingClaims() {
    let client = configuration(.oauth2ClientCredentials, claims: ["iss", "exp"])
    #expect(client.missingClaims?.hasPrefix("auth.jwt.claims has no sub, aud, jti, which RFC 7523 and") == true)
    #expect(configuration(.oauth2Refresh, claims: ["iss", "sub", "aud", "exp", "jti"]).missingClaims == nil)
    var exchange = configuration(.exchange, claims: ["iss"])
    #expect(exchange.missingClaims == "auth.jwt.claims has no exp, which most servers require")
    exchange.auth.login.body = .object([.init("g", .text("urn:ietf:params:oauth:grant-type:jwt-bearer"))])
    #expect(exchange.missingClaims == "auth.jwt.claims has no aud, exp, which RFC 7523 requires of an assertion")
    #expect(configuration(.jwt, claims: ["exp"]).missingClaims == nil)
    #expect(Configuration().missingClaims == nil)
  }

  @Test("53, 55: check reads the key: a missing one is a note, and one that cannot sign is 78")
  func key() throws {
    var configuration = configuration(.jwt, claims: ["exp"])
    try configuration.checkAssertionKey(stores: [])
    #expect(configuration.missingCredentials(stores: []).contains { $0.contains("private_key") })
    let path = try workspace.write("-----BEGIN PUBLIC KEY-----\n", to: "private_key")
    let failure = #expect(throws: Failure.self) { try configuration.checkAssertionKey(stores: []) }
    #expect(failure?.kind == .configuration && failure?.subject == path)
    #expect(failure?.cause == "it is a public key, which is for upstream")
    configuration.auth.jwt.algorithm = .hs256
    try workspace.write("a shared secret\n", to: "hmac_key")
    try configuration.checkAssertionKey(stores: [])
  }
}
