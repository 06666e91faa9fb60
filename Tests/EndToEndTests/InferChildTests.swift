import FoundationEssentials
import RosterCore
import RosterSimulator
import Testing

/// `rosterd infer --of`: the real program against a server on loopback.
@Suite(.serialized, .timeLimit(.minutes(1))) struct InferChildTests {
  @Test("55: infer of a parent, a child and a detail give one configuration, and sync mirrors all of them")
  func wholeWay() async throws {
    try await withThings { site in
      let (base, file) = (site.upstream.baseURL, "\(site.folder)/inferred.toml")
      let parent = try await site.rosterd("infer", "\(base)/things")
      let child = try await site.rosterd("infer", "\(base)/things/2/parts?page=1&lang=en", "--of", "thing.id=2")
      #expect(parent.exit == 0 && child.exit == 0 && child.error.isEmpty, "\(parent.error)\(child.error)")
      try Data("\(parent.output)\n\(child.output)".utf8).write(to: URL(filePath: file))
      let detail = try await site.rosterd("infer", "\(base)/things/3", "--of", "thing.id=3", "--add", file)
      #expect(detail.exit == 0 && detail.error.contains("added [resource.thing_detail]"), "\(detail.error)")
      let text = try String(contentsOfFile: file, encoding: .utf8)
      let check = try await site.rosterd("check", "--config", file)
      #expect(check.exit == 0 && check.error.isEmpty, "\(text)\n\(check.error)")
      let sync = try await site.rosterd("sync", "--config", file)
      #expect(sync.exit == 0, "\(text)\n\(sync.error)")
      #expect(try await site.rows("SELECT name, records FROM resources ORDER BY name") == Self.records)
      let parts = try await site.rows("SELECT thing_id, group_concat(id), min(name) FROM parts GROUP BY 1 ORDER BY 1")
      #expect(parts == (1...3).map { ["\($0)", "\($0)1,\($0)2,\($0)3", "en"] })
      let details = try await site.rows("SELECT thing_id, weight FROM thing_details ORDER BY 1")
      #expect(details == (1...3).map { ["\($0)", "\($0)0.0"] })
    }
  }

  private static let records = [["part", "9"], ["thing", "3"], ["thing_detail", "3"]]

  @Test(
    "55: a bad --of is 64 with one sentence, before any request",
    arguments: [
      (["--of", "x"], "--of is RESOURCE.COLUMN=VALUE, as in --of issue.number=5"),
      (["--of", "thing.id="], "--of is RESOURCE.COLUMN=VALUE"),
      (["--of", "thing.id=7"], "no segment of its path below base_url and no value of its query is the value of"),
      (["--of", "thing.id=1", "--of", "thing.id=2"], "--of thing.id is given twice"),
      (["http://127.0.0.1:1/api/b", "--of", "thing.id=2"], "--of goes with one URL"),
      (["--of", "thing.id=2", "--add", "/nonexistent/2.toml"], "the value of thing.id 2 times"),
    ])
  func usage(arguments: [String], sentence: String) async throws {
    let path = arguments.contains("--add") ? "2/things/2/parts" : "things/2/parts"
    let outcome = try await Program.run(
      try Program.built("rosterd"), arguments: ["infer", "http://127.0.0.1:1/\(path)"] + arguments)
    #expect(outcome.exit == 64 && outcome.output.isEmpty && outcome.error.contains(sentence), "\(outcome)")
  }

  @Test("55: infer - takes no --of, because only an address has the value")
  func standardInput() async throws {
    let outcome = try await Program.run(
      try Program.built("rosterd"), arguments: ["infer", "-", "--of", "thing.id=2"], input: "[]")
    #expect(outcome.exit == 64 && outcome.error.contains("--of goes with one URL"), "\(outcome)")
  }

  @Test("55: infer --add leaves a file unchanged that lacks the parent, and names it")
  func noParent() async throws {
    try await withThings { site in
      let (base, file) = (site.upstream.baseURL, "\(site.folder)/added.toml")
      #expect(try await site.rosterd("infer", "\(base)/things", "--add", file).exit == 0)
      let before = try String(contentsOfFile: file, encoding: .utf8)
      let added = try await site.rosterd("infer", "\(base)/things/2/parts", "--of", "item.id=2", "--add", file)
      #expect(
        added.exit == 78 && added.error.contains("it has no [resource.item]; add that one first"), "\(added.error)")
      #expect(try String(contentsOfFile: file, encoding: .utf8) == before)
    }
  }

  private func withThings(_ body: (Site) async throws -> Void) async throws {
    var scenario = Scenario.pages(1)
    scenario.beside = Self.served
    try await withSite(scenario, settings: [:], body: body)
  }

  /// Three things with three parts each, on pages of two.
  @Sendable private static func served(_ request: Request) -> Response? {
    let address = request.url.split(separator: "?", maxSplits: 1)
    let path = address.first?.split(separator: "/").map(String.init) ?? []
    let query = address.dropFirst().first.map(String.init) ?? ""
    if path == ["api", "things"] {
      let things = (1...3).map { #"{"id":\#($0),"name":"Thing \#($0)"}"# }.joined(separator: ",")
      return answer(#"{"things":[\#(things)],"total":3}"#)
    }
    guard path.count > 2, path[1] == "things", let id = Int(path[2]) else { return nil }
    if path.count == 3 { return answer(#"{"thing":{"id":\#(id),"weight":\#(id * 10),"tags":["a"]}}"#) }
    let page = query.contains("page=2") ? 2 : 1
    let name = query.contains("lang=en") ? "en" : "none"
    let parts = (1...3).dropFirst((page - 1) * 2).prefix(2).map { #"{"id":\#(id)\#($0),"name":"\#(name)"}"# }
    return answer(#"{"parts":[\#(parts.joined(separator: ","))],"page":\#(page),"total_pages":2,"total":3}"#)
  }

  private static func answer(_ body: String) -> Response {
    Response(status: 200, headers: [.init("Content-Type", "application/json")], body: Array(body.utf8))
  }
}
