import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterAuth

/// The answers of the token endpoint × the knowledge of the session → the outcome, and the number of requests.
@Suite(.timeLimit(.minutes(1)))
struct TokenAnswerTableTests {
  /// The knowledge of the session when it asks.
  enum Known: CaseIterable {
    /// A token that is still valid.
    case valid
    /// A token that has expired, or none.
    case expired
    /// A user and a password only.
    case password
    /// A client and its secret only.
    case client
  }

  enum Outcome: String {
    /// The session has ended, and the sync with it.
    case ends
    /// The sync fails, and the session stays.
    case fails
    /// The sync goes on with the old token.
    case goesOn
  }

  struct Answer: Sendable, CustomTestStringConvertible {
    var status: Int
    var body = ""
    var headers: [Request.Header] = []
    var testDescription: String { "\(status) \(body.prefix(60)) \(headers.map(\.value))" }
  }

  private static func error(_ status: Int, _ code: String) -> Answer {
    Answer(status: status, body: #"{"error":"\#(code)"}"#)
  }

  /// Statements about the grant or the client.
  static let final = [
    error(400, "invalid_grant"), error(401, "invalid_client"), error(403, "unauthorized_client"),
    error(200, "bad_refresh_token"), error(400, "invalid_refresh_token"), error(401, "expired_token"),
    error(400, "interaction_required"), error(200, "token_revoked"),
    Answer(status: 401, body: #"{"detail":"Token is invalid or expired","code":"token_not_valid"}"#),
    Answer(status: 400, body: #"{"status":400,"message":"Invalid refresh token"}"#),
    Answer(status: 400, body: #"{"error":{"code":"invalid_grant"}}"#),
  ]

  /// Refusals without a known code.
  static let unexplained = [
    Answer(status: 400), Answer(status: 401), Answer(status: 403), error(401, ""), error(400, "invalid_request"),
    Answer(status: 401, body: "<html><h1>401 Authorization Required</h1></html>"), error(400, "nonsense"),
    Answer(status: 403, body: "<html>blocked</html>"), Answer(status: 400, body: #"{"error":7}"#),
    Answer(status: 400, body: #"{"error":["invalid_grant"]}"#), Answer(status: 401, body: #"{"detail":"no"}"#),
  ]

  /// Refusals that call themselves passing.
  static let passing = [
    error(400, "temporarily_unavailable"), error(400, "server_error"), error(400, "slow_down"),
    error(200, "temporarily_unavailable"),
    Answer(status: 403, body: "<html>", headers: [.init("Retry-After", "3600")]),
    Answer(status: 401, body: "", headers: [.init("Retry-After", "3600")]),
  ]

  /// Answers that grant nothing and refuse nothing.
  static let useless = [
    Answer(status: 200, body: "<html>log in</html>"), Answer(status: 200), Answer(status: 404), Answer(status: 302),
    Answer(status: 200, body: String(repeating: "<br>", count: 1 << 20)),
  ]

  private func bench(_ known: Known) async throws -> Bench {
    switch known {
    case .valid:
      let bench = try await Bench.settled(life: 3600)
      bench.clock.advance(by: .seconds(3550))
      return bench
    case .expired: return try await Bench().inSync()
    case .password:
      return try await Bench(.exchange, credentials: .init(username: Secret("u"), password: Secret("p"))).inSync()
    case .client:
      let client = Credentials(clientID: Secret("id"), clientSecret: Secret("s"))
      return try await Bench(.oauth2ClientCredentials, credentials: client).inSync()
    }
  }

  private func expect(_ answer: Answer, known: Known, _ outcome: Outcome, requests: Int = 1) async throws {
    let bench = try await bench(known)
    let before = bench.endpoint.requests.all.count
    for _ in 0..<2 { bench.endpoint.answer(answer.status, body: answer.body, headers: answer.headers) }
    let failure = await failure { try await bench.keeper.current() }
    if outcome == .goesOn { await bench.events.wait(for: .tokenFailed) }
    let hasEnded = bench.status?.state == .unauthorized
    let seen = failure == nil ? Outcome.goesOn : hasEnded ? .ends : .fails
    #expect(seen == outcome, "\(known): \(String(describing: failure))")
    #expect(bench.endpoint.requests.all.count - before == requests, "\(known)")
    // The next request of the sync changes nothing.
    _ = try? await bench.keeper.current()
    #expect(bench.endpoint.requests.all.count - before == requests, "\(known)")
  }

  @Test(
    "33: a statement about the grant or the client ends the session, unless the token is still valid",
    arguments: final)
  func statements(answer: Answer) async throws {
    try await expect(answer, known: .valid, .goesOn)
    try await expect(answer, known: .expired, .ends)
    try await expect(answer, known: .password, .ends)
    try await expect(answer, known: .client, .ends)
  }

  @Test(
    "33: a refusal without a known code fails the sync only, and ends the session of a login", arguments: unexplained)
  func refusals(answer: Answer) async throws {
    try await expect(answer, known: .valid, .goesOn)
    try await expect(answer, known: .expired, .fails)
    try await expect(answer, known: .password, .ends)
    try await expect(answer, known: .client, .fails)
  }

  @Test("33: a passing refusal fails the sync only, after one request", arguments: passing)
  func passingRefusals(answer: Answer) async throws {
    for known in Known.allCases { try await expect(answer, known: known, known == .valid ? .goesOn : .fails) }
  }

  @Test("33: any other answer fails the sync only, after one request", arguments: useless)
  func otherAnswers(answer: Answer) async throws {
    for known in Known.allCases { try await expect(answer, known: known, known == .valid ? .goesOn : .fails) }
  }

  @Test(
    "33: a moved token endpoint fails the sync with its new address, without credentials in it",
    arguments: [301, 302, 307, 308])
  func moved(status: Int) async throws {
    for (location, shown) in [
      ("https://new.test/token?client_secret=s3cret-client-1", "https://new.test/token,"), ("/v2/token", "/v2/token,"),
      ("https://me:s3cret-client-1@new.test/s3cret-client-1/t", "https://***@new.test/***/t,"),
    ] {
      let client = Credentials(clientID: Secret("id"), clientSecret: Secret("s3cret-client-1"))
      let bench = try await Bench(.oauth2ClientCredentials, credentials: client).inSync()
      bench.endpoint.answer(status, body: "<html>", headers: [.init("Location", location)])
      let failure = try #require(await failure { try await bench.keeper.current() })
      #expect("\(failure)".contains("answered \(status)") && "\(failure)".contains(shown), "\(failure)")
      #expect(!"\(failure)".contains("s3cret") && "\(failure)".contains("set auth.token_url to it"))
      #expect(bench.endpoint.requests.all.count == 1)
    }
  }

  @Test(
    "32: a lost answer is asked for once more, whatever the session knows", arguments: [408, 500, 502, 504, 520, 524])
  func lost(status: Int) async throws {
    for known in Known.allCases where known != .valid {
      try await expect(Answer(status: status, body: "<html>"), known: known, .fails, requests: 2)
    }
  }

  @Test(
    "30: a refused early refresh is repeated at the token's end only, whose answer counts", arguments: [true, false])
  func refusedEarly(isFinal: Bool) async throws {
    let bench = try await bench(.valid)
    bench.endpoint.refuse()
    _ = try await bench.keeper.current()
    await bench.events.wait(for: .tokenFailed)
    #expect(await bench.keeper.drain() && bench.stored?.early == "refused" && bench.stored?.ended == nil)
    let next = try await Bench(workspace: bench.workspace) { $0.earlyRefresh = .seconds(60) }.inSync(at: 3555)
    #expect(try await next.keeper.current()?.access == Secret("a1"))
    #expect(next.endpoint.requests.all.isEmpty)
    next.clock.advance(by: .seconds(60))
    guard !isFinal else {
      next.endpoint.refuse()
      #expect(await failure { try await next.keeper.current() }?.trouble == .session)
      #expect(next.status?.state == .unauthorized)
      return
    }
    next.endpoint.grant("a2", refresh: "r2", expiresIn: 3600)
    #expect(try await next.keeper.current()?.access == Secret("a2"))
    #expect(next.stored?.early == "never")
    next.clock.advance(by: .seconds(3590))
    #expect(try await next.keeper.current()?.access == Secret("a2"))
    #expect(next.endpoint.requests.all.count == 1)
  }

  @Test("31: white space and line ends around a token belong to no token")
  func edges() async throws {
    let bench = try await Bench(
      .oauth2ClientCredentials, credentials: Credentials(clientID: Secret("id"), clientSecret: Secret("s"))
    ).inSync()
    bench.endpoint.answer(200, body: #"{"access_token":" a1\r\n","expires_in":3600}"#)
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
  }

  @Test("30: an endpoint that gives the same token again is asked at most twice for each expiry")
  func sameToken() async throws {
    let bench = try await Bench(
      .oauth2ClientCredentials, credentials: Credentials(clientID: Secret("id"), clientSecret: Secret("s"))
    ).inSync()
    bench.endpoint.grant("a1", expiresIn: 10)
    let first = try #require(try await bench.keeper.current())
    await bench.keeper.accepted(first.generation)
    bench.clock.advance(by: .seconds(6))
    bench.endpoint.grant("a1", expiresIn: 3)
    _ = try await bench.keeper.current()
    await bench.events.wait(for: .tokenRefreshed, 2)
    for _ in 0..<3 {
      bench.clock.advance(by: .seconds(1))
      #expect(try await bench.keeper.current()?.access == Secret("a1"))
    }
    #expect(bench.endpoint.requests.all.count == 2)
    bench.clock.advance(by: .seconds(2))
    bench.endpoint.grant("a2", expiresIn: 10)
    #expect(try await bench.keeper.current()?.access == Secret("a2"))
    #expect(bench.endpoint.requests.all.count == 3)
  }

  private static let renewing =
    #"{"access_token":"a1","refresh_token":"r1","expires_in":300,"refresh_expires_in":1000}"#

  @Test(
    "30: a daemon renews after 80 % of the life of what renews, at most once in five minutes",
    arguments: [true, false])
  func renewal(restarts: Bool) async throws {
    var bench = try await Bench(renewsBetweenSyncs: true).inSync()
    bench.endpoint.answer(200, body: Self.renewing)
    _ = try await bench.keeper.current()
    if restarts {
      await bench.keeper.drain()
      bench = try await Bench(workspace: bench.workspace, renewsBetweenSyncs: true).inSync()
    }
    let before = bench.endpoint.requests.all.count
    await bench.clock.sleepers(1)
    #expect(bench.clock.pending == [.seconds(800)])
    bench.clock.advance(by: .seconds(800))
    await bench.endpoint.arrived(before + 1)
    bench.endpoint.answer(200, body: Self.renewing.replacing("1000", with: "10"))
    await bench.clock.sleepers(1)
    #expect(bench.clock.pending == [.seconds(300)])
    await bench.keeper.drain()
    #expect(bench.endpoint.requests.all.count == before + 1)
  }

  @Test("30: a JWT is stored at once, and used after its nbf if that is at most 30 s ahead", arguments: [20, 31])
  func notBefore(ahead: Int) async throws {
    let bench = try await Bench().inSync()
    let now = Int(bench.clock.now.timeIntervalSince1970)
    let token = jwt(#"{"nbf":\#(now + ahead),"exp":\#(now + 3600)}"#)
    let request = bench.requests(1)[0]
    await bench.endpoint.arrived(1)
    bench.endpoint.grant(token, refresh: "r1")
    if ahead <= 30 {
      await bench.clock.sleepers(1)
      #expect(bench.stored?.refreshToken == "r1" && bench.clock.pending == [.seconds(ahead)])
      bench.clock.advance(by: .seconds(ahead))
    }
    #expect(try await request.value?.access == Secret(token) && bench.clock.pending.isEmpty)
  }

  @Test(
    "30: a life of 0 or less, or none, causes no renewal between syncs", arguments: ["0", "-5", "null", #""soon""#])
  func noRenewal(life: String) async throws {
    let bench = try await Bench(renewsBetweenSyncs: true).inSync()
    bench.endpoint.answer(200, body: Self.renewing.replacing("1000", with: life))
    _ = try await bench.keeper.current()
    #expect(bench.clock.pending.isEmpty && bench.stored?.renewal == nil)
  }

  @Test("33: a passing refusal of a password is tried three more times, with pauses that double, and then counts")
  func lockedAccount() async throws {
    var bench = try await bench(.password)
    for pause in [60, 120, 240] {
      bench.endpoint.answer(400, body: #"{"error":"temporarily_unavailable"}"#)
      let keeper = bench.keeper
      let refused = await failure { try await keeper.current() }
      #expect(refused?.retryAfter == .seconds(pause) && bench.status?.state != .unauthorized)
      await bench.keeper.drain()
      let clock = bench.clock.now
      // Another process keeps to the pause.
      bench = try Bench(
        .exchange, credentials: .init(username: Secret("u"), password: Secret("p")), workspace: bench.workspace
      ) {
        $0.retry.maxRetryAfter = .zero
      }
      bench.clock.set(by: clock.timeIntervalSince(bench.clock.now) + Double(pause) - 1)
      let next = bench.keeper
      try await next.syncBegins()
      let early = await failure { try await next.current() }
      #expect(early?.trouble == .held && bench.endpoint.requests.all.isEmpty)
      bench.clock.advance(by: .seconds(1))
      try await next.syncBegins()
    }
    bench.endpoint.answer(400, body: #"{"error":"temporarily_unavailable"}"#)
    let keeper = bench.keeper
    #expect(await failure { try await keeper.current() }?.trouble == .session)
    #expect(bench.status?.state == .unauthorized)
  }

  @Test("33: the client's own grant is tried again after sync.interval, which doubles to a day")
  func clientAgain() async throws {
    let bench = try await bench(.client)
    bench.endpoint.refuse(401)
    _ = await failure { try await bench.keeper.current() }
    for pause in [900, 1800, 3600] {
      let before = bench.endpoint.requests.all.count
      bench.clock.advance(by: .seconds(pause - 1))
      #expect(await failure { try await bench.keeper.syncBegins() }?.kind == .refused)
      #expect(bench.endpoint.requests.all.count == before)
      bench.clock.advance(by: .seconds(1))
      try await bench.keeper.syncBegins()
      bench.endpoint.refuse(401)
      _ = await failure { try await bench.keeper.current() }
      #expect(bench.endpoint.requests.all.count == before + 1 && bench.status?.state == .unauthorized)
    }
    bench.clock.advance(by: .seconds(86_400))
    try await bench.keeper.syncBegins()
    bench.endpoint.grant("a1")
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
  }
}
