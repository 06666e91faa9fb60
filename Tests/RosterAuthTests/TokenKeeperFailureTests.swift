import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterAuth

/// Token requests that bring no token.
@Suite(.timeLimit(.minutes(1)))
struct TokenKeeperFailureTests {
  private func refuse(_ bench: Bench, status: Int = 400, body: String = #"{"error":"invalid_grant"}"#) async
    -> Failure?
  {
    bench.endpoint.answer(status, body: body)
    return await failure { try await bench.keeper.current() }
  }

  @Test("32: without a connection a token request is tried again as retry says, and the sync survives")
  func unsent() async throws {
    let bench = try await Bench { $0.retry.maxRetries = 6 }.inSync()
    let requests = bench.requests(3)
    await bench.events.wait(for: .tokenJoined, 2)
    let delays = [1, 2, 4, 8, 10, 10]
    for (index, delay) in delays.enumerated() {
      await bench.endpoint.arrived(index + 1)
      bench.endpoint.refuseConnection()
      await bench.clock.sleepers(1)
      #expect(bench.clock.pending == [.seconds(delay)])
      bench.clock.advance(by: .seconds(delay))
    }
    bench.endpoint.grant("a1")
    for request in requests {
      #expect(try await request.value?.access == Secret("a1"))
    }
    let failed = bench.events.all.filter { $0.name == .tokenFailed }
    #expect(failed.map(\.attempt) == [1, 2, 3, 4, 5, 6])
    #expect(failed.map(\.delaySeconds) == delays.map { Double($0) })
    #expect(failed.allSatisfy { $0.reason == "passing" })
    #expect(bench.events.count(.tokenRefreshing) == 1)
  }

  /// Answers of which the token server may have rotated the token.
  private static let losses: [@Sendable (TokenEndpoint) -> Void] = [
    { $0.fail(.connection) }, { $0.fail(.timeout) }, { $0.fail(.truncated) }, { $0.answer(408) }, { $0.answer(500) },
    { $0.answer(502, body: "<html>") }, { $0.answer(520) }, { $0.answer(524) },
  ]

  @Test("32: a lost answer is asked for once more, at once, and no third time in the sync", arguments: losses.indices)
  func replay(index: Int) async throws {
    let bench = try await Bench().inSync()
    Self.losses[index](bench.endpoint)
    Self.losses[index](bench.endpoint)
    let failure = await failure { try await bench.keeper.current() }
    #expect(failure?.kind == .unreachable && failure?.cause.contains(bench.settings.mayHaveRotated) == true)
    #expect(bench.endpoint.requests.all.count == 2 && bench.status?.state != .unauthorized)
    try await bench.keeper.syncBegins()
    Self.losses[index](bench.endpoint)
    bench.endpoint.grant("a1", refresh: "r1")
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
    #expect(bench.endpoint.requests.all.count == 4)
  }

  @Test("32: with Retry-After the one further attempt waits for its end", arguments: [429, 503])
  func replayAfterPause(status: Int) async throws {
    let bench = try await Bench().inSync()
    let request = bench.requests(1)[0]
    for _ in 0..<2 { bench.endpoint.answer(status, headers: [.init("Retry-After", "20")]) }
    await bench.clock.sleepers(1)
    #expect(bench.clock.pending == [.seconds(20)])
    bench.clock.advance(by: .seconds(20))
    let failure = await failure { try await request.value }
    #expect(failure?.kind == .unreachable && failure?.retryAfter == .seconds(20))
    #expect(bench.endpoint.requests.all.count == 2)
  }

  @Test("32: after the last attempt every waiting request fails with the same 69, and the session stays")
  func exhausted() async throws {
    let bench = try await Bench().inSync()
    let requests = bench.requests(2)
    await bench.events.wait(for: .tokenJoined, 1)
    for _ in 0..<2 { bench.endpoint.answer(500) }
    for request in requests {
      let failure = await failure { try await request.value }
      #expect(failure?.kind == .unreachable && failure?.reason == .status(500))
    }
    #expect(await failure { try await bench.keeper.current() }?.kind == .unreachable)
    #expect(bench.endpoint.requests.all.count == 2)
    try await bench.keeper.syncBegins()
    bench.endpoint.grant("a1")
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
  }

  @Test("25, 32: a Retry-After beyond max_retry_after ends the sync and is reported")
  func longRetryAfter() async throws {
    let bench = try await Bench().inSync()
    bench.endpoint.answer(429, headers: [.init("Retry-After", "600")])
    let failure = await failure { try await bench.keeper.current() }
    #expect(failure?.kind == .unreachable && failure?.retryAfter == .seconds(600))
    #expect(failure?.cause == "upstream answered 429 after 1 attempt, and wants no request for 600 s")
    #expect(
      failure?.hint == "that is a rate limit: wait; if it recurs, see what else uses these credentials, "
        + "and whether upstream wants another User-Agent or header (auth.headers)")
    #expect(failure?.trouble == .rateLimit)
  }

