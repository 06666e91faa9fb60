import RosterCore
import Testing

@testable import RosterCache

/// 5: a record id is never given to another key.
struct RecordIDsTests {
  let folder = Folder()

  private func thing(_ key: String, type: Resource.ColumnType, table: String = "things") -> Resource {
    Resource(
      name: "thing", path: "/t", records: at("results"), key: at(key),
      table: table, removal: .ask, columns: [.init(key, at: at(key), type)])
  }

  private func record(_ id: Int, node: String) -> String { #"{"id":\#(id),"node":"\#(node)"}"# }

  /// `record_id` and key of all.
  private func mirror(_ resource: Resource, records: [String]) async throws -> [String] {
    await (try folder.mirrored(resource, pages: [records])).close()
    try folder.expectSound([resource])
    return try rows(resource)
  }

  private func rows(_ resource: Resource) throws -> [String] {
    let tables = try ResourceTables(resource)
    return try folder.ask("SELECT \(tables.id) || \(tables.keyColumn) FROM \(tables.table) ORDER BY \(tables.id)")
  }

  @Test("8: a text key keeps its id in a table of another name, and the highest id is not given again")
  func renamed() async throws {
    _ = try await mirror(
      thing("node", type: .text), records: [record(1, node: "a"), record(2, node: "b"), record(3, node: "c")])
    #expect(
      try await mirror(thing("node", type: .text), records: [record(1, node: "a"), record(2, node: "b")]) == [
        "1a", "2b",
      ])
    let other = thing("node", type: .text, table: "others")
    #expect(
      try await mirror(other, records: [record(1, node: "a"), record(2, node: "b"), record(4, node: "d")]) == [
        "1a", "2b", "4d",
      ])
  }

  @Test("8: another text as key gets ids of its own, and so does a text after an integer")
  func otherKey() async throws {
    _ = try await mirror(thing("id", type: .integer), records: [record(7, node: "a"), record(9, node: "b")])
    await (try folder.define([thing("node", type: .text)])).close()
    var slug = thing("slug", type: .text)
    slug.columns.append(.init("node", at: at("node")))
    let records = [#"{"slug":"x","node":"a"}"#, #"{"slug":"y","node":"b"}"#]
    #expect(try await mirror(slug, records: records) == ["10x", "11y"])
  }

  @Test("8: a resource that is removed and added again continues after its ids, also if history has expired them")
  func again() async throws {
    let other = Resource(
      name: "other", path: "/o", records: at("results"),
      columns: [.init("id", at: at("id"), .integer)])
    _ = try await mirror(thing("node", type: .text), records: [record(1, node: "a"), record(2, node: "b")])
    _ = try await mirror(other, records: [])
    #expect(try folder.ask("SELECT count(*) FROM sqlite_schema WHERE name = 'things'") == ["0"])
    #expect(try await mirror(thing("node", type: .text), records: [record(1, node: "a")]) == ["3a"])
  }

  @Test("8: keys at the end of all integers leave ids for texts")
  func highest() async throws {
    _ = try await mirror(thing("id", type: .integer), records: [record(.max, node: "a")])
    let found = try await mirror(thing("node", type: .text), records: [record(.max, node: "a"), record(1, node: "b")])
    #expect(found == ["4611686018427387904a", "4611686018427387905b"])
  }

  @Test("8: a text key that was removed and returns is another record, and its history is found by its key")
  func comesBack() async throws {
    let text = thing("node", type: .text)
    _ = try await mirror(text, records: [record(1, node: "a"), record(2, node: "b")])
    #expect(try await mirror(text, records: [record(1, node: "a")]) == ["1a"])
    #expect(try folder.ask("SELECT record_id FROM removed") == ["2"])
    #expect(try await mirror(text, records: [record(1, node: "a"), record(2, node: "b")]) == ["1a", "3b"])
    #expect(try folder.ask("SELECT record_id FROM removed").isEmpty)
    #expect(try CacheReader(path: folder.cache).show("thing", key: "b").changes.map(\.record) == [2, 3])
  }
}
