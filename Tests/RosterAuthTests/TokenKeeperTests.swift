import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterAuth

/// Which requests cause a refresh, and which share or avoid one.
@Suite(.timeLimit(.minutes(1)))
struct TokenKeeperTests {
  private static let withFirst = Credentials(refreshToken: Secret("r0"), accessToken: Secret("a0"))

  @Test("29: eight requests with the dead token cause one refresh")
  func oneRefresh() async throws {
    let bench = try await Bench(.oauth2Refresh, credentials: Self.withFirst).inSync()
    let first = try #require(try await bench.keeper.current())
    #expect(first.access == Secret("a0"))
    let requests = bench.reject(first.generation, times: 8)
    await bench.events.wait(for: .tokenJoined, 7)
    bench.endpoint.grant("a1", refresh: "r1")
    for request in requests {
      #expect(try await request.value?.access == Secret("a1"))
    }
    #expect(bench.endpoint.requests.all.count == 1)
    #expect(bench.events.count(.tokenRefused) == 8)
    #expect(bench.events.all.filter { $0.name == .tokenRefreshing }.map(\.reason) == ["refused"])
    #expect(bench.status?.joined == 7)
    #expect(bench.status?.refreshes == 1)
    #expect(Set(bench.events.all.filter { $0.name == .tokenRefused }.compactMap(\.page)) == Set(0..<8))
  }

  @Test("29: requests without any token share one refresh too")
  func absent() async throws {
    let bench = try await Bench().inSync()
    let requests = bench.requests(4)
    await bench.events.wait(for: .tokenJoined, 3)
    bench.endpoint.grant("a1")
    for request in requests {
      #expect(try await request.value?.access == Secret("a1"))
    }
    #expect(bench.endpoint.requests.all.count == 1)
    #expect(bench.events.all.first { $0.name == .tokenRefreshing }?.reason == "absent")
  }

  @Test("29: a late 401 is sent again with the current token, without a refresh")
  func late() async throws {
    let bench = try await Bench.settled()
    let current = try #require(try await bench.keeper.current())
    #expect(try await bench.keeper.rejected(current.generation - 1).token == current)
    #expect(bench.endpoint.requests.all.count == 1)
    #expect(bench.status?.avoided == 1)
    #expect(bench.events.all.last { $0.name == .tokenRefused }?.reason == "late")
  }

  @Test("30: a token near its end is refreshed while requests still use it")
  func early() async throws {
    let bench = try await Bench.settled(life: 3600)
    bench.clock.advance(by: .seconds(3541))
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
    await bench.endpoint.arrived(2)
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
    bench.endpoint.grant("a2", expiresIn: 3600)
    #expect(await bench.keeper.drain())
    #expect(try await bench.keeper.current()?.access == Secret("a2"))
    #expect(bench.endpoint.requests.all.count == 2)
  }

  @Test("30: no request is sent with a token that is known to be expired")
  func expired() async throws {
    let bench = try await Bench.settled(life: 10)
    bench.clock.advance(by: .seconds(10))
    let request = bench.requests(1)[0]
    await bench.endpoint.arrived(2)
    #expect(bench.status?.state == .refreshing)
    bench.endpoint.grant("a2")
    #expect(try await request.value?.access == Secret("a2"))
    #expect(bench.events.all.last { $0.name == .tokenRefreshing }?.reason == "expired")
  }

  @Test("30: after an early refresh that passed in vain, requests use the token to its end, and only then ask again")
  func earlyFails() async throws {
    let bench = try await Bench.settled(life: 3600)
    bench.clock.advance(by: .seconds(3550))
    for _ in 0..<2 { bench.endpoint.answer(503) }
    _ = try await bench.keeper.current()
    await bench.events.wait(for: .tokenFailed, 2)
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
    bench.clock.advance(by: .seconds(9))
    #expect(try await bench.keeper.current()?.access == Secret("a1"))
    #expect(bench.endpoint.requests.all.count == 3)
    bench.clock.advance(by: .seconds(60))
    bench.endpoint.grant("a2")
    #expect(try await bench.keeper.current()?.access == Secret("a2"))
  }

  @Test("30: a clock that is set back keeps no expired token in use")
  func setBack() async throws {
    let bench = try await Bench.settled(life: 100)
    bench.clock.set(by: -3600)
    bench.clock.advance(by: .seconds(100))
    bench.endpoint.grant("a2")
    #expect(try await bench.keeper.current()?.access == Secret("a2"))
  }

  @Test("34: a fresh token that worked in this sync may be refreshed in it when it dies")
  func refusedProven() async throws {
    let bench = try await Bench.settled()
    let token = try #require(try await bench.keeper.current())
    await bench.keeper.accepted(token.generation)
    bench.endpoint.grant("a2")
    #expect(try await bench.keeper.rejected(token.generation).token?.access == Secret("a2"))
  }

  @Test(
    "34, 35: with none, static and basic a 401 is 77 at once, no session ends, and no store is opened",
    arguments: [(Flow.none, nil), (.static, "a0"), (.basic, "dTpw")] as [(Flow, String?)])
  func notRenewable(flow: Flow, sent: String?) async throws {
    let files = Credentials(accessToken: Secret("a0"), username: Secret("u"), password: Secret("p"))
    let bench = try await Bench(flow, credentials: files) { $0.storePath = "/nonexistent/token.json" }.inSync()
    let token = try await bench.keeper.current()
    #expect(token?.access == sent.map { Secret($0) })
    let refused = await failure { try await bench.keeper.rejected(token?.generation) }
    #expect(refused?.kind == .refused)
    #expect(bench.status?.state != .unauthorized)
    #expect(bench.endpoint.requests.all.isEmpty)
    try await bench.keeper.syncBegins()
    #expect(try await bench.keeper.current() == token)
  }

  @Test("After a reload that changes auth.send, a 401 to the token in its old place is sent again with the new one")
  func moved() async throws {
    let bench = try await Bench(.static, credentials: Credentials(accessToken: Secret("a0"))).inSync()
    let old = try #require(try await bench.keeper.current())
    var settings = bench.settings
    settings.send = [TokenPlace(.parameter, name: "api_key")]
    try await bench.keeper.reload(settings)
    let again = try await bench.keeper.rejected(old.generation)
    #expect(!again.isFresh && again.token?.access == Secret("a0") && again.token?.places == settings.send)
    let refused = await failure { try await bench.keeper.rejected(again.token?.generation) }
    #expect(refused?.kind == .refused)
  }

  @Test("30: a static token whose own exp has passed is tried once, and the message of its refusal has both times")
  func staticExpired() async throws {
    let old = Secret(jwt(#"{"exp":1600000000}"#))
    let bench = try await Bench(.static, credentials: Credentials(accessToken: old)).inSync()
    let token = try #require(try await bench.keeper.current())
    #expect(token.access == old && bench.status?.state == .expired && bench.keeper.remainingLife(of: token) == nil)
    let refused = await failure { try await bench.keeper.rejected(token.generation) }
    #expect(refused?.trouble == .outlived)
    #expect(refused?.cause.contains("2020-09-13T12:26:40.000Z (this machine's time is 2023-11-14T22:13:20") == true)
    try await bench.keeper.syncBegins()
    #expect(await failure { try await bench.keeper.current() } == refused)
  }

  @Test("A cancelled request ends at once")
  func cancelledWaiter() async throws {
    let (bench, request) = try await Bench.refreshing()
    request.cancel()
    await #expect(throws: CancellationError.self) { try await request.value }
    #expect(bench.endpoint.requests.all.count == 1)
  }
}
