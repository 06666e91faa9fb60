import FoundationEssentials
import GrowthKinds
import RosterCore
import Testing

@testable import RosterCache

/// Every statement that real syncs and readers run, whatever it is: a new one is covered without a change here.
@Suite("Every statement uses its indexes")
struct QueryPlanTests {
  @Test("No statement of a sync or a reader scans a table or uses a part of an index", arguments: [false, true])
  func all(isText: Bool) async throws {
    let plans = QueryPlans()
    try await plans.inspect {
      for kind in GrowthKind.allCases {
        try await syncs(kind, isText: isText)
        try await readers(kind, isText: isText)
      }
      try await repeats(isText)
      try await resumed(isText)
      try await dropped(isText)
      try await incremental(isText)
    }
    let found = plans.all
    // Fewer would mean that the statements were not seen.
    #expect(found.count > 60)
    #expect(found.contains { $0.sql.contains("missing_\(isText ? "text" : "integer") SELECT") })
    // FTS5 writes what it has gathered whenever a statement journal begins, and an INSERT with SELECT begins one.
    let journalled = found.map(\.sql)
      .filter { $0.hasPrefix("INSERT INTO main.\"things_fts\"") && $0.contains("SELECT") }
    #expect(journalled.isEmpty, "\(journalled.joined(separator: "\n\n"))")
    let faults = found.flatMap(\.faults)
    #expect(faults.isEmpty, "\(faults.joined(separator: "\n\n"))")
    #expect(plans.unqualified.isEmpty, "\(plans.unqualified.joined(separator: "\n\n"))")
  }

