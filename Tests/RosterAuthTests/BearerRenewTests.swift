import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterAuth

/// The flow whose token is replaced by itself: what it promises besides the others.
@Suite(.timeLimit(.minutes(1))) struct BearerRenewTests {
  private static let files = Credentials(accessToken: Secret("a0"))

  private func bench(_ files: Credentials = files, workspace: Workspace? = nil) async throws -> Bench {
    try await Bench(.bearerRenew, credentials: files, workspace: workspace).inSync()
  }

  private func renew(_ bench: Bench, to access: String, fields: String = "") async throws -> Token? {
    let token = try #require(try await bench.keeper.current())
    bench.endpoint.answer(200, body: #"{"accessToken":"\#(access)"\#(fields)}"#)
    return try await bench.keeper.rejected(token.generation).token
  }

  private func authorizations(_ bench: Bench) -> [String?] {
    bench.endpoint.requests.all.map { request in
      request.headers.first { $0.name == "Authorization" }?.value
    }
  }

  @Test("31: bearer_renew sends the file's token first, and stores its successor before the successor is used")
  func renewals() async throws {
    let bench = try await bench()
    #expect(try await bench.keeper.current()?.access == Secret("a0") && bench.endpoint.requests.all.isEmpty)
    let second = try await renew(bench, to: "a1")
    #expect(second?.access == Secret("a1") && bench.stored?.accessToken == "a1" && bench.stored?.refreshToken == "a1")
    await bench.keeper.accepted(second?.generation ?? 0)
    #expect(try await renew(bench, to: "a2")?.access == Secret("a2"))
    #expect(authorizations(bench) == ["Bearer a0", "Bearer a1"])
    #expect(bench.endpoint.requests.all.allSatisfy { $0.body.isEmpty && $0.method == .post })
  }

  @Test("29: eight requests with the dead token of bearer_renew cause one token request")
  func once() async throws {
    let bench = try await bench()
    let first = try #require(try await bench.keeper.current())
    let requests = bench.reject(first.generation, times: 8)
    await bench.events.wait(for: .tokenJoined, 7)
    bench.endpoint.answer(200, body: #"{"accessToken":"a1"}"#)
    for request in requests { #expect(try await request.value?.access == Secret("a1")) }
    #expect(bench.endpoint.requests.all.count == 1)
  }

  @Test("35: bearer_renew uses the stored token after a restart without the file; new bytes in the file win")
  func restart() async throws {
    let before = try await bench()
    _ = try await renew(before, to: "a1")
    #expect(await before.keeper.drain())
    for files in [Self.files, Credentials()] {
      let next = try await bench(files, workspace: before.workspace)
      #expect(try await next.keeper.current()?.access == Secret("a1") && next.endpoint.requests.all.isEmpty)
    }
    let changed = try await bench(Credentials(accessToken: Secret("b0")), workspace: before.workspace)
    #expect(try await changed.keeper.current()?.access == Secret("b0"))
  }

  @Test(
    "33: a refusal of the token ends the session across restarts and names access_token",
    arguments: [(401, #"{"error":"invalid_token"}"#), (200, #"{"error":"token expired"}"#)])
  func ends(status: Int, body: String) async throws {
    let bench = try await bench()
    let token = try #require(try await bench.keeper.current())
    bench.endpoint.answer(status, body: body)
    let ended = await failure { try await bench.keeper.rejected(token.generation) }
    #expect(ended?.kind == .refused && ended?.hint?.contains("/access_token ") == true)
    #expect(ended?.cause.contains("upstream refuses the access token (\(status), ") == true)
    #expect(await bench.keeper.drain())
    let next = try Bench(.bearerRenew, credentials: Self.files, workspace: bench.workspace)
    #expect(await failure { try await next.keeper.syncBegins() }?.kind == .refused)
    try await next.keeper.syncBegins(retrySession: true)
    next.endpoint.answer(200, body: #"{"accessToken":"a1"}"#)
    #expect(try await next.keeper.current()?.access == Secret("a1"))
    #expect(authorizations(next) == ["Bearer a0"])
  }

  @Test("30: bearer_renew renews before the exp of a JWT, with the token that is still valid")
  func early() async throws {
    let bench = try await Bench(.bearerRenew, credentials: Self.files).inSync()
    let end = Int(bench.clock.now.timeIntervalSince1970) + 100
    let long = jwt(#"{"exp":\#(end)}"#)
    _ = try await renew(bench, to: long)
    bench.clock.advance(by: .seconds(60))
    bench.endpoint.answer(200, body: #"{"accessToken":"a2"}"#)
    #expect(try await bench.keeper.current()?.access == Secret(long))
    await bench.events.wait(for: .tokenRefreshed, 2)
    #expect(try await bench.keeper.current()?.access == Secret("a2"))
    #expect(authorizations(bench).last == "Bearer \(long)")
  }

  @Test("32: the message says that an attempt without an answer may have replaced the access token")
  func unanswered() async throws {
    let bench = try await bench()
    let token = try #require(try await bench.keeper.current())
    bench.endpoint.fail(.timeout)
    bench.endpoint.refuse(401)
    let after = await failure { try await bench.keeper.rejected(token.generation) }
    #expect(after?.cause.contains("may have rotated the access token in an attempt whose answer never came") == true)
  }
}