  @Test("25: no token request begins before the end of a pause that the token server asked for, restarts included")
  func pause() async throws {
    let bench = try Bench()
    try await bench.keeper.syncBegins()
    bench.endpoint.grant("a1", refresh: "r1", expiresIn: 3600)
    _ = try await bench.keeper.current()
    bench.clock.advance(by: .seconds(3550))
    bench.endpoint.answer(429, headers: [.init("Retry-After", "600")])
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
    await bench.events.wait(for: .tokenFailed)
    try await bench.keeper.syncBegins()
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
    await bench.keeper.drain()
    #expect(bench.endpoint.requests.all.count == 2)

    let restarted = try Bench(workspace: bench.workspace)
    restarted.clock.set(by: 3555)
    try await restarted.keeper.syncBegins()
    #expect(try await restarted.keeper.current()?.access == Secret("a1"))
    // The token has expired, and the pause lasts for another 495 s.
    restarted.clock.advance(by: .seconds(100))
    let failure = await failure { try await restarted.keeper.current() }
    #expect(failure?.kind == .unreachable && failure?.retryAfter == .seconds(495), "\(String(describing: failure))")
    #expect(restarted.endpoint.requests.all.isEmpty)
    // A shorter rest is waited for.
    restarted.clock.advance(by: .seconds(400))
    try await restarted.keeper.syncBegins()
    let request = restarted.requests(1)[0]
    await restarted.clock.sleepers(1)
    #expect(restarted.clock.pending == [.seconds(95)])
    restarted.endpoint.grant("a2", refresh: "r2", expiresIn: 3600)
    restarted.clock.advance(by: .seconds(95))
    #expect(try await request.value?.access == Secret("a2"))
    #expect(restarted.stored?.paused == nil)
  }

  @Test("25: setting the wall clock does not end a pause that the token server asked for", arguments: [false, true])
  func pauseWithSetClock(changesCredentials: Bool) async throws {
    let bench = try await Bench().inSync()
    bench.endpoint.answer(429, headers: [.init("Retry-After", "600")])
    _ = await failure { try await bench.keeper.current() }
    bench.clock.set(by: 700)
    if changesCredentials { bench.setCredentials(Credentials(refreshToken: Secret("r9"))) }
    try await bench.keeper.syncBegins()
    bench.endpoint.grant("a1")
    let failure = await failure { try await bench.keeper.current() }
    #expect(failure?.kind == .unreachable && failure?.retryAfter == .seconds(600), "\(String(describing: failure))")
    #expect(bench.endpoint.requests.all.count == 1)
    bench.clock.set(by: -1400)
    bench.clock.advance(by: .seconds(600))
    try await bench.keeper.syncBegins()
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
  }

