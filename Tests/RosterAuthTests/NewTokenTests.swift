import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterAuth

/// A new token although the current one is valid: after a change of the settings, or because a user asks.
@Suite(.timeLimit(.minutes(1)))
struct NewTokenTests {
  private func body(_ request: Request?) -> String { String(decoding: request?.body ?? [], as: UTF8.self) }

  /// Settled, and then reloaded with another scope, whose token request is under way.
  private func reloaded() async throws -> Bench {
    let bench = try await Bench.settled(life: 3600)
    var settings = bench.settings
    settings.scope = "more"
    try await bench.keeper.reload(settings)
    await bench.endpoint.arrived(2)
    return bench
  }

  @Test("35: a changed scope asks for a new token at a reload, and the old one serves until that is granted")
  func changedScope() async throws {
    let bench = try await reloaded()
    #expect(body(bench.endpoint.requests.all.last) == "grant_type=refresh_token&refresh_token=r1&scope=more")
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
    bench.endpoint.grant("a2", expiresIn: 3600)
    await bench.events.wait(for: .tokenRefreshed, 2)
    #expect(try await bench.keeper.current()?.access == Secret("a2") && bench.stored?.refreshToken == "r1")
    #expect(bench.events.all.last { $0.name == .tokenRefreshing }?.reason == "requested")
    try await bench.keeper.syncBegins()
    #expect(bench.endpoint.requests.all.count == 2)
  }

  @Test("35: a sync that begins during that request waits for its answer")
  func syncWaits() async throws {
    let bench = try await reloaded()
    let keeper = bench.keeper
    let sync = Task { try await keeper.syncBegins() }
    bench.endpoint.grant("a2")
    try await sync.value
    #expect(try await bench.keeper.current()?.access == Secret("a2"))
    #expect(bench.endpoint.requests.all.count == 2)
  }

  @Test(
    "35: a change while no daemon runs is asked for by the first sync, also of an older store",
    arguments: [true, false])
  func restarted(isOld: Bool) async throws {
    let bench = try await Bench.settled(life: 3600)
    if isOld {
      var stored = try #require(bench.stored)
      stored.asked = nil
      try JSONEncoder().encode(stored).write(to: URL(filePath: bench.settings.storePath))
    }
    let next = try Bench(workspace: bench.workspace) { $0.scope = "more" }
    if !isOld { next.endpoint.grant("a2") }
    try await next.keeper.syncBegins()
    #expect(try await next.keeper.current()?.access == Secret(isOld ? "a1" : "a2"))
    #expect(next.endpoint.requests.all.count == (isOld ? 0 : 1))
  }

  enum Answer: CaseIterable { case refusal, scope, html, unreachable, busy }

