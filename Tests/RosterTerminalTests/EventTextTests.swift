import Testing

@testable import RosterTerminal

@Suite struct EventTextTests {
  @Test("rosterctl events: a line says when, what and of which page")
  func lines() {
    let at = "2026-01-01T12:00:00.000Z"
    #expect(
      EventText.line(
        name: "page.fetched", data: #"{"at":"\#(at)","sync":18,"page":17,"pages_done":17,"pages_total":42}"#)
        == "\(at)  page.fetched      sync 18, page 17 (17/42)")
    #expect(
      EventText.line(
        name: "page.retried", data: #"{"at":"\#(at)","page":3,"attempt":2,"reason":"timeout","delay_seconds":1.5}"#)
        == "\(at)  page.retried      page 3, attempt 2, timeout, again in 1.5 s")
    #expect(EventText.line(name: "events.lost", data: #"{"at":"\#(at)"}"#) == "\(at)  events.lost")
    #expect(EventText.line(name: "other", data: "x") == "other  x")
  }
}
