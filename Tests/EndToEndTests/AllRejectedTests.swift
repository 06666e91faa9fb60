import FoundationEssentials
import RosterCore
import RosterDecode
import RosterSimulator
import Testing

/// A definition that matches no record: the texts of the message, of `explain` and of `rejects`.
@Suite(.serialized, .timeLimit(.minutes(1))) struct AllRejectedTests {
  private static let definition = """
    [resource.target]
    path = "/targets"
    pages.style = "one"
    columns.id = { at = "/id", type = "integer" }
    columns.took = { at = "/stats/took", type = "integer" }

    """

  private func sync(_ site: Site, records: String) async throws -> Program.Outcome {
    let file = "\(site.folder)/rosterd.toml"
    try Data(Self.definition.utf8).write(to: URL(filePath: file))
    site.upstream.configure {
      $0.beside = { request in
        request.url == "/api/targets" ? Response(status: 200, body: Array(records.utf8)) : nil
      }
    }
    return try await site.rosterd("sync", "--config", file)
  }

  @Test("5: if all records are rejected, message and explain name the first reason, and rejects shows them")
  func first() async throws {
    try await withSite(.pages(1)) { site in
      let failed = try await sync(site, records: #"[{"id":7,"stats":{"took":0.25}},{"id":"x","stats":{}}]"#)
      #expect(failed.exit == 65)
      let reason = "the first reason, of record 1: stats.took is not an integer of 64 bits"
      #expect(failed.error.contains("none of 2 records of target can be stored, "), "\(failed.error)")
      #expect(failed.error.contains(reason), "\(failed.error)")
      let told = try JSONValue(json: try await site.rosterctl("explain", "--json", "--cache", site.cache).output.utf8)
      #expect("\(told["what"] ?? .null)".contains(reason) && told["todo"] != nil)
      let concerned = told["concerned"]?.elements ?? []
      #expect(concerned.contains { $0["kind"] == .text("record") && $0["name"] == .text("7") }, "\(concerned)")

      let rejects = try await site.rosterctl("rejects", "--json", "--cache", site.cache)
      let listed = try JSONValue(json: rejects.output.utf8)["rejects"]?.elements ?? []
      #expect(listed.map { $0["position"] } == [.integer(0), .integer(1)] && listed[0]["sync_id"] == .integer(1))
      #expect(listed[0]["reason"] == .text("stats.took is not an integer of 64 bits"))
      #expect(listed[0]["document"]?["id"] == .integer(7))
      // No table that readers see has them.
      #expect(try await site.rows("SELECT count(*) FROM rejects") == [["0"]])
      let people = try await site.rosterctl("rejects", "--cache", site.cache)
      #expect(people.output.hasPrefix("target, page 1, position 0: stats.took is not an integer of 64 bits\n"))
      #expect(people.error.contains("sync 1 failed") && !people.error.contains("could be stored\n"), "\(people.error)")

      // The next successful sync has no rejects.
      #expect(try await sync(site, records: #"[{"id":7,"stats":{"took":1}}]"#).exit == 0)
      let mended = try await site.rosterctl("rejects", "--cache", site.cache)
      #expect(mended.output.isEmpty && mended.error == "all records could be stored\n")
    }
  }
}
