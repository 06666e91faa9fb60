import FoundationEssentials
import Glibc
import RosterModel
import RosterSimulator
import Testing

/// SIGKILL around a refresh, on an upstream that gives a refresh token once and ends the session of who sends it twice.
@Suite(.serialized, .timeLimit(.minutes(1))) struct TokenKillTests {
  /// The store's system calls in their order (TokenStore.write); each is killed before it takes effect.
  enum Step: String, CaseIterable {
    case create = "openat:signal=KILL:when=1"
    case mode = "fchmod:signal=KILL:when=1"
    case write = "write:signal=KILL:when=1"
    case flush = "fsync:signal=KILL:when=1"
    case rename = "rename,renameat,renameat2:signal=KILL:when=1"
    case flushFolder = "fsync:signal=KILL:when=2"
  }

  @Test(
    "T4: killed before any step of the store, no refresh token is sent whose successor was used",
    arguments: Step.allCases)
  func whileStoring(step: Step) async throws {
    try await withSite(.pages(12, tokens: .init(flow: .authenticateForm, uses: [3]))) { site in
      var site = site
      // A folder of its own, so that every flush of it is the store's.
      let folder = "\(site.folder)/tokens"
      let store = "\(folder)/token.json"
      site.settings["ROSTERD_AUTH_TOKEN_STORE"] = store
      let paths = ["-P", folder, "-P", "\(store).new"]
      let arguments = ["-f", "-qq", "-o", "/dev/null"] + paths + ["-e", "inject=\(step.rawValue)"]
      let killed = try await Program.run(
        try Program.tool("strace"), arguments + [try Program.built("rosterd"), "sync"], environment: site.settings)
      let counts = site.upstream.counts
      try #require(killed.exit != 0 && counts.tokensGranted == 1, "\(killed)")
      #expect(!counts.pageRequests.contains { $0.generation == 1 })

      let stored = try whole(store)
      #expect(stored == (step == .flushFolder))
      _ = try await site.sync(exit: stored ? 0 : 77)
      #expect(site.upstream.counts.reuses == (stored ? 0 : 1))
    }
  }

  /// Whether there is one; a part of one would be an error.
  private func whole(_ path: String) throws -> Bool {
    guard let bytes = FileManager.default.contents(atPath: path) else { return false }
    struct Stored: Decodable { var version: Int }
    return try JSONDecoder().decode(Stored.self, from: bytes).version == 1
  }

  @Test("T4, T10: killed when the first request with the new token is there, the next start goes on with that token")
  func whenUsed() async throws {
    try await withSite(.pages(12, tokens: .init(flow: .authenticateForm, uses: [3]))) { site in
      site.upstream.hold(.pages(4...12))
      let sync = try site.start("sync")
      try await site.upstream.waitFor { $0.held == 8 }
      site.upstream.release()
      site.upstream.hold(.status(200))
      try await site.upstream.waitFor { $0.pageRequests.contains { $0.generation == 1 } }
      sync.signal(SIGKILL)
      _ = try await sync.end()
      site.upstream.release()
      #expect(try await site.sync().refreshes == 0)
      #expect(site.upstream.counts.tokenRequests.count == 1 && site.upstream.counts.reuses == 0)
    }
  }
}