  @Test("A look-up by a part of an index, a scan and an automatic index are found")
  func faults() throws {
    let database = try Database(path: ":memory:", access: .writer)
    try database.execute(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT);
      CREATE TABLE k(resource INTEGER, key, PRIMARY KEY (resource, key)) WITHOUT ROWID;
      CREATE TABLE m(resource INTEGER, id INTEGER, key TEXT, PRIMARY KEY (resource, id)) WITHOUT ROWID;
      CREATE TABLE u(id INTEGER PRIMARY KEY, other INTEGER);
      """)
    let lookUp = "SELECT 1 FROM u CROSS JOIN t ON t.id = u.id WHERE u.id = 1 AND NOT EXISTS"
    for faulty in [
      "\(lookUp) (SELECT 1 FROM k s WHERE s.resource = ?1 AND s.key = t.id)",
      "UPDATE m SET id = 1 WHERE resource = ?1 AND key = ?2", "SELECT name FROM t WHERE name = 'a'",
      "SELECT 1 FROM u CROSS JOIN t ON t.name = u.other WHERE u.id = 1",
    ] { #expect(try QueryPlan(faulty, in: database).faults.count == 1, "\(faulty)") }
    for sound in [
      "\(lookUp) (SELECT 1 FROM k s WHERE s.resource = ?1 AND s.key = ?2)",
      "SELECT count(*) FROM m WHERE resource = ?1", "UPDATE m SET id = 1 WHERE resource = ?1 AND id = ?2",
    ] { #expect(try QueryPlan(sound, in: database).faults.isEmpty, "\(sound)") }
  }

  // MARK: What runs

  private func syncs(_ kind: GrowthKind, isText: Bool) async throws {
    let folder = Folder()
    let before = kind.resource(isText: isText, isAfter: false)
    var cache = try await folder.define([before])
    if kind != .first { _ = try await cache.mirror(before, pages: kind.before(60).pages) }
    await cache.close()
    let after = kind.resource(isText: isText, isAfter: true)
    cache = try await folder.define([after])
    for _ in 0..<2 {
      _ = try await cache.mirror(after, pages: kind.after(60).pages, present: kind.present(60), kind: kind)
    }
    _ = try await cache.absent()
    let later = noon.addingTimeInterval(400 * 86_400)
    try await cache.end(cache.begin(at: later), at: later, history: ninetyDays)
    await cache.close()
  }

  /// Reads the rows that a copy to another database needs after its first time.
  private func export(_ reader: CacheReader) throws {
    try reader.export { snapshot in
      _ = try snapshot.changedResources(after: 0)
      try snapshot.changedRecords(of: "thing", after: 0) { _ in }
      for table in snapshot.tables {
        switch table.role {
        case .records, .elements: try snapshot.rows(of: table, .changed(after: 0)) { _ in }
        case .appended: try snapshot.rows(of: table, .from(1)) { _ in }
        case .whole: break
        }
      }
    }
  }

  private func readers(_ kind: GrowthKind, isText: Bool) async throws {
    let folder = Folder()
    let resource = kind.resource(isText: isText, isAfter: false)
    let cache = try await folder.mirrored(resource, pages: kind.before(60).pages)
    _ = try await cache.mirror(resource, pages: kind.after(60).pages, present: kind.present(60), kind: .dryRun)
    let reader = try CacheReader(path: folder.cache)
    try reader.pending().writeJSON { _ in }
    _ = try reader.resources()
    _ = try reader.list("thing", page: 2)
    _ = try reader.list("thing", search: "name")
    _ = try reader.feed(FeedPosition(), limit: 10)
    _ = try reader.feed(FeedPosition(seen: 0), resource: "thing", limit: 10)
    _ = try reader.recent(limit: 10)
    _ = try reader.facts()
    _ = try reader.rejects()
    _ = try reader.rejected()
    try export(reader)
    await cache.close()
  }

  /// Unchanged pages with rejected records move, and pages list keys of other pages.
  private func repeats(_ isText: Bool) async throws {
    let folder = Folder()
    let resource = GrowthKind.rejected.resource(isText: isText, isAfter: false)
    let cache = try await folder.define([resource])
    let records = GrowthKind.rejected.after(60)
    _ = try await cache.mirror(resource, pages: records.pages)
    let record = try await cache.begin(at: noon)
    let known = try await cache.known("thing", addresses: (1...3).map(address))
    #expect(known.count == 3)
    let ordered = known.values.sorted { $0.address < $1.address }
    try await cache.confirm("thing", pages: ordered.enumerated().map { ConfirmedPage(number: 3 - $0, page: $1) })
    let last = try await Pull(cache: cache).received(resource, 1, records[0..<19].map(\.json), address: address(3))
    try await cache.append([last])
    _ = try await cache.compare()
    _ = try await cache.publish(record)
    let pages = [records[0..<20], records[20..<40] + records[2...3], records[40...]]
    _ = try await cache.mirror(resource, pages: pages.map { $0.map(\.json) }, present: [], kind: .changed)
    await cache.close()
  }

  private func incremental(_ isText: Bool) async throws {
    typealias Incremental = IncrementalPullTests
    let folder = Folder()
    let resource = Incremental.resource(isText: isText)
    func things(_ marks: Range<Int>, isGone: Bool = false) -> [String] {
      marks.map { Incremental.thing($0, mark: $0, isGone: isGone, isText: isText) }
    }
    let cache = try await folder.define([resource])
    _ = try await Incremental.whole(resource, pages: [things(1..<20), things(20..<40)], mark: "40", in: cache)
    let pages = [things(1..<5, isGone: true), things(5..<9), things(40..<45)]
    let pulled = try await Incremental.pull(resource, pages: pages, in: cache)
    _ = try await Incremental.publish(pulled, mark: "45", in: cache)
    _ = try await Incremental.publish(
      try await Incremental.pull(resource, pages: [nil, pages[2]], in: cache), mark: "46", in: cache)
    _ = try await Incremental.whole(resource, pages: [things(5..<20), things(20..<45)], mark: "45", in: cache)
    await cache.close()
  }

  private func resumed(_ isText: Bool) async throws {
    let folder = Folder()
    let resource = GrowthKind.changed.resource(isText: isText, isAfter: false)
    var cache = try await folder.define([resource])
    _ = try await cache.begin(at: noon)
    try await Pull(cache: cache).pages(resource, pages: GrowthKind.changed.after(60).pages)
    await cache.close()
    cache = try await folder.define([resource])
    _ = try await cache.begin(at: noon)
    _ = try await cache.known("thing", addresses: [address(1)])
    try await cache.discard("thing")
    await cache.close()
  }

  /// A resource that the configuration names no more.
  private func dropped(_ isText: Bool) async throws {
    let folder = Folder()
    let resource = GrowthKind.changed.resource(isText: isText, isAfter: false)
    var other = GrowthKind.changed.resource(isText: !isText, isAfter: false)
    (other.name, other.table, other.lists[0].table) = ("other", "others", "other_tags")
    var cache = try await folder.define([resource])
    _ = try await cache.mirror(resource, pages: GrowthKind.changed.before(60).pages)
    await cache.close()
    cache = try await folder.define([other])
    _ = try await cache.mirror(other, pages: GrowthKind.changed.before(60).pages)
    await cache.close()
  }
}
