import Testing

@testable import RosterCore
@testable import RosterTerminal

@Suite struct ResourceLinesTests {
  private func status(_ resources: [DaemonStatus.CachedResource]) -> DaemonStatus {
    var cache = DaemonStatus.Cache(path: "/cache.db")
    (cache.snapshot, cache.ageSeconds) = (1, 0)
    cache.resources = resources
    cache.records = resources.reduce(0) { $0 + $1.records }
    cache.pages = resources.reduce(0) { $0 + $1.pages }
    return DaemonStatus(
      version: "0.2.0", pid: 1, startedAt: "2026-01-01T12:00:00.000Z", uptimeSeconds: 1, state: .idle,
      upstream: DaemonStatus.Upstream(baseURL: "http://localhost/api"), cache: cache,
      sync: DaemonStatus.Sync(), token: TokenStatus(flow: "none"),
      config: DaemonStatus.Config(path: nil, loadedAt: "2026-01-01T12:00:00.000Z"))
  }

  private let three = [
    DaemonStatus.CachedResource(
      name: "character", table: "characters", records: 826, pages: 42, proof: "count", absent: 0),
    DaemonStatus.CachedResource(name: "episode", table: "episodes", records: 51, pages: 3, proof: "weak", absent: 2),
    DaemonStatus.CachedResource(name: "new", table: "new", records: 0, pages: 0, proof: nil, absent: 0),
  ]

  private func pulling(_ pulled: [(name: String, done: Int, total: Int?, records: Int)]) -> DaemonStatus {
    var status = status(three)
    var current = DaemonStatus.Current(id: 2, startedAt: "", phase: .pulling)
    current.pagesDone = pulled.reduce(0) { $0 + $1.done }
    current.resources = pulled.map {
      var resource = DaemonStatus.PulledResource(name: $0.name)
      (resource.pagesDone, resource.pagesTotal, resource.records) = ($0.done, $0.total, $0.records)
      return resource
    }
    status.state = .syncing
    status.sync.current = current
    return status
  }

