import FoundationEssentials
import RosterCore
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterStatus

@Suite struct StatusBoardTests {
  private let clock = ManualClock()

  private func ended(_ outcome: SyncRecord.Outcome, exit: Int32? = nil, rejected: Int = 0, error: String? = nil)
    -> SyncRecord
  {
    var report = makeReport(17, outcome: outcome)
    report.exit = exit ?? report.exit
    report.rejected = rejected
    report.error = error ?? report.error
    return report
  }

  @Test("47: the state follows from the last sync, and a restart does not change it")
  func states() {
    let cases: [(SyncRecord?, DaemonStatus.State)] = [
      (nil, .starting), (ended(.published), .idle), (ended(.unchanged), .idle), (ended(.failed), .degraded),
      (ended(.failed, exit: 77), .unauthorized), (ended(.published, rejected: 1), .degraded),
      (ended(.published, error: "could not ask for 3 missing ids"), .degraded), (ended(.cancelled), .idle),
      (ended(.interrupted), .idle),
    ]
    for (last, state) in cases {
      #expect(makeBoard(last: last).status().state == state)
      let board = makeBoard()
      if let last { board.syncEnded(last, cache: snapshot) }
      #expect(board.status().state == state)
    }
  }

  @Test("19: a doubt about the pages of an idle daemon is in the status until a sync has none")
  func doubt() {
    let board = makeBoard()
    for trouble in [Diagnosis.shortPages("item", size: 100, longest: 50), nil] {
      var record = ended(.published)
      record.trouble = trouble
      board.syncEnded(record, cache: snapshot)
      #expect(board.status().state == .idle && board.status().reason == trouble?.what)
      let sentence = "item: upstream sends at most 50 records on a page, and not size (100)"
      #expect(board.message.contains(sentence) == (trouble != nil))
    }
  }

  @Test("47: failed lists degrade the state until they are pulled, also after a sync that was cancelled")
  func failedLists() {
    let board = makeBoard()
    var resource = DaemonStatus.CachedResource(
      name: "comment", table: "comments", records: 8, pages: 4, proof: "end", absent: 0)
    var lists = DaemonStatus.CachedLists()
    for (failed, state) in [(2, DaemonStatus.State.degraded), (0, .idle)] {
      (lists.total, lists.failed) = (12, failed)
      resource.lists = lists
      board.syncEnded(ended(.cancelled), cache: CacheFacts(resources: [resource]))
      #expect(board.status().state == state)
      #expect(board.metricsText().contains("rosterd_state{state=\"\(state.rawValue)\"} 1\n"))
      #expect(board.message.contains("2 lists of comment failed; `rosterctl explain` says why") == (failed > 0))
    }
    #expect(makeBoard(last: ended(.cancelled)).status().state == .idle)
  }

  @Test("47: a cancelled or killed sync does not end what degraded the state, nor does a restart")
  func cancelled() {
    let late = "a whole pull of item is late: limit.budget has no room for it"
    for outcome in [SyncRecord.Outcome.cancelled, .interrupted] {
      let board = makeBoard()
      board.syncEnded(ended(.published, error: late), cache: snapshot)
      var next = ended(outcome)
      next.id = 18
      board.syncEnded(next, cache: snapshot)
      var facts = snapshot
      facts.conclusive = ended(.published, error: late)
      for board in [board, makeBoard(cache: facts, last: next)] {
        #expect(board.status().state == .degraded && board.status().sync.last?.id == 18)
        #expect(board.message.hasPrefix("degraded: sync 17 published: \(late)"))
        #expect(board.metricsText().contains("rosterd_state{state=\"degraded\"} 1\n"))
        let what = Explanation(board.situation()).what
        #expect(what.contains(late) && what.hasPrefix("Sync 18 was \(outcome.rawValue)"))
        board.syncEnded(ended(.unchanged), cache: snapshot)
        #expect(board.status().state == .idle)
      }
    }
  }

  @Test("47: stopping precedes unauthorized, unauthorized precedes syncing, syncing precedes degraded")
  func precedence() {
    let board = makeBoard(last: ended(.failed, exit: 77))
    board.syncBegan(SyncRecord(id: 18, startedAt: ""), tally: Tally())
    #expect(board.status().state == .syncing)
    var token = TokenStatus(flow: "oauth2_refresh", state: .unauthorized)
    token.lastError = "upstream refused the refresh token; mend refresh_token, then reload"
    board.token(token)
    #expect(board.status().state == .unauthorized)
    #expect(board.message == "unauthorized: upstream refused the refresh token; mend refresh_token, then reload")
    board.report(Event(.daemonStopping))
    #expect(board.status().state == .stopping)
  }

