import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import Testing

/// The flow `exchange` of the program, on an upstream that rotates refresh tokens and ends the session of a client that
/// sends one twice.
@Suite(.serialized, .timeLimit(.minutes(1))) struct ExchangeTests {
  @Test("29, 36: one login, then one refresh for eight pages that are refused at a time")
  func oneRefresh() async throws {
    let scenario = Scenario.pages(42, tokens: .init(flow: .exchange, uses: [0, 8, 20]))
    try await withSite(scenario) { site in
      let report = try await site.sync()
      let counts = site.upstream.counts
      #expect(report.refreshes == 3 && counts.tokenRequests.count == 3)
      #expect(counts.reuses == 0 && counts.peakTokensInFlight == 1)
      try await site.expectUpstream()
      #expect(try await site.sync().refreshes == 0)
    }
  }

  @Test("36: a session that upstream ended goes on with one login, and a refused login is 77 until the file changes")
  func loginAfterRefusal() async throws {
    try await withSite(.pages(2, tokens: .init(flow: .exchange, uses: []))) { site in
      _ = try await site.sync()
      site.upstream.endSession()
      #expect(try await site.sync().refreshes == 1 && site.upstream.counts.tokenRequests.count == 3)
      site.upstream.endSession()
      let password = URL(filePath: "\(site.folder)/password")
      let right = try Data(contentsOf: password)
      try Data("geheim-wrong".utf8).write(to: password)
      let refused = try await site.sync(exit: 77)
      #expect(refused.error?.contains("upstream refuses the login (401, no_active_account)") == true)
      #expect(refused.error?.contains("geheim") == false)
      let requests = site.upstream.counts.tokenRequests.count
      _ = try await site.sync(exit: 77)
      #expect(site.upstream.counts.tokenRequests.count == requests)
      try right.write(to: password)
      #expect(try await site.sync().refreshes == 1)
    }
  }

  @Test("36: killed after each of four refreshes, it goes on with the stored token and reuses none")
  func killed() async throws {
    // The login's token is good for the first sync.
    try await withSite(.pages(4, tokens: .init(flow: .exchange, uses: [0, 4, 0, 0, 0]))) { site in
      _ = try await site.sync()
      for generation in 2...5 {
        site.upstream.hold(.anyPage)
        let sync = try site.start("sync")
        try await site.upstream.waitFor { $0.held == 1 }
        site.upstream.release(.status(401))
        try await site.upstream.waitFor { $0.pageRequests.contains { $0.generation == generation } }
        #expect(try await sync.end(by: SIGKILL).exit == -SIGKILL)
        site.upstream.release()
        #expect(site.upstream.counts.tokensGranted == generation)
      }
      #expect(try await site.sync().refreshes == 0)
      #expect(site.upstream.counts.reuses == 0)
      try await site.expectUpstream()
    }
  }

  @Test("38, 39: the password is in no log, output, status, cache, store or check")
  func secrets() async throws {
    try await withSite(
      .pages(5, tokens: .init(flow: .exchange, uses: [0, 2])), settings: ["ROSTERD_LOG_LEVEL": "trace"]
    ) { site in
      let password = try String(contentsOfFile: "\(site.folder)/password", encoding: .utf8)
      try await site.withDaemon { daemon, _ in
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        let told = try await site.curl("/v1/status").body + site.curl("/metrics").body
        #expect(!told.contains(password))
        daemon.signal(SIGTERM)
        #expect(try await !daemon.end().error.contains(password))
      }
      #expect(try await !site.rosterd("check").output.contains(password))
      for file in [site.cache, site.tokenStore] {
        let bytes = try Data(contentsOf: URL(filePath: file))
        #expect(!String(decoding: bytes, as: UTF8.self).contains(password), "\(file)")
      }
    }
  }
}
