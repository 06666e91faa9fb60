import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import Testing

/// SIGKILL around a refresh, with an upstream that accepts each refresh token once and ends the session at the second
/// use.
@Suite(.serialized, .timeLimit(.minutes(1))) struct TokenKillTests {
  /// The store's system calls in order (TokenStore.write). The process is killed before each takes effect.
  enum Step: String, CaseIterable {
    case create = "openat:signal=KILL:when=1"
    case mode = "fchmod:signal=KILL:when=1"
    case write = "write:signal=KILL:when=1"
    case flush = "fsync:signal=KILL:when=1"
    case rename = "rename,renameat,renameat2:signal=KILL:when=1"
    case flushFolder = "fsync:signal=KILL:when=2"
  }

  /// The folder belongs to the store alone, so that every flush of it is the store's.
  private func kill(before step: Step, _ site: inout Site) async throws {
    let folder = "\(site.folder)/tokens"
    site.settings["ROSTERD_AUTH_TOKEN_STORE"] = "\(folder)/token.json"
    let paths = ["-P", folder, "-P", "\(folder)/token.json.new"]
    let arguments = ["-f", "-qq", "-o", "/dev/null"] + paths + ["-e", "inject=\(step.rawValue)"]
    let killed = try await Program.run(
      try Program.tool("strace"), arguments: arguments + [try Program.built("rosterd"), "sync"],
      environment: site.settings)
    try #require(killed.exit != 0, "\(killed)")
    #expect(!site.upstream.counts.pageRequests.contains { $0.generation == 1 })
  }

  @Test(
    "32: killed before any step of the note about a token request, the request has not been sent",
    arguments: Step.allCases)
  func whileNoting(step: Step) async throws {
    try await withSite(.pages(12, tokens: .init(flow: .authenticateForm, uses: [3]))) { site in
      var site = site
      try await kill(before: step, &site)
      #expect(site.upstream.counts.tokenRequests.isEmpty)
      _ = try await site.sync()
      #expect(site.upstream.counts.reuses == 0)
    }
  }

  @Test(
    "31, 32: killed before any step of the store, no used refresh token is sent again, and the error says why",
    arguments: Step.allCases)
  func whileStoring(step: Step) async throws {
    try await withSite(.pages(12, tokens: .init(flow: .authenticateForm, uses: [3]))) { site in
      var site = site
      // The note is stored, so the next write is that of the answer.
      try await kill(before: .flushFolder, &site)
      try await kill(before: step, &site)
      try #require(site.upstream.counts.tokensGranted == 1)
      let stored = try hasToken("\(site.folder)/tokens/token.json")
      #expect(stored == (step == .flushFolder))
      let next = try await site.sync(exit: stored ? 0 : 77)
      #expect(site.upstream.counts.reuses == (stored ? 0 : 1))
      #expect(next.error?.contains("upstream may have rotated") == (stored ? nil : true))
    }
  }

  /// A part of a store would be an error.
  private func hasToken(_ path: String) throws -> Bool {
    struct Stored: Decodable { var accessToken: String? }
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(Stored.self, from: Data(contentsOf: URL(filePath: path))).accessToken != nil
  }

  @Test("31, 35: killed at the first request with the new token, the next start goes on with that token")
  func whenUsed() async throws {
    try await withSite(.pages(12, tokens: .init(flow: .authenticateForm, uses: [3]))) { site in
      site.upstream.hold(.pages(4...12))
      let sync = try site.start("sync")
      try await site.upstream.waitFor { $0.held == 8 }
      site.upstream.release()
      site.upstream.hold(.status(200))
      try await site.upstream.waitFor { $0.pageRequests.contains { $0.generation == 1 } }
      _ = try await sync.end(by: SIGKILL)
      site.upstream.release()
      #expect(try await site.sync().refreshes == 0)
      #expect(site.upstream.counts.tokenRequests.count == 1 && site.upstream.counts.reuses == 0)
    }
  }
}
