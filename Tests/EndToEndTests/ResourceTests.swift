import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import Testing

/// Several resources in one snapshot: the real program with the supplied definitions for the Rick and Morty API.
@Suite(.serialized, .timeLimit(.minutes(2))) struct ResourceTests {
  @Test("1, 54: three resources are one snapshot and listed separately; SIGHUP names [resource] and keeps them")
  func three() async throws {
    var scenario = Scenario.pages(3)
    scenario.beside = served
    try await withSite(scenario) { site in
      let definitions = try String(contentsOfFile: Self.definitions, encoding: .utf8)
      let file = "\(site.folder)/rosterd.toml"
      try Data(definitions.utf8).write(to: URL(filePath: file))
      try await site.withDaemon(["run", "--config", file]) { daemon, notify in
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0, "\(daemon.complaints)")
        let told = try await site.status().cache
        #expect(told.resources.map(\.name) == ["character", "episode", "location"])
        #expect(told.resources.map(\.records) == [60, 51, 45] && told.resources.map(\.pages) == [3, 3, 3])
        #expect(told.resources.map(\.proof) == ["count", "count", "count"])
        #expect(told.records == 156 && told.pages == 9)
        try await site.expectUpstream()
        try await expectBeside(site)
        try await expectReload(site, file: file, daemon: daemon, notify: notify)
      }
    }
  }

  @Test("9, 22: the lists of an unchanged parent are requested, whatever its columns are called")
  func columnsNamedAsKeywords() async throws {
    var scenario = Scenario.pages(1)
    scenario.beside = { request in
      let tag = Request.Header("ETag", "\"1\"")
      if request.url.hasSuffix("/notes") { return Response(status: 200, body: Array(#"[{"id":"a"}]"#.utf8)) }
      let isKnown = request.headers.contains { $0.name == "If-None-Match" && $0.value == tag.value }
      let items = #"[{"id":1,"true":"x","false":"y"},{"id":2,"true":"","false":""}]"#
      return isKnown
        ? Response(status: 304, headers: [tag]) : Response(status: 200, headers: [tag], body: Array(items.utf8))
    }
    try await withSite(scenario) { site in
      let file = "\(site.folder)/rosterd.toml"
      try Data(Self.keywords.utf8).write(to: URL(filePath: file))
      for _ in 1...3 { try #require(try await site.rosterd("sync", "--config", file).exit == 0) }
      let syncs = try await site.rows("SELECT not_modified, lists FROM syncs ORDER BY id")
      #expect(syncs == [["0", "2"], ["1", "2"], ["1", "2"]])
    }
  }

  private static let keywords = """
    [resource.item]
    path = "/items"
    pages.style = "one"
    columns = { id = { at = "/id", type = "integer" }, true = "/true", false = "/false" }
    [resource.note]
    path = "/items/{item.id}/notes"
    pages.style = "one"
    each.of = "item"
    columns.id = "/id"
    """

  @Test("A `where` that fits no record is reported in log and status, over restarts, until it is repaired")
  func emptied() async throws {
    var scenario = Scenario(characters: [])
    scenario.beside = served
    try await withSite(scenario) { site in
      let file = "\(site.folder)/rosterd.toml"
      func define(_ condition: String, key: String = "/id") throws {
        let location = """
          [resource.location]
          path = "/location"
          records = "/results"
          key = "\(key)"
          where = { "/type" = "\(condition)" }
          pages = { last = "/info/pages", count = "/info/count" }
          columns = { id = { at = "\(key)", type = "integer" }, name = "/name" }
          """
        try Data(location.utf8).write(to: URL(filePath: file))
      }
      let complaint = "the `where` of location passes over all 45 records: see that it fits what upstream sends"
      try define("Sun")
      let once = try await site.rosterd("sync", "--config", file)
      #expect(once.exit == 0 && once.error.contains(" warning \(complaint) "), "\(once.error)")
      try await site.withDaemon(["run", "--config", file]) { _, _ in
        #expect(try await site.rosterctl("sync", "--wait").exit == 0)
        let status = try await site.status()
        #expect(status.state == .idle && status.message.contains("; \(complaint); next sync"), "\(status.message)")
      }
      try define("Moon", key: "/number")
      let keyless = try await site.rosterd("sync", "--config", file)
      #expect(keyless.exit == 65)
      #expect(
        keyless.error.contains(
          "none of 45 records of location can be stored, 45 have no integer of 64 bits as their key at /number"))
      try define("Moon")
      let mended = try await site.rosterd("sync", "--config", file)
      #expect(mended.exit == 0 && !mended.error.contains("warning"), "\(mended.error)")
      try await site.withDaemon(["run", "--config", file]) { _, _ in
        #expect(try await site.rosterctl("sync", "--wait").exit == 0)
        let message = try await site.status().message
        #expect(message.hasPrefix("idle: 45 records") && !message.contains("where"), "\(message)")
      }
    }
  }

  private static let definitions = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../config/sources/rickandmorty.toml").path

  private func expectBeside(_ site: Site) async throws {
    let locations = try await site.rows("SELECT * FROM locations ORDER BY id")
    #expect(
      locations == (1...45).map { ["\($0)", "Place \($0)", "Moon", "Dimension C-\($0)", "u", "c", "NULL", "1", "1"] })
    let residents = try await site.rows("SELECT * FROM location_residents ORDER BY 1, 2")
    #expect(residents == (1...45).flatMap { [["\($0)", "0", "a"], ["\($0)", "1", "b"]] })
    #expect(try await site.rows("SELECT count(*), max(episode) FROM episodes") == [["51", "S01E9"]])
    #expect(try await site.rows("SELECT rowid FROM locations_fts WHERE locations_fts MATCH '\"C 7\"'") == [["7"]])
    let published = try await site.rows("SELECT resource, records, added FROM sync_resources ORDER BY 1")
    #expect(published == [["character", "60", "60"], ["episode", "51", "51"], ["location", "45", "45"]])
    let definition = try await site.rows("SELECT definition ->> '$.pages.last' FROM resources WHERE name = 'location'")
    #expect(definition == [["/info/pages"]])
  }

  private func expectReload(_ site: Site, file: String, daemon: Program, notify: NotifySocket) async throws {
    let other = "[resource.location]\npath = \"/location\"\ncolumns.id = \"/id\"\n[sync]\nconcurrency = 3\n"
    try Data(other.utf8).write(to: URL(filePath: file))
    daemon.signal(SIGHUP)
    try #require(await notify.first { $0.contains("RELOADING=1") } != nil)
    #expect(await notify.first { $0.contains("READY=1") } != nil)
    let line = daemon.complaints.split(separator: "\n").first { $0.contains("a restart is needed for") }
    #expect(line?.hasSuffix("a restart is needed for resource") == true, "\(daemon.complaints)")
    #expect(try await site.rosterctl("sync", "--wait").exit == 0)
    #expect(try await site.status().cache.resources.count == 3)
  }

  /// Generated locations and episodes in the form of that API.
  @Sendable private func served(_ request: Request) -> Response? {
    guard let parts = request.url.wholeMatch(of: /\/api\/(location|episode)\?page=(\d+)/), let page = Int(parts.2)
    else {
      return nil
    }
    let isLocation = parts.1 == "location"
    let count = isLocation ? 45 : 51
    let ids = (1...count).dropFirst((page - 1) * 20).prefix(20)
    let records = ids.map { isLocation ? Self.location($0) : Self.episode($0) }.joined(separator: ",")
    let info = "{\"count\":\(count),\"pages\":3,\"next\":null,\"prev\":null}"
    return Response(status: 200, body: Array("{\"info\":\(info),\"results\":[\(records)]}".utf8))
  }

  private static func location(_ id: Int) -> String {
    """
    {"id":\(id),"name":"Place \(id)","type":"Moon","dimension":"Dimension C-\(id)","residents":["a","b"],"url":"u",
    "created":"c"}
    """
  }

  private static func episode(_ id: Int) -> String {
    """
    {"id":\(id),"name":"Episode \(id)","air_date":"May","episode":"S01E\(id)","characters":[],"url":"u","created":"c"}
    """
  }
}
