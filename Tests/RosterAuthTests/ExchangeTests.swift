import FoundationEssentials
import RosterCore
import RosterDecode
import Testing

@testable import RosterAuth

/// The flow `exchange`: what it sends and reads.
struct ExchangeGrantTests {
  private static let files = Credentials(
    clientID: Secret("id"), clientSecret: Secret("s&t"), username: Secret("{password}"), password: Secret("p\"w d"))
  private static let now = Date(timeIntervalSince1970: 1_700_000_000)

  private func settings(_ change: (inout TokenExchange) -> Void = { _ in }) throws -> TokenSettings {
    var settings = TokenSettings.sample(.exchange)
    var exchange = try #require(settings.exchange)
    change(&exchange)
    settings.exchange = exchange
    return settings
  }

  private func request(_ settings: TokenSettings, refresh: String? = nil, access: String? = nil) throws -> Request {
    var session = Session(settings, credentials: Self.files)
    session.refreshToken = refresh.map { Secret($0) }
    session.renewedAccess = access.map { Secret($0) }
    return try #require(Grant(settings, session: session)).request(
      settings, credentials: Self.files, refreshToken: session.refreshToken, renewedAccess: session.renewedAccess)
  }

  private func body(_ request: Request) -> String { String(decoding: request.body, as: UTF8.self) }

  private func header(_ name: String, request: Request) -> String? {
    request.headers.first { $0.name == name }?.value
  }

  @Test("36: a login is a POST to login.url, a refresh one to refresh.url")
  func addresses() throws {
    let settings = try settings()
    let login = try request(settings)
    #expect(login.method == .post && login.url == "https://auth.test/login")
    let refresh = try request(settings, refresh: "r")
    #expect(refresh.method == .post && refresh.url == "https://auth.test/token")
    #expect(body(refresh) == #"{"refresh":"r"}"# && header("Content-Type", request: refresh) == "application/json")
  }

  @Test("36: the name of a field of a form is encoded")
  func formNames() throws {
    let form = try settings {
      $0.login?.format = .form
      $0.login?.body = .object([
        .init("x+y", .text("{username}")), .init("p&q", .text("1")), .init("k=l", .text("2")),
        .init("u[n]", .text("3")),
      ])
    }
    #expect(body(try request(form)) == "x%2By=%7Bpassword%7D&p%26q=1&k%3Dl=2&u%5Bn%5D=3")
  }

  @Test("36: placeholders are replaced once, as JSON or as a form, and a value is no template")
  func templates() throws {
    #expect(body(try request(settings())) == #"{"username":"{password}","password":"p\"w d"}"#)
    let form = try settings {
      $0.login?.format = .form
      $0.login?.body = .object([
        .init("grant_type", .text("password")), .init("user", .text("{client_id}/{username}")),
        .init("key", .text("{client_secret}")), .init("days", .number("7")), .init("keep", .boolean(true)),
      ])
    }
    let sent = try request(form)
    #expect(body(sent) == "grant_type=password&user=id%2F%7Bpassword%7D&key=s%26t&days=7&keep=true")
    #expect(header("Content-Type", request: sent) == "application/x-www-form-urlencoded")
  }

  @Test("36: send is a header or a query parameter that no address shows, and {} sends no body")
  func fields() throws {
    let inHeader = try settings {
      $0.refresh?.body = .object([])
      $0.refresh?.send = TokenPlace("Authorization: Bearer {refresh_token}")
    }
    let header = try request(inHeader, refresh: "r")
    #expect(header.body.isEmpty && self.header("Authorization", request: header) == "Bearer r")
    #expect(self.header("Content-Type", request: header) == nil)
    let inQuery = try settings { $0.refresh?.send = TokenPlace("?key={client_secret}") }
    let query = try request(inQuery, refresh: "r")
    #expect(query.secrets == [Request.Parameter("key", "s&t")] && !query.url.contains("key"))
  }

  @Test("36: a refresh is sent if each token that it contains is known, else a login")
  func choice() throws {
    let both = try settings {
      $0.refresh?.body = .object([
        .init("accessToken", .text("{access_token}")), .init("refreshToken", .text("{refresh_token}")),
      ])
    }
    #expect(body(try request(both, refresh: "r", access: "a")) == #"{"accessToken":"a","refreshToken":"r"}"#)
    for (refresh, access) in [(nil, nil), ("r", nil), (nil, "a")] as [(String?, String?)] {
      #expect(try request(both, refresh: refresh, access: access).url == "https://auth.test/login")
    }
    let loginOnly = try settings { $0.refresh = nil }
    #expect(try request(loginOnly, refresh: "r").url == "https://auth.test/login")
  }

  private func read(
    _ body: String, headers: [Request.Header] = [], change: (inout TokenExchange) -> Void
  ) throws -> GrantAnswer {
    let settings = try settings(change)
    let grant = try #require(Grant(settings, session: Session(settings, credentials: Self.files)))
    return try grant.read(Response(status: 200, headers: headers, body: Array(body.utf8)), now: Self.now)
  }

  private func life(_ body: String, headers: [Request.Header] = []) throws -> Double? {
    let answer = try read(body, headers: headers) {
      $0.answer.access = TokenSource("/data/access")
      $0.answer.expiresIn = JSONPointer("/data/in")
      $0.answer.expiresAt = JSONPointer("/data/at")
    }
    return answer.issued.expiresAt?.timeIntervalSince(Self.now)
  }

  @Test("36: expires_in, else expires_at, else the exp of a JWT, corrected by Date; otherwise unknown")
  func expiry() throws {
    let skewed = [Request.Header("Date", "Tue, 14 Nov 2023 22:12:20 GMT")]
    #expect(try life(#"{"data":{"access":"a","in":60,"at":1700000300}}"#) == 60)
    #expect(try life(#"{"data":{"access":"a","in":"90"}}"#) == 90)
    #expect(try life(#"{"data":{"access":"a","at":1700000300}}"#) == 300)
    #expect(try life(#"{"data":{"access":"a","at":"2023-11-14T22:15:00+00:00"}}"#) == 100)
    #expect(try life(#"{"data":{"access":"a","at":1700000300}}"#, headers: skewed) == 360)
    let token = jwt(#"{"exp":1700000030}"#)
    #expect(try life(#"{"data":{"access":"\#(token)"}}"#) == 30)
    #expect(try life(#"{"data":{"access":"\#(token)"}}"#, headers: skewed) == 90)
    #expect(try life(#"{"data":{"access":"a","at":"soon"}}"#) == nil)
  }

  @Test("36: an access token that a refresh sends is kept for it")
  func renewedAccess() throws {
    let kept = try read(#"{"access":"a"}"#) { $0.refresh?.body = .object([.init("token", .text("{access_token}"))]) }
    #expect(kept.renewedAccess == Secret("a") && kept.refreshToken == nil)
    #expect(try read(#"{"access":"a","refresh":"r"}"#) { _ in }.renewedAccess == nil)
  }
}

/// The flow `exchange` over several requests and restarts.
@Suite(.timeLimit(.minutes(1)))
struct ExchangeKeeperTests {
  private static let files = Credentials(username: Secret("user"), password: Secret("hunter22"))

  private func grant(_ bench: Bench, access: String, refresh: String? = nil) {
    let refresh = refresh.map { #","refresh":"\#($0)""# } ?? ""
    bench.endpoint.answer(200, body: #"{"access":"\#(access)"\#(refresh)}"#)
  }

  private func addresses(_ bench: Bench) -> [String] { bench.endpoint.requests.all.map(\.url) }

  private func bodies(_ bench: Bench) -> [String] {
    bench.endpoint.requests.all.map { String(decoding: $0.body, as: UTF8.self) }
  }

  /// One that has logged in, with the token of that login.
  private func loggedIn() async throws -> (Bench, Token) {
    let bench = try await Bench(.exchange, credentials: Self.files).inSync()
    grant(bench, access: "a1", refresh: "r1")
    let token = try #require(try await bench.keeper.current())
    await bench.keeper.accepted(token.generation)
    return (bench, token)
  }

  @Test("29, 36: any number of simultaneous 401s cost one refresh, which keeps the old token if it brings none")
  func oneRefresh() async throws {
    let (bench, token) = try await loggedIn()
    let requests = bench.reject(token.generation, times: 20)
    await bench.events.wait(for: .tokenRefused, 20)
    grant(bench, access: "a2")
    for request in requests { #expect(try await request.value?.access == Secret("a2")) }
    #expect(addresses(bench) == ["https://auth.test/login", "https://auth.test/token"])
    #expect(bench.stored?.refreshToken == "r1")
  }

  @Test("36: one login follows a refused refresh, and one refused after it ends the session")
  func oneLogin() async throws {
    let (bench, token) = try await loggedIn()
    bench.endpoint.answer(401, body: #"{"detail":"Token is invalid or expired"}"#)
    grant(bench, access: "a2", refresh: "r2")
    let fresh = try #require(try await bench.keeper.rejected(token.generation).token)
    #expect(fresh.access == Secret("a2") && bench.stored?.refreshToken == "r2")
    await bench.keeper.accepted(fresh.generation)
    bench.endpoint.answer(200, body: #"{"detail":"nothing for you"}"#)
    bench.endpoint.answer(401, body: #"{"detail":"No active account for user with hunter22"}"#)
    let refusal = await failure { try await bench.keeper.rejected(fresh.generation) }
    #expect(refusal?.kind == .refused && refusal?.trouble == .session)
    #expect(refusal?.cause == "upstream refuses the login (401, No active account for *** with ***)")
    #expect(refusal?.subject == "https://auth.test/login")
    #expect(refusal?.description.contains("/etc/rosterd/credentials/password") == true)
    #expect(addresses(bench).suffix(2) == ["https://auth.test/token", "https://auth.test/login"])
    #expect(bench.status?.state == .unauthorized)
    let later = await failure { try await bench.keeper.syncBegins() }
    #expect(later?.kind == .refused && bench.endpoint.requests.all.count == 5)
  }

  @Test(
    "36: one login follows a refresh that is answered 2xx without JSON, and a login answered so leaves the session",
    arguments: ["<html>sign in</html>", "", "access=a"])
  func loginAfterNoJSON(answer: String) async throws {
    let (bench, token) = try await loggedIn()
    bench.endpoint.answer(200, body: answer)
    grant(bench, access: "a2", refresh: "r2")
    let fresh = try #require(try await bench.keeper.rejected(token.generation).token)
    #expect(fresh.access == Secret("a2") && bench.stored?.refreshToken == "r2")
    await bench.keeper.accepted(fresh.generation)
    bench.endpoint.answer(200, body: answer)
    bench.endpoint.answer(200, body: answer)
    let failure = await failure { try await bench.keeper.rejected(fresh.generation) }
    #expect(failure?.kind == .refused && failure?.trouble == .tokenMalformed)
    #expect(addresses(bench).suffix(2) == ["https://auth.test/token", "https://auth.test/login"])
    #expect(bench.status?.state != .unauthorized && bench.endpoint.requests.all.count == 5)
  }

  @Test("33, 36: without a login a refresh that is answered without JSON leaves the session")
  func noJSONWithoutLogin() async throws {
    let bench = try await Bench(.exchange, credentials: Credentials(refreshToken: Secret("r0"))) {
      $0.exchange?.login = nil
    }.inSync()
    bench.endpoint.answer(200, body: "<html>")
    let failure = await failure { try await bench.keeper.current() }
    #expect(failure?.trouble == .tokenMalformed && bench.status?.state != .unauthorized)
    #expect(bench.endpoint.requests.all.count == 1)
  }

  @Test("36: without a login a refused refresh ends the session")
  func noLogin() async throws {
    let bench = try await Bench(.exchange, credentials: Credentials(refreshToken: Secret("r0"))) {
      $0.exchange?.login = nil
    }.inSync()
    bench.endpoint.refuse()
    let failure = await failure { try await bench.keeper.current() }
    #expect(failure?.cause == "upstream refuses the refresh token (400, invalid_grant)")
    #expect(failure?.description.contains("/etc/rosterd/credentials/refresh_token") == true)
  }

  @Test("35, 39: the store has a digest of the password, and another password begins with a login")
  func passwordDigest() async throws {
    let (bench, _) = try await loggedIn()
    let text = try String(contentsOfFile: bench.settings.storePath, encoding: .utf8)
    #expect(!text.contains("hunter22") && !text.contains("user\""))
    #expect(bench.stored?.began.keys.sorted() == ["password", "username"])
    let again = try Bench(.exchange, credentials: Self.files, workspace: bench.workspace)
    try await again.keeper.syncBegins()
    #expect(try await again.keeper.current()?.access == Secret("a1") && again.endpoint.requests.all.isEmpty)
    again.setCredentials(Credentials(username: Secret("user"), password: Secret("hunter23")))
    try await again.keeper.syncBegins()
    grant(again, access: "a5", refresh: "r5")
    #expect(try await again.keeper.current()?.access == Secret("a5"))
    #expect(addresses(again) == ["https://auth.test/login"])
  }

  /// A refresh that contains the user, without a login.
  private static func refreshWithUser(_ settings: inout TokenSettings) {
    settings.exchange?.login = nil
    settings.exchange?.refresh?.body = .object([
      .init("id", .text("{username}")), .init("rt", .text("{refresh_token}")),
    ])
  }

  private static func credentials(of user: String) -> Credentials {
    Credentials(refreshToken: Secret("r0"), username: Secret(user))
  }

  @Test("35: a changed file that only a refresh contains starts a new session")
  func changedUser() throws {
    var settings = TokenSettings.sample(.exchange)
    Self.refreshWithUser(&settings)
    let (alice, bob) = (Self.credentials(of: "alice"), Self.credentials(of: "bob"))
    let session = Session(settings, credentials: alice)
    #expect(try Session.change(from: session, settings, credentials: alice) == .none)
    let next = Session(settings, credentials: bob)
    #expect(try Session.change(from: session, settings, credentials: bob) == .begin(next))
  }

  @Test("35: a user that the stored session did not record keeps its tokens, and a later change wins")
  func unrecordedUser() async throws {
    let bench = try await Bench(.exchange, credentials: Self.credentials(of: "alice"), change: Self.refreshWithUser)
      .inSync()
    grant(bench, access: "a1", refresh: "r1")
    _ = try await bench.keeper.current()
    var older = try #require(bench.stored)
    older.began["username"] = nil
    try JSONEncoder().encode(older).write(to: URL(filePath: bench.settings.storePath))
    let next = try await Bench(
      .exchange, credentials: Self.credentials(of: "alice"), workspace: bench.workspace, change: Self.refreshWithUser
    ).inSync()
    #expect(try await next.keeper.current()?.access == Secret("a1") && next.endpoint.requests.all.isEmpty)
    next.setCredentials(Self.credentials(of: "bob"))
    try await next.keeper.syncBegins()
    grant(next, access: "a9", refresh: "r9")
    #expect(try await next.keeper.current()?.access == Secret("a9"))
    #expect(bodies(next) == [#"{"id":"bob","rt":"r0"}"#])
  }

  @Test("35: a user that a reload adds to the refresh keeps the session, and is recorded with the next token")
  func addedUser() async throws {
    let bench = try await Bench(.exchange, credentials: Self.credentials(of: "alice")) { $0.exchange?.login = nil }
      .inSync()
    grant(bench, access: "a1", refresh: "r1")
    let token = try #require(try await bench.keeper.current())
    await bench.keeper.accepted(token.generation)
    #expect(bench.stored?.began.keys.sorted() == ["refresh_token"])
    var settings = bench.settings
    Self.refreshWithUser(&settings)
    try await bench.keeper.reload(settings)
    grant(bench, access: "a2", refresh: "r2")
    #expect(try await bench.keeper.rejected(token.generation).token?.access == Secret("a2"))
    #expect(bodies(bench).last == #"{"id":"alice","rt":"r1"}"#)
    #expect(bench.stored?.began.keys.sorted() == ["refresh_token", "username"])
    bench.setCredentials(Self.credentials(of: "bob"))
    try await bench.keeper.syncBegins()
    grant(bench, access: "a9", refresh: "r9")
    #expect(try await bench.keeper.current()?.access == Secret("a9"))
  }

  @Test("36: a change of a template or a place lifts an ended session, as another token_url does")
  func lifted() throws {
    let settings = TokenSettings.sample(.exchange)
    var session = Session(settings, credentials: Self.files)
    session.standing = .ended(
      .init(
        at: Date(timeIntervalSince1970: 0), cause: "c", file: "password",
        tried: Session.tried(settings, credentials: Self.files)))
    #expect(try Session.change(from: session, settings, credentials: Self.files) == .none)
    let edits: [(inout TokenExchange) -> Void] = [
      { $0.login?.url += "/" }, { $0.refresh?.format = .form }, { $0.answer.refresh = nil },
      { $0.login?.send = TokenPlace("X-App: 1") }, { $0.login?.body = .object([.init("u", .text("x"))]) },
    ]
    for edit in edits {
      var changed = settings
      var exchange = try #require(changed.exchange)
      edit(&exchange)
      changed.exchange = exchange
      #expect(try Session.change(from: session, changed, credentials: Self.files) != .none)
    }
  }

  @Test("53: a missing file that a placeholder names is 78, and so is one that would forge a header")
  func missing() {
    let missing = #expect(throws: Failure.self) {
      try Session.change(from: nil, TokenSettings.sample(.exchange), credentials: Credentials(username: Secret("u")))
    }
    #expect(missing?.kind == .configuration && missing?.description.contains("password") == true)
    var settings = TokenSettings.sample(.exchange)
    settings.exchange?.login?.send = TokenPlace("X-Pass: {password}")
    let forged = #expect(throws: Failure.self) {
      try Session.change(
        from: nil, settings, credentials: Credentials(username: Secret("u"), password: Secret("a\r\nX: y")))
    }
    #expect(forged?.kind == .configuration)
  }

  @Test("53: without a login the token that a refresh contains is needed, in a file or in the store")
  func tokenMissing() throws {
    var settings = TokenSettings.sample(.exchange)
    settings.exchange?.login = nil
    let failure = #expect(throws: Failure.self) { try Session.change(from: nil, settings, credentials: Credentials()) }
    #expect(failure?.kind == .configuration && failure?.description.contains("refresh_token") == true)
    let stored = Session(settings, credentials: Credentials(refreshToken: Secret("r")))
    #expect(try Session.change(from: stored, settings, credentials: Credentials()) == .none)
  }
}
