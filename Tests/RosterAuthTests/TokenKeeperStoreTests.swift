import FoundationEssentials
import Glibc
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterAuth

/// Sessions that outlive a request, a sync and the process.
@Suite(.timeLimit(.minutes(1)))
struct TokenKeeperStoreTests {
  private func body(_ bench: Bench, index: Int) -> String {
    String(decoding: bench.endpoint.requests.all[index].body, as: UTF8.self)
  }

  @Test("31: a rotated refresh token is on disk before any request has the access token that arrived with it")
  func storedFirst() async throws {
    let bench = try await Bench().inSync()
    let requests = bench.requests(2)
    await bench.events.wait(for: .tokenJoined)
    #expect(bench.stored?.accessToken == nil)
    bench.endpoint.grant("a1", refresh: "r1")
    for request in requests {
      _ = try await request.value
      #expect(bench.stored?.refreshToken == "r1" && bench.stored?.accessToken == "a1")
    }
  }

  @Test(
    "31: no request uses an answer that cannot be stored; the next sync stores it first, without a refresh")
  func unstored() async throws {
    let (bench, request) = try await Bench.refreshing()
    try bench.breakStore()
    bench.endpoint.grant("a1", refresh: "r1")
    let first = await failure { try await request.value }
    let second = await failure { try await bench.keeper.current() }
    #expect(first?.kind == .cannotWrite && second == first)
    #expect(await failure { try await bench.keeper.syncBegins() }?.kind == .cannotWrite)
    try bench.mendStore()
    try await bench.keeper.syncBegins()
    #expect(bench.stored?.refreshToken == "r1")
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
    #expect(bench.endpoint.requests.all.count == 1)
    #expect(bench.events.count(.tokenRefreshed) == 1)
  }

  @Test("31: no token is replaced while the store cannot be written")
  func unwritable() async throws {
    let bench = try await Bench().inSync()
    try bench.breakStore()
    let failure = await failure { try await bench.keeper.current() }
    #expect(failure?.kind == .cannotWrite && bench.endpoint.requests.all.isEmpty)
    // The first process has ended before the second one starts.
    await bench.keeper.drain()
    try bench.mendStore()
    let restarted = try Bench(workspace: bench.workspace)
    try await restarted.keeper.syncBegins()
    restarted.endpoint.grant("a1", refresh: "r1")
    #expect(try await restarted.keeper.current()?.access == Secret("a1"))
  }

  @Test("31: the store is checked before each attempt, also if its note exists")
  func unwritableWithNote() async throws {
    let bench = try await Bench().inSync()
    let request = bench.requests(1)[0]
    await bench.endpoint.arrived(1)
    let noted = try String(contentsOfFile: bench.settings.storePath, encoding: .utf8)
    let blocked = TokenStore(path: bench.settings.storePath).temporaryPath
    try FileManager.default.createDirectory(atPath: "\(blocked)/x", withIntermediateDirectories: true)
    bench.endpoint.fail(.timeout)
    bench.endpoint.grant("a1", refresh: "r1")
    let again = await failure { try await request.value }
    #expect(again?.kind == .cannotWrite && bench.endpoint.requests.all.count == 1)
    await bench.keeper.drain()
    let restarted = try Bench(workspace: bench.workspace)
    try await restarted.keeper.syncBegins()
    restarted.endpoint.grant("a1", refresh: "r1")
    let later = await failure { try await restarted.keeper.current() }
    #expect(later?.kind == .cannotWrite && restarted.endpoint.requests.all.isEmpty)
    await restarted.keeper.drain()
    #expect(try String(contentsOfFile: bench.settings.storePath, encoding: .utf8) == noted)
    try FileManager.default.removeItem(atPath: blocked)
    let last = try Bench(workspace: bench.workspace)
    try await last.keeper.syncBegins()
    last.endpoint.grant("a1", refresh: "r1")
    #expect(try await last.keeper.current()?.access == Secret("a1") && last.stored?.refreshToken == "r1")
  }

  @Test("32: a cancelled request does not cancel the refresh; its answer is stored and used")
  func notCancelled() async throws {
    let (bench, request) = try await Bench.refreshing()
    request.cancel()
    _ = try? await request.value
    #expect(await bench.keeper.isBusy)
    bench.endpoint.grant("a1", refresh: "r1")
    await bench.events.wait(for: .tokenRefreshed)
    #expect(!bench.endpoint.sawCancellation)
    #expect(bench.stored?.refreshToken == "r1")
    let token = try await bench.keeper.current()
    #expect(await !bench.keeper.isBusy)
    #expect(token?.access == Secret("a1"))
  }

