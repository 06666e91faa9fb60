import FoundationEssentials
import RosterCore
import RosterSimulator
import Synchronization
import Testing

/// The cost that `rosterd check` prints for children.
@Suite(.serialized, .timeLimit(.minutes(1))) struct ForecastTests {
  @Test("55: check forecasts the requests of a child from the last syncs: those of changed parents, and each list")
  func forecast() async throws {
    let version = Version()
    var scenario = Scenario.pages(1)
    scenario.beside = { Self.issues($0, version: version.current.withLock { $0 }) }
    try await withSite(scenario, settings: ["ROSTERD_SYNC_INTERVAL": "15m"]) { site in
      let file = "\(site.folder)/issues.toml"
      try Data(Self.definition.utf8).write(to: URL(filePath: file))
      func check() async throws -> String { try await site.rosterd("check", "--config", file).output }
      let before = try await check()
      #expect(
        before.contains("# requests a day: not known, there was no sync yet\n# comment: a request for each issue"))
      for next in 0...2 {
        version.current.withLock { $0 = next }
        #expect(try await site.rosterd("sync", "--config", file).exit == 0)
        // Two issues change in each later sync, one of which has a list of two pages.
        let usual = next == 0 ? "a request for each changed issue" : "3 requests for each sync"
        let comment = "\(usual), 30 for all 29 lists"
        let after = try await check()
        #expect(after.contains("\n# comment: \(comment) (each once in 7d), about"), "\(after)")
        #expect(after.contains("\n# issue: 1 request for each sync") && !after.contains("# owner:"), "\(after)")
      }
    }
  }

  @Test("55: inline records cost no request")
  func inline() async throws {
    try await withSite(Scenario.pages(1), settings: ["ROSTERD_SYNC_INTERVAL": "15m"]) { site in
      let file = "\(site.folder)/owner.toml"
      let owner = Self.definition.split(separator: "[resource.issue]")[0]
      try Data(owner.utf8).write(to: URL(filePath: file))
      try #require(try await site.rosterd("sync", "--config", file).exit == 0)
      let outcome = try await site.rosterd("check", "--config", file)
      #expect(outcome.output.contains("\n# 0 requests in the last sync: about 0 requests a day"), "\(outcome.output)")
    }
  }

  @Test("19, 55: the forecast counts the requests that try a total, of a list and of each list of a child")
  func tries() async throws {
    var scenario = Scenario.pages(1)
    scenario.beside = { request in
      let page = request.url.hasSuffix("page=2") ? 2 : 1
      if page == 2 { return Self.answer(#"{"data":[],"total":0}"#) }
      return Self.answer(#"{"data":[{"id":1},{"id":2},{"id":3}],"total":3}"#)
    }
    try await withSite(scenario, settings: ["ROSTERD_SYNC_INTERVAL": "15m"]) { site in
      let file = "\(site.folder)/things.toml"
      let pages = #"{ style = "number", count = "/total" }"#
      let thing = """
        [resource.thing]
        path = "/things"
        records = "/data"
        pages = \(pages)
        columns = { id = { at = "/id", type = "integer" } }

        """
      func check(_ text: String) async throws -> [String] {
        try Data(text.utf8).write(to: URL(filePath: file))
        try #require(try await site.rosterd("sync", "--config", file).exit == 0)
        return try await site.rosterd("check", "--config", file).output.split(separator: "\n").map(String.init)
      }
      let budget = "[limit]\nbudget = \"192/1d\"\n"
      let alone = try await check(budget + thing)
      #expect(alone.contains { $0.hasPrefix("# 2 requests in the last sync: about 192 requests a day") }, "\(alone)")
      #expect(alone.contains { $0.hasPrefix("# thing: 2 requests for each sync") }, "\(alone)")
      #expect(alone.contains("# limit.budget = \"192/1d\" holds them"), "\(alone)")
      let parts = """
        [resource.part]
        path = "/things/{thing.id}/parts"
        records = "/data"
        each = { of = "thing" }
        pages = \(pages)
        columns = { id = { at = "/id", type = "integer" } }

        """
      let both = try await check(thing + parts)
      #expect(both.contains { $0.hasPrefix("# 8 requests in the last sync: about 768 requests a day") }, "\(both)")
      #expect(both.contains { $0.hasPrefix("# part: 6 requests for each sync, which pulls all 3 lists") }, "\(both)")
    }
  }

  private final class Version: Sendable {
    let current = Mutex(0)
  }

  private static let definition = """
    [resource.owner]
    key = "/name"
    inline = [{ name = "me" }]
    columns = { name = "/name" }
    [resource.issue]
    path = "/issues"
    pages = { style = "one" }
    columns = { id = { at = "/id", type = "integer" }, updated_at = "/updated_at", comments = { at = "/n", type = "integer" } }
    [resource.comment]
    path = "/issues/{issue.id}/comments"
    pages = { style = "number", last = "/pages" }
    records = "/comments"
    each = { of = "issue", changed = ["updated_at"], empty = { comments = 0 } }
    columns = { id = { at = "/id", type = "integer" } }
    """

  /// Thirty issues. Issue 30 has no comments, and the list of issue 1 has two pages. Issues 1 and 2 change.
  @Sendable private static func issues(_ request: Request, version: Int) -> Response? {
    let path = request.url.split(separator: "?")[0].split(separator: "/").map(String.init)
    if path == ["api", "issues"] {
      let issues = (1...30).map { id in
        let time = "2026-01-01T0\(id < 3 ? version : 0):00:00Z"
        return #"{"id":\#(id),"updated_at":"\#(time)","n":\#(id == 30 ? 0 : 1)}"#
      }
      return answer("[\(issues.joined(separator: ","))]")
    }
    guard path.count == 4, let id = Int(path[2]) else { return nil }
    let page = request.url.hasSuffix("page=2") ? 2 : 1
    return answer(#"{"comments":[{"id":\#(id * 10 + page)}],"pages":\#(id == 1 ? 2 : 1)}"#)
  }

  private static func answer(_ body: String) -> Response {
    Response(status: 200, headers: [.init("Content-Type", "application/json")], body: Array(body.utf8))
  }
}
