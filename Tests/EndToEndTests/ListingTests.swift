import FoundationEssentials
import RosterCore
import RosterSimulator
import Testing

/// `rosterctl list` and `rosterctl show` of a resource with texts as keys, lists, values of every type and no search.
@Suite(.timeLimit(.minutes(1))) struct ListingTests {
  private static let definition = """
    [resource.issue]
    path = "/issues"
    key = "/ref"
    pages.style = "one"
    columns.ref = "/ref"
    columns.votes = { at = "/votes", type = "integer" }
    columns.open = { at = "/open", type = "boolean" }
    columns.meta = { at = "/meta", type = "json" }
    lists.issue_labels = { at = "/labels", columns = { name = "/name" } }
    lists.issue_watchers = { at = "/watchers", columns = { login = "" } }

    """

  private static let records = """
    [{"ref":"b/2 x","votes":1,"open":true,"meta":{"a":[1.50]},"labels":[{"name":"bug","color":"red"},{"name":"ui"}],
      "watchers":["ann","bob"],"more":1e2},
     {"ref":"-a","votes":null,"open":false,"meta":null,"labels":[],"watchers":null},
     {"ref":"7","votes":3}]
    """

  private func withIssues(_ body: (Site, _ rosterctl: ([String]) async throws -> Program.Outcome) async throws -> Void)
    async throws
  {
    var scenario = Scenario.pages(1)
    scenario.beside = { request in
      request.url == "/api/issues" ? Response(status: 200, body: Array(Self.records.utf8)) : nil
    }
    try await withSite(scenario) { site in
      let file = "\(site.folder)/rosterd.toml"
      try Data(Self.definition.utf8).write(to: URL(filePath: file))
      let synced = try await site.rosterd("sync", "--config", file)
      try #require(synced.exit == 0, "\(synced.error)")
      try await body(site) {
        try await Program.run(
          try Program.built("rosterctl"), arguments: $0, environment: ["ROSTERD_CACHE_PATH": site.cache])
      }
    }
  }

  private static let first = """
    {"ref":"b/2 x","votes":1,"open":true,"meta":{"a":[1.50]},"extra":{"more":1e2},\
    "first_sync":1,"changed_sync":1,"labels":[{"name":"bug","extra":{"color":"red"}},{"name":"ui","extra":null}],\
    "watchers":["ann","bob"]}
    """

  @Test("6, 51: a negative number in a key is no option, in a key and in --of")
  func negativeKeys() async throws {
    var scenario = Scenario.pages(1)
    scenario.beside = { request in
      let scores = #"[{"game":"go","level":-7},{"game":"go","level":0}]"#
      return Response(status: 200, body: Array((request.url.hasSuffix("scores") ? scores : #"[{"id":"a"}]"#).utf8))
    }
    try await withSite(scenario) { site in
      let file = "\(site.folder)/rosterd.toml"
      try Data(Self.scores.utf8).write(to: URL(filePath: file))
      try #require(try await site.rosterd("sync", "--config", file).exit == 0)
      for (arguments, part) in [
        (["show", "score", "go", "-7", "--json"], #""level":-7"#), (["show", "--json", "score", "go", "-7"], "-7"),
        (["show", "--at", "0s", "score", "--", "go", "-7"], "-7"),
        (["show", "note", "a", "--of", "go", "-7", "--json"], #""score_id":1"#),
        (["show", "note", "--of", "go", "-7", "--json", "a"], #""score_id":1"#),
        (["list", "note", "--of", "go", "-7", "--json"], #""total":1"#),
      ] {
        let outcome = try await Program.run(
          try Program.built("rosterctl"), arguments: arguments, environment: ["ROSTERD_CACHE_PATH": site.cache])
        #expect(outcome.exit == 0 && outcome.output.contains(part), "\(arguments): \(outcome.error)")
      }
    }
  }

  private static let scores = """
    [resource.score]
    path = "/scores"
    key = ["/game", "/level"]
    pages.style = "one"
    columns = { game = "/game", level = { at = "/level", type = "integer" } }
    [resource.note]
    path = "/scores/{score.game}/{score.level}/notes"
    each.of = "score"
    pages.style = "one"
    columns.id = "/id"
    """

  @Test("list shows columns and lists of each record in the order of record ids, and show one by its text key")
  func shapes() async throws {
    try await withIssues { _, rosterctl in
      let all = try await rosterctl(["list", "--json"])
      #expect(all.output == #"{"resources":[{"name":"issue","table":"issue","records":3}]}"# + "\n")
      let list = try await rosterctl(["list", "issue", "--json"])
      let head = #"{"resource":"issue","page":1,"pages":1,"total":3,"records":["#
      #expect(list.exit == 0 && list.output.hasPrefix(head + Self.first + #",{"ref":"-a","votes":null,"open":false,"#))
      let show = try await rosterctl(["show", "issue", "b/2 x", "--json"])
      #expect(show.output == #"{"resource":"issue","record":"# + Self.first + #","changes":[]}"# + "\n")
      #expect(try await rosterctl(["show", "issue", "7"]).output.hasPrefix("issue 7\n"))
      #expect(try await rosterctl(["show", "issue", "--", "-a"]).exit == 0)
    }
  }

  @Test("51: in a pipe, a list without records is the line of names, and a page after the last one is empty")
  func noRecords() async throws {
    try await withIssues { _, rosterctl in
      let absent = try await rosterctl(["list", "issue", "--absent"])
      #expect(absent.exit == 0 && absent.error.contains("no issue is absent"))
      #expect(absent.output == "ref\tvotes\topen\tmeta\n")
      let beyond = try await rosterctl(["list", "issue", "--page", "9"])
      #expect(beyond.exit == 0 && beyond.error.contains("there is only one page") && beyond.output.isEmpty)
    }
  }

  @Test("A missing record or resource is 1; --search without a search in the definition is always 64")
  func refusals() async throws {
    try await withIssues { _, rosterctl in
      for (arguments, exit) in [
        (["show", "issue", "b"], 1), (["show", "issue", ""], 1), (["characters"], 1), (["character", "1"], 1),
        (["list", "issues"], 1), (["list", "issues", "--search", "x"], 1), (["show", "ISSUE", "7"], 1),
        (["list", "issue", "--search", "bug"], 64), (["list", "issue", "--search", ""], 64),
        (["list", "issue", "--page", "0"], 64),
      ] as [([String], Int32)] {
        for form in [[], ["--json"]] {
          let outcome = try await rosterctl(arguments + form)
          #expect(outcome.exit == exit && outcome.output.isEmpty && !outcome.error.isEmpty, "\(arguments + form)")
        }
      }
    }
  }
}