  @Test(
    "25: changed credentials do not end a pause that the token server asked for, restarts included",
    arguments: [false, true])
  func pauseWithOtherCredentials(restarts: Bool) async throws {
    let bench = try await Bench.settled(life: 3600)
    bench.clock.advance(by: .seconds(3550))
    bench.endpoint.answer(429, headers: [.init("Retry-After", "600")])
    _ = try await bench.keeper.current()
    await bench.events.wait(for: .tokenFailed)
    var next = bench
    if restarts {
      await bench.keeper.drain()
      next = try Bench(workspace: bench.workspace)
      next.clock.set(by: 3550)
    }
    next.setCredentials(Credentials(refreshToken: Secret("r9")))
    try await next.keeper.syncBegins()
    next.endpoint.grant("a9")
    let keeper = next.keeper
    let failure = await failure { try await keeper.current() }
    #expect(failure?.kind == .unreachable && failure?.retryAfter == .seconds(600), "\(String(describing: failure))")
    #expect(next.endpoint.requests.all.count == (restarts ? 0 : 2))
  }

  @Test(
    "25: a pause that answers a request of a replaced session holds for the next one, restarts included",
    arguments: [false, true])
  func pauseOfReplaced(restarts: Bool) async throws {
    let (bench, request) = try await Bench.refreshing()
    let files = Credentials(refreshToken: Secret("r9"))
    bench.setCredentials(files)
    let sync = Task { try await bench.keeper.syncBegins() }
    bench.endpoint.answer(429, headers: [.init("Retry-After", "600")])
    let first = await failure { try await request.value }
    #expect(first?.kind == .unreachable && first?.retryAfter == .seconds(600), "\(String(describing: first))")
    _ = try? await sync.value
    var next = bench
    if restarts {
      await bench.keeper.drain()
      next = try Bench(credentials: files, workspace: bench.workspace)
      next.endpoint.grant("a9")
    }
    try await next.keeper.syncBegins()
    let keeper = next.keeper
    let later = await failure { try await keeper.current() }
    #expect(later?.kind == .unreachable && later?.retryAfter == .seconds(600), "\(String(describing: later))")
    #expect(next.endpoint.requests.all.count == (restarts ? 0 : 1))
  }

  @Test("32: a refusal after an attempt without an answer says that upstream may have rotated the token")
  func rotatedUnseen() async throws {
    let bench = try await Bench().inSync()
    bench.endpoint.fail(.timeout)
    bench.endpoint.refuse()
    let after = await failure { try await bench.keeper.current() }
    #expect(after?.cause.contains(bench.settings.mayHaveRotated) == true)
    let other = try Bench()
    try await other.keeper.syncBegins()
    let plain = await refuse(other)
    #expect(plain != nil && plain?.cause.contains(bench.settings.mayHaveRotated) == false)
  }

  @Test("32: an attempt without a connection cannot have rotated the token", arguments: [false, true])
  func neverSent(unsent: Bool) async throws {
    let bench = try await Bench().inSync()
    var refused = Failure(.unreachable, cause: "refused", reason: .connection)
    refused.exchange?.isUnsent = unsent
    bench.endpoint.answer(.failure(refused))
    bench.endpoint.refuse()
    let request = bench.requests(1)[0]
    if unsent {
      await bench.clock.sleepers(1)
      bench.clock.advance(by: .seconds(1))
    }
    let after = await failure { try await request.value }
    #expect(after?.cause.contains(bench.settings.mayHaveRotated) == !unsent)
  }

  @Test("32: a refusal also reports an attempt without an answer in an earlier process")
  func rotatedUnseenBefore() async throws {
    let bench = try await Bench().inSync()
    for _ in 0..<2 { bench.endpoint.fail(.timeout) }
    _ = await failure { try await bench.keeper.current() }
    #expect(await bench.keeper.drain())
    let next = try Bench(workspace: bench.workspace)
    try await next.keeper.syncBegins()
    #expect(await refuse(next)?.cause.contains(bench.settings.mayHaveRotated) == true)
  }

  @Test("32: a refusal also reports a process that was killed during its request, unless the request had an answer")
  func killed() async throws {
    let (bench, request) = try await Bench.refreshing()
    #expect(bench.stored?.unanswered == true)
    // The store on disk at the kill.
    let next = try Bench(workspace: bench.workspace)
    try await next.keeper.syncBegins()
    #expect(await refuse(next)?.cause.contains(bench.settings.mayHaveRotated) == true)
    // No two ever write one store at a time.
    #expect(await next.keeper.drain())
    bench.endpoint.grant("a1", refresh: "r1")
    _ = try await request.value
    #expect(bench.stored?.unanswered == nil)
    let answered = try Bench { $0.retry.maxRetries = 0 }
    try await answered.keeper.syncBegins()
    answered.endpoint.answer(429)
    _ = await failure { try await answered.keeper.current() }
    #expect(await answered.keeper.drain())
    #expect(answered.stored?.refreshToken != nil && answered.stored?.unanswered == nil)
  }