  @Test("35: after a restart a stored token that is still valid is used without a refresh")
  func restart() async throws {
    let bench = try await Bench.settled(life: 3600)
    let restarted = try Bench(workspace: bench.workspace)
    try await restarted.keeper.open()
    #expect(restarted.status?.state == .valid && restarted.status?.expiresAt == "2023-11-14T23:13:20.000Z")
    try await restarted.keeper.syncBegins()
    #expect(try await restarted.keeper.current()?.access == Secret("a1"))
    #expect(restarted.endpoint.requests.all.isEmpty)
  }

  @Test(
    "35: a credential whose bytes changed wins over the store, before a sync and across a restart",
    arguments: [false, true])
  func changed(restarts: Bool) async throws {
    let bench = try await Bench.settled()
    let next = restarts ? try Bench(workspace: bench.workspace) : bench
    next.setCredentials(Credentials(refreshToken: Secret("r9")))
    try await next.keeper.syncBegins()
    next.endpoint.grant("a9")
    #expect(try await next.keeper.current()?.access == Secret("a9"))
    #expect(body(next, index: restarts ? 0 : 1).hasSuffix("refresh_token=r9"))
  }

  @Test("39: a store of another origin is not used, and no credential at all is 78")
  func otherPlace() async throws {
    let bench = try await Bench.settled()
    let moved = try Bench(credentials: Credentials(refreshToken: Secret("r7")), workspace: bench.workspace) {
      $0.tokenOrigin = "https://other.test:443"
    }
    try await moved.keeper.syncBegins()
    moved.endpoint.grant("a9")
    _ = try await moved.keeper.current()
    #expect(body(moved, index: 0).hasSuffix("refresh_token=r7"))
    let bare = try Bench(.oauth2Refresh, credentials: Credentials(), workspace: bench.workspace) {
      $0.tokenOrigin = "https://third.test:443"
    }
    #expect(await failure { try await bare.keeper.open() }?.kind == .configuration)
  }

  @Test("With a store, a removed credential file does not start a new session")
  func fileGone() async throws {
    let bench = try await Bench.settled(life: 3600)
    let restarted = try Bench(.oauth2Refresh, credentials: Credentials(), workspace: bench.workspace)
    try await restarted.keeper.open()
    #expect(try await restarted.keeper.current()?.access == Secret("a1"))
  }

  @Test("35: a damaged store is 73 at start and before a sync; none and static open no store")
  func damaged() async throws {
    let workspace = Workspace()
    mkdir(workspace.path("state"), 0o700)
    let path = workspace.path("state/token.json")
    try Data("junk".utf8).write(to: URL(filePath: path))
    let bench = try Bench(workspace: workspace)
    let atStart = await failure { try await bench.keeper.open() }
    let atSync = await failure { try await bench.keeper.syncBegins() }
    #expect(atStart?.kind == .cannotWrite && atSync == atStart)
    #expect(FileManager.default.contents(atPath: path) == Data("junk".utf8))
    let fixed = try Bench(.static, credentials: Credentials(accessToken: Secret("a")), workspace: workspace)
    try await fixed.keeper.open()
    let none = try Bench(.none, credentials: Credentials(), workspace: workspace)
    try await none.keeper.open()
  }

  @Test("54: a reload whose new flow lacks its credential is 78 and changes nothing")
  func refusedReload() async throws {
    let bench = try await Bench().inSync()
    bench.endpoint.grant("a1", refresh: "r1")
    let token = try await bench.keeper.current()
    var settings = bench.settings
    settings.flow = .oauth2ClientCredentials
    #expect(await failure { try await bench.keeper.reload(settings) }?.kind == .configuration)
    #expect(try await bench.keeper.current() == token)
    #expect(bench.status?.flow == "oauth2_refresh")
  }

  @Test("A reload with new credentials serves requests that wait between two attempts, one token request at a time")
  func reloadWhileCoolingDown() async throws {
    let bench = try await Bench().inSync()
    let request = bench.requests(1)[0]
    bench.endpoint.refuseConnection()
    await bench.clock.sleepers(1)
    bench.setCredentials(Credentials(refreshToken: Secret("r9")))
    try await bench.keeper.reload(bench.settings)
    #expect(bench.clock.pending.isEmpty)
    bench.endpoint.grant("a9")
    #expect(try await request.value?.access == Secret("a9"))
    bench.clock.advance(by: .seconds(60))
    #expect(bench.endpoint.requests.all.count == 2)
    #expect(body(bench, index: 1).hasSuffix("refresh_token=r9"))
  }

