import RosterCore
import Testing

@testable import RosterCache

/// The documents of `changes`, which are written from the values at hand.
struct RecordDocumentTests {
  let folder = Folder()

  private static func at(_ place: String) -> JSONPointer { JSONPointer(place) ?? JSONPointer() }

  /// Each type, as a column and as the element of a list.
  private static let thing = Resource(
    name: "thing", path: "/t", records: at("/results"), table: "things", search: ["a"],
    columns: [
      .init("id", at: at("/id"), .integer), .init("a", at: at("/a")), .init("n", at: at("/n"), .integer),
      .init("r", at: at("/r"), .real), .init("b", at: at("/b"), .boolean), .init("j", at: at("/j"), .json),
    ],
    lists: [
      .init(
        table: "labels", at: at("/labels"), columns: [.init("name", at: at("/name")), .init("m", at: at("/m"), .json)]),
      .init(table: "thing_flags", at: at("/flags"), columns: [.init("flag", at: at(""), .boolean)]),
      .init(table: "tags", at: at("/tags"), columns: [.init("tag", at: at(""))]),
      .init(table: "numbers", at: at("/numbers"), columns: [.init("number", at: at(""), .real)]),
      .init(table: "values", at: at("/values"), columns: [.init("value", at: at(""), .json)]),
    ])

  /// Columns that SQLite does not find in a sub-query by their names.
  private static let keyword = Resource(
    name: "word", path: "/k", records: at("/results"), table: "words",
    columns: [.init("id", at: at("/id"), .integer), .init("true", at: at("/true"))],
    lists: [
      .init(
        table: "words_said", at: at("/said"), columns: [.init("true", at: at("/true")), .init("FALSE", at: at("/no"))]),
      .init(table: "false", at: at("/false"), columns: [.init("false", at: at(""), .integer)]),
    ])

  private static let keywords = [
    #"{"id":1,"true":"a","said":[{"true":"b","no":"c"}],"false":[1,2]}"#,
    #"{"id":1,"true":"d","said":[{"true":"e","x":1}],"false":[2]}"#,
  ]

  /// More members than a function of SQLite takes.
  private static let wide = Resource(
    name: "wide", path: "/w", records: at("/results"), table: "wides", search: [],
    columns: [.init("id", at: at("/id"), .integer)]
      + (0..<70).map { .init("c\($0)", at: at("/c\($0)"), $0 % 2 == 0 ? .text : .json) })

  private static let things = [
    #"{"id":1,"a":"é\"\\\/ \u0000\u0001\n\u007f","n":-7,"r":0.1,"b":true,"j":[1.50e2, null, "\u00e9\/"],"#
      + #""labels":[{"name":"l\t","m":{"k": 1},"x":-0,"y":"'"}],"flags":[true,false],"tags":["","é\""],"#
      + #""numbers":[1,0.30000000000000004,1e300],"values":[1,{"k":"v"},"t",null],"more":{"b":1.10,"a":"\u001b"}}"#,
    #"{"id":1,"n":null,"r":2,"j":null,"labels":[],"flags":[],"tags":["b"],"values":[{"k": [ ]}]}"#,
    #"{"id":1,"a":"b","r":-1.5e-7,"b":false,"j":"text","labels":[{"name":"l"},{"m":null}],"tags":["b"]}"#,
    #"{"id":1,"a":"c","r":-0.0,"numbers":[-0.0,1]}"#,
    #"{"id":1,"a":"d","r":0,"numbers":[0,2]}"#,
  ]
  private static let wides = [
    #"{"id":1,"c0":"a\"","c1":[true]}"#, #"{"id":1,"c68":"b","c69":1.0,"x":{}}"#, #"{"id":1}"#,
  ]

  @Test(
    "4: before and after of a changed record are byte for byte the JSON that SQLite makes of its row",
    arguments: [(thing, things), (keyword, keywords), (wide, wides)])
  func changed(resource: Resource, records: [String]) async throws {
    let cache = try await folder.define([resource])
    var before: [String] = []
    for (index, record) in records.enumerated() {
      #expect(try await cache.mirror(resource, pages: [[record]]).outcome == .published)
      let after = try stored(resource)
      #expect(after.count == 1)
      if index > 0 {
        #expect(try folder.ask("SELECT before FROM changes WHERE sync_id = \(index + 1)") == before)
        #expect(try folder.ask("SELECT after FROM changes WHERE sync_id = \(index + 1)") == after)
      }
      before = after
    }
    #expect(try folder.ask("SELECT reason FROM rejects") == [])
    try await folder.expectSound([resource], closing: cache)
  }

  @Test("4: after of an added record is byte for byte the JSON that SQLite makes of its row")
  func added() async throws {
    let cache = try await folder.mirrored(Self.thing, pages: [[#"{"id":9}"#]])
    for (index, record) in Self.things.enumerated() {
      let other = record.replacing("\"id\":1", with: "\"id\":\(index + 10)")
      _ = try await cache.mirror(Self.thing, pages: [[#"{"id":9}"#, other]], removal: .keepsAll)
      let after = try folder.ask("SELECT after FROM changes WHERE kind = 'added' AND record_id = \(index + 10)")
      #expect(try after == stored(Self.thing, where: "id = \(index + 10)"))
    }
    try await folder.expectSound([Self.thing], closing: cache)
  }

  private func stored(_ resource: Resource, where condition: String = "1") throws -> [String] {
    let tables = try ResourceTables(resource)
    return try folder.ask("SELECT \(tables.jsonText()) FROM \(tables.table) r WHERE \(condition)")
  }
}
