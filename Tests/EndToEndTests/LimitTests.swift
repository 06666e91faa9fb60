import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterTestSupport
import Testing

/// Limits for requests, measured by the upstream with its own clock; `rosterd` is the real program.
@Suite(.serialized, .timeLimit(.minutes(2))) struct LimitTests {
  private let arrivals = Arrivals()

  private func pages(_ count: Int, tokens: Scenario.Tokens = .init(), rules: [Rule] = []) -> Scenario {
    .pages(count, tokens: tokens, rules: arrivals.rules + rules)
  }

  // MARK: limit.rate

  /// When page requests began, in seconds, by rosterd's log.
  private func starts(in log: String) -> [Double] {
    struct Line: Decodable {
      var time: String
      var seconds: Double?
    }
    return log.split(separator: "\n").compactMap { line in
      guard let line = try? JSONDecoder().decode(Line.self, from: Data(line.utf8)), let seconds = line.seconds else {
        return nil
      }
      return Date(rfc3339: line.time).map { $0.timeIntervalSinceReferenceDate - seconds }
    }.sorted()
  }

  @Test("27: no second has more than a second's worth of limit.rate, with token requests, retries and redirects")
  func rate() async throws {
    let faults: [Rule] = [
      .on(.page(3), times: 1, .status(503)),
      .on(.page(5), times: 1, .redirect(to: "/api/character?page=5")),
      .on(.page(17), times: 1, .cut(after: .nothing, .close)),
    ]
    let scenario = pages(28, tokens: .init(flow: .oauth2Refresh, uses: [9]), rules: faults)
    let settings = ["ROSTERD_LIMIT_RATE": "10", "ROSTERD_LOG_LEVEL": "debug", "ROSTERD_LOG_FORMAT": "json"]
    try await withSite(scenario, settings: settings) { site in
      let sync = try await site.rosterd("sync")
      #expect(sync.exit == 0)
      // 28 pages, a 503, a redirect, a kept connection that ends, 401s of the requests in flight, a grant.
      #expect(arrivals.count >= 33)
      // A turn is given by rosterd's clock; the request is logged some moments later.
      let starts = starts(in: sync.error)
      #expect(starts.count >= 31)
      #expect(starts.indices.allSatisfy { $0 < 10 || starts[$0] - starts[$0 - 10] >= 0.95 }, "\(starts)")
      // On the way to upstream's clock the requests move closer together, because those of the first burst wait for
      // connections.
      #expect(arrivals.most(within: .milliseconds(500)) <= 10)
      #expect(arrivals.span >= .milliseconds(100 * (arrivals.count - 11)))
      #expect(site.upstream.counts.peakTokensInFlight == 1)
    }
  }

  @Test("27, 41: a stop ends the wait for limit.rate at once; the wait does not count for upstream.timeout")
  func stopped() async throws {
    // The last of five waits for two seconds.
    let settings = ["ROSTERD_LIMIT_RATE": "2", "ROSTERD_UPSTREAM_TIMEOUT": "1s"]
    try await withSite(pages(5), settings: settings) { site in
      let record = try await site.sync()
      #expect(record.retries == 0)
      #expect(arrivals.count == 5 && arrivals.span >= .milliseconds(1900))
    }
    try await withSite(pages(9), settings: ["ROSTERD_LIMIT_RATE": "0.001"]) { site in
      let sync = try site.start("sync")
      try await site.upstream.waitFor { $0.pageRequests.count == 1 }
      let asked = ContinuousClock.now
      #expect(try await sync.end(by: SIGTERM).exit == 1)
      let ended = try #require(sync.ended)
      #expect(asked.duration(to: ended) < .seconds(5))
      #expect(site.upstream.counts.pageRequests.count == 1)
    }
  }

  @Test("54: a reload changes limit.rate at once, in a sync that waits for it")
  func reloaded() async throws {
    try await withSite(pages(9)) { site in
      try FileManager.default.createDirectory(atPath: "\(site.folder)/etc", withIntermediateDirectories: true)
      let file = URL(filePath: "\(site.folder)/etc/rosterd.toml")
      try Data("limit.rate = 0.001".utf8).write(to: file)
      try await site.withDaemon { daemon, notify in
        try await site.upstream.waitFor { $0.pageRequests.count == 1 }
        try Data("limit.rate = 0".utf8).write(to: file)
        daemon.signal(SIGHUP)
        #expect(await notify.first { $0.contains("STATUS=idle") } != nil)
      }
      try await site.expectUpstream()
    }
  }

  // MARK: limit.budget

  @Test("26: upstream never gets more than limit.budget in its window, over SIGKILLs and restarts of the daemon")
  func killed() async throws {
    var dice = SeededDice(seed: 12)
    let settings = [
      "ROSTERD_LIMIT_BUDGET": "20/1500ms", "ROSTERD_SYNC_INTERVAL": "100ms", "ROSTERD_SYNC_RETRY_INTERVAL": "100ms",
    ]
    let (arrivals, window) = (self.arrivals, Duration.milliseconds(1500))
    try await withSite(pages(7), settings: settings) { site in
      for _ in 1...6 {
        let wanted = site.upstream.counts.pageRequests.count + Int.random(in: 5...16, using: &dice)
        try await site.withDaemon { daemon, _ in
          try await site.upstream.waitFor { $0.pageRequests.count >= wanted }
          _ = try await daemon.end(by: SIGKILL)
        }
      }
      #expect(arrivals.count > 30 && arrivals.most(within: window) <= 20)
      // The budget is used completely: one that counted too much would have needed another window.
      #expect(arrivals.most(within: window) >= 14)
      try await site.expectUpstream()
    }
  }

  @Test("27: a sync that limit.budget ends after many unchanged pages takes no more memory than one that it does not")
  func confirmed() async throws {
    let pages = 6000
    var scenario = Scenario(characters: [])
    scenario.beside = { Self.page($0, of: pages) }
    let definition = """
      [resource.item]
      path = "/items"
      records = "/items"
      pages = { style = "number", last = "/pages", count = "/pages" }
      columns.id = { at = "/id", type = "integer" }

      """
    try await withSite(scenario) { site in
      let file = URL(filePath: "\(site.folder)/etc/rosterd.toml")
      try FileManager.default.createDirectory(atPath: "\(site.folder)/etc", withIntermediateDirectories: true)
      try Data(definition.utf8).write(to: file)
      try await site.withDaemon { daemon, notify in
        #expect(try await site.rosterctl("wait", "--timeout", "60s").exit == 0)
        #expect(try await site.rosterctl("sync", "--wait").exit == 0)
        let before = try daemon.peakMemory()
        try Data("limit.budget = \"\(pages - 5)/1h\"\n\(definition)".utf8).write(to: file)
        daemon.signal(SIGHUP)
        #expect(await notify.first { $0.contains("RELOADING=1") } != nil)
        let ended = try await site.rosterctl("sync", "--wait")
        #expect(ended.exit == 69 && ended.output.contains("limit.budget"), "\(ended)")
        let grown = try daemon.peakMemory() - before
        #expect(grown < 4 << 20 || Sanitizer.isPresent, "it grew by \(grown)")
      }
    }
  }

  /// One record on each page, whose validator never changes.
  private static func page(_ request: Request, of pages: Int) -> Response {
    let number = Int(String(request.url.reversed().prefix(while: \.isNumber).reversed())) ?? 1
    let tag = Request.Header("ETag", "\"\(number)\"")
    if request.headers.contains(where: { $0.name.lowercased() == "if-none-match" && $0.value == tag.value }) {
      return Response(status: 304, headers: [tag])
    }
    let body = #"{"pages":\#(pages),"items":[{"id":\#(number)}]}"#
    return Response(status: 200, headers: [tag], body: Array(body.utf8))
  }

  @Test("26: a sync for which the budget is not enough is 69 with its time, has no row, and status shows it")
  func postponed() async throws {
    try await withSite(pages(6), settings: ["ROSTERD_LIMIT_BUDGET": "10/1h", "ROSTERD_SYNC_INTERVAL": "15m"]) { site in
      #expect(try await site.sync().requests == 6)
      let refused = try await site.rosterd("sync", "--json")
      #expect(refused.exit == 69 && refused.output.isEmpty)
      #expect(refused.error.contains("limit.budget (10/1h) has 4 requests left of those 6 that the last sync took"))
      let row = try await site.rows("SELECT finished_at FROM syncs")
      let end = try #require(row.first?.first.flatMap { Date(rfc3339: $0) })
      try await site.withDaemon { _, notify in
        #expect(await notify.first { $0.contains("when limit.budget holds it") } != nil)
        let status = try await site.status()
        #expect(status.state == .idle && status.sync.last?.outcome == .published)
        #expect(status.upstream.requestsPerDay == 6 * 96)
        #expect(status.upstream.budget == .init(limit: 10, windowSeconds: 3600, used: 6))
        let next = try #require(status.sync.nextAt.flatMap { Date(rfc3339: $0) })
        #expect((-5...16).contains(next.timeIntervalSince(end + 3600)), "one entry holds what 15 s bring")
        let asked = try await site.rosterctl("sync", "--wait")
        #expect(asked.exit == 69 && asked.error.contains("it will be started at \(next.rfc3339.prefix(20))"))
        #expect(try await site.curl("/metrics").body.contains("\nrosterd_budget_used 6\n"))
        #expect(try await site.rosterctl("status").output.contains("6 of 10 an hour"))
      }
      #expect(try await site.rows("SELECT count(*) FROM syncs") == [["1"]])
      #expect(site.upstream.counts.pageRequests.count == 6)
    }
  }

  @Test("26: a sync that uses up the budget is 69 and keeps its pages; token requests count")
  func brokenOff() async throws {
    let settings = ["ROSTERD_LIMIT_BUDGET": "8/1h", "ROSTERD_SYNC_CONCURRENCY": "1"]
    let scenario = pages(12, tokens: .init(flow: .oauth2Refresh, uses: [3]))
    try await withSite(scenario, settings: settings) { site in
      let broken = try await site.sync(exit: 69)
      #expect(
        broken.outcome == .failed && broken.requests == 7
          && broken.error?.contains("limit.budget (8/1h) is used up") == true)
      #expect(arrivals.count == 8 && site.upstream.counts.tokenRequests.count == 1)
      #expect(try await site.rosterd("sync").exit == 69)
      #expect(arrivals.count == 8)
      #expect(try await site.rows("SELECT outcome, exit FROM syncs") == [["failed", "69"]])
      let more = try await site.sync(with: ["ROSTERD_LIMIT_BUDGET": "40/1h"])
      #expect(more.outcome == .published && more.resumed == 6)
      // The kept pages are not requested again, apart from the first one.
      #expect(arrivals.count == 15)
    }
  }

  @Test("24, 26: a request that is repeated because its kept connection ended counts against the budget too")
  func sentAgain() async throws {
    let ends = [Rule.on(.request(2), .cut(after: .nothing, .close))]
    try await withSite(pages(6, rules: ends), settings: ["ROSTERD_LIMIT_BUDGET": "6/1h"]) { site in
      let broken = try await site.sync(exit: 69)
      #expect(broken.retries == 0 && arrivals.count == 6)
    }
  }

  @Test("26: a sync that is larger than the budget starts when its window is empty, and goes on with kept pages")
  func larger() async throws {
    var scenario = pages(12)
    scenario.validators = .none
    let settings = [
      "ROSTERD_LIMIT_BUDGET": "8/1s", "ROSTERD_SYNC_RETRY_INTERVAL": "100ms", "ROSTERD_SYNC_INTERVAL": "100ms",
    ]
    try await withSite(scenario, settings: settings) { site in
      try await site.withDaemon { _, notify in
        #expect(await notify.first { $0.contains("STATUS=idle: 240 records") } != nil)
      }
      #expect(arrivals.most(within: .seconds(1)) <= 8)
      try await site.expectUpstream()
    }
  }

  @Test("54: a reload that lifts limit.budget starts the sync that waited for it")
  func lifted() async throws {
    try await withSite(pages(6)) { site in
      try FileManager.default.createDirectory(atPath: "\(site.folder)/etc", withIntermediateDirectories: true)
      let file = URL(filePath: "\(site.folder)/etc/rosterd.toml")
      try Data("limit.budget = \"6/1h\"".utf8).write(to: file)
      #expect(try await site.sync().requests == 6)
      try await site.withDaemon { daemon, notify in
        #expect(await notify.first { $0.contains("when limit.budget holds it") } != nil)
        try Data("limit.budget = \"12/1h\"".utf8).write(to: file)
        daemon.signal(SIGHUP)
        try await site.upstream.waitFor { $0.pageRequests.count == 12 }
      }
    }
  }

  // MARK: What upstream says

  @Test(
    "25: no page is requested before the end of each kind of rate limit, over a SIGKILL",
    arguments: [
      "429 retry-after", "429 date", "429 reset", "429 moment", "429 alone", "403 reset", "403 moment",
      "403 retry-after", "429 milliseconds", "429 draft", "403 second limit",
    ])
  func rateLimited(kind: String) async throws {
    let moment = Date().timeIntervalSince1970.rounded(.up) + 2
    let headers: [Request.Header] =
      switch kind.dropFirst("429 ".count) {
      case "retry-after": [.init("Retry-After", "2"), .init("X-RateLimit-Reset", "60")]
      case "date": [.init("Retry-After", Date(timeIntervalSince1970: moment).httpDate)]
      case "reset": [.init("RateLimit-Reset", "2")]
      case "alone": []
      case "milliseconds": [.init("X-Rate-Limit-Reset", "\(Int(moment * 1000))")]
      case "draft": [.init("RateLimit", #""minute";r=0;t=2, "day";r=900;t=60"#)]
      case "second limit": [.init("Retry-After", "2"), .init("X-RateLimit-Reset", "60")]
      default: [.init("X-RateLimit-Reset", "\(Int(moment))")]
      }
    let remaining = [Request.Header("X-RateLimit-Remaining", kind == "403 second limit" ? "4990" : "0")]
    let refusal =
      kind.hasPrefix("403")
      ? Fault.answer(status: 403, headers: headers + remaining) : .answer(status: 429, headers: headers)
    let isMoment = ["moment", "date", "milliseconds"].contains { kind.hasSuffix($0) }
    let times = Arrivals()
    let scenario = Scenario.pages(9, rules: [.on(.anyPage, .drift { _ in times.note() }), .on(.request(2), refusal)])
    let settings = ["ROSTERD_SYNC_CONCURRENCY": "1", "ROSTERD_RETRY_BASE_DELAY": kind == "429 alone" ? "2s" : "0s"]
    try await withSite(scenario, settings: settings) { site in
      try await site.withDaemon { daemon, _ in
        try await site.upstream.waitFor { $0.pageRequests.count == 2 }
        // The time is stored before any request waits for it.
        while try await site.rows("SELECT held_until FROM cache_identity") == [["NULL"]] { await Task.yield() }
        _ = try await daemon.end(by: SIGKILL)
      }
      #expect(times.count == 2)
      #expect(try await site.sync().outcome == .published && times.count == 2 + 9)
      // The answer's Date has whole seconds, and so has a moment.
      #expect(times.gap(before: 2) >= .milliseconds(isMoment ? 900 : 1950))
      #expect(!isMoment || Date().timeIntervalSince1970 >= moment)
    }
  }

  @Test(
    "25: no simultaneous page request starts before the end of a rate limit, nor all at once afterwards")
  func together() async throws {
    let times = Arrivals()
    let wait = Fault.answer(status: 429, headers: [.init("Retry-After", "3")])
    let scenario = Scenario.pages(30, rules: [.on(.anyPage, .drift { _ in times.note() }), .on(.request(7), wait)])
    let settings = ["ROSTERD_SYNC_CONCURRENCY": "8", "ROSTERD_RETRY_JITTER": "1s", "ROSTERD_RETRY_BASE_DELAY": "0s"]
    try await withSite(scenario, settings: settings) { site in
      #expect(try await site.sync().outcome == .published && times.count == 31)
      let seconds = times.perSecond
      // The requests before the answer, and a few that followed on other connections.
      let (before, behind) = times.beside(request: 6, for: .milliseconds(2950))
      #expect((7...22).contains(before.count) && before.allSatisfy { $0 < .milliseconds(500) }, "\(seconds)")
      // It is practically impossible that eight random delays of up to a second all fall into a twentieth of it.
      let (first, last) = (try #require(behind.first), try #require(behind.last))
      #expect(last - first >= .milliseconds(50), "\(seconds)")
    }
  }

  @Test(
    "24, 25: repeated rate limits, with Retry-After: 0 or without, get a backoff that doubles",
    arguments: ["0", nil])
  func backoff(retryAfter: String?) async throws {
    let times = Arrivals()
    let scenario = Scenario.pages(
      3,
      rules: [
        .on(.anyPage, .drift { _ in times.note() }),
        .on(.page(1), times: 3, .status(429, retryAfter: retryAfter)),
      ])
    try await withSite(scenario, settings: ["ROSTERD_RETRY_BASE_DELAY": "250ms"]) { site in
      let record = try await site.sync()
      #expect(record.retries == 3 && times.count == 6)
      for (index, least) in [(1, 250), (2, 500), (3, 1000)] {
        #expect(times.gap(before: index) >= .milliseconds(least), "\(index)")
      }
    }
  }

  // MARK: Announced costs

  @Test("rosterd check prints the requests a day and whether limit.budget is enough for them, and touches nothing")
  func check() async throws {
    try await withSite(.pages(42), settings: ["ROSTERD_SYNC_INTERVAL": "15m"]) { site in
      let before = try await site.rosterd("check")
      #expect(before.exit == 0 && before.output.contains("\n# requests a day: not known, there was no sync yet\n"))
      #expect(!FileManager.default.fileExists(atPath: "\(site.folder)/state"))
      _ = try await site.sync()
      let state = try FileManager.default.contentsOfDirectory(atPath: "\(site.folder)/state").sorted()
      let good = try await site.rosterd("check", with: ["ROSTERD_LIMIT_BUDGET": "10000/1d"])
      #expect(good.output.contains("about 4,032 requests a day") && good.error.isEmpty)
      #expect(good.output.contains("\n# limit.budget = \"10000/1d\" holds them\n"))
      let bad = try await site.rosterd("check", with: ["ROSTERD_LIMIT_BUDGET": "1000/1d"])
      #expect(bad.exit == 0 && bad.error.contains("warning: limit.budget = \"1000/1d\" does not hold them"))
      #expect(bad.output.contains("\n# warning: ") && bad.output.contains("sync.interval = \"63m\" would\n"))
      #expect(try FileManager.default.contentsOfDirectory(atPath: "\(site.folder)/state").sorted() == state)
      // The state after an ordinary reader was the last to close the cache.
      for name in state where name.hasSuffix("-wal") || name.hasSuffix("-shm") {
        try FileManager.default.removeItem(atPath: "\(site.folder)/state/\(name)")
      }
      #expect(try await site.rosterd("check").output.contains("about 4,032 requests a day"))
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: "\(site.folder)/state").sorted()
          == state.filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") })
      // The printed configuration is valid input.
      let file = "\(site.folder)/printed.toml"
      try Data(bad.output.utf8).write(to: URL(filePath: file))
      #expect(try await site.rosterd("check", "--config", file).exit == 0)
    }
  }
}
