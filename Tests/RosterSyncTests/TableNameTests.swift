import RosterCore
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterCache

/// Tables of definitions that have the name of a table that rosterd makes for a pull.
struct TableNameTests {
  /// A new temporary table is covered without a change here.
  private static let tableNames: [String] = {
    let temporary = (PulledTables.names + StagingTables.views + StagingTables.names).map {
      String($0.dropFirst("temp.".count))
    }
    return temporary + ["info", "pages"]
  }()

  @Test(
    "A parent or a child may have the name of any temporary table, and every statement names its schema",
    arguments: tableNames)
  func names(table: String) async throws {
    let found = Mutex<Set<String>>([])
    let note: @Sendable (Database, String) -> Void = { _, sql in
      let unqualified = SQLNames.unqualifiedTables(in: sql)
      if !unqualified.isEmpty { found.withLock { $0.formUnion(unqualified.map { "\($0) in \(sql)" }) } }
    }
    try await Database.$inspect.withValue(note) {
      for isParent in [true, false] { try await Self.history(table, isParent: isParent) }
    }
    let unqualified = found.withLock { $0.sorted() }
    #expect(unqualified.isEmpty, "\(unqualified.joined(separator: "\n\n"))")
  }

  /// Syncs in which lists arrive, disappear, fail and recover.
  private static func history(_ table: String, isParent: Bool) async throws {
    let columns = [Resource.Column("id", at: at("id"), .integer), Resource.Column("n", at: at("n"), .integer)]
    let parent = Resource(
      name: "a", path: "/a", table: isParent ? table : "other", maxRemoval: 100, pages: .init(.one), columns: columns)
    let child = Resource(
      name: "b", path: "/a/{a.id}", table: isParent ? "other" : table, maxRemoval: 100, pages: .init(.one),
      columns: columns, each: Each(of: "a"))
    let resources = [parent, child]
    let parents = #"[{"id":1,"n":1},{"id":2,"n":1},{"id":3,"n":1}]"#
    let lists = ["/a/1": #"[{"id":10}]"#, "/a/2": #"[{"id":20}]"#, "/a/3": #"[{"id":30},{"id":31}]"#]
    let bench = try await SyncBench.synced(resources, answers: lists.merging(["/a": parents]) { $1 })
    let later = #"[{"id":2,"n":5},{"id":3,"n":1},{"id":4,"n":1}]"#
    let (moved, failed) = (["/a": later, "/a/4": #"[{"id":40}]"#], ["/a/2": "400"])
    for (answers, isDryRun, failures) in [
      (moved, true, 0), (moved, false, 0), (moved, false, 0), (moved.merging(failed) { $1 }, false, 1),
      (moved, false, 0),
    ] {
      bench.serve(lists, answers)
      let record = try await bench.sync(resources, isDryRun: isDryRun, after: 60)
      #expect(record.listsFailed == failures && record.outcome != .failed, "\(record)")
      #expect(try await bench.facts(resources).failedLists.count == failures)
    }
    #expect(try bench.ask(#"SELECT id FROM main."\#(child.table)" ORDER BY id"#) == ["20", "30", "31", "40"])
  }
}