  @Test(
    "33: a statement about the grant fails all waiting requests with one 77 that names the file",
    arguments: [
      (400, #"{"error":"invalid_grant"}"#, "refused"), (401, #"{"code":"token_not_valid"}"#, "refused"),
      (200, #"{"error":"bad_refresh_token"}"#, "refused"), (400, #"{"message":"Invalid refresh token"}"#, "refused"),
      (400, #"{"errors":[{"errorType":"invalid_grant"}]}"#, "refused"),
      (422, #"{"status":"BAD_REFRESH_TOKEN"}"#, "refused"),
    ])
  func ends(status: Int, body: String, reason: String) async throws {
    let bench = try await Bench().inSync()
    let requests = bench.requests(3)
    await bench.events.wait(for: .tokenJoined, 2)
    bench.endpoint.answer(status, body: body)
    var failures: [Failure?] = []
    for request in requests { failures.append(await failure { try await request.value }) }
    let ended = try #require(failures[0])
    #expect(failures == [ended, ended, ended])
    #expect(ended.kind == .refused)
    #expect(ended.hint?.contains("/etc/rosterd/credentials/refresh_token and reload") == true)
    #expect(bench.events.all.last { $0.name == .tokenFailed }?.reason == reason)
    #expect(bench.status?.state == .unauthorized)
    #expect(bench.status?.lastError == ended.description)
  }

  @Test("33, 47: the hint names the file that systemd loads and the command; a refused client names its secret")
  func hints() async throws {
    let files = Credentials(clientID: Secret("id"), clientSecret: Secret("s"))
    let bench = try Bench(.oauth2ClientCredentials, credentials: files) {
      $0.credentialsDirectory = "/run/credentials/rosterd@stage.service"
    }
    try await bench.keeper.syncBegins()
    let failure = await refuse(bench, status: 401, body: #"{"error":"invalid_client"}"#)
    let file = "rosterd.stage.client_secret"
    let advice = "into /etc/credstore/\(file) (encrypted: /etc/credstore.encrypted/\(file))"
    #expect(failure?.hint?.contains("\(advice), then systemctl reload-or-restart rosterd@stage") == true)
    #expect(failure?.concerned.contains(.file("/etc/credstore/\(file)")) == true)
  }

  @Test("33: a refused client without a secret names its client_id")
  func publicClient() async throws {
    let files = Credentials(refreshToken: Secret("r0"), clientID: Secret("id"))
    let bench = try await Bench(.oauth2Refresh, credentials: files).inSync()
    let failure = await refuse(bench, status: 401, body: #"{"error":"invalid_client"}"#)
    #expect(failure?.hint?.contains("/etc/rosterd/credentials/client_id") == true, "\(String(describing: failure))")
  }

  @Test("33, 35: an ended session sends nothing, restarts included, until a credential's bytes change")
  func staysEnded() async throws {
    let bench = try await Bench().inSync()
    let ended = await refuse(bench)
    let again = await failure { try await bench.keeper.syncBegins() }
    #expect(again == ended && ended != nil)
    #expect(await bench.keeper.drain())
    let restarted = try Bench(workspace: bench.workspace)
    try await restarted.keeper.open()
    #expect(restarted.status?.state == .unauthorized)
    let still = await failure { try await restarted.keeper.syncBegins() }
    #expect(still == ended)
    #expect(restarted.endpoint.requests.all.isEmpty)
    restarted.setCredentials(Credentials(refreshToken: Secret("r9")))
    try await restarted.keeper.syncBegins()
    restarted.endpoint.grant("a9")
    #expect(try await restarted.keeper.current()?.access == Secret("a9"))
    #expect(String(decoding: restarted.endpoint.requests.all[0].body, as: UTF8.self).hasSuffix("refresh_token=r9"))
    #expect(restarted.stored?.ended == nil && restarted.stored?.accessToken == "a9")
  }

  @Test("33: --retry-session tries the stored token once more, and once only")
  func retrySession() async throws {
    let bench = try await Bench().inSync()
    _ = await refuse(bench)
    try await bench.keeper.syncBegins(retrySession: true)
    _ = await refuse(bench)
    #expect(bench.endpoint.requests.all.count == 2)
    #expect(await failure { try await bench.keeper.syncBegins() }?.kind == .refused)
    try await bench.keeper.syncBegins(retrySession: true)
    bench.endpoint.grant("a1")
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
    #expect(bench.status?.state == .valid && bench.status?.lastError == nil)
  }

  @Test("33: after a trial without a token from upstream the session is ended as before")
  func retryUnanswered() async throws {
    let bench = try await Bench().inSync()
    let ended = await refuse(bench)
    try await bench.keeper.syncBegins(retrySession: true)
    for _ in 0..<2 { bench.endpoint.answer(503) }
    let passing = await failure { try await bench.keeper.current() }
    #expect(passing?.kind == .unreachable && bench.status?.state == .unauthorized)
    #expect(await bench.keeper.drain())
    let next = try Bench(workspace: bench.workspace)
    let still = await failure { try await next.keeper.syncBegins() }
    #expect(still == ended && next.endpoint.requests.all.isEmpty)
  }

  @Test("33: a trial that ends with the process leaves the session ended", arguments: [true, false])
  func retryKilled(isKilled: Bool) async throws {
    let bench = try await Bench().inSync()
    let ended = await refuse(bench)
    try await bench.keeper.syncBegins(retrySession: true)
    let request = bench.requests(1)[0]
    await bench.endpoint.arrived(2)
    if !isKilled {
      let keeper = bench.keeper
      let drained = Task { await keeper.drain() }
      drained.cancel()
      #expect(await drained.value == false)
    }
    let next = try Bench(workspace: bench.workspace)
    let still = await failure { try await next.keeper.syncBegins() }
    #expect(still == ended && next.endpoint.requests.all.isEmpty)
    #expect(next.stored?.unanswered == true)
    bench.endpoint.grant("a1", refresh: "r1")
    _ = try await request.value
    #expect(bench.stored?.accessToken == "a1" && bench.stored?.ended == nil)
  }

  @Test("33: a stop between two attempts of a trial leaves the session ended")
  func retryStopped() async throws {
    let bench = try await Bench().inSync()
    let ended = await refuse(bench)
    try await bench.keeper.syncBegins(retrySession: true)
    let request = bench.requests(1)[0]
    bench.endpoint.refuseConnection()
    await bench.clock.sleepers(1)
    #expect(await bench.keeper.drain())
    _ = await failure { try await request.value }
    let next = try Bench(workspace: bench.workspace)
    let still = await failure { try await next.keeper.syncBegins() }
    #expect(still == ended && next.endpoint.requests.all.isEmpty)
  }

  @Test("33: a retry request that joins a sync gives an ended session one more trial in it")
  func joinedRetry() async throws {
    let bench = try await Bench().inSync()
    _ = await refuse(bench)
    await bench.keeper.retrySession()
    #expect(bench.status?.state != .unauthorized)
    bench.endpoint.grant("a1")
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
    #expect(bench.endpoint.requests.all.count == 2)
  }

  @Test("33: a retry request that joins a sync holds for a session that is about to end")
  func joinedRetryWhileRefreshing() async throws {
    let (bench, request) = try await Bench.refreshing()
    await bench.keeper.retrySession()
    bench.endpoint.refuse()
    bench.endpoint.grant("a1")
    #expect(try await request.value?.access == Secret("a1"))
    #expect(bench.endpoint.requests.all.count == 2)
  }

  @Test("35: scope and token_url reopen an ended session at SIGHUP, early_refresh does not")
  func liftedByReload() async throws {
    let bench = try await Bench().inSync()
    _ = await refuse(bench)
    var settings = bench.settings
    settings.earlyRefresh = .seconds(1)
    try await bench.keeper.reload(settings)
    #expect(bench.status?.state == .unauthorized)
    settings.scope = "more"
    try await bench.keeper.reload(settings)
    #expect(bench.status?.state != .unauthorized)
    try await bench.keeper.syncBegins()
    bench.endpoint.grant("a1")
    _ = try await bench.keeper.current()
    #expect(String(decoding: bench.endpoint.requests.all[1].body, as: UTF8.self).hasSuffix("scope=more"))
  }

  @Test(
    "33: any other answer fails the sync with 77, and the session stays",
    arguments: [(302, "", "other"), (404, "", "other"), (200, "<html>", "malformed"), (200, "{", "malformed")])
  func other(status: Int, body: String, reason: String) async throws {
    let bench = try await Bench().inSync()
    let first = await refuse(bench, status: status, body: body)
    #expect(first?.kind == .refused)
    #expect((first?.cause.contains("may be used up") == true) == (reason == "malformed"))
    let second = await failure { try await bench.keeper.current() }
    #expect(second == first)
    #expect(bench.events.all.last { $0.name == .tokenFailed }?.reason == reason)
    #expect(bench.endpoint.requests.all.count == 1)
    try await bench.keeper.syncBegins()
    bench.endpoint.grant("a1")
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
  }

  @Test("24, 38: no network at all fails the sync without a retry, and the message has no query of the URL")
  func noNetwork() async throws {
    let bench = try await Bench().inSync()
    let down = Failure(.unreachable, cause: "no route")
    bench.endpoint.answer(.failure(down))
    let failure = await failure { try await bench.keeper.current() }
    #expect(failure == down.ofStep("get a new access token", subject: bench.settings.tokenURL.queryMasked))
    #expect(bench.status?.state != .unauthorized)
  }

  @Test("33: with client credentials a refused refresh token is followed by one new grant")
  func newGrant() async throws {
    let files = Credentials(clientID: Secret("id"), clientSecret: Secret("s"))
    let bench = try await Bench(.oauth2ClientCredentials, credentials: files).inSync()
    bench.endpoint.grant("a1", refresh: "r1")
    let first = try #require(try await bench.keeper.current())
    await bench.keeper.accepted(first.generation)
    bench.endpoint.refuse()
    bench.endpoint.grant("a2")
    #expect(try await bench.keeper.rejected(first.generation).token?.access == Secret("a2"))
    let bodies = bench.endpoint.requests.all.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(
      bodies == [
        "grant_type=client_credentials", "grant_type=refresh_token&refresh_token=r1", "grant_type=client_credentials",
      ])
    #expect(bench.stored?.refreshToken == nil)
  }

  @Test("41: after a stop no new grant follows a refused refresh token")
  func noGrantAfterStop() async throws {
    let client = Credentials(clientID: Secret("id"), clientSecret: Secret("s"))
    let bench = try await Bench(.oauth2ClientCredentials, credentials: client).inSync()
    bench.endpoint.grant("a1", refresh: "r1")
    let first = try #require(try await bench.keeper.current())
    await bench.keeper.accepted(first.generation)
    let request = bench.reject(first.generation, times: 1)[0]
    await bench.endpoint.arrived(2)
    bench.keeper.stop()
    bench.endpoint.refuse()
    bench.endpoint.grant("a2")
    #expect(await failure { try await request.value }?.kind == .cancelled)
    #expect(await bench.keeper.drain())
    #expect(bench.endpoint.requests.all.count == 2 && bench.stored?.refreshToken == nil)
  }

  @Test("32: if no refresh token was sent, the message does not say that one may have been rotated")
  func nothingRotated() async throws {
    let client = Credentials(clientID: Secret("id"), clientSecret: Secret("s"))
    let bench = try await Bench(.oauth2ClientCredentials, credentials: client) { $0.retry.maxRetries = 0 }.inSync()
    for _ in 0..<2 { bench.endpoint.fail(.timeout) }
    let failure = await failure { try await bench.keeper.current() }
    #expect(failure != nil && failure?.cause.contains(bench.settings.mayHaveRotated) == false)
    #expect(await bench.keeper.drain())
    #expect(bench.stored == nil)
  }

  @Test("The hint of a refused token names the place of auth.send, unless it is the usual one")
  func sentPlace() {
    var settings = TokenSettings.sample(.static)
    #expect(Failure.notRenewable(settings).hint?.contains("was sent in") == false)
    settings.send = [TokenPlace(.header, name: "X-Api-Key")]
    #expect(Failure.notRenewable(settings).hint?.hasSuffix("; the token was sent in the header X-Api-Key") == true)
    settings.send = [TokenPlace(.parameter, name: "key")]
    let fresh = Failure.freshTokenRefused(settings, refusal: TokenRefusal())
    #expect(fresh.hint?.hasSuffix("; the token was sent in the parameter key") == true)
  }

  @Test(
    "33: the error by auth.logout_status names what repairs the flow",
    arguments: [
      (Flow.none, "set auth.flow"), (.static, "access_token"), (.oauth2ClientCredentials, "client_secret"),
      (.bearerRefresh, "refresh_token"), (.bearerRenew, "access_token"), (.basic, "username and password"),
    ])
  func logoutHint(flow: Flow, mend: String) {
    let hint = Failure.loggedOut(403, settings: .sample(flow)).hint
    #expect(hint?.contains(mend) == true)
    #expect(hint?.contains("--retry-session") == flow.refreshes)
  }

  @Test("34: without a token a 401 ends the sync, but only one list if upstream has answered another")
  func withoutToken() async throws {
    let bench = try await Bench(.none, credentials: Credentials()).inSync()
    let refused = await failure { try await bench.keeper.rejected(nil) }
    #expect(refused?.kind == .refused && refused?.hint?.contains("auth.flow") == true)
    let other = try await Bench(.none, credentials: Credentials()).inSync()
    await other.keeper.accepted(nil)
    await #expect(throws: BlamedList.self) { try await other.keeper.rejected(nil) }
    #expect(other.status?.state != .unauthorized)
  }

  @Test("34: a token that cannot be replaced and that upstream still takes is not at fault: only that list is")
  func fixedToken() async throws {
    let bench = try await Bench(.static, credentials: Credentials(accessToken: Secret("a0"))).inSync()
    let token = try #require(try await bench.keeper.current())
    await bench.keeper.accepted(token.generation)
    let refusal = TokenRefusal(generation: token.generation, status: 401, key: nil, list: "private")
    guard case .verify(_, let trial) = try await bench.keeper.rejected(refusal) else {
      Issue.record("no request was repeated")
      return
    }
    await bench.keeper.blame("private")
    await bench.keeper.trialEnded(trial)
    guard case .accept = try await bench.keeper.rejected(refusal) else {
      Issue.record("the list was not blamed")
      return
    }
    // Refused again, the token is at fault.
    var other = TokenRefusal(generation: token.generation, status: 401, key: nil, list: "other")
    guard case .verify(_, let second) = try await bench.keeper.rejected(other) else {
      Issue.record("no request was repeated")
      return
    }
    other.trial = second
    let failure = await failure { [other] in _ = try await bench.keeper.rejected(other) }
    #expect(failure?.kind == .refused && failure?.hint?.contains("access_token") == true)
  }

  @Test("auth.logout_status ends the session at once, but not for a token of an earlier session")
  func logout() async throws {
    let bench = try await Bench().inSync()
    bench.endpoint.grant("a1", refresh: "r1")
    let token = try #require(try await bench.keeper.current())
    _ = await bench.keeper.endSession(status: 403, generation: 0)
    #expect(bench.status?.state == .valid)
    let failure = await bench.keeper.endSession(status: 403, generation: token.generation)
    #expect(failure.kind == .refused && failure.cause.contains("403, which auth.logout_status names"))
    #expect(bench.status?.state == .unauthorized)
    #expect(await bench.keeper.drain())
    #expect(bench.stored?.ended != nil && bench.stored?.refreshToken == "r1")
  }
}
