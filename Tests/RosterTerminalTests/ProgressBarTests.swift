import Testing

@testable import RosterCore
@testable import RosterTerminal

@Suite struct ProgressBarTests {
  private var current: DaemonStatus.Current {
    var current = DaemonStatus.Current(id: 18, startedAt: "", phase: .pulling)
    (current.pagesDone, current.pagesTotal, current.records) = (17, 42, 340)
    (current.inFlight, current.refreshes, current.retries) = (8, 1, 2)
    return current
  }

  @Test("The bar shows the progress of the sync, and as many counts as there is room for")
  func widths() {
    let bar = ProgressBar(current)
    #expect(
      bar.text(width: 100)
        == "━━━━━━━━━━━━━────────────────────  17/42 pages  340 records  token 1 refresh  2 retries  8 in flight")
    #expect(bar.text(width: 60) == "━━━━━━╸──────────  17/42 pages  340 records  token 1 refresh")
    #expect(bar.text(width: 30) == "━━━━━━╸──────────  17/42 pages")
    #expect(bar.text(width: 20) == "17/42 pages")
  }

  @Test("47: once there are lists of children, the bar shows their progress")
  func lists() {
    var lists = DaemonStatus.PulledResource(name: "comment", kind: .each)
    (lists.listsDone, lists.listsTotal) = (0, 30)
    var current = current
    (current.resources, current.pagesTotal) = ([lists], nil)
    #expect(
      ProgressBar(current).text(width: 80)
        == "─────────────────  0/30 lists  17 pages  340 records  token 1 refresh  2 retries")
    current.resources[0].listsDone = 15
    #expect(ProgressBar(current).text(width: 40) == "━━━━━━━━╸────────  15/30 lists  17 pages")
  }

  @Test("A bar is never wider than the terminal", arguments: 1...200)
  func fits(width: Int) {
    for done in [0, 1, 41, 42] {
      #expect(ProgressBar(done: done, total: 42, counts: ["826 records"]).text(width: width).count <= width)
    }
  }

  @Test("Before page 1 the number of pages is unknown")
  func unknown() {
    #expect(ProgressBar(done: 0, total: 0).text(width: 40) == "─────────────────────  asking for page 1")
  }

  @Test("A finished bar is full")
  func full() {
    #expect(ProgressBar(done: 42, total: 42).text(width: 30) == "━━━━━━━━━━━━━━━━━  42/42 pages")
  }

  @Test("Colour goes around the parts of the bar only")
  func colour() {
    #expect(
      ProgressBar(done: 1, total: 2).text(width: 21, colour: true)
        == "\u{1b}[32m━━━━━\u{1b}[0m\u{1b}[2m─────\u{1b}[0m  1/2 pages")
  }
}
