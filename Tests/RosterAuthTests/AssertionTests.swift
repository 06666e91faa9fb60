import FoundationEssentials
import RosterCore
import RosterDecode
import RosterTestSupport
import Testing

@testable import RosterAuth

/// `[auth.jwt]`: what is signed, and when. Tests/oauth/assertions has it verified by other libraries.
struct AssertionTests {
  private static let key = Credentials(clientID: Secret("id"), hmacKey: Secret("a shared secret"))

  private static func template(_ claims: [JSONValue.Member], headers: JSONValue = .object([])) -> AssertionTemplate {
    AssertionTemplate(.hs256, headers: headers, claims: .object(claims))
  }

  private static let usual = template([
    .init("iss", .text("{client_id}")), .init("iat", .text("{now-1m}")), .init("exp", .text("{now+10m}")),
    .init("jti", .text("{uuid}")), .init("text", .text("at {now}")),
  ])

  private func part(_ index: Int, of token: Secret) throws -> JSONValue {
    let text = token.reveal().split(separator: ".")[index]
    let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
    let padding = String(repeating: "=", count: (4 - base64.count % 4) % 4)
    return try JSONValue(json: Array(try #require(Data(base64Encoded: base64 + padding))))
  }

  private func bench(_ flow: Flow, credentials: Credentials = key) throws -> Bench {
    try Bench(flow, credentials: credentials) { $0.assertion = Self.usual }
  }

  /// The form of a token request.
  private func form(_ request: Request) -> [String: String] {
    let pairs = String(decoding: request.body, as: UTF8.self).split(separator: "&").map { $0.split(separator: "=") }
    return Dictionary(pairs.map { (String($0[0]), String($0.last ?? "")) }) { first, _ in first }
  }

  @Test("HMAC with SHA-256 has the value of RFC 4231, test case 2")
  func hmac() {
    let code = hmacSHA256(Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
    #expect(code?.prefix(4) == [0x5B, 0xDC, 0xC1, 0x46])
  }

  @Test("36: a time is a number, or digits in a text; alg and typ come first, and a template replaces typ")
  func templates() throws {
    var settings = TokenSettings.sample(.jwt)
    settings.assertion = Self.usual
    settings.assertion?.headers = .object([.init("kid", .text("k")), .init("typ", .text("at+jwt"))])
    let now = Date(timeIntervalSince1970: 1_700_000_000.9)
    let assertion = try #require(settings.assertion).signed(
      with: Self.key, settings: settings, now: now, uuid: "u-1")
    #expect(JSONWriter(try part(0, of: assertion.token)).text == #"{"alg":"HS256","kid":"k","typ":"at+jwt"}"#)
    let claims = JSONWriter(try part(1, of: assertion.token)).text
    #expect(
      claims
        == #"{"iss":"id","iat":1699999940,"exp":1700000600,"jti":"u-1","text":"at 1700000000"}"#)
    #expect(assertion.expiresAt == Date(timeIntervalSince1970: 1_700_000_600))
  }

  @Test("36: the flow jwt sends an assertion, renews it before its end, and sends no token request")
  func flow() async throws {
    let bench = try await bench(.jwt).inSync()
    let first = try #require(try await bench.keeper.current())
    #expect(try await bench.keeper.current() == first)
    #expect(bench.stored?.accessToken == first.access.reveal())
    bench.clock.advance(by: .seconds(541))
    let old = try await bench.keeper.current()
    #expect(old == first)
    await bench.events.wait(for: .tokenRefreshed, 2)
    let second = try #require(try await bench.keeper.current())
    #expect(second.access != first.access && second.generation == first.generation + 1)
    #expect(bench.endpoint.requests.all.isEmpty)
  }

  @Test("36: with the flow jwt a changed key or template makes a new assertion, and nothing else does")
  func changes() async throws {
    let bench = try await bench(.jwt).inSync()
    let first = try #require(try await bench.keeper.current())
    try await bench.keeper.syncBegins()
    #expect(try await bench.keeper.current()?.access == first.access)
    bench.setCredentials(Credentials(clientID: Secret("id"), hmacKey: Secret("another secret")))
    try await bench.keeper.syncBegins()
    let second = try #require(try await bench.keeper.current())
    #expect(second.access != first.access)
    var settings = bench.settings
    settings.assertion?.claims = .object([.init("exp", .text("{now+1h}"))])
    try await bench.keeper.reload(settings)
    let third = try #require(try await bench.keeper.current())
    #expect(try part(1, of: third.access)["iss"] == nil)
  }

  @Test("36: each attempt of oauth2_client_credentials has its own client_assertion, and no secret")
  func client() async throws {
    let bench = try await bench(.oauth2ClientCredentials).inSync()
    bench.endpoint.answer(503)
    bench.endpoint.grant("a1")
    let request = bench.requests(1)[0]
    #expect(try await request.value?.access == Secret("a1"))
    let forms = bench.endpoint.requests.all.map(form)
    let assertions = forms.compactMap { $0["client_assertion"] }
    #expect(assertions.count == 2 && Set(assertions).count == 2)
    #expect(forms[0]["client_id"] == "id" && forms[0]["grant_type"] == "client_credentials")
    let type = "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"
    #expect(forms[0]["client_assertion_type"] == type)
    #expect(!bench.endpoint.requests.all[0].headers.contains { $0.name == "Authorization" })
  }

  @Test(
    "35: a key that is replaced while a sync runs signs the next assertion, and a bad one waits for the next sync",
    arguments: ["another secret", "-----BEGIN PRIVATE KEY-----"])
  func rotation(next: String) async throws {
    let bench = try await bench(.oauth2ClientCredentials).inSync()
    bench.endpoint.grant("a1", expiresIn: 100)
    _ = try await bench.keeper.current()
    bench.setCredentials(Credentials(clientID: Secret("id"), hmacKey: Secret(next)))
    bench.clock.advance(by: .seconds(101))
    bench.endpoint.grant("a2", expiresIn: 100)
    #expect(try await bench.keeper.current()?.access == Secret("a2"))
    let assertion = try #require(bench.endpoint.requests.all.last.map(form)?["client_assertion"])
    let parts = assertion.split(separator: ".")
    let key = next == "another secret" ? next : "a shared secret"
    let signature = hmacSHA256(Array("\(parts[0]).\(parts[1])".utf8), key: Array(key.utf8))
    let text = Data(signature ?? []).base64EncodedString().filter { $0 != "=" }
    #expect(parts[2] == text.replacing("+", with: "-").replacing("/", with: "_"))
  }

  @Test("36: a refusal names the difference of the clocks, and a wrong clock ends no session")
  func clocks() async throws {
    let bench = try await bench(.oauth2ClientCredentials).inSync()
    let date = bench.clock.now.addingTimeInterval(-300)
    bench.endpoint.answer(400, body: #"{"error":"invalid_client"}"#, headers: [.init("Date", date.httpDate)])
    let first = await failure { try await bench.keeper.current() }
    #expect(first?.kind == .refused)
    #expect(first?.cause.contains("this machine's clock is 300 s ahead of the Date of that answer") == true)
    try await bench.keeper.syncBegins()
    let right = bench.clock.now.addingTimeInterval(1)
    bench.endpoint.answer(400, body: #"{"error":"invalid_client"}"#, headers: [.init("Date", right.httpDate)])
    let second = await failure { try await bench.keeper.current() }
    #expect(second?.cause.contains("this machine's clock agrees with the Date of that answer") == true)
    #expect(bench.endpoint.requests.all.count == 2)
    #expect(await failure { try await bench.keeper.syncBegins() }?.kind == .refused)
  }

  @Test(
    "53: the message names the kind of a file without a private key, and the way to a right one",
    arguments: [
      ("-----BEGIN PUBLIC KEY-----\nx", "it is a public key", ""),
      ("-----BEGIN CERTIFICATE-----\nx", "it is a certificate without its private key", ""),
      ("-----BEGIN PRIVATE KEY-----\nx", "it is damaged", "openssl pkey"),
      ("-----BEGIN ENCRYPTED PRIVATE KEY-----\nx", "it is encrypted", "private_key_passphrase"),
      ("-----BEGIN OPENSSH PRIVATE KEY-----\nx", "OpenSSH's own format", "ssh-keygen -p -m PKCS8"),
      ("-----BEGIN PRIVATE KEY-----\\nx", "its line ends are written as \\n", "printf %b"),
      ("{\"private_key\":\"-----BEGIN PRIVATE KEY-----\\nx\"}", "it is JSON", "jq -r .private_key"),
      ("secret", "it is no PEM text", "openssl pkey"),
    ])
  func badKey(text: String, cause: String, cure: String) async throws {
    let bench = try Bench(.jwt, credentials: Credentials(privateKey: Secret(text))) {
      $0.assertion = AssertionTemplate(.rs256, claims: Self.usual.claims)
      $0.assertion?.claims = .object([.init("exp", .text("{now+10m}"))])
    }
    let found = await failure { try await bench.keeper.open() }
    #expect(found?.kind == .configuration && found?.cause.contains(cause) == true, "\(String(describing: found))")
    #expect(found?.subject == "/etc/rosterd/credentials/private_key" && found?.hint?.contains(cure) == true)
  }

  @Test("53: HS256 takes no PEM key, and a missing key is named")
  func sharedKey() async throws {
    for (credentials, cause) in [
      (
        Credentials(clientID: Secret("id"), hmacKey: Secret("-----BEGIN PRIVATE KEY-----")),
        "HS256 takes a secret that both sides share"
      ),
      (Credentials(clientID: Secret("id")), "the flow needs the credential hmac_key, which does not exist"),
    ] {
      let bench = try bench(.jwt, credentials: credentials)
      let found = await failure { try await bench.keeper.open() }
      #expect(found?.kind == .configuration && found?.cause.contains(cause) == true, "\(String(describing: found))")
    }
  }
}
