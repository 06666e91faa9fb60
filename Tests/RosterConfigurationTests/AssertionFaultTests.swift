import RosterCore
import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite("Configuration: the table of assertions")
struct AssertionFaultTests {
  let workspace = Workspace()

  private static let good = """
    [auth]
    flow = "exchange"
    login = { url = "/token", send = "Authorization: Bearer {jwt}" }
    answer.access = "/token"
    [auth.jwt]
    alg = "ES256"
    headers = { kid = "k" }
    claims = { iss = "{client_id}", iat = "{now-1m}", exp = "{now+9m}", jti = "{uuid}", roles = ["{username}"] }
    """

  @Test("36: the table is read, its placeholders name credentials, and check prints it again")
  func read() throws {
    let configuration = try workspace.load(Self.good)
    let jwt = configuration.auth.jwt
    #expect(jwt.isSet && jwt.algorithm == .es256 && jwt.headers["kid"]?.text == "k")
    #expect(jwt.credentials == [.clientID, .username])
    #expect(jwt.offset(of: "iat") == -60 && jwt.offset(of: "exp") == 540 && jwt.offset(of: "jti") == nil)
    #expect(try workspace.load(configuration.rendered()) == configuration)
  }

  @Test(
    "53: what the table cannot be is refused with its line",
    arguments: [
      ("exp = \"{now+9m}\"", "exp = \"{now-2m}\"", "8: auth.jwt.claims.exp: the assertion expires before its iat"),
      ("iat = \"{now-1m}\", exp = \"{now+9m}\"", "exp = \"{now-1m}\"", "8: auth.jwt.claims.exp: the assertion expires"),
      ("\"{now+9m}\"", "1700000000", "8: auth.jwt.claims.exp: exp is not a time that each assertion sets"),
      ("{now+9m}", "{now+9}", "8: auth.jwt.claims: {now+9} is no placeholder of an assertion"),
      ("{uuid}", "{refresh_token}", "8: auth.jwt.claims: {refresh_token} is no placeholder of an assertion"),
      ("kid = \"k\"", "kid = \"{key}\"", "7: auth.jwt.headers: {key} is no placeholder of an assertion"),
      ("kid = \"k\"", "alg = \"none\"", "7: auth.jwt.headers.alg: the header alg is that of auth.jwt.alg"),
      ("ES256", "none", "6: auth.jwt.alg: \"none\" is unknown"),
      ("claims = {", "other = {", "8: auth.jwt.other: is unknown"),
      ("Bearer {jwt}", "Bearer x", "8: auth.jwt.claims: no request of the flow \"exchange\" contains {jwt}"),
      ("flow = \"exchange\"", "flow = \"static\"", "8: auth.jwt.claims: the flow \"static\" sends no assertion"),
    ])
  func refused(old: String, new: String, sentence: String) throws {
    let faults = try workspace.faults(Self.good.replacing(old, with: new))
    #expect(faults.contains { $0.hasPrefix("rosterd.toml:\(sentence)") }, "\(faults)")
  }

  @Test("53: claims that are no table are refused")
  func noTable() throws {
    let text = try #require(Self.good.split(separator: "claims").first) + "claims = \"x\""
    #expect(try workspace.faults(String(text)).contains { $0.hasPrefix("rosterd.toml:8: auth.jwt.claims:") })
  }

  @Test(
    "53: the flow jwt needs claims with exp, and has no token_url",
    arguments: [
      ("", "2: auth.flow: the flow \"jwt\" needs [auth.jwt]"),
      ("jwt.claims = { iss = \"i\" }", "3: auth.jwt.claims: the flow \"jwt\" makes a new assertion before"),
      ("jwt.alg = \"ES256\"", "3: auth.jwt.alg: [auth.jwt] has no claims"),
      (
        "token_url = \"/t\"\njwt.claims = { exp = \"{now+10m}\" }",
        "3: auth.token_url: the flow \"jwt\" has no token_url"
      ),
    ])
  func flow(text: String, sentence: String) throws {
    let faults = try workspace.faults("[auth]\nflow = \"jwt\"\n\(text)")
    #expect(faults.contains { $0.hasPrefix("rosterd.toml:\(sentence)") }, "\(faults)")
  }

  @Test("53: {jwt} without claims is refused")
  func withoutClaims() throws {
    let text = try #require(Self.good.split(separator: "[auth.jwt]").first)
    let faults = try workspace.faults(String(text))
    #expect(faults.contains { $0.contains("{jwt} needs the table [auth.jwt]") }, "\(faults)")
  }
}
