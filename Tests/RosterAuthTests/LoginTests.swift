import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterAuth

/// `rosterd login`: what it sends, and what an answer means.
@Suite(.timeLimit(.minutes(1)))
struct LoginTests {
  private static let files = Credentials(clientID: Secret("my id"), clientSecret: Secret("s"))
  private static let device =
    #"{"device_code":"device-code-0123456789","user_code":"AB-CD","verification_uri":"https://auth.test/d","interval":5,"expires_in":60}"#

  private let endpoint = TokenEndpoint()
  private let clock = ManualClock()

  private func login(_ files: Credentials = files) -> Login {
    var settings = TokenSettings.sample(.oauth2Refresh)
    settings.scope = "read all"
    return Login(settings, credentials: files, send: endpoint.send, clock: clock.wallClock)
  }

  private func body(_ request: Request?) -> String { request.map { String(decoding: $0.body, as: UTF8.self) } ?? "" }

  @Test("36: the address has the proof key of RFC 7636's appendix B and a state, and keeps its query")
  func address() {
    let request = AuthorizationRequest(
      redirect: "http://127.0.0.1:7/", state: "st", verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    let address = request.address("https://auth.test/a?prompt=consent", clientID: Secret("my id"), scope: "read all")
    #expect(
      address
        == "https://auth.test/a?prompt=consent&response_type=code&client_id=my%20id&redirect_uri=http%3A%2F%2F127.0.0.1%3A7%2F&state=st&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256&scope=read%20all"
    )
    #expect(AuthorizationRequest(redirect: "").state != AuthorizationRequest(redirect: "").state)
    #expect(AuthorizationRequest(redirect: "").verifier.reveal().utf8.count == 43)
  }

