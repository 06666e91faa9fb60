import RosterCore
import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite("Configuration: the tables of the flow exchange")
struct ExchangeFaultTests {
  let workspace = Workspace()

  private static let good = """
    [auth]
    flow = "exchange"
    [auth.login]
    url = "/api/token/"
    body = { username = "{username}", password = "{password}" }
    [auth.refresh]
    url = "/api/token/refresh/"
    body = { refresh = "{refresh_token}" }
    [auth.answer]
    access = "/access"
    refresh = "/refresh"
    """

  @Test("36: the tables are read, with addresses resolved as token_url is, and check prints them again")
  func read() throws {
    let configuration = try workspace.load(Self.good)
    let exchange = try #require(configuration.exchange)
    #expect(exchange.login?.url == "https://rickandmortyapi.com/api/token/")
    #expect(exchange.refresh?.placeholders == [.refreshToken])
    #expect(exchange.answer.access == TokenSource("/access") && exchange.answer.expiresIn == nil)
    #expect(configuration.resolvedTokenURL == "https://rickandmortyapi.com/api/token/refresh/")
    #expect(try workspace.load(configuration.rendered()) == configuration)
  }

  @Test("38: check shows placeholders, and no literal secret")
  func masked() throws {
    let text = try workspace.load(
      Self.good.replacing(
        "password = \"{password}\" }", with: "password = \"geheim\", key = 4711 }\nsend = \"X-Key: geheim\"")
    ).rendered()
    #expect(text.contains(#"body = { username = "{username}", password = "***", key = "***" }"#))
    #expect(text.contains(#"send = "X-Key: ***""#) && !text.contains("geheim") && !text.contains("4711"))
  }

  @Test(
    "53: what the tables cannot be together is refused with its line",
    arguments: [
      (
        "flow = \"exchange\"", "flow = \"exchange\"\ntoken_url = \"/t\"",
        "rosterd.toml:3: auth.token_url: the flow \"exchange\" has no token_url"
      ),
      (
        "flow = \"exchange\"", "flow = \"exchange\"\nscope = \"s\"",
        "rosterd.toml:3: auth.scope: the flow \"exchange\" has no scope"
      ),
      ("url = \"/api/token/\"", "", "rosterd.toml:5: auth.login.body: [auth.login] has no url"),
      (
        "access = \"/access\"", "",
        "rosterd.toml:2: auth.flow: the flow \"exchange\" needs the place of the access token"
      ),
      (
        "flow = \"exchange\"", "flow = \"static\"",
        "rosterd.toml:4: auth.login.url: the table [auth.login] is for the flow \"exchange\""
      ),
      (
        "\"/api/token/refresh/\"", "\"https://other.test/r\"",
        "rosterd.toml:7: auth.refresh.url: auth.login.url and auth.refresh.url have different origins"
      ),
      ("\"{username}\"", "\"{user}\"", "rosterd.toml:5: auth.login.body: {user} is no placeholder"),
      (
        "[auth.refresh]", "send = \"X: {pass}\"\n[auth.refresh]",
        "rosterd.toml:6: auth.login.send: {pass} is no placeholder"
      ),
      (
        "[auth.refresh]", "send = \"X: a\\r\\nY: b\"\n[auth.refresh]",
        "rosterd.toml:6: auth.login.send: holds CR or LF"
      ),
      (
        "\"{username}\"", "\"{refresh_token}\"",
        "rosterd.toml:5: auth.login.body: a login has no {refresh_token}"
      ),
      (
        "[auth.refresh]", "send = \"X: {access_token}\"\n[auth.refresh]",
        "rosterd.toml:6: auth.login.send: a login has no {access_token}"
      ),
      (
        "\"{password}\" }", "{ text = \"{password}\" } }\nformat = \"form\"",
        "rosterd.toml:5: auth.login.body.password: a form has no nested table"
      ),
      (
        "\"/api/token/\"", "\"http://rickandmortyapi.com/api/token/\"",
        "rosterd.toml:4: auth.login.url: an http address does not go with an https base_url"
      ),
    ])
  func refused(old: String, new: String, sentence: String) throws {
    let faults = try workspace.faults(Self.good.replacing(old, with: new))
    #expect(faults.contains { $0.hasPrefix(sentence) }, "\(faults)")
  }

  @Test("53: the flow needs a login or a refresh")
  func empty() throws {
    let faults = try workspace.faults("[auth]\nflow = \"exchange\"\nanswer.access = \"/a\"")
    #expect(faults.count == 1 && faults[0].contains("needs [auth.login] or [auth.refresh]"), "\(faults)")
  }

  @Test(
    "53: the client's form and further fields are for the flows of OAuth 2 alone",
    arguments: ["client = \"body\"", "params = { audience = \"a\" }"])
  func keysOfOAuth(text: String) throws {
    for (flow, count) in [("static", 1), ("oauth2_refresh", 0), ("oauth2_client_credentials", 0)] {
      let token = count == 0 ? "token_url = \"/t\"" : ""
      let faults = try workspace.faults("[auth]\n\(text)\nflow = \"\(flow)\"\n\(token)")
      #expect(faults.count == count, "\(faults)")
      #expect(faults.allSatisfy { $0.hasPrefix("rosterd.toml:2: auth.\(text.prefix { $0 != " " }): ") })
    }
  }

  @Test("53: a port that is the scheme's own makes no other origin")
  func samePort() throws {
    let text = Self.good.replacing("\"/api/token/refresh/\"", with: "\"HTTPS://RickAndMortyAPI.com:443/r\"")
    #expect(try workspace.faults(text).isEmpty)
  }
}