  @Test("A reload with new credentials waits for the token request in flight, then sends the new credential")
  func reloadWhileRefreshing() async throws {
    let (bench, request) = try await Bench.refreshing()
    bench.setCredentials(Credentials(refreshToken: Secret("r9")))
    let reload = Task { try await bench.keeper.reload(bench.settings) }
    bench.endpoint.grant("a1", refresh: "r1")
    #expect(try await request.value?.access == Secret("a1"))
    try await reload.value
    #expect(bench.endpoint.requests.all.count == 1 && bench.stored?.refreshToken == "r1")
    bench.endpoint.grant("a9")
    #expect(try await bench.keeper.current()?.access == Secret("a9"))
    #expect(body(bench, index: 1).hasSuffix("refresh_token=r9"))
  }

  @Test("38: no event, status, error or log line has a secret, whatever upstream answers")
  func nothingShown() async throws {
    let secrets = ["s3cret-refresh", "s3cret-access", "s3cret-client", "s3cret-new"]
    let files = Credentials(
      refreshToken: Secret(secrets[0]), accessToken: Secret(secrets[1]), clientID: Secret("id"),
      clientSecret: Secret(secrets[2]))
    let lines = Recorder<String>()
    var failures: [Failure?] = []
    var texts: [String] = []
    for answer in ["{\"error\":\"\(secrets[0])\"}", "<p>\(secrets[0])", "{\"token\":\"\(secrets[3])\"}"] {
      for status in [200, 400, 404, 500] {
        let bench = try await Bench(.oauth2Refresh, credentials: files, lines: lines) { $0.retry.maxRetries = 0 }
          .inSync()
        for _ in 0..<2 { bench.endpoint.answer(status, body: answer) }
        failures.append(await failure { try await bench.keeper.rejected(1 << 20) })
        _ = await bench.keeper.drain()
        texts += bench.events.all.map { "\($0)" } + bench.statuses.all.map { "\($0)" }
      }
    }
    #expect(failures.allSatisfy { $0 != nil })
    for text in texts + lines.all + failures.map({ "\(String(reflecting: $0)) \($0?.description ?? "")" }) {
      #expect(!text.contains("s3cret"))
    }
  }

  /// With a token request out, reloads with these flows wait for its answer.
  private func reloading(_ flows: [Flow]) async throws -> (Bench, Task<Token?, any Error>, Task<Void, any Error>) {
    let (bench, request) = try await Bench.refreshing()
    let reloads = Task {
      for flow in flows {
        var settings = bench.settings
        settings.flow = flow
        try await bench.keeper.reload(settings)
      }
    }
    return (bench, request, reloads)
  }

  @Test(
    "31, 32: a reload to the flow none during a token request loses no refresh token", arguments: [false, true])
  func flowOff(restarts: Bool) async throws {
    let (bench, request, reload) = try await reloading([.none])
    bench.endpoint.grant("a1", refresh: "r1")
    #expect(try await request.value?.access == Secret("a1"))
    try await reload.value
    #expect(try await bench.keeper.current() == nil)
    #expect(bench.stored?.refreshToken == "r1")
    let next = restarts ? try Bench(workspace: bench.workspace) : bench
    try await next.keeper.reload(bench.settings)
    #expect(try await next.keeper.current()?.access == Secret("a1"))
    #expect(bench.endpoint.requests.all.count == 1)
  }

  @Test("32: if a reload removes and restores the flow before the answer, that answer serves the requests")
  func flowOffAndOn() async throws {
    let (bench, request, reloads) = try await reloading([.none, .oauth2Refresh])
    bench.endpoint.grant("a1", refresh: "r1")
    #expect(try await request.value?.access == Secret("a1"))
    try await reloads.value
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
    #expect(bench.stored?.refreshToken == "r1" && bench.endpoint.requests.all.count == 1)
  }

  @Test(
    "33: a token too large for the store is incomplete, and the store remains readable", arguments: [false, true])
  func tooLarge(isRefreshToken: Bool) async throws {
    let bench = try await Bench().inSync()
    let large = String(repeating: "x", count: 1 << 20)
    bench.endpoint.grant(isRefreshToken ? "a1" : large, refresh: isRefreshToken ? large : nil)
    let ended = await failure { try await bench.keeper.current() }
    #expect(ended?.kind == .refused && ended?.cause.contains("1 MiB") == true)
    #expect(bench.events.all.last { $0.name == .tokenFailed }?.reason == "incomplete")
    #expect(bench.status?.state != .unauthorized)
    #expect(await bench.keeper.drain())
    let restarted = try await Bench(workspace: bench.workspace).inSync()
    restarted.endpoint.grant("a2", refresh: "r2")
    #expect(try await restarted.keeper.current()?.access == Secret("a2"))
  }
}
