import RosterCore
import Testing

@testable import RosterTerminal

@Suite struct WatchTextTests {
  private func report(_ id: Int64, outcome: SyncRecord.Outcome, took milliseconds: Int) -> SyncRecord {
    var report = SyncRecord(id: id, startedAt: "2026-01-01T12:00:00.000Z", outcome: outcome)
    report.finishedAt = "2026-01-01T12:00:0\(milliseconds / 1000).\(String(milliseconds % 1000 + 1000).dropFirst())Z"
    (report.pages, report.records, report.requests) = (42, 826, 43)
    return report
  }

  private var syncs: [SyncRecord] {
    var failed = report(18, outcome: .failed, took: 2000)
    failed.error = "cannot pull page 3 (http://localhost): upstream answered 403"
    var good = report(17, outcome: .published, took: 40)
    (good.added, good.changed, good.rejected) = (2, 11, 1)
    return [failed, good]
  }

  @Test("The latest syncs have their results and durations, also on a narrow terminal")
  func table() {
    #expect(
      SyncTable(syncs).text(width: 110) == """
        SYNC  OUTCOME     TOOK  STARTED (UTC)        CHANGES            RECORDS  REQUESTS  DURATION
          18  failed     2.0 s  2026-01-01 12:00:00                         826        43  ▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪
            cannot pull page 3 (http://localhost): upstream answered 403
          17  published  40 ms  2026-01-01 12:00:00  +2 ~11 1 rejected      826        43  ▪

        """)
    #expect(
      SyncTable(syncs).text(width: 30) == """
        SYNC  OUTCOME     TOOK
          18  failed     2.0 s
            cannot pull page 3
            (http://localhost):
            upstream answered 403
          17  published  40 ms

        """)
  }

  @Test("rosterctl watch draws over its screen and leaves no rest of an older line")
  func frame() {
    #expect(Screen.frame(["a", "b"]) == "\u{1b}[H\u{1b}[?7la\u{1b}[K\r\nb\u{1b}[K\u{1b}[J\u{1b}[?7h")
  }

  @Test("rosterctl watch in a pipe prints a line for each event, and one a second for the pages")
  func lines() {
    var watch = WatchLine()
    func page(_ number: Int, at seconds: Double) -> String? {
      watch.line(name: "page.fetched", data: #"{"at":"t","sync":1,"page":\#(number)}"#, seconds: seconds)
    }
    #expect(watch.line(name: "sync.started", data: #"{"at":"t","sync":1}"#, seconds: 10)?.contains("sync 1") == true)
    #expect(page(1, at: 10.5) == nil)
    #expect(page(2, at: 11) == "t  page.fetched      sync 1, page 2")
    #expect(page(3, at: 11.9) == nil)
    #expect(watch.line(name: "token.joined", data: #"{"at":"t","page":3}"#, seconds: 12) == nil)
    #expect(watch.line(name: "token.refreshed", data: #"{"at":"t"}"#, seconds: 12) == "t  token.refreshed")
    let data = #"""
      {"at":"t","sync":1,"id":1,"started_at":"2026-01-01T12:00:00.000Z","finished_at":"2026-01-01T12:00:00.400Z","outcome":"published","pages":42,"records":826,"added":0,"changed":0,"removed":0,"rejected":0,"skipped":0,"requests":43,"not_modified":0,"resumed":0,"retries":0,"refreshes":0,"bytes":1,"lists":0,"lists_failed":0,"exit":0,"error":null}
      """#
    #expect(
      watch.line(name: "sync.published", data: data, seconds: 12)
        == "2026-01-01T12:00:00.400Z  sync 1 published in 0.4 s: 42 pages, 826 records; 43 requests")
  }
}