  @Test("48: distrusted validators and a fresh sync are in the status, in the metrics and in the events")
  func trust() throws {
    let board = makeBoard()
    board.syncBegan(SyncRecord(id: 18, startedAt: ""), tally: Tally(), isFresh: true)
    #expect(board.status().sync.current?.fresh == true)
    var event = Event(.syncStarted, sync: 18)
    event.isFresh = true
    let data = EventEntry(id: 1, at: clock.now, event: event).data
    #expect(String(decoding: data, as: UTF8.self).hasSuffix(#""sync":18,"fresh":true}"#))
    var resource = DaemonStatus.CachedResource(
      name: "pilot", table: "pilots", records: 8, pages: 4, proof: "weak", absent: 0)
    let time = "2026-11-21T05:00:00.000Z"
    for (validators, since, value) in [("trusted", nil, "1"), ("distrusted", time, "0")] {
      resource.validators = validators
      resource.distrustedSince = since
      board.syncEnded(ended(.published), cache: CacheFacts(resources: [resource]))
      #expect(board.status().cache.resources == [resource])
      #expect(board.metricsText().contains("rosterd_validators_trusted{resource=\"pilot\"} \(value)\n"))
    }
    let member = try JSONEncoder().encode(resource)
    #expect(String(decoding: member, as: UTF8.self).contains(#""distrusted_since":"2026-11-21T05:00:00.000Z""#))
  }

  @Test("21, 48: the metrics count what each whole pull has missed, once, and the status has its kind")
  func missed() {
    let board = makeBoard()
    let tally = Tally(resources: ["pilot"])
    tally.update { $0.restart("pilot", as: .since) }
    board.syncBegan(SyncRecord(id: 18, startedAt: ""), tally: tally)
    #expect(board.status().sync.current?.resources.map(\.kind) == [.since])
    var resource = DaemonStatus.CachedResource(
      name: "pilot", table: "pilots", records: 8, pages: 4, proof: "since", absent: 0)
    // In the last sync another list of a child was pulled whole, and missed nothing.
    let rows = [("05", 3, 3, 3), ("05", 3, 0, 3), ("06", 2, 2, 5), ("06", 2, 0, 5), ("06", 2, 0, 5)]
    for (index, (hour, missed, found, total)) in rows.enumerated() {
      (resource.wholeAt, resource.missed) = ("2026-11-21T\(hour):0\(index):00.000Z", missed)
      var report = ended(.published)
      report.missed = found > 0 ? ["pilot": found] : [:]
      board.syncEnded(report, cache: CacheFacts(resources: [resource]))
      #expect(board.metricsText().contains("rosterd_missed_total{resource=\"pilot\"} \(total)\n"))
    }
    #expect(board.metricsText().contains("rosterd_whole_timestamp_seconds{resource=\"pilot\"} 1795241040\n"))
  }

  @Test("48: the lists of a child are in the status, the metrics and the message")
  func lists() throws {
    let board = makeBoard()
    let tally = Tally(resources: ["issue", "comment"])
    tally.update { counts in
      counts.done("issue", records: 30, pages: 1)
      counts.restart("comment", as: .each)
      counts.setLists(of: "comment", done: 0, total: 30)
      for _ in 1...12 { counts.endList(of: "comment") }
    }
    board.syncBegan(SyncRecord(id: 18, startedAt: ""), tally: tally)
    board.phase(.pulling)
    #expect(board.message == "syncing: 12 of 30 lists, 1 page")
    let progress = board.status().sync.current?.lists
    #expect(progress?.done == 12 && progress?.total == 30)
    #expect(!board.metricsText().contains("rosterd_lists{"))
    var resource = DaemonStatus.CachedResource(
      name: "comment", table: "comments", records: 8, pages: 4, proof: "end", absent: 0)
    resource.parent = "issue"
    var lists = DaemonStatus.CachedLists()
    (lists.total, lists.kept, lists.failed, lists.vanished) = (4512, 4380, 1, 2)
    resource.lists = lists
    board.syncEnded(ended(.published), cache: CacheFacts(resources: [resource]))
    let text = board.metricsText()
    for (state, number) in [("current", 4509), ("vanished", 2), ("failed", 1)] {
      #expect(text.contains("rosterd_lists{resource=\"comment\",state=\"\(state)\"} \(number)\n"))
    }
    let member = String(decoding: try JSONEncoder().encode(board.status().cache.resources[0]), as: UTF8.self)
    #expect(member.contains(#""parent":"issue""#))
    for part in [#""total":4512"#, #""kept":4380"#, #""failed":1"#, #""vanished":2"#] {
      #expect(member.contains(part))
    }
    resource = DaemonStatus.CachedResource(name: "a", table: "a", records: 0, pages: 0, proof: nil, absent: 0)
    let plain = String(decoding: try JSONEncoder().encode(resource), as: UTF8.self)
    #expect(plain.contains(#""parent":null"#) && plain.contains(#""lists":null"#))
  }

