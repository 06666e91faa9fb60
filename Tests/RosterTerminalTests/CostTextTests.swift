import RosterCore
import RosterTerminal
import Testing

@Suite("rosterd check: the cost for upstream") struct CostTextTests {
  private func cost(_ requests: Int?, interval: Duration, budget: String = "") -> CostText {
    CostText(
      requests: requests, unknown: "there was no sync yet", interval: interval, budget: RequestBudget(text: budget))
  }

  @Test("The cost is the requests a day by the last sync's requests, and whether limit.budget is enough for them")
  func holds() {
    let line = "# 42 requests in the last sync: about 4,032 requests a day with sync.interval = \"15m\"\n"
    #expect(cost(42, interval: .seconds(900)).text == line)
    for budget in ["10000/1d", "4032/1d", "168/1h", "42/15m"] {
      let cost = cost(42, interval: .seconds(900), budget: budget)
      #expect(cost.text == line + "# limit.budget = \"\(budget)\" holds them\n" && cost.warning == nil)
    }
  }

  @Test(
    "If the budget is not enough, a warning names an interval for which it is",
    arguments: [
      ("4031/1d", "16m"), ("1000/1d", "63m"), ("42/1d", "1d"), ("84/1m", "30s"), ("42/1s", "1s"), ("420/1s", "100ms"),
    ])
  func warns(budget: String, interval: String) throws {
    let least = budget.hasSuffix("s") || budget.hasSuffix("m") ? Duration.milliseconds(50) : .seconds(900)
    let cost = cost(42, interval: least, budget: budget)
    #expect(cost.warning == "limit.budget = \"\(budget)\" does not hold them; sync.interval = \"\(interval)\" would")
    #expect(cost.text.hasSuffix("\n# warning: \(cost.warning ?? "")\n"))
    let named = try #require(Duration(text: interval))
    #expect(self.cost(42, interval: named, budget: budget).warning == nil)
  }

