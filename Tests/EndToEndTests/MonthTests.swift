import FoundationEssentials
import HastyRosterd
import RosterCore
import RosterSimulator
import RosterTestSupport
import Testing

/// A month of a rosterd with a realistic upstream. Only the clock is simulated.
@Suite(.timeLimit(.minutes(30))) struct MonthTests {
  private static let environment = ProcessInfo.processInfo.environment
  /// `make month`: 2,880; otherwise one day.
  private static let syncs = environment["ROSTER_MONTH"].flatMap(Int.init) ?? MonthPlan.day
  private static let historyDays = 7
  /// The same limit as in SoakTests: data that is kept on purpose, and malloc's arenas.
  private static let maxGrowth = 2 << 20
  /// The size that some publishes write: while a reader is active, the log cannot be truncated before the next publish.
  private static let maxLog = 1 << 20
  /// Number of this test's requests whose end the daemon may not have noticed yet.
  private static let ownConnections = 2

  @Test("In a simulated month with all faults upstream's and rosterd's books agree, and nothing is lost or grows")
  func month() async throws {
    let workspace = Workspace()
    let clock = try HastyClock(file: workspace.path("clock"))
    let settings = [
      "HASTY_CLOCK": workspace.path("clock"), "ROSTERD_SYNC_INTERVAL": "15m", "ROSTERD_SYNC_JITTER": "30s",
      "ROSTERD_SYNC_CONCURRENCY": "\(Month.concurrency)", "ROSTERD_RETRY_BASE_DELAY": "1s",
      "ROSTERD_RETRY_JITTER": "500ms", "ROSTERD_CACHE_HISTORY": "\(Self.historyDays)d",
      "ROSTERD_LIMIT_RATE": "\(Month.rate)",
      "ROSTERD_LOG_LEVEL": "warning",
    ]
    let now: @Sendable () -> Date = { clock.now }
    try await withSite(.month, settings: settings, upstreamTime: now) { site in
      var site = site
      site.daemon = "HastyRosterd"
      let month = Month(site, clock: clock, syncs: Self.syncs)
      let began = clock.now
      let reader = try await month.run()
      try report(month, days: clock.now.timeIntervalSince(began) / 86_400, reader: reader)
      #expect(reader.exit == 0, "\(reader.error)")
      // Only at the beginning: changed definitions keep the feed.
      #expect(month.plan.redefinitions(at: Self.syncs - 1) > 0)
      #expect(reader.output.split(whereSeparator: \.isWhitespace).last == "1", "\(reader.output)")
      try await site.expectUpstream()
      #expect(try await site.rows("PRAGMA integrity_check") == [["ok"]])
      expectBooks(month, counts: site.upstream.counts)
      expectNoGrowth(month.extents)
    }
  }

  private func expectBooks(_ month: Month, counts: Counts) {
    let (ledger, metrics) = (month.ledger, month.metrics)
    #expect(ledger.rows == ledger.upstream)
    #expect(counts.tokensGranted == ledger.expired + ledger.refused && ledger.expired > 0 && ledger.refused > 0)
    #expect(counts.tokensRefused == 0 && counts.reuses == 0 && counts.peakTokensInFlight == 1 && counts.strays == 0)
    for (status, count) in ledger.answers {
      let cuts = status == "200" ? ledger.cuts : 0
      #expect(metrics[#"rosterd_requests_total{code="\#(status)"}"#] == count - cuts, "\(status)")
    }
    #expect(metrics[#"rosterd_requests_total{code="error"}"#] == ledger.cuts)
    #expect(metrics.filter { $0.key.hasPrefix("rosterd_retries_total") }.values.reduce(0, +) == ledger.rows.retries)
    for (outcome, count) in ledger.outcomes where [.published, .unchanged, .failed].contains(outcome) {
      #expect(metrics[#"rosterd_syncs_total{outcome="\#(outcome.rawValue)"}"#] == count, "\(outcome)")
    }
  }

  /// After history is full, the second half of the month needs no more than the first half. The last process, then nine
  /// days old, needs no more than after its first day.
  private func expectNoGrowth(_ extents: [Extent]) {
    guard extents.count > MonthPlan.lastDeploys + 1 else { return }
    let full = extents.dropFirst(Self.historyDays + 2)
    let (before, after) = (full.prefix(full.count / 2), full.suffix(full.count / 2))
    func most(_ days: ArraySlice<Extent>, size: (Extent) -> Int) -> Int { days.map(size).max() ?? 0 }
    for name in Set(after.flatMap(\.files.keys)) {
      let (first, second) = (most(before) { $0.files[name] ?? 0 }, most(after) { $0.files[name] ?? 0 })
      // A twentieth is tolerated, because the random delays end some syncs of a day earlier or later.
      let room = name.hasSuffix("-wal") ? Self.maxLog : first + first / 20
      #expect(second <= room, "\(name): \(first), then \(second) bytes")
    }
    #expect(Set(extents.map { $0.descriptors.values.reduce(0, +) }).count == 1, "\(extents.map(\.descriptors))")
    #expect(most(after, size: \.connections) <= most(before, size: \.connections) + Self.ownConnections)
    #expect(most(after, size: \.memory) - most(before, size: \.memory) <= Self.maxGrowth)
    let old = extents.suffix(from: MonthPlan.lastDeploys)
    #expect((old.last?.memory ?? 0) - (old.first?.memory ?? 0) <= Self.maxGrowth, "\(old.map(\.memory))")
  }

  /// Writes a report for people.
  private func report(_ month: Month, days: Double, reader: Program.Outcome) throws {
    guard let path = Self.environment["ROSTER_MONTH_REPORT"] else { return }
    let ledger = month.ledger
    var lines = [
      "\(days) days", "syncs: \(ledger.outcomes), interrupted by the budget: \(month.overBudget)",
      "upstream: \(ledger.upstream)", "rosterd:  \(ledger.rows)",
      "requests of processes that ended meanwhile: \(ledger.unfinished), retries never sent: \(ledger.unsent)",
      "tokens: \(ledger.expired) expired, \(ledger.refused) refused, \(ledger.granted) granted, \(ledger.late) late",
      "answers: \(ledger.answers), interrupted: \(ledger.cuts)", "most requests in a day: \(month.maxRequests)",
      "reader (snapshots, changes, read from scratch): \(reader.output)",
    ]
    lines += month.extents.enumerated().map { day, extent in
      let files = extent.files.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
      let descriptors = extent.descriptors.values.reduce(0, +)
      return "day \(day + 1): memory \(extent.memory), \(descriptors) files, \(extent.connections) sockets; \(files)"
    }
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: path))
  }
}

extension Scenario {
  fileprivate static var month: Scenario {
    var tokens = Tokens(flow: .oauth2Refresh, lifetime: MonthPlan.tokenLife, expiresIn: 3600)
    // More generations than a month has.
    tokens.uses = (0..<2000).map { MonthPlan.isShortLived($0) ? 12 : .max }
    return .pages(MonthPlan.pages, tokens: tokens)
  }
}