  @Test("A token expires by time alone in the status")
  func expired() {
    let board = makeBoard(clock: clock)
    var token = TokenStatus(flow: "oauth2_refresh", state: .valid)
    token.expiresAt = (clock.now + 3).rfc3339
    board.token(token)
    clock.advance(by: .milliseconds(2_900))
    #expect(board.status().token.state == .valid)
    clock.advance(by: .milliseconds(100))
    #expect(board.status().token.state == .expired)
  }

  @Test("The status message is one sentence for each state")
  func messages() {
    let board = makeBoard(clock: clock, cache: snapshot)
    #expect(board.message == "starting: no sync has ended yet")
    let sync = SyncRecord(id: 17, startedAt: clock.now.rfc3339)
    board.syncBegan(sync, tally: Tally(resources: ["character"]))
    #expect(board.message == "syncing: asking for the first page")
    board.syncBegan(sync, tally: tally(pages: 17, of: 42, records: 826))
    board.phase(.pulling)
    #expect(board.message == "syncing: 17 of 42 pages")
    board.phase(.verifying)
    #expect(board.message == "syncing: verifying 17 pages")
    board.phase(.publishing)
    #expect(board.message == "syncing: publishing 826 records")
    board.syncEnded(ended(.published), cache: snapshot)
    board.nextSync(at: clock.now + 900)
    #expect(
      board.message
        == "idle: 826 records, verified at 2023-11-14T22:13:19.400Z; next sync at 2023-11-14T22:28:20.000Z")
    board.syncEnded(ended(.published, rejected: 3), cache: snapshot)
    #expect(
      board.message == """
        degraded: sync 17 rejected 3 records; `rosterctl rejects` tells the reasons; next sync at 2023-11-14T22:28:20.000Z
        """)
    board.nextSync(at: nil)
    board.syncEnded(ended(.failed), cache: snapshot)
    #expect(board.message == "degraded: sync 17 failed: cannot pull page 3 (http://localhost): upstream answered 500")
  }

  @Test("49: the message says since when there is no progress, also if a due sync has not begun")
  func standstill() {
    let board = makeBoard(clock: clock, cache: snapshot)
    let silence = "nothing has moved since 2023-11-14T22:13:20.000Z"
    let due = "; the sync that was due has not begun, and " + silence
    board.stands(since: clock.now)
    #expect(board.message == "starting: no sync has ended yet" + due)
    board.syncBegan(SyncRecord(id: 17, startedAt: clock.now.rfc3339), tally: Tally())
    #expect(board.message == "syncing: asking for the first page; " + silence)
    board.syncEnded(ended(.published), cache: snapshot)
    board.nextSync(at: clock.now + 900)
    board.stands(since: clock.now)
    #expect(board.message == "idle: 826 records, verified at 2023-11-14T22:13:19.400Z" + due)
    board.moves()
    #expect(board.message.hasSuffix("; next sync at 2023-11-14T22:28:20.000Z"))
  }

  @Test("47: state, beginning, reason, next sync and notes are fields, and the clauses are made of them")
  func fields() {
    let board = makeBoard(clock: clock, cache: snapshot)
    var failed = ended(.failed)
    failed.trouble = Diagnosis(.serverError, "upstream answered 500")
    failed.trouble?.since = "2023-11-14T20:00:00.000Z"
    board.syncEnded(failed, cache: snapshot)
    board.report(Event(.configReloaded, reason: "a restart is needed for cache.path"))
    board.nextSync(at: clock.now + 900, isPostponed: true)
    let status = board.status()
    let reason = "sync 17 failed: cannot pull page 3 (http://localhost): upstream answered 500"
    #expect(status.state == .degraded && status.since == "2023-11-14T20:00:00.000Z" && status.reason == reason)
    #expect(status.sync.heldBy == "limit.budget" && status.sync.stalledSince == nil)
    #expect(status.notes == ["a restart is needed for cache.path"])
    let next = "next sync at 2023-11-14T22:28:20.000Z, when limit.budget holds it"
    #expect(Headline(status).clauses == [reason, next] + status.notes)
    #expect(board.message == "degraded: \(reason); \(next); a restart is needed for cache.path")
    board.stands(since: clock.now)
    #expect(board.status().sync.stalledSince == clock.now.rfc3339)
  }

  @Test("48: the end of the client certificate is in status and metrics, and absent without one")
  func clientCertificate() {
    let end = Date(timeIntervalSince1970: 1_800_000_000)
    let name = "rosterd_client_certificate_expiry_timestamp_seconds"
    var limits = StatusBoard.Limits()
    limits.certificateEnd = end
    let board = makeBoard(clock: clock, limits: { [limits] in limits })
    #expect(board.status().upstream.clientCertificate?.notAfter == end.rfc3339)
    #expect(board.metricsText().contains("\(name) 1800000000\n"))
    #expect(!makeBoard(clock: clock).metricsText().contains(name))
  }

  @Test("The status document has every documented field, null if there is no value yet")
  func document() throws {
    let document = StatusDocument(makeBoard(clock: clock).status())
    let text = String(decoding: try JSONEncoder.sorted.encode(document), as: UTF8.self)
    #expect(
      text == """
        {"cache":{"age_seconds":null,"pages":0,"path":"/cache/roster.db","published_at":null,"records":0,\
        "resources":[],"size_bytes":4096,"snapshot":null,"verified_at":null,"wal_bytes":32},\
        "clauses":["no sync has ended yet"],"config":{"last_error":null,\
        "loaded_at":"2023-11-14T22:13:20.000Z","path":null},"message":"starting: no sync has ended yet","notes":[],\
        "pid":4711,"reason":null,"since":null,"started_at":"2023-11-14T22:13:20.000Z","state":"starting",\
        "sync":{"current":null,"held_by":null,"last":null,"next_at":null,"stalled_since":null},\
        "token":{"avoided":0,"expires_at":null,"flow":"oauth2_refresh","joined":0,"last_error":null,\
        "last_refresh_at":null,"refreshes":0,"state":"none"},"upstream":{"base_url":"http://localhost/api",\
        "budget":null,"client_certificate":null,"held_until":null,"requests_per_day":null},\
        "uptime_seconds":0,"version":"0.1.0"}
        """)
  }

  @Test("44: the status has the sizes of the last look, and no request looks at files")
  func sizes() {
    let looks = Mutex<Int64>(0)
    let board = StatusBoard(
      pid: 1, startedAt: clock.now, baseURL: "http://localhost", cachePath: "/c",
      config: DaemonStatus.Config(path: nil, loadedAt: ""), flow: "none", clock: clock.wallClock,
      sizes: {
        looks.withLock { looks in
          looks += 1
          return FileSizes(database: looks, wal: 0)
        }
      })
    for _ in 1...3 { #expect(board.status().cache.sizeBytes == 1 && !board.message.isEmpty) }
    board.measure()
    #expect(board.status().cache.sizeBytes == 2)
    board.syncEnded(makeReport(), cache: snapshot)
    #expect(board.status().cache.sizeBytes == 3)
  }

  @Test("age_seconds counts from verified_at, and a running sync shows its current tally")
  func ages() throws {
    let board = makeBoard(clock: clock, cache: snapshot)
    clock.advance(by: .seconds(12.3))
    #expect(board.status().cache.ageSeconds == 12.9)
    #expect(board.status().uptimeSeconds == 12.3)
    // A clock that is set back makes no duration negative or longer.
    clock.set(by: -3600)
    #expect(board.status().cache.ageSeconds == 0 && board.status().uptimeSeconds == 12.3)
    clock.set(by: 3600)
    let tally = Tally()
    board.syncBegan(SyncRecord(id: 18, startedAt: clock.now.rfc3339), tally: tally)
    tally.update {
      $0.inFlight = 8
      $0.requests = 25
      $0.bytes = 1
      $0.refreshes = 1
      $0.retries = 2
    }
    let current = try #require(board.status().sync.current)
    #expect(current.id == 18 && current.inFlight == 8 && current.requests == 25 && current.bytes == 1)
    #expect(current.refreshes == 1 && current.retries == 2)
  }

  @Test("The status has the requests a day by the last good sync, the time that upstream asked for, and the budget")
  func limits() {
    let held = clock.now + 60
    let board = makeBoard(clock: clock) {
      var limits = StatusBoard.Limits()
      (limits.interval, limits.heldUntil) = (.seconds(900), held)
      limits.budget = (RequestBudget(limit: 10_000, window: .seconds(86_400)), used: 4011)
      return limits
    }
    #expect(board.status().upstream.requestsPerDay == nil)
    var failed = makeReport(17, outcome: .failed)
    failed.requests = 3
    board.syncEnded(failed, cache: nil)
    #expect(board.status().upstream.requestsPerDay == 288)
    var facts = snapshot
    facts.requests = 42
    board.syncEnded(failed, cache: facts)
    let upstream = board.status().upstream
    #expect(upstream.requestsPerDay == 4032 && upstream.heldUntil == held.rfc3339)
    #expect(upstream.budget == .init(limit: 10_000, windowSeconds: 86_400, used: 4011))
    let lines = board.metricsText().split(separator: "\n")
    for line in [
      "rosterd_budget_used 4011", "rosterd_budget_limit 10000", "rosterd_held_until_timestamp_seconds 1700000060",
    ] { #expect(lines.contains(line[...]), "\(line)") }
    let none = makeBoard().metricsText()
    #expect(!none.contains("rosterd_budget") && !none.contains("rosterd_held"))
  }

  @Test("The message names the budget if the next sync waits for it, until a sync begins")
  func postponed() {
    let board = makeBoard(clock: clock)
    board.nextSync(at: clock.now + 60, isPostponed: true)
    #expect(board.message.hasSuffix("next sync at \((clock.now + 60).rfc3339), when limit.budget holds it"))
    board.syncBegan(SyncRecord(id: 1, startedAt: ""), tally: Tally())
    board.syncEnded(makeReport(), cache: snapshot)
    board.nextSync(at: clock.now + 60)
    #expect(!board.message.contains("limit.budget"))
  }

  @Test("47: a refused reload is shown until a good one")
  func reloads() {
    let board = makeBoard(clock: clock)
    board.report(Event(.configRefused, error: "line 3: sync.interval is too small"))
    #expect(board.status().config.lastError == "line 3: sync.interval is too small")
    clock.advance(by: .seconds(5))
    board.report(Event(.configReloaded))
    #expect(board.status().config.lastError == nil)
    #expect(board.status().config.loadedAt == clock.now.rfc3339)
  }

  @Test("While a sync runs there is no next one, also after a reload")
  func nextWhileSyncing() {
    let board = makeBoard()
    board.syncBegan(SyncRecord(id: 1, startedAt: "2026-01-01T00:00:00.000Z"), tally: Tally())
    board.nextSync(at: Date())
    #expect(board.status().sync.nextAt == nil)
  }

  @Test(
    "47: next_at and its metric follow a wall clock that is set",
    arguments: [-86_400.0, -1, 0.4, 3600, 31_536_000])
  func nextAfterClockChange(step: Double) {
    let board = makeBoard(clock: clock, cache: snapshot)
    board.syncEnded(ended(.published), cache: snapshot)
    board.nextSync(at: clock.now + 900)
    clock.advance(by: .seconds(100))
    clock.set(by: step)
    let next = clock.now + 800 + (step.rounded() - step)
    #expect(board.status().sync.nextAt == next.rfc3339 && board.message.hasSuffix("next sync at \(next.rfc3339)"))
    #expect(board.metricsText().contains("rosterd_next_sync_timestamp_seconds \(Int(next.timeIntervalSince1970))\n"))
  }

  @Test("49: each change is reported, and a slow reader of changes gets one report")
  func changes() async {
    let board = makeBoard()
    for _ in 0..<100 { board.report(Event(.pageFetched)) }
    board.report(Event(.daemonStopping))
    var told = board.changes.makeAsyncIterator()
    #expect(await told.next() != nil)
    #expect(board.message.hasPrefix("stopping"))
  }
}

extension JSONEncoder {
  fileprivate static var sorted: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }

  @Test("47: the message reports a cache that was moved aside, and changes that need a restart, until they are over")
  func notes() {
    let board = makeBoard(cache: snapshot)
    board.report(Event(.configReloaded, reason: "a restart is needed for cache.path"))
    #expect(board.message.hasSuffix("; a restart is needed for cache.path"))
    var facts = snapshot
    facts.damaged = "/cache/roster.db.damaged"
    board.cache(facts)
    #expect(board.message.contains("; the cache was damaged and was moved to /cache/roster.db.damaged; "))
    board.report(Event(.configReloaded))
    #expect(!board.message.contains("restart"))
  }

  @Test("47: the note about a damaged cache ends when its file is removed, without a sync")
  func damagedCopy() throws {
    let workspace = Workspace()
    var facts = snapshot
    facts.damaged = try workspace.write("damaged", to: "roster.db.damaged-2025")
    let board = makeBoard(cache: facts)
    board.lookAtMovedCaches()
    #expect(board.message.contains("the cache was damaged"))
    try FileManager.default.removeItem(atPath: workspace.path("roster.db.damaged-2025"))
    board.lookAtMovedCaches()
    #expect(!board.message.contains("the cache was damaged"))
  }

  @Test("47, 56: the message and explain name definitions that no sync has published yet")
  func waitingDefinitions() {
    var facts = snapshot
    facts.waiting = ["character", "location"]
    let board = makeBoard(cache: facts)
    let note = "readers see the old definition of character, location until a sync has published the new one"
    #expect(board.message.contains(note))
    #expect(Explanation(board.situation()).readers.contains(note))
  }

  @Test("47: the message reports an older cache until its file is removed")
  func olderCache() throws {
    let workspace = Workspace()
    var facts = snapshot
    facts.older = .read
    let board = makeBoard(cache: facts)
    #expect(board.message.contains("readers see the cache of an older rosterd until the first sync has published"))
    let path = try workspace.write("older", to: "roster.db.schema-2")
    facts.older = .moved(path)
    board.cache(facts)
    board.lookAtMovedCaches()
    #expect(board.message.contains("rm \(path)*"))
    try FileManager.default.removeItem(atPath: path)
    board.lookAtMovedCaches()
    #expect(!board.message.contains("older"))
  }

  @Test("37: a bad client certificate is shown until it can be read, and hides no refused configuration file")
  func certificate() {
    let board = makeBoard(cache: snapshot)
    let badKey = Failure(.configuration, step: "read upstream.tls.key_file", subject: "/etc/key", cause: "no key")
    board.refusesCertificate(by: badKey)
    board.report(Event(.configRefused, error: "\(badKey)"))
    #expect(board.status().config.lastError == "\(badKey)")
    // The remedy is the pair, and no configuration was refused.
    #expect(Explanation(board.situation()).concerned == [.file("/etc/key")])
    #expect(Explanation(board.situation()).what.hasPrefix("The new client certificate was refused: "))
    #expect(Explanation(board.situation()).what.contains("no key"))
    board.report(Event(.configRefused, error: "line 3: unknown key"))
    #expect(board.status().config.lastError == "line 3: unknown key")
    board.refusesCertificate(by: nil)
    #expect(board.status().config.lastError == "line 3: unknown key")
    board.report(Event(.configReloaded))
    board.refusesCertificate(by: badKey)
    board.report(Event(.configRefused, error: "\(badKey)"))
    board.refusesCertificate(by: nil)
    #expect(board.status().config.lastError == nil)
    #expect(!Explanation(board.situation()).what.contains("no key"))
  }

  @Test("47: what refused a reload is explained until a reload is taken")
  func refusal() {
    let board = makeBoard(cache: snapshot)
    board.runs(as: "rosterd@stage")
    let failure = Failure(.configuration, step: "read a credential", subject: "/etc/credstore/x", cause: "it is empty")
    board.refuses(by: failure.with(.missingCredential))
    board.report(Event(.configRefused, error: "\(failure)"))
    #expect(Explanation(board.situation()).concerned == [.file("/etc/credstore/x")])
    #expect(Explanation(board.situation()).todo.contains("systemctl reload rosterd@stage"))
    board.report(Event(.configReloaded))
    #expect(Explanation(board.situation()).concerned.isEmpty)
  }
}
