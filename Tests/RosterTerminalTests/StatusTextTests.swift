import FoundationEssentials
import Testing

@testable import RosterCore
@testable import RosterTerminal

@Suite struct StatusTextTests {
  private var status: DaemonStatus {
    var cache = DaemonStatus.Cache(path: "/var/lib/rosterd/roster.db")
    cache.snapshot = 17
    cache.publishedAt = "2026-01-01T11:00:00.000Z"
    cache.verifiedAt = "2026-01-01T11:59:56.800Z"
    cache.ageSeconds = 3.2
    (cache.records, cache.pages, cache.sizeBytes, cache.walBytes) = (826, 42, 1_258_291, 4096)
    var last = SyncRecord(id: 17, startedAt: "2026-01-01T11:59:56.400Z", outcome: .unchanged)
    last.finishedAt = "2026-01-01T11:59:56.800Z"
    (last.pages, last.records, last.requests, last.notModified) = (42, 826, 42, 42)
    var token = TokenStatus(flow: "oauth2_refresh", state: .valid)
    token.expiresAt = "2026-01-01T12:58:00.000Z"
    token.lastRefreshAt = "2026-01-01T11:58:00.000Z"
    (token.refreshes, token.joined, token.avoided) = (1, 7, 1)
    return DaemonStatus(
      version: rosterdVersion, pid: 4711, startedAt: "2026-01-01T11:55:00.000Z", uptimeSeconds: 300, state: .idle,
      upstream: DaemonStatus.Upstream(baseURL: "https://rickandmortyapi.com/api"), cache: cache,
      sync: DaemonStatus.Sync(last: last, nextAt: "2026-01-01T12:14:57.000Z"), token: token,
      config: DaemonStatus.Config(path: "/etc/rosterd/rosterd.toml", loadedAt: "2026-01-01T11:55:00.000Z"))
  }