  @Test(
    "rosterctl status prints one line for each resource, with its records, pages, proof and absent ones",
    arguments: [80, 120])
  func several(width: Int) {
    let text = StatusText(status(three), width: width).text
    #expect(
      text.contains(
        """
               data  3 resources, 877 records, 45 pages
          resources  RESOURCE   RECORDS  PAGES  COMPLETE    ABSENT
                     character      826     42  by count
                     episode         51      3  not proved       2
                     new              0      0
              token
        """), "\(text)")
  }

  @Test("rosterctl status prints everything about a single resource in the data's line")
  func single() {
    let text = StatusText(status([three[1]]), width: 80).text
    #expect(
      text.contains("       data  51 records, 3 pages, not proved complete, 2 absent\n") && !text.contains("RESOURCE"))
  }

  @Test("rosterctl status prints one bar for each resource of a running sync; without a total it does not grow")
  func bars() {
    let text = StatusText(
      pulling([("character", 21, 42, 420), ("episode", 3, 3, 51), ("issue", 7, nil, 700)]), width: 80
    ).text
    #expect(
      text.contains(
        """
          resources  RESOURCE   PAGES  RECORDS  PROGRESS
                     character  21/42      420  ━━━━━━━━━━──────────
                     episode      3/3       51  ━━━━━━━━━━━━━━━━━━━━
                     issue          7      700  ────────────────────

        """), "\(text)")
  }

  @Test(
    "The proof of a whole list is shown in words",
    arguments: [
      ("count", "by count"), ("end", "to its end"), ("since", "by changes"), ("weak", "not proved"), ("later", "later"),
    ])
  func proofs(_ proof: String, _ words: String) {
    var resource = three[0]
    resource.proof = proof
    #expect(resource.proofWords == words)
  }

  @Test("47: a resource with since shows how old its last pulls are, and what the whole one missed")
  func since() {
    var all = three
    all[0].proof = "since"
    all[0].wholeAt = "2026-01-01T06:00:00.000Z"
    all[0].missed = 0
    var status = status(all)
    status.cache.verifiedAt = "2026-01-01T11:56:01.000Z"
    #expect(StatusText(status, width: 120).text.contains("  826     42  since 4 min ago (whole 6 h ago, none missed)"))
    status.cache.resources[0].missed = 7
    #expect(StatusText(status, width: 120).text.contains("(whole 6 h ago, 7 missed)"))
  }

  private var withChild: DaemonStatus {
    var comment = DaemonStatus.CachedResource(
      name: "comment", table: "comments", records: 18_234, pages: 4611, proof: "since", absent: 0)
    comment.parent = "issue"
    (comment.wholeAt, comment.missed) = ("2026-01-01T06:00:00.000Z", 0)
    var lists = DaemonStatus.CachedLists()
    (lists.total, lists.kept) = (4512, 4380)
    comment.lists = lists
    let issue = DaemonStatus.CachedResource(
      name: "issue", table: "issues", records: 4512, pages: 46, proof: "end", absent: 0)
    var status = status([comment, issue])
    status.cache.verifiedAt = "2026-01-01T11:56:01.000Z"
    return status
  }

  @Test("47: each child has one line, with how many lists of its parents were requested")
  func child() {
    var status = withChild
    #expect(
      StatusText(status, width: 120).text.contains(
        """
          resources  RESOURCE  RECORDS  PAGES  COMPLETE
                     issue        4512     46  to its end
                     comment   18,234 records, since 4 min ago (whole 6 h ago, none missed); 132 of 4,512 issues requested

        """))
    status.cache.resources[0].proof = "end"
    status.cache.resources[0].missed = nil
    status.cache.resources[0].absent = 3
    status.cache.resources[0].lists?.failed = 1
    status.cache.resources[0].lists?.vanished = 2
    #expect(
      StatusText(status, width: 72).text.contains(
        """
                     comment   18,234 records, complete to the end of the list
                               (whole 6 h ago), 3 absent; 132 of 4,512 issues
                               requested, 1 failed, 2 vanished

        """), "\(StatusText(status, width: 72).text)")
    status.cache.resources[0].missed = 0
    #expect(
      StatusText(status, width: 120).text.contains("complete to the end of the list (whole 6 h ago, none missed)"))
    status.cache.resources[0].lists = DaemonStatus.CachedLists()
    (status.cache.resources[0].proof, status.cache.resources[0].absent) = (nil, 0)
    #expect(StatusText(status, width: 120).text.contains("             comment   18,234 records\n"))
  }

  @Test("A child's lines are as wide as the screen, also with a long name")
  func narrowChild() {
    var status = withChild
    status.cache.resources[0].name = String(repeating: "long_name_", count: 6)
    for width in [20, 40, 60, 100] {
      let lines = ResourceLines(nil, cached: status.cache.resources, most: nil).lines(width: width, colour: false)
      #expect(lines.allSatisfy { $0.cells <= width }, "\(lines)")
    }
  }

  @Test("47: while lists are pulled, the bars are those of lists")
  func listBars() {
    var status = pulling([("issue", 5, 5, 30), ("comment", 14, nil, 402), ("label", 0, nil, 0)])
    for (index, done, total) in [(1, 12, 30), (2, 0, 0)] {
      status.sync.current?.resources[index].kind = .each
      status.sync.current?.resources[index].listsDone = done
      status.sync.current?.resources[index].listsTotal = total
    }
    let text = StatusText(status, width: 80).text
    #expect(
      text.contains(
        """
          resources  RESOURCE  PAGES  RECORDS  LISTS  PROGRESS
                     issue       5/5       30         ━━━━━━━━━━━━━━━━━━━━
                     comment      14      402  12/30  ━━━━━━━━────────────
                     label         0        0    0/0  ━━━━━━━━━━━━━━━━━━━━

        """), "\(text)")
    #expect(text.contains("   progress  ━━━━━━━━━━━━━━━━────────────────────────  0 records\n"), "\(text)")
  }

  @Test("Of a hundred resources as many lines as fit are shown, with the number of the others; none is too wide")
  func many() {
    let all = (1...100).map {
      DaemonStatus.CachedResource(
        name: "usual_name_\($0)", table: "t\($0)", records: $0, pages: 1, proof: "end", absent: 0)
    }
    let whole = StatusText(status(all), width: 60).text
    #expect(whole.contains("\n             usual_name_100      100      1  to its end\n"))
    let cut = StatusText(status(all), width: 60, maxResources: 12).text
    #expect(
      cut.contains("usual_name_12 ") && !cut.contains("usual_name_13 ")
        && cut.contains("\n             … and 88 more\n"))
    for width in [20, 40, 60] {
      let lines = ResourceLines(nil, cached: all, most: nil).lines(width: width, colour: false)
      #expect(lines.count == 101 && lines.allSatisfy { $0.cells <= width })
    }
  }

  @Test("rosterctl watch leaves room beside a hundred resources, and shows the running ones first")
  func watched() {
    let status = pulling((1...100).map { ("r\($0)", $0 < 50 ? 2 : $0 < 60 ? 1 : 0, 2, $0) })
    var screen = WatchScreen(WatchText(status: status, syncs: []), hasKeys: true)
    let frame = screen.frame(width: 79, rows: 24, colour: false)
    #expect(frame.count == 24 && frame.contains { $0.hasPrefix("      token") })
    #expect(frame.contains("             … and 89 more"))
    #expect(
      frame.contains { $0.hasPrefix("             r50 ") } && frame.contains { $0.hasPrefix("             r60 ") })
    #expect(!frame.contains { $0.hasPrefix("             r49 ") || $0.hasPrefix("  resources  r1 ") })
  }
}
