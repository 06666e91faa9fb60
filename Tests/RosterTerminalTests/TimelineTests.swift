import RosterCore
import Testing

@testable import RosterTerminal

@Suite struct TimelineTests {
  private func report() -> SyncRecord {
    var report = SyncRecord(id: 1, startedAt: "2026-01-01T00:00:00.000Z", outcome: .published)
    report.finishedAt = "2026-01-01T00:00:00.431Z"
    (report.pages, report.records, report.added) = (42, 826, 826)
    (report.requests, report.refreshes) = (51, 1)
    return report
  }

  /// A token that dies after page 17, eight pages in flight, one late 401.
  private var demo: [(Double, Event)] {
    var events: [(Double, Event)] = [(0, Event(.syncStarted, sync: 1))]
    events.append((0.0123, Event(.pageFetched, page: 1, pagesTotal: 42)))
    events += (2...17).map { (0.05 + Double($0) / 100, Event(.pageFetched, page: $0, pagesTotal: 42)) }
    events.append((0.31, Event(.tokenRefused, page: 18, reason: "current")))
    events.append((0.3101, Event(.tokenRefreshing, page: 18, reason: "refused")))
    for page in 19...24 {
      events.append((0.3102, Event(.tokenRefused, page: page, reason: "current")))
      events.append((0.3103, Event(.tokenJoined, page: page)))
    }
    events.append((0.362, Event(.tokenRefreshed)))
    events.append((0.363, Event(.tokenRefused, page: 25, reason: "late")))
    events += (18...42).map { (0.37 + Double($0) / 1000, Event(.pageFetched, page: $0)) }
    events.append((0.431, Event(.syncPublished, report: report())))
    return events
  }

  @Test("The demo's story fits a screen: refused, refreshing, joined and repeated requests")
  func story() {
    #expect(
      Timeline(demo).text() == """
            0.0 ms  ┬  sync 1 starts
           12.3 ms  │  page 1 arrives: 42 in all
           70.0 ms  │  pages 2–17 arrive
          310.0 ms  ✗  pages 18–24 refused (401): the token is no longer good
          310.1 ms  ◆  page 18 asks for a new token, for all
          310.3 ms  ┊  pages 19–24 wait for that same refresh
          362.0 ms  ◆  a new token, stored before anyone uses it
          363.0 ms  ↺  page 25 refused late, with the old token: sent again, no refresh needed
          388.0 ms  │  pages 18–25 sent again with the new token, arrive
          396.0 ms  │  pages 26–42 arrive
          431.0 ms  ┴  sync 1 published in 0.4 s: 42 pages, 826 records, 826 added; 51 requests, 1 refresh

        """)
  }

  @Test("The lists of a child are one line")
  func children() {
    var events = [1, 2].map { (Double($0) / 100, Event(.pageFetched, resource: "episode", page: $0)) }
    events += (1...51).map { (0.03 + Double($0) / 100, Event(.pageFetched, resource: "appearance", page: 1)) }
    #expect(
      Timeline(events, parents: ["appearance": "episode"]).text() == """
           10.0 ms  │  page 1 of episode arrives
           20.0 ms  │  page 2 of episode arrives
           40.0 ms  │  51 pages of appearance, a list for each episode, arrive

        """)
  }

  @Test("If several lists are pulled, a page has the name of its list")
  func lists() {
    func page(_ name: Event.Name, page: Int, resource: String) -> Event {
      Event(name, resource: resource, page: page)
    }
    let events: [(Double, Event)] = [
      (0.01, page(.pageFetched, page: 1, resource: "character")),
      (0.02, page(.pageFetched, page: 1, resource: "location")),
      (0.03, page(.pageFetched, page: 2, resource: "character")),
      (0.04, page(.tokenRefused, page: 3, resource: "character")),
      (0.04, page(.tokenRefused, page: 3, resource: "location")),
      (0.05, page(.tokenRefreshing, page: 3, resource: "location")),
      (0.05, page(.tokenJoined, page: 3, resource: "character")), (0.06, Event(.tokenRefreshed)),
      (0.07, page(.pageFetched, page: 3, resource: "location")),
      (0.08, page(.pageFetched, page: 3, resource: "character")),
      (0.09, page(.pageFetched, page: 2, resource: "location")),
    ]
    #expect(
      Timeline(events).text() == """
           10.0 ms  │  page 1 of character arrives
           20.0 ms  │  pages 2 of character, 1 of location arrive
           40.0 ms  ✗  pages 3 of character, 3 of location refused (401): the token is no longer good
           50.0 ms  ◆  page 3 of location asks for a new token, for all
           50.0 ms  ┊  page 3 of character waits for that same refresh
           60.0 ms  ◆  a new token, stored before anyone uses it
           70.0 ms  │  pages 3 of character, 3 of location sent again with the new token, arrive
           90.0 ms  │  page 2 of location arrives

        """)
  }

  @Test("Colour marks the token's events and leaves the rest plain")
  func colour() {
    let text = Timeline([(0, Event(.syncStarted, sync: 1)), (0.01, Event(.tokenRefreshed))]).text(colour: true)
    #expect(
      text == """
        \u{1b}[2m    0.0 ms\u{1b}[0m  \u{1b}[2m┬\u{1b}[0m  sync 1 starts
        \u{1b}[2m   10.0 ms\u{1b}[0m  \u{1b}[32m◆\u{1b}[0m  \u{1b}[32ma new token, stored before anyone uses it\u{1b}[0m

        """)
  }

  @Test("A long story keeps its beginning and its end")
  func longStory() {
    let turns = (1...30).flatMap { turn in
      [(Double(turn), Event(.tokenRefreshing)), (Double(turn) + 0.5, Event(.tokenRefreshed))]
    }
    let lines = Timeline([(0, Event(.syncStarted, sync: 1))] + turns + [(40, Event(.syncCancelled))]).text()
      .split(separator: "\n")
    #expect(lines.count == 16)
    #expect(lines[0].hasSuffix("sync 1 starts") && lines[15].hasSuffix("cancelled"))
    #expect(lines[10] == "            ⋮  47 lines like these left out")
  }

  @Test("A refresh that fails has its reason, and so does the sync")
  func failure() {
    var report = SyncRecord(id: 2, startedAt: "", outcome: .failed)
    report.error = "upstream refused the refresh token"
    let events: [(Double, Event)] = [
      (0, Event(.tokenRefreshing, reason: "expired")), (0.01, Event(.tokenFailed, error: "400 invalid_grant")),
      (0.02, Event(.syncFailed, report: report)),
    ]
    #expect(
      Timeline(events).text() == """
            0.0 ms  ◆  the daemon asks for a new token before the old one expires, for all
           10.0 ms  ✗  the refresh failed: 400 invalid_grant
           20.0 ms  ┴  sync 2 failed: upstream refused the refresh token

        """)
  }
}