  @Test("55: the cost of each resource has its syncs, its whole pulls, its day and the fullest hour")
  func resources() {
    var issue = Resource(name: "issue", path: "/issues", columns: [])
    issue.since = Since(at: JSONPointer(), param: .query("since"), listing: issue.listing)
    let label = Resource(name: "label", path: "/labels", columns: [])
    func cost(_ budget: String) -> CostText {
      CostText(
        requests: 49, unknown: "", interval: .seconds(900), budget: RequestBudget(text: budget),
        resources: [
          ResourceCost(issue, cost: PullCost(whole: 46, incremental: 2)), ResourceCost(label, cost: PullCost(whole: 3)),
        ])
    }
    #expect(
      cost("100/1h").text == """
        # 5 requests in each sync: about 526 requests a day with sync.interval = "15m"
        # issue: 2 requests for each sync, 46 for each whole pull (every 1d), about 238 a day
        # label: 3 requests for each sync, 3 for each whole pull, about 288 a day
        # the fullest hour: about 64 requests; limit.budget = "100/1h"
        # limit.budget = "100/1h" holds them

        """)
    #expect(cost("40/1h").warning == "limit.budget = \"40/1h\" does not hold a whole pull of 46 requests")
  }

  @Test("22, 55: the last windows count in each sync, and older ones by their period")
  func windows() {
    var each = Each(of: "window", wholeEvery: .every(.seconds(7 * 86_400)))
    each.windows = Windows(from: "2025-01-01", every: .seconds(31 * 86_400))
    let report = Resource(name: "report", path: "/report", columns: [], each: each)
    let known = CostText(
      requests: 24, unknown: "", interval: .seconds(900), budget: nil,
      resources: [ResourceCost(report, cost: PullCost(whole: 24))])
    // Two windows 96 times a day, and 24 in 7 days.
    #expect(known.text.contains("about 195 a day"), "\(known.text)")
    let unknown = CostText(requests: nil, unknown: "x", interval: .seconds(900), budget: nil, others: [report])
    #expect(unknown.text.contains("report: then the last 2 in every sync, and each list again once in 7d"))
  }

  private func child(_ each: Each, _ cost: PullCost) -> ResourceCost {
    ResourceCost(Resource(name: "comment", path: "/issues/{issue.id}/comments", columns: [], each: each), cost: cost)
  }

  @Test("55: the cost of a child is that of the lists that changed, and each list once in whole_every")
  func children() {
    let issue = ResourceCost(Resource(name: "issue", path: "/issues", columns: []), cost: PullCost(whole: 1))
    func lines(_ each: Each, _ cost: PullCost) -> [String] {
      let text = CostText(
        requests: 31, unknown: "", interval: .seconds(900), budget: RequestBudget(text: "100/1h"),
        resources: [issue, child(each, cost)]
      ).text
      return text.split(separator: "\n").map(String.init)
    }
    let all = PullCost(whole: 34, incremental: 2, lists: 30)
    #expect(
      lines(Each(of: "issue", changed: ["updated_at"]), all) == [
        "# 3 requests in each sync: about 293 requests a day with sync.interval = \"15m\"",
        "# issue: 1 request for each sync, 1 for each whole pull, about 96 a day",
        "# comment: 2 requests for each sync, 34 for all 30 lists (each once in 7d), about 197 a day",
        "# the fullest hour: about 13 requests; limit.budget = \"100/1h\"", "# limit.budget = \"100/1h\" holds them",
      ])
    #expect(
      lines(Each(of: "issue", changed: ["updated_at"], wholeEvery: .never), all)[2]
        == "# comment: 2 requests for each sync, 34 for all 30 lists (in the first sync only), about 192 a day"
    )
    #expect(
      lines(Each(of: "issue", wholeEvery: .every(.seconds(86_400))), all)[1...3] == [
        "# issue: 1 request for each sync, 1 for each whole pull, about 96 a day",
        "# comment: 1 request for each sync, 34 for all 30 lists (each once in 1d), about 34 a day",
        "# the fullest hour: about 7 requests; limit.budget = \"100/1h\"",
      ])
    let every = lines(Each(of: "issue"), PullCost(whole: 30, lists: 30))
    #expect(every[0] == "# 31 requests in the last sync: about 2,976 requests a day with sync.interval = \"15m\"")
    #expect(every[2] == "# comment: 30 requests for each sync, which pulls all 30 lists, about 2,880 a day")
    #expect(every[3] == "# the fullest hour: about 124 requests; limit.budget = \"100/1h\"")
  }

  @Test("55: the average of a child is not rounded up before it is multiplied by the syncs of a day")
  func average() {
    let issue = ResourceCost(Resource(name: "issue", path: "/issues", columns: []), cost: PullCost(whole: 1))
    let comment = child(Each(of: "issue", changed: ["updated_at"]), PullCost(whole: 14, incremental: 0.05, lists: 14))
    let cost = CostText(
      requests: 15, unknown: "", interval: .seconds(900), budget: RequestBudget(text: "110/1d"),
      resources: [issue, comment])
    #expect(
      cost.text == """
        # 2 requests in each sync: about 103 requests a day with sync.interval = "15m"
        # issue: 1 request for each sync, 1 for each whole pull, about 96 a day
        # comment: 1 request for each sync, 14 for all 14 lists (each once in 7d), about 7 a day
        # the fullest hour: about 6 requests; limit.budget = "110/1d"
        # limit.budget = "110/1d" holds them

        """)
  }

  @Test("55: a resource before its first sync has a comment, and no budget is said to hold its requests")
  func others() {
    let issue = ResourceCost(Resource(name: "issue", path: "/issues", columns: []), cost: PullCost(whole: 1))
    let label = Resource(name: "label", path: "/labels", columns: [])
    let comment = Resource(name: "comment", path: "/{issue.id}", columns: [], each: Each(of: "issue"))
    func cost(_ budget: String, hasRemoved: Bool = false, others: [Resource]) -> CostText {
      CostText(
        requests: 3, unknown: "", interval: .seconds(3600), budget: RequestBudget(text: budget), resources: [issue],
        others: others, hasRemoved: hasRemoved)
    }
    #expect(
      cost("100/1d", others: [label, comment]).text == """
        # 3 requests in the last sync, without label, comment: about 72 requests a day with sync.interval = "1h"
        # issue: 1 request for each sync, 1 for each whole pull, about 24 a day
        # label: not known before its first sync
        # comment: a request for each issue in every sync, more for lists of several pages

        """)
    #expect(cost("2/1d", others: [label]).warning?.contains("does not hold one sync of 3 requests") == true)
    let removed = cost("30/1d", hasRemoved: true, others: [])
    #expect(removed.text.hasPrefix("# 1 request in each sync: about 24 requests a day") && removed.warning == nil)
    #expect(removed.text.hasSuffix("# limit.budget = \"30/1d\" holds them\n"))
  }

  @Test("55: a sync without requests has a cost of 0")
  func noRequests() {
    #expect(cost(0, interval: .seconds(900), budget: "1/1d").text.hasPrefix("# 0 requests in the last sync: about 0 "))
    #expect(cost(0, interval: .seconds(900), budget: "1/1d").warning == nil)
  }

  @Test("55: before the first usual sync, no change is expected; a first pull larger than the budget is no warning")
  func firstChildren() {
    let comment = child(Each(of: "issue", changed: ["updated_at"]), PullCost(whole: 5000, lists: 5000))
    let cost = CostText(
      requests: 5000, unknown: "", interval: .seconds(3600), budget: RequestBudget(text: "4000/1h"),
      resources: [comment])
    #expect(
      cost.text.contains("# comment: a request for each changed issue, 5,000 for all 5,000 lists (each once in 7d)"))
    #expect(cost.warning == nil)
  }

  @Test(
    "55: before the first sync, a comment says what the cost of a child depends on",
    arguments: [
      (
        Each(of: "issue"), Resource.Pages(.link),
        ["a request for each issue in every sync, more for lists of several pages"]
      ),
      (
        Each(of: "issue", changed: ["a"]), Resource.Pages(.link),
        [
          "a request for each issue in the first sync, more for lists of several pages",
          "then a request for each changed issue, and each list again once in 7d",
        ]
      ),
      (
        Each(of: "issue", wholeEvery: .every(.seconds(86_400))), Resource.Pages(.record),
        ["a request for each issue in the first sync", "then each list again once in 1d"]
      ),
      (
        Each(of: "issue", changed: ["a"], wholeEvery: .never), Resource.Pages(.record),
        ["a request for each issue in the first sync", "then a request for each changed issue"]
      ),
    ])
  func words(each: Each, pages: Resource.Pages, words: [String]) {
    let child = Resource(name: "comment", path: "/{issue.id}", pages: pages, columns: [], each: each)
    let cost = CostText(
      requests: nil, unknown: "there was no sync yet", interval: .seconds(900), budget: nil, others: [child])
    let lines = cost.text.split(separator: "\n").map(String.init)
    #expect(lines == ["# requests a day: not known, there was no sync yet"] + words.map { "# comment: \($0)" })
  }

  @Test("A budget that is smaller than a sync has no interval; before the first sync nothing is known")
  func neither() {
    #expect(
      cost(42, interval: .seconds(900), budget: "41/1d").warning
        == "limit.budget = \"41/1d\" does not hold one sync of 42 requests")
    #expect(cost(42, interval: .seconds(3540), budget: "42/1h").warning != nil, "two begin within some hour")
    let unknown = cost(nil, interval: .seconds(900), budget: "41/1d")
    #expect(unknown.text == "# requests a day: not known, there was no sync yet\n" && unknown.warning == nil)
  }
}
