import Testing

@testable import RosterTerminal

@Suite struct EventTextTests {
  @Test("rosterctl events prints a line with time, event and page")
  func lines() {
    let at = "2026-01-01T12:00:00.000Z"
    #expect(
      EventText.line(
        name: "page.fetched", data: #"{"at":"\#(at)","sync":18,"page":17,"pages_done":17,"pages_total":42}"#)
        == "\(at)  page.fetched      sync 18, page 17 (17/42)")
    #expect(
      EventText.line(name: "token.joined", data: #"{"at":"\#(at)","resource":"issue","page":2}"#)
        == "\(at)  token.joined      page 2 of issue")
    #expect(
      EventText.line(
        name: "page.retried", data: #"{"at":"\#(at)","page":3,"attempt":2,"reason":"timeout","delay_seconds":1.5}"#)
        == "\(at)  page.retried      page 3, attempt 2, timeout, again in 1.5 s")
    let failed = #"{"at":"\#(at)","sync":18,"resource":"part","of":[["node",9100],"a b"],"error":"answered 403"}"#
    #expect(
      EventText.line(name: "list.failed", data: failed)
        == "\(at)  list.failed       sync 18, part of node 9100 a b, answered 403")
    #expect(EventText.line(name: "events.lost", data: #"{"at":"\#(at)"}"#) == "\(at)  events.lost")
    #expect(EventText.line(name: "other", data: "x") == "other  x")
  }

  @Test("rosterctl events prints the result of an event that ends a sync")
  func ended() {
    let columns = #""started_at":"2026-01-01T11:59:58.000Z","finished_at":"2026-01-01T12:00:00.000Z""#
    let counts =
      #""requests":43,"not_modified":0,"resumed":0,"retries":0,"refreshes":1,"bytes":1,"lists":0,"lists_failed":0"#
    func data(_ outcome: String, error: String) -> String {
      #"{"at":"t","sync":18,"id":18,\#(columns),"outcome":"\#(outcome)","pages":42,"records":826,"added":2,"changed":0,"#
        + #""removed":1,"rejected":0,"skipped":0,\#(counts),"exit":0,"error":\#(error)}"#
    }
    #expect(
      EventText.line(name: "sync.published", data: data("published", error: "null"))
        == "t  sync.published    sync 18 published in 2.0 s: 42 pages, 826 records, 2 added, 1 removed; 43 requests, 1 refresh"
    )
    #expect(
      EventText.line(name: "sync.failed", data: data("failed", error: #""upstream answered 403""#))
        == "t  sync.failed       sync 18 failed in 2.0 s: upstream answered 403")
  }

  @Test("rosterctl watch gives an event the lines that it needs")
  func narrow() {
    let data = #"{"at":"2026-01-01T12:00:00.000Z","sync":18,"page":17,"pages_done":17,"pages_total":42}"#
    #expect(
      EventText.lines(name: "page.fetched", data: data, width: 60) == [
        "12:00:00 page.fetched  sync 18, page 17 (17/42)"
      ])
    #expect(
      EventText.lines(name: "page.fetched", data: data, width: 28) == [
        "12:00:00 page.fetched ", "  sync 18, page 17 (17/42)",
      ])
  }
}
