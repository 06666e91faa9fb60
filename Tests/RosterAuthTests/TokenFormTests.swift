import FoundationEssentials
import RosterCore
import Testing

@testable import RosterAuth

/// Forms in which real token servers want a request or give an answer.
@Suite(.timeLimit(.minutes(1)))
struct TokenFormTests {
  private static let client = Credentials(
    refreshToken: Secret("r0"), clientID: Secret("my:id"), clientSecret: Secret("a+b/c="))
  private static let now = Date(timeIntervalSince1970: 1_700_000_000)

  private func sent(
    _ flow: Flow = .oauth2Refresh, _ change: (inout TokenSettings) -> Void
  ) throws -> (authorization: String?, body: String, request: Request) {
    var settings = TokenSettings.sample(flow)
    change(&settings)
    let request = try #require(Grant(flow)).request(
      settings, credentials: Self.client, refreshToken: flow == .oauth2Refresh ? Secret("r") : nil)
    let authorization = request.headers.first { $0.isNamed("Authorization") }?.value
    return (authorization, String(decoding: request.body, as: UTF8.self), request)
  }

  private func basic(_ pair: String) -> String { "Basic " + Data(pair.utf8).base64EncodedString() }

  @Test("36: auth.client puts the client into HTTP Basic, encoded or not, or into the body")
  func clients() throws {
    let encoded = try sent { _ in }
    #expect(encoded.authorization == basic("my%3Aid:a%2Bb%2Fc%3D") && !encoded.body.contains("client"))
    let raw = try sent { $0.client = .basicRaw }
    #expect(raw.authorization == basic("my:id:a+b/c=") && !raw.body.contains("client"))
    let body = try sent { $0.client = .body }
    #expect(body.authorization == nil)
    #expect(
      body.body == "grant_type=refresh_token&refresh_token=r&client_id=my%3Aid&client_secret=a%2Bb%2Fc%3D")
    let own = try sent(.oauth2ClientCredentials) { $0.client = .body }
    #expect(own.body == "grant_type=client_credentials&client_id=my%3Aid&client_secret=a%2Bb%2Fc%3D")
  }

  @Test("36, 39: further fields replace no field of rosterd's own, and headers replace those of the same name")
  func further() throws {
    let sent = try sent {
      $0.scope = "read"
      $0.parameters = [.init("audience", "https://api.example/"), .init("grant_type", "x"), .init("scope", "y")]
      $0.headers = [.init("user-agent", "mine/1"), .init("X-Key", "k")]
    }
    #expect(
      sent.body == "grant_type=refresh_token&refresh_token=r&scope=read&audience=https%3A%2F%2Fapi.example%2F")
    #expect(sent.request.headers.filter { $0.isNamed("User-Agent") } == [.init("user-agent", "mine/1")])
    #expect(sent.request.headers.contains(.init("X-Key", "k")))
    let address = AuthorizationRequest(redirect: "http://127.0.0.1:1/").address(
      "https://auth.test/a", clientID: Secret("id"), scope: "read",
      parameters: [.init("audience", "https://api.example/"), .init("state", "mine")])
    #expect(address.hasSuffix("&scope=read&audience=https%3A%2F%2Fapi.example%2F") && !address.contains("mine"))
  }

  private func read(
    _ source: String, headers: [Request.Header] = [], body: String = "{}", status: Int = 201,
    _ change: (inout TokenExchange) -> Void = { _ in }
  ) throws -> GrantAnswer {
    var exchange = TokenExchange.simplejwt
    exchange.answer = .init(access: TokenSource(source), refresh: nil)
    change(&exchange)
    let grant = Grant(try #require(exchange.login), exchange: exchange)
    return try grant.read(Response(status: status, headers: headers, body: Array(body.utf8)), now: Self.now)
  }

  @Test("36: the access token may be in a header, in a cookie, or be the whole answer")
  func sources() throws {
    let stack = try read(
      "header:X-Subject-Token", headers: [.init("x-subject-token", "gAAAA")],
      body: #"{"token":{"expires_at":"2023-11-14T23:13:20.000000Z"}}"#
    ) { $0.answer.expiresAt = JSONPointer("/token/expires_at") }
    #expect(stack.issued.access == Secret("gAAAA") && stack.issued.expiresAt == Self.now + 3600)
    let cookies = ["other=x", "session=old", "session=s3; Path=/; Max-Age=60; HttpOnly"]
    let cookie = try read("cookie:session", headers: cookies.map { .init("Set-Cookie", $0) }, body: "", status: 204)
    #expect(cookie.issued.access == Secret("s3") && cookie.issued.expiresAt == Self.now + 60)
    #expect(try read("body", body: #""abc""#).issued.access == Secret("abc"))
    for (source, body) in [("header:X-Token", "{}"), ("cookie:session", ""), ("body", "{}"), ("/access", "{}")] {
      #expect(throws: GrantRefusal.self) { try read(source, body: body) }
    }
  }

  @Test("36: expires_in_ms is in milliseconds")
  func milliseconds() throws {
    let answer = try read("/t", body: #"{"t":"a","life":"90000"}"#) {
      $0.answer.expiresInMilliseconds = JSONPointer("/life")
    }
    #expect(answer.issued.expiresAt == Self.now + 90)
  }

  @Test("36: the text of a place is read again as the same place, and others are refused")
  func places() {
    for text in ["/access", "/a/0", "header:X-Subject-Token", "cookie:session", "body"] {
      #expect(TokenSource(text)?.text == text)
    }
    for text in ["", "access", "header:", "header:a b", "cookie:a;b"] { #expect(TokenSource(text) == nil) }
  }

  @Test("36: a form is read as an answer, and its error as a refusal")
  func form() async throws {
    let type = Request.Header("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
    let bench = try await Bench().inSync()
    bench.endpoint.answer(200, body: "access_token=a%2B1&expires_in=60&refresh_token=r1&scope=", headers: [type])
    #expect(try await bench.keeper.current()?.access == Secret("a+1"))
    #expect(bench.stored?.refreshToken == "r1")
    let refused = try await Bench().inSync()
    refused.endpoint.answer(400, body: "error=invalid_grant&error_description=it+is+spent", headers: [type])
    let failure = await failure { try await refused.keeper.current() }
    #expect(failure?.cause.contains("(400, invalid_grant, it is spent)") == true)
  }

  @Test(
    "47: the texts of an error that is an object or in a list are shown",
    arguments: [
      (#"{"error":{"code":"x1","message":"no such client"}}"#, "x1, no such client"),
      (#"{"errors":[{"title":"Denied","detail":"the key is old"}]}"#, "Denied, the key is old"),
      (#"{"errors":["the key is old"]}"#, "the key is old"),
      (#"{"error":"e","message":"e"}"#, "e"), (#"{"error":7,"errors":[3]}"#, "an answer with error, errors"),
    ])
  func nested(body: String, shown: String) {
    let said = ServerStatement(Response(status: 400, body: Array(body.utf8)))
    #expect(said?.shown(hiding: []) == shown)
  }

  @Test("33: invalid_scope is a fault of the configuration, and the session goes on")
  func scope() async throws {
    let bench = try await Bench().inSync()
    bench.endpoint.answer(400, body: #"{"error":"invalid_scope"}"#)
    let failure = await failure { try await bench.keeper.current() }
    #expect(failure?.kind == .configuration && failure?.hint?.contains("auth.scope") == true)
    #expect(bench.stored?.ended == nil)
    try await bench.keeper.syncBegins()
    bench.endpoint.grant("a1", refresh: "r1")
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
  }

  @Test(
    "36: the message of a refusal says what is odd about the credential file",
    arguments: [
      ("\u{FEFF}r0", "begins with a byte order mark"), ("r0\n", "has an empty line"), ("\nr0", "has an empty line"),
      ("r0\nr1", "has more than one line"), ("r0 ", "ends with a blank"), ("\tr0", "begins with a blank"),
      ("\"r0\"", "is in quotes"), ("'r0'", "is in quotes"), ("r0\0", "contains a NUL byte"),
      ("REFRESH_TOKEN=r0", "looks like NAME=VALUE"),
    ])
  func oddity(content: String, clause: String) async throws {
    #expect(Secret(content).oddity == clause)
    let bench = try await Bench(credentials: Credentials(refreshToken: Secret(content))).inSync()
    bench.endpoint.answer(400, body: #"{"error":"invalid_grant"}"#)
    let failure = await failure { try await bench.keeper.current() }
    #expect(failure?.cause.hasSuffix("; /etc/rosterd/credentials/refresh_token \(clause)") == true)
  }

  @Test("36: nothing is odd about a token", arguments: ["r0", "a=", "AbC=", "x==", "eyJ.a_b.c-d", "\"", ""])
  func usual(content: String) { #expect(Secret(content).oddity == nil) }

  @Test("36: the message about a refused client names the other forms of auth.client")
  func advice() async throws {
    for (form, clause) in [(ClientForm.basic, "auth.client = \"basic_raw\" or \"body\""), (.body, nil)] {
      let bench = try await Bench(credentials: Self.client) { $0.client = form }.inSync()
      bench.endpoint.answer(401, body: #"{"error":"invalid_client"}"#)
      let failure = await failure { try await bench.keeper.current() }
      #expect(failure?.cause.contains(clause ?? "auth.client") == (clause != nil))
    }
  }

  @Test("35: another form of the request lifts an ended session")
  func lifted() async throws {
    let first = try await Bench(credentials: Self.client).inSync()
    first.endpoint.answer(401, body: #"{"error":"invalid_client"}"#)
    _ = await failure { try await first.keeper.current() }
    await first.keeper.drain()
    let same = try Bench(credentials: Self.client, workspace: first.workspace)
    #expect(await failure { try await same.keeper.syncBegins() }?.kind == .refused)
    let other = try await Bench(credentials: Self.client, workspace: first.workspace) { $0.client = .body }.inSync()
    other.endpoint.grant("a1", refresh: "r1")
    #expect(try await other.keeper.current()?.access == Secret("a1"))
  }
}
