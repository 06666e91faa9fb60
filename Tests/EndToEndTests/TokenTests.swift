import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterTestSupport
import Synchronization
import Testing

/// Tokens through the real program, counted on the simulator's side.
@Suite(.serialized, .timeLimit(.minutes(1))) struct TokenTests {
  @Test(
    "29: however many requests use the dead token, in whatever order, one refresh is sent",
    arguments: [(1, 2), (8, 10), (64, 4)])
  func oneRefresh(requests: Int, orders: Int) async throws {
    for seed in 1...orders {
      var dice = SeededDice(seed: UInt64(requests * 1000 + seed))
      let scenario = Scenario.pages(requests + 3, tokens: .init(flow: .authenticateForm, uses: [1]))
      try await withSite(scenario, settings: ["ROSTERD_SYNC_CONCURRENCY": "\(requests)"]) { site in
        let sync = try site.start("sync", "--json")
        try await meetDeadToken(requests, upstream: site.upstream, using: &dice)
        let outcome = try await sync.end()
        #expect(outcome.exit == 0, "seed \(seed): \(outcome.error)")
        expectOneRefresh(of: requests, site.upstream.counts, seed: seed)
        let report = try JSONDecoder().decode(SyncRecord.self, from: Data(outcome.output.utf8))
        #expect(report.refreshes == 1 && report.outcome == .published)
      }
    }
  }

  /// All requests are refused at once. Some are answered before the refresh, the others only after it, in a random
  /// order.
  private func meetDeadToken(_ requests: Int, upstream: Simulator, using dice: inout SeededDice) async throws {
    upstream.hold(.status(401))
    upstream.hold(.anyToken)
    let met = try await upstream.waitFor { $0.held == requests }
    var refused = met.pageRequests.filter { $0.status == 401 }.shuffled(using: &dice)
    for _ in 1...Int.random(in: 1...requests, using: &dice) {
      upstream.release(.request(refused.removeLast().ordinal))
    }
    try await upstream.waitFor { $0.tokenRequests.count == 1 }
    upstream.release(.anyToken)
    for late in refused {
      let page = late.page ?? 0
      try await upstream.waitFor { $0.pageRequests.contains { $0.generation == 1 } }
      upstream.release(.request(late.ordinal))
      if Bool.random(using: &dice) {
        try await upstream.waitFor { $0.requests(ofPage: page).contains { $0.generation == 1 } }
      }
    }
    upstream.release()
  }

  private func expectOneRefresh(of requests: Int, _ counts: Counts, seed: Int) {
    #expect(counts.tokenRequests.count == 1 && counts.tokensGranted == 1, "seed \(seed)")
    #expect(counts.reuses == 0 && counts.peakTokensInFlight == 1, "seed \(seed)")
    #expect(counts.pages(answered: 401) == requests, "seed \(seed)")
    #expect(counts.pageRequests.allSatisfy { $0.generation == 0 || $0.generation == 1 }, "seed \(seed)")
  }

  @Test("29: tokens that die repeatedly cost one refresh each, and no token is refreshed twice")
  func manyGenerations() async throws {
    // A fresh token must be valid for the requests that waited for it.
    let scenario = Scenario.pages(42, tokens: .init(flow: .bearerRefresh, uses: [5, 8, 9, 10]))
    try await withSite(scenario, settings: ["ROSTERD_SYNC_CONCURRENCY": "2"]) { site in
      let report = try await site.sync()
      let counts = site.upstream.counts
      #expect(report.refreshes == 4 && counts.tokenRequests.count == 4)
      #expect(counts.reuses == 0 && counts.peakTokensInFlight == 1)
      try await site.expectUpstream()
    }
  }

  @Test(
    "31: the rotated token is on disk, mode 0600, before any request uses the new access token",
    arguments: [(Flow.authenticateForm, "refresh-"), (.bearerRenew, "access-")])
  func storedFirst(flow: Flow, name: String) async throws {
    let disk = Disk()
    // Reads the file when a request has arrived, before the simulator continues.
    let look = Rule.on(.anyPage, .drift { _ in disk.look() })
    let scenario = Scenario.pages(20, tokens: .init(flow: flow, uses: [3, 8]), rules: [look])
    try await withSite(scenario, settings: ["ROSTERD_SYNC_CONCURRENCY": "2"]) { site in
      disk.path.withLock { $0 = site.tokenStore }
      let report = try await site.sync()
      #expect(report.refreshes == 2 && site.upstream.counts.reuses == 0)
      let granted = site.upstream.secrets.filter { $0.hasPrefix(name) }
      for (seen, look) in zip(site.upstream.counts.pageRequests, disk.looks.withLock { $0 }) {
        guard let generation = seen.generation, generation > 0 else { continue }
        #expect(look.content.contains(granted[generation]) && look.mode == 0o600)
      }
    }
  }

  @Test(
    "31, 35: killed after each of four refreshes, rosterd goes on with the stored token and reuses none",
    arguments: [Flow.authenticateForm, .bearerRenew])
  func killed(flow: Flow) async throws {
    try await withSite(.pages(4, tokens: .init(flow: flow, uses: [0, 0, 0, 0]))) { site in
      for generation in 1...4 {
        site.upstream.hold(.anyPage)
        // The refused request passes the gate, the one with the new token does not.
        let sync = try site.start("sync")
        try await site.upstream.waitFor { $0.held == 1 }
        site.upstream.release(.status(401))
        try await site.upstream.waitFor { $0.pageRequests.contains { $0.generation == generation } }
        #expect(try await sync.end(by: SIGKILL).exit == -SIGKILL)
        site.upstream.release()
        #expect(site.upstream.counts.tokensGranted == generation)
      }
      #expect(try await site.sync().refreshes == 0)
      #expect(site.upstream.counts.reuses == 0 && site.upstream.counts.tokensGranted == 4)
      try await site.expectUpstream()
    }
  }

  @Test(
    "33, 35: a refused refresh token is 77 at once, and no later sync asks upstream until the file changes",
    arguments: [(Flow.authenticateForm, "refresh_token"), (.bearerRenew, "access_token")])
  func ended(flow: Flow, file: String) async throws {
    try await withSite(.pages(2, tokens: .init(flow: flow, uses: [1]))) { site in
      site.upstream.endSession()
      #expect(try await site.sync(exit: 77).error?.contains(file) == true)
      let requests = site.upstream.counts.pageRequests.count
      _ = try await site.sync(exit: 77)
      #expect(site.upstream.counts.pageRequests.count == requests && site.upstream.counts.tokenRequests.count == 1)
      for (name, secret) in site.upstream.newSession().files {
        try Data(secret.utf8).write(to: URL(filePath: "\(site.folder)/\(name)"))
      }
      #expect(try await site.sync().outcome == .published)
    }
  }

  @Test("38: no secret is in the log, the output, the status or the cache")
  func secrets() async throws {
    try await withSite(
      .pages(5, tokens: .init(flow: .oauth2Refresh, uses: [2])), settings: ["ROSTERD_LOG_LEVEL": "trace"]
    ) { site in
      try await site.withDaemon { daemon, _ in
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        var shown = try await site.curl("/v1/status").body + site.curl("/metrics").body
        shown += try await site.rosterctl("history", "--json").output
        daemon.signal(SIGTERM)
        shown += try await daemon.end().error
        for name in ["roster.db", "roster.db-wal"] {
          let file = FileManager.default.contents(atPath: "\(site.folder)/state/\(name)") ?? Data()
          shown += String(decoding: file, as: UTF8.self)
        }
        #expect(site.upstream.counts.tokensGranted == 1)
        for secret in site.upstream.secrets { #expect(!shown.contains(secret)) }
        #expect(!shown.contains("Bearer") && !shown.contains("Basic"))
      }
    }
  }
}

/// The token store's content at each page request.
private final class Disk: Sendable {
  let path = Mutex("")
  let looks = Mutex<[(content: String, mode: mode_t)]>([])

  func look() {
    let path = path.withLock { $0 }
    var about = stat()
    stat(path, &about)
    let content = String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    looks.withLock { $0.append((content, about.st_mode & 0o777)) }
  }
}