  @Test("rosterctl status prints state, data, token and syncs in this order, within the width, each fact once")
  func idle() {
    #expect(
      StatusText(status, width: 80).text == """
        ● idle: 826 records, verified 3.2 s ago; next sync in 14 min 57 s
               data  42 pages, published 1 h ago
              token  valid (oauth2_refresh), expires in 58 min; 1 refresh, the last
                     2 min ago; 7 requests shared a refresh; 1 late 401 needed no
                     refresh
          last sync  sync 17 unchanged in 0.4 s: 42 requests, 42 not modified
             config  /etc/rosterd/rosterd.toml
           upstream  https://rickandmortyapi.com/api
              cache  /var/lib/rosterd/roster.db (1.2 MiB + 4.0 KiB WAL)
             daemon  rosterd \(rosterdVersion), pid 4711, up 5 min

        """)
  }

  @Test("rosterctl status says that the daemon is of another version than rosterctl")
  func olderDaemon() {
    var status = status
    status.version = "0.2.0"
    #expect(
      StatusText(status, width: 100).text.contains(
        "daemon  rosterd 0.2.0, pid 4711, up 5 min; rosterctl is \(rosterdVersion): restart rosterd\n"))
  }

  @Test("The next sync of an ended session makes no request without another credential")
  func endedSession() {
    var status = status
    status.state = .unauthorized
    #expect(
      StatusText(status, width: 120).text.contains(
        "next sync  in 14 min 57 s, without a request unless a credential file has changed\n"))
  }

  @Test("rosterctl status prints the requests a day, the rest of the budget, and the time that upstream asked for")
  func upstream() {
    var status = status
    status.upstream.requestsPerDay = 4032
    status.upstream.budget = .init(limit: 10_000, windowSeconds: 86_400, used: 4011)
    let text = StatusText(status, width: 100).text
    #expect(text.contains("upstream  https://rickandmortyapi.com/api, about 4,032 requests a day\n"))
    #expect(text.contains("  budget  4,011 of 10,000 a day\n"))
    status.upstream.heldUntil = "2026-01-01T12:02:00.000Z"
    #expect(StatusText(status, width: 100).text.contains("requests a day, wants no request for 2 min\n"))
    status.upstream.heldUntil = nil
    status.upstream.clientCertificate = .init(notAfter: "2026-01-02T12:00:00.000Z")
    #expect(
      StatusText(status, width: 120).text.contains("requests a day, the client certificate expires in 1 d\n"))
    status.sync.heldBy = "limit.budget"
    let waiting = StatusText(status, width: 100).text
    #expect(
      waiting.contains("next sync in 14 min 57 s, when limit.budget holds it\n") && !waiting.contains("next sync  "))
  }

  @Test("rosterctl status prints a progress bar of a running sync")
  func syncing() {
    var status = status
    var current = DaemonStatus.Current(id: 18, startedAt: "", phase: .pulling)
    (current.pagesDone, current.pagesTotal, current.records) = (21, 42, 420)
    status.state = .syncing
    status.sync.current = current
    status.sync.nextAt = nil
    let lines = StatusText(status, width: 80).text.split(separator: "\n")
    #expect(lines[0] == "◐ syncing: 21 of 42 pages")
    #expect(lines[1] == "       data  826 records, 42 pages, verified 3.2 s ago, published 1 h ago")
    #expect(lines[2] == "   progress  ━━━━━━━━━━━━━━━━━━━━────────────────────  420 records")
    #expect(!lines.contains { $0.contains("next sync") })
  }

  @Test("rosterctl status prints the reason of a failed sync at the top, once")
  func degraded() {
    var status = status
    var last = SyncRecord(id: 18, startedAt: "2026-01-01T11:59:56.400Z", outcome: .failed)
    last.finishedAt = "2026-01-01T11:59:58.800Z"
    last.error = "cannot pull page 3: upstream answered 403"
    status.state = .degraded
    status.reason = "sync 18 failed: cannot pull page 3: upstream answered 403"
    status.sync.last = last
    status.sync.nextAt = nil
    let text = StatusText(status, width: 100).text
    #expect(text.hasPrefix("▲ degraded: sync 18 failed: cannot pull page 3: upstream answered 403\n"))
    #expect(text.contains("data  826 records, 42 pages, verified 3.2 s ago, published 1 h ago\n"))
    #expect(text.contains("last sync  1.2 s ago in 2.4 s: 0 pages, 0 records, 0 requests\n"))
  }

  @Test("rosterctl status says that no sync has published, which is also true beside an older cache")
  func starting() {
    var status = status
    status.state = .starting
    status.cache.ageSeconds = nil
    status.sync = DaemonStatus.Sync()
    status.token = TokenStatus(flow: "none")
    let text = StatusText(status, width: 80).text
    #expect(text.hasPrefix("◐ starting: no sync has ended yet\n       data  no sync has published yet\n"))
    #expect(text.contains("\n      token  none needed\n"))
    status.notes = [OlderCacheFile.read.note]
    let upgraded = StatusText(status, width: 200).text
    #expect(upgraded.contains("readers see the cache of an older rosterd") && !upgraded.contains("no snapshot"))
  }

  @Test("rosterctl status colours the state and the labels")
  func colour() {
    let text = StatusText(status, width: 200, colour: true).text
    #expect(text.hasPrefix("\u{1b}[32m●\u{1b}[0m \u{1b}[1midle: 826 records"))
    #expect(text.contains("\u{1b}[2m     daemon\u{1b}[0m  rosterd \(rosterdVersion)"))
  }

  @Test("rosterctl status shows ages by the clock of now if the clock was set back under the daemon")
  func setBack() throws {
    var status = status
    // The daemon has run for three hours, and the clock was set back by two before the last sync.
    status.uptimeSeconds = 3 * 3600
    let now = try #require(Date(rfc3339: "2026-01-01T12:00:00.000Z"))
    #expect(StatusText(status, now: now, width: 200).text.hasPrefix("● idle: 826 records, verified 3.2 s ago; next"))
    let watched = WatchText(status: status, now: now, syncs: []).lines(width: 200, room: 40, colour: false)
    #expect(watched.first?.contains("verified 3.2 s ago") == true)
    // And again, after the last sync.
    let text = StatusText(status, now: now - 3600, width: 200).text
    #expect(text.hasPrefix("● idle: 826 records, verified just now; next sync in 1 h 14 min\n"))
    #expect(text.contains("published 0.0 s ago") && text.contains("the last just now"), "\(text)")
  }

  @Test("rosterctl status shows a sync that is late, and a token without refresh that has expired")
  func overdue() {
    var status = status
    status.sync.nextAt = "2026-01-01T11:56:40.000Z"
    status.token.expiresAt = "2026-01-01T11:59:00.000Z"
    let text = StatusText(status, width: 200).text
    #expect(
      text.hasPrefix(
        "● idle: 826 records, verified 3.2 s ago; next sync due since 11:56:40 UTC (3 min 20 s ago)\n"))
    #expect(text.contains("valid (oauth2_refresh), expired 1 min ago;") && !text.contains("  next sync"))
    status.state = .stopping
    status.sync.nextAt = "2025-12-30T11:56:40.000Z"
    #expect(StatusText(status, width: 200).text.contains("next sync  due since 2025-12-30 11:56:40 UTC (2 d ago)\n"))
    status.sync.nextAt = "2026-01-01T11:59:59.700Z"
    #expect(StatusText(status, width: 200).text.contains("next sync  now\n"))
  }

  @Test(
    "rosterctl status prints no text of upstream that controls the terminal, at any width", arguments: [20, 80, 300])
  func hostile(width: Int) {
    var status = status
    status.state = .unauthorized
    status.reason = "upstream answered 400 (\(hostileText))"
    status.token.lastError = "\(hostileText)!"
    status.sync.last?.error = hostileText
    status.config.lastError = hostileText
    status.upstream.baseURL = hostileText
    let text = StatusText(status, width: width).text
    #expect(!text.unicodeScalars.contains { $0 != "\n" && steeringScalars.contains($0) })
    let screen = WatchText(status: status, syncs: [status.sync.last].compactMap { $0 }, silence: hostileText)
    let lines = screen.lines(width: width, room: 24, colour: false).joined()
    #expect(!lines.unicodeScalars.contains { steeringScalars.contains($0) })
  }
}
