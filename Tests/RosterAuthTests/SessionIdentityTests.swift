import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterAuth

/// Another server, flow or client gets a store of its own.
@Suite(.timeLimit(.minutes(1)))
struct SessionIdentityTests {
  /// A way in which a session was lost to another identity.
  struct Slip: CustomTestStringConvertible {
    var testDescription: String
    /// The words of the log about the session that is kept.
    var difference: String
    var client: String? = "id"
    var isDryRun = false
    var change: @Sendable (inout TokenSettings) -> Void = { _ in }
  }

  private static let slips = [
    Slip(
      testDescription: "a dry run by hand without the service's client_id", difference: "a client_id instead of none",
      client: nil,
      isDryRun: true),
    Slip(
      testDescription: "another API with the default token_store",
      difference: "base_url at https://api.test:443 instead of https://other.test:443, token_url at"
    ) {
      $0.baseOrigin = "https://other.test:443"
      $0.tokenOrigin = "https://login.other.test:443"
      $0.tokenURL = "https://login.other.test/token"
    },
    Slip(testDescription: "another port in base_url", difference: "instead of https://api.test:444") {
      $0.baseOrigin = "https://api.test:444"
    },
    Slip(testDescription: "another client_id", difference: "another client_id", client: "di"),
    Slip(
      testDescription: "another name of the same host",
      difference: "base_url at https://api.test:443 instead of http://localhost:80"
    ) {
      $0.baseOrigin = "http://localhost:80"
    },
  ]

  private static func files(_ client: String?) -> Credentials {
    Credentials(refreshToken: Secret("r0"), clientID: client.map { Secret($0) })
  }

  @Test("35: another identity gets its own store, and the first session is found again", arguments: slips)
  func undone(slip: Slip) async throws {
    let first = try await Bench(credentials: Self.files("id")).inSync()
    first.endpoint.grant("a1", refresh: "r1")
    #expect(try await first.keeper.current()?.access == Secret("a1"))
    await first.keeper.drain()
    let lines = Recorder<String>()
    let slipped = try Bench(
      credentials: Self.files(slip.client), workspace: first.workspace, isDryRun: slip.isDryRun, lines: lines,
      change: slip.change)
    // A server that sees a used refresh token again may revoke the tokens of both identities.
    let refusal = await failure { try await slipped.keeper.syncBegins() }
    #expect(refusal?.kind == .refused && refusal?.cause.contains(slip.difference) == true)
    #expect(slipped.endpoint.requests.all.isEmpty)
    #expect(
      lines.all.count { $0.contains("has the session of another identity (") && $0.contains(slip.difference) } == 1)
    // The user may know that this server accepts a used one.
    slipped.endpoint.answer(400, body: #"{"error":"invalid_grant"}"#)
    #expect(
      await failure {
        try await slipped.keeper.syncBegins(retrySession: true)
        _ = try await slipped.keeper.current()
      }?.kind == .refused)
    await slipped.keeper.drain()
    #expect(slipped.endpoint.requests.all.count == 1)
    #expect(slipped.stored?.refreshToken == "r1")
    let undone = try await Bench(credentials: Self.files("id"), workspace: first.workspace).inSync()
    #expect(try await undone.keeper.current()?.access == Secret("a1") && undone.endpoint.requests.all.isEmpty)
    // Each identity finds its own session.
    let again = try Bench(credentials: Self.files(slip.client), workspace: first.workspace, change: slip.change)
    #expect(await failure { try await again.keeper.syncBegins() }?.kind == .refused)
    #expect(again.endpoint.requests.all.isEmpty)
  }

  @Test("35: a client_id that is added and removed while rosterd runs loses no session")
  func clientWhileRunning() async throws {
    let bench = try await Bench.settled()
    bench.setCredentials(Self.files("id"))
    #expect(await failure { try await bench.keeper.syncBegins() }?.kind == .refused)
    bench.setCredentials(Self.files(nil))
    try await bench.keeper.syncBegins()
    #expect(try await bench.keeper.current()?.access == Secret("a1") && bench.endpoint.requests.all.count == 1)
    #expect(bench.stored?.refreshToken == "r1")
  }

  @Test("35: another identity uses a refresh token that the first one has not exchanged")
  func unusedToken() async throws {
    let first = try await Bench(credentials: Self.files("id")).inSync()
    first.endpoint.grant("a1", refresh: nil)
    _ = try await first.keeper.current()
    await first.keeper.drain()
    let other = try await Bench(credentials: Self.files("di"), workspace: first.workspace).inSync()
    other.endpoint.grant("b1", refresh: "r1")
    #expect(try await other.keeper.current()?.access == Secret("b1"))
  }

  @Test("35: after the first file is moved away, the identities beside it keep their sessions")
  func movedAway() async throws {
    let workspace = Workspace()
    let store = TokenStore(path: workspace.path("token.json"))
    let (one, two) = (session("one"), session("two"))
    try await store.save(one)
    try await store.save(two)
    #expect(try store.load(for: two.binding).other == one)
    try FileManager.default.removeItem(atPath: store.path)
    var later = two
    later.refreshToken = Secret("r2")
    try await store.save(later)
    #expect(try store.load(for: two.binding).session == later && store.load(for: one.binding).session == nil)
    try await store.save(one)
    #expect(try store.load(for: one.binding).session == one && store.load(for: two.binding).session == later)
    #expect(try store.sessions().map(\.binding) == [one.binding, two.binding])
  }

  private func session(_ client: String) -> Session {
    Session(.sample(.oauth2Refresh), credentials: Self.files(client))
  }

  @Test("51: a dry run with a changed credential file does not replace a live session", arguments: [true, false])
  func dryRun(isEnded: Bool) async throws {
    let first = try await Bench().inSync()
    if isEnded {
      first.endpoint.answer(400, body: #"{"error":"invalid_grant"}"#)
    } else {
      first.endpoint.grant("a1", refresh: "r1")
    }
    _ = try? await first.keeper.current()
    await first.keeper.drain()
    let changed = Credentials(refreshToken: Secret("r9"))
    let dry = try Bench(credentials: changed, workspace: first.workspace, isDryRun: true)
    let failure = await failure { try await dry.keeper.syncBegins() }
    #expect(failure?.kind == (isEnded ? nil : .configuration))
    #expect(dry.stored?.refreshToken == (isEnded ? "r0" : "r1"))
    let whole = try await Bench(credentials: changed, workspace: first.workspace).inSync()
    whole.endpoint.grant("a2", refresh: "r10")
    #expect(try await whole.keeper.current()?.access == Secret("a2"))
  }
}
