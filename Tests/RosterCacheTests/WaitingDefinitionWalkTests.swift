import FoundationEssentials
import RosterCore
import RosterDecode
import RosterTestSupport
import Testing

@testable import RosterCache

/// Seeded definitions of the same records. A cache that changes from one to the next equals a new cache with the last
/// one.
struct WaitingDefinitionWalkTests {
  private static let document = [
    #"{"id":ID,"node":"n-ID","a":"é\"ID","e":"\u00e9\/","n":ID,"r":ID.5,"b":true,"o":{"x":"xID","y":9,"z":{"deep":"dID","w":[1,{}]}},"#,
    #""j":[1.50e2,null],"labels":[{"name":"lID","color":"red","more":{"k":1}},{"name":"m","color":"blue"}],"#,
    #""flags":[true,false],"tags":["t","ID"],"u":{"v":{}}}"#,
  ].joined()

  private static func pointer(_ text: String) -> JSONPointer { JSONPointer(text) ?? JSONPointer() }

  private static let places: [(String, [Resource.ColumnType])] = [
    ("/a", [.text, .json]), ("/n", [.integer, .json]), ("/r", [.real, .json]), ("/b", [.boolean, .json]),
    ("/o", [.json]),
    ("/o/x", [.text, .json]), ("/o/y", [.integer]), ("/o/z", [.json]), ("/o/z/deep", [.text]), ("/j", [.json]),
    ("/j/0", [.json]), ("/labels/1/name", [.text]), ("/u/v", [.json]), ("/tags", [.json]),
  ]

  private static let lists: [(String, String, [Resource.Column])] = [
    ("labels", "/labels", [.init("name", at: pointer("/name")), .init("more", at: pointer("/more"), .json)]),
    ("thing_labels", "/labels", [.init("color", at: pointer("/color"))]),
    ("flags", "/flags", [.init("flag", at: pointer(""), .boolean)]), ("tags", "/tags", [.init("tag", at: pointer(""))]),
    ("w", "/o/z/w", [.init("w", at: pointer(""), .json)]),
  ]

  private static func definition(_ dice: inout SeededDice) -> Resource {
    let isText = Bool.random(using: &dice)
    var columns: [Resource.Column] = [
      isText ? .init("node", at: pointer("/node")) : .init("id", at: pointer("/id"), .integer)
    ]
    for (index, (place, types)) in places.shuffled(using: &dice).enumerated() where Bool.random(using: &dice) {
      let type = types.randomElement(using: &dice) ?? .json
      columns.append(.init("c\(index)", at: pointer(place), type))
    }
    columns.shuffle(using: &dice)
    // One place is a column's or a list's.
    let taken = Set(columns.map(\.at.description))
    var used: Set<String> = []
    let lists = lists.shuffled(using: &dice).filter { _, at, _ in
      Bool.random(using: &dice) && !taken.contains(at) && used.insert(at).inserted
    }
    return Resource(
      name: "thing", path: "/t", records: pointer("/results"), key: pointer(isText ? "/node" : "/id"),
      table: Bool.random(using: &dice) ? "things" : "those",
      search: columns.filter { $0.type == .text && Bool.random(using: &dice) }.map(\.name), columns: columns,
      lists: lists.map { .init(table: $0, at: pointer($1), columns: $2) })
  }

  private func rows(_ folder: Folder, resource: Resource) throws -> [JSONValue] {
    let tables = try ResourceTables(resource)
    return try folder.ask("SELECT \(tables.jsonText()) FROM \(tables.table) r ORDER BY \(tables.keyColumn)").map {
      try JSONValue(json: $0.utf8).inOrder
    }
  }

  @Test("56: after random definitions a sync stores the same as in a new cache", arguments: 0..<20)
  func walk(seed: Int) async throws {
    var dice = SeededDice(seed: UInt64(seed))
    let records = (1...3).map { id in
      Self.document.split(separator: "ID", omittingEmptySubsequences: false).joined(separator: "\(id)")
    }
    let folder = Folder()
    var definition = Self.definition(&dice)
    await (try folder.mirrored(definition, pages: [records])).close()
    for _ in 0..<6 {
      definition = Self.definition(&dice)
      let next = try await folder.define([definition])
      guard Bool.random(using: &dice) else {
        await next.close()
        continue
      }
      let other = Folder()
      let fresh = try await other.define([definition])
      _ = try await fresh.mirror(definition, pages: [records])
      await fresh.close()
      let report = try await next.mirror(definition, pages: [records])
      #expect(report.removed == 0 && report.records == 3)
      try await folder.expectSound([definition], closing: next)
      #expect(try rows(folder, resource: definition) == rows(other, resource: definition), "\(definition)")
    }
  }
}

extension JSONValue {
  /// Details that a column loses are left out: the order of members, and the digits of a number.
  fileprivate var inOrder: JSONValue {
    switch self {
    case .number: .number("\(number ?? 0)")
    case .list(let elements): .list(elements.map(\.inOrder))
    case .object(let members):
      .object(members.map { Member($0.name, $0.value.inOrder) }.sorted { $0.name < $1.name })
    case .null, .boolean, .text: self
    }
  }
}