  @Test(
    "35: if upstream grants no new token, the sync goes on with the old one after one request",
    arguments: Answer.allCases)
  func failed(answer: Answer) async throws {
    let bench = try await Bench.settled(life: 3600)
    switch answer {
    case .refusal: bench.endpoint.refuse()
    case .scope: bench.endpoint.answer(400, body: #"{"error":"invalid_scope"}"#)
    case .html: bench.endpoint.answer(200, body: "<html>")
    case .unreachable: bench.endpoint.refuseConnection()
    case .busy: bench.endpoint.answer(429, headers: [.init("Retry-After", "5")])
    }
    try await bench.keeper.syncBegins(newToken: true)
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
    await bench.events.wait(for: .tokenFailed)
    #expect(bench.endpoint.requests.all.count == 2 && bench.status?.state == .valid && bench.clock.pending.isEmpty)
  }

  @Test("35: a failed attempt is repeated by the next sync, and a refused one at the end of the token")
  func repeated() async throws {
    let bench = try await reloaded()
    bench.endpoint.answer(400, body: #"{"error":"invalid_scope"}"#)
    await bench.events.wait(for: .tokenFailed)
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
    bench.endpoint.refuse()
    try await bench.keeper.syncBegins()
    #expect(bench.endpoint.requests.all.count == 3)
    try await bench.keeper.syncBegins()
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
    #expect(bench.endpoint.requests.all.count == 3)
    bench.clock.advance(by: .seconds(3601))
    bench.endpoint.grant("a2")
    #expect(try await bench.keeper.current()?.access == Secret("a2"))
  }

  @Test("35: a change that is undone before its answer asks once more")
  func undone() async throws {
    let bench = try await reloaded()
    let reload = Task { try await bench.keeper.reload(bench.settings) }
    bench.endpoint.grant("a2", expiresIn: 3600)
    await bench.events.wait(for: .tokenRefreshed, 2)
    try await reload.value
    bench.endpoint.grant("a3", expiresIn: 3600)
    try await bench.keeper.syncBegins()
    #expect(try await bench.keeper.current()?.access == Secret("a3"))
    #expect(body(bench.endpoint.requests.all.last) == "grant_type=refresh_token&refresh_token=r1")
  }

  @Test(
    "35: after a change of the login the new token comes from a login, also after a restart",
    arguments: [true, false])
  func changedLogin(restarts: Bool) async throws {
    let user = Credentials(username: Secret("u"), password: Secret("p"))
    let bench = try await Bench(.exchange, credentials: user).inSync()
    bench.endpoint.answer(200, body: #"{"access":"a1","refresh":"r1"}"#)
    _ = try await bench.keeper.current()
    var exchange = try #require(bench.settings.exchange)
    exchange.login?.body = .object([.init("tenant", .text("b"))])
    let next: Bench
    if restarts {
      next = try Bench(.exchange, credentials: user, workspace: bench.workspace) { $0.exchange = exchange }
    } else {
      next = bench
      var settings = bench.settings
      settings.exchange = exchange
      try await bench.keeper.reload(settings)
    }
    next.endpoint.answer(200, body: #"{"access":"a2","refresh":"r2"}"#)
    try await next.keeper.syncBegins()
    #expect(try await next.keeper.current()?.access == Secret("a2"))
    #expect(next.endpoint.requests.all.last?.url == "https://auth.test/login")
    #expect(body(next.endpoint.requests.all.last) == #"{"tenant":"b"}"#)
    #expect(next.stored?.refreshToken == "r2")
  }

  @Test("35: another place of the access token in the answer asks for a new token by a refresh")
  func changedPlace() async throws {
    let user = Credentials(username: Secret("u"), password: Secret("p"))
    let bench = try await Bench(.exchange, credentials: user).inSync()
    bench.endpoint.answer(200, body: #"{"access":"a1","refresh":"r1"}"#)
    _ = try await bench.keeper.current()
    var settings = bench.settings
    settings.exchange?.answer.access = .member(JSONPointer(segments: ["id_token"]))
    bench.endpoint.answer(200, body: #"{"access":"a2","id_token":"i2"}"#)
    try await bench.keeper.reload(settings)
    try await bench.keeper.syncBegins()
    #expect(try await bench.keeper.current()?.access == Secret("i2"))
    #expect(bench.endpoint.requests.all.map(\.url) == ["https://auth.test/login", "https://auth.test/token"])
  }

  @Test("35: settings that change no token ask for none")
  func unrelated() async throws {
    let bench = try await Bench.settled(life: 3600)
    var settings = bench.settings
    settings.timeout = .seconds(7)
    settings.client = .body
    settings.earlyRefresh = .seconds(3)
    try await bench.keeper.reload(settings)
    try await bench.keeper.syncBegins()
    #expect(bench.endpoint.requests.all.count == 1)
  }

  @Test("35: a request for a new token is sent once, in a running sync at once", arguments: [true, false])
  func requested(joins: Bool) async throws {
    let bench = try await Bench.settled(life: 3600)
    bench.endpoint.grant("a2", refresh: "r2")
    if joins {
      await bench.keeper.requestNewToken()
      await bench.events.wait(for: .tokenRefreshed, 2)
    } else {
      try await bench.keeper.syncBegins(newToken: true)
    }
    #expect(try await bench.keeper.current()?.access == Secret("a2"))
    try await bench.keeper.syncBegins()
    #expect(bench.endpoint.requests.all.count == 2)
  }

  @Test("35: a flow without token requests, and an ended session, ask for no token")
  func impossible() async throws {
    let fixed = try await Bench(.static, credentials: Credentials(accessToken: Secret("a0"))).inSync()
    try await fixed.keeper.syncBegins(newToken: true)
    #expect(try await fixed.keeper.current()?.access == Secret("a0") && fixed.endpoint.requests.all.isEmpty)
    let ended = try await Bench().inSync()
    ended.endpoint.refuse()
    _ = await failure { try await ended.keeper.current() }
    #expect(await failure { try await ended.keeper.syncBegins(newToken: true) }?.trouble == .session)
    #expect(ended.endpoint.requests.all.count == 1)
  }

  @Test("47: a session that ends before the next sync is known, unless a daemon renews it", arguments: [true, false])
  func sessionEnd(renews: Bool) async throws {
    let bench = try await Bench(renewsBetweenSyncs: renews).inSync()
    bench.endpoint.answer(
      200, body: #"{"access_token":"a1","refresh_token":"r1","expires_in":300,"refresh_expires_in":1000}"#)
    _ = try await bench.keeper.current()
    let (before, after) = (bench.clock.now + 999, bench.clock.now + 1001)
    #expect(await bench.keeper.sessionEnd(before: before) == nil)
    #expect(await bench.keeper.sessionEnd(before: after) == (renews ? nil : bench.clock.now + 1000))
    await bench.keeper.drain()
  }

  @Test(
    "36: the refusal of a static token or of a user names the oddity of its file",
    arguments: [Flow.static, .basic])
  func oddity(flow: Flow) async throws {
    let files = Credentials(
      refreshToken: Secret(" unused"), accessToken: Secret("\"a0\""), username: Secret("u"), password: Secret("p "))
    let bench = try await Bench(flow, credentials: files).inSync()
    let token = try await bench.keeper.current()
    let cause = await failure { try await bench.keeper.rejected(token?.generation) }?.cause
    let clause =
      flow == .static
      ? "; /etc/rosterd/credentials/access_token is in quotes"
      : "; /etc/rosterd/credentials/password ends with a blank"
    #expect(cause?.hasSuffix(clause) == true, "\(cause ?? "")")
  }
}