  @Test("36: the client authenticates by HTTP Basic if it has a secret, otherwise its id is in the form")
  func client() async throws {
    let request = AuthorizationRequest(redirect: "http://127.0.0.1:7/", state: "st", verifier: "v")
    endpoint.answer(200, body: #"{"access_token":"a","refresh_token":"r1"}"#)
    #expect(try await login().refreshToken(code: Secret("c"), request) == Secret("r1"))
    let form = "grant_type=authorization_code&code=c&redirect_uri=http%3A%2F%2F127.0.0.1%3A7%2F&code_verifier=v"
    #expect(body(endpoint.requests.all.last) == form)
    #expect(endpoint.requests.all.last?.headers.contains { $0.value.hasPrefix("Basic ") } == true)
    endpoint.answer(200, body: #"{"access_token":"a","refresh_token":"r1"}"#)
    _ = try await login(Credentials(clientID: Secret("my id"))).refreshToken(code: Secret("c"), request)
    #expect(body(endpoint.requests.all.last) == form + "&client_id=my%20id")
    #expect(endpoint.requests.all.last?.headers.contains { $0.name == "Authorization" } == false)
  }

  @Test(
    "36: what an answer without a refresh token means",
    arguments: [
      (200, #"{"access_token":"a"}"#, Failure.Kind.badAnswer, "the answer has no refresh_token"),
      (
        200, #"{"token_type":"bearer","error":null}"#, .badAnswer,
        "the answer has no refresh_token (200, an answer with token_type, error)"
      ),
      (200, #"{"message":"it is spent"}"#, .badAnswer, "the answer has no refresh_token (200, it is spent)"),
      (200, "{}", .badAnswer, "the answer has no refresh_token"),
      (
        200, #"{"refresh_token":5}"#, .badAnswer,
        "the answer has a refresh_token that cannot be sent in a header (allowed: printable ASCII)"
      ),
      (
        400, #"{"error":"invalid_grant","error_description":"code the-code-0123456 is spent"}"#, .refused,
        "upstream refuses the login (400, invalid_grant, code *** is spent)"
      ),
      (200, #"{"error":"bad_verification_code"}"#, .refused, "upstream refuses the login (200, bad_verification_code)"),
      (200, "<html>", .refused, "upstream refuses the login (200, and the answer is not a JSON object)"),
      (503, "", .unreachable, "upstream answered 503"),
    ])
  func refusals(status: Int, answer: String, kind: Failure.Kind, cause: String) async {
    endpoint.answer(status, body: answer)
    let request = AuthorizationRequest(redirect: "http://127.0.0.1:7/")
    let failure = await failure { try await login().refreshToken(code: Secret("the-code-0123456"), request) }
    #expect(failure?.kind == kind && failure?.cause == cause, "\(String(describing: failure))")
    #expect(failure?.hint != nil)
  }

  @Test("36: it polls at upstream's interval, 5 s slower after slow_down, until the token is there")
  func device() async throws {
    endpoint.answer(200, body: Self.device)
    let login = login()
    let device = try await login.deviceCode(at: "https://auth.test/device")
    #expect(device.userCode == "AB-CD" && device.address == "https://auth.test/d")
    #expect(body(endpoint.requests.all.last) == "client_id=my%20id&scope=read%20all")
    let token = Task { try await login.refreshToken(device) }
    for (error, pause) in [("authorization_pending", 5), ("slow_down", 5), ("authorization_pending", 10)] {
      endpoint.answer(400, body: #"{"error":"\#(error)"}"#)
      await clock.sleepers(1)
      #expect(clock.pending == [.seconds(pause)])
      clock.advance(by: .seconds(pause))
    }
    await clock.sleepers(1)
    #expect(clock.pending == [.seconds(10)])
    token.cancel()
    clock.advance(by: .seconds(10))
    _ = await token.result
  }

  @Test("36: a code that expires is 1, and a denied one 77")
  func expiry() async throws {
    for (error, kind) in [("expired_token", Failure.Kind.cancelled), ("access_denied", .refused)] {
      endpoint.answer(200, body: Self.device)
      let login = login()
      let device = try await login.deviceCode(at: "https://auth.test/device")
      let token = Task { try await login.refreshToken(device) }
      await clock.sleepers(1)
      endpoint.answer(400, body: #"{"error":"\#(error)"}"#)
      clock.advance(by: .seconds(5))
      #expect(await failure { try await token.value }?.kind == kind)
    }
  }

  @Test(
    "36: it polls at upstream's interval until expires_in, which may be a text, and at least once",
    arguments: [
      (#""interval":"1","expires_in":"3""#, [1, 1, 1]), (#""expires_in":5"#, [5]), (#""expires_in":2"#, [2]),
      (#""interval":600,"expires_in":1500"#, [600, 600]), (#""interval":5400,"expires_in":7200"#, [5400]),
    ])
  func life(fields: String, pauses: [Double]) async throws {
    endpoint.answer(200, body: Self.device.replacing(#""interval":5,"expires_in":60"#, with: fields))
    let login = login()
    let device = try await login.deviceCode(at: "https://auth.test/device")
    let lifetime = device.expiresIn.seconds
    for _ in pauses { endpoint.answer(400, body: #"{"error":"authorization_pending"}"#) }
    let token = Task { try await login.refreshToken(device) }
    for (index, pause) in pauses.enumerated() {
      await clock.sleepers(1)
      #expect(clock.pending == [.seconds(pause)])
      clock.advance(by: .seconds(pause))
      await endpoint.arrived(index + 2)
    }
    let left = lifetime - pauses.reduce(0, +)
    if left > 0 {
      await clock.sleepers(1)
      #expect(clock.pending == [.seconds(left)], "the code is not reported as expired before its end")
      clock.advance(by: .seconds(left))
    }
    #expect(await failure { try await token.value }?.kind == .cancelled)
    #expect(endpoint.requests.all.count == pauses.count + 1)
  }

  @Test("36: no answer of the browser within 5 minutes is 1 with a sentence that says what to do")
  func unanswered() {
    let failure = login().unanswered
    #expect(failure.kind == .cancelled && failure.cause == "the browser has sent no answer within 5 minutes")
    #expect(failure.hint == "run rosterd login again")
  }

  @Test(
    "47: the message of a device answer without a required field names the field",
    arguments: ["device_code", "user_code", "verification_uri"])
  func incompleteDevice(field: String) async {
    endpoint.answer(200, body: Self.device.replacing("\"\(field)\"", with: "\"other\""))
    let failure = await failure { try await login().deviceCode(at: "https://auth.test/device") }
    #expect(failure?.kind == .refused)
    #expect(failure?.cause.hasPrefix("upstream granted the device code, but the answer lacks \(field) (200, ") == true)
  }

  @Test("47: an empty object is not reported as an answer of another kind")
  func emptyDevice() async {
    endpoint.answer(200, body: "{}")
    let failure = await failure { try await login().deviceCode(at: "https://auth.test/device") }
    #expect(failure?.cause == "upstream granted the device code, but the answer lacks device_code (200)")
  }

  @Test("47: a device answer with an error is a refusal, also if its status is 200")
  func refusedDevice() async {
    endpoint.answer(200, body: #"{"error":"unauthorized_client"}"#)
    let failure = await failure { try await login().deviceCode(at: "https://auth.test/device") }
    #expect(failure?.cause == "upstream refuses the device code (200, unauthorized_client)")
  }

  @Test(
    "36: the refusal of a client names the other forms of auth.client", arguments: ["invalid_client", "nonsense"])
  func refusedClient(error: String) async throws {
    endpoint.answer(401, body: #"{"error":"\#(error)"}"#)
    let failure = await failure { try await login().deviceCode(at: "https://auth.test/device") }
    #expect(failure?.hint?.contains("auth.client") == (error == "invalid_client"), "\(failure?.hint ?? "")")
  }

  @Test("36: a refresh token that cannot be sent is not reported as missing")
  func unsendable() async throws {
    endpoint.answer(200, body: Self.device)
    let login = login()
    let device = try await login.deviceCode(at: "https://auth.test/device")
    let token = Task { try await login.refreshToken(device) }
    await clock.sleepers(1)
    endpoint.answer(200, body: #"{"access_token":"a","refresh_token":"r\u00e9"}"#)
    clock.advance(by: .seconds(5))
    let failure = await failure { try await token.value }
    #expect(failure?.kind == .badAnswer)
    #expect(failure?.cause.hasPrefix("the answer has a refresh_token that cannot be sent in a header") == true)
  }

  @Test("36: a device code needs a web address")
  func foreignAddress() async {
    endpoint.answer(200, body: Self.device.replacing("https://auth.test/d", with: "javascript:alert"))
    #expect(await failure { try await login().deviceCode(at: "https://auth.test/device") }?.kind == .refused)
  }
}
