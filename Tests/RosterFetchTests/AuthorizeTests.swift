import FoundationEssentials
import Logging
import RosterAuth
import RosterFetch
import RosterModel
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct AuthorizeTests {
  @Test("T3: a request whose every 401 comes late is sent again once with the current and once with a fresh token")
  func alwaysLate() async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/rosterd-authorize-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let grants = Mutex(0)
    let keeper = TokenKeeper(
      settings: TokenSettings(
        flow: .oauth2Refresh, tokenURL: "http://localhost/token", baseOrigin: "http://localhost:80",
        tokenOrigin: "http://localhost:80", storePath: folder + "/token.json"),
      credentials: { _ in .init(refreshToken: Secret("r")) },
      send: { _ in
        let number = grants.withLock { grants in
          grants += 1
          return grants
        }
        return Response(status: 200, body: Array("{\"access_token\":\"a\(number)\"}".utf8))
      }, report: { _ in }, onStatus: { _ in }, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    try await keeper.open()
    try await keeper.syncBegins()
    let sent = Mutex(0)
    let send = Interceptor.chain([.authorize(keeper, baseURL: "http://localhost", logout: [])]) { _ in
      sent.withLock { $0 += 1 }
      // Another request has worked with this token, and then found it expired, before this one is answered.
      let token = try await keeper.current()
      await keeper.accepted(token?.generation ?? 0)
      _ = try await keeper.rejected(token?.generation)
      return Response(status: 401)
    }
    let failure = await #expect(throws: Failure.self) { try await send(Request(.get, "http://localhost/character")) }
    #expect(failure?.exit == .refused)
    #expect(sent.withLock { $0 } == 3)
  }
}
