import RosterCore
import Testing

@testable import RosterDefinition

/// Lists whose elements are not objects.
@Suite struct OtherShapesTests {
  private func finding(_ body: String) throws -> InferredDefinition {
    try Sample(name: "", url: "https://api.example/shop/product.json", body: body).finding()
  }

  private func failure(_ body: String) throws -> Failure {
    try #require(throws: Failure.self) { try finding(body) }
  }

  private static let facets = #""suggested_facets":[{"name":"category","toggle_url":"https://a.example/?_facet=x"}]"#

  @Test(
    "A longer list of another shape than the inferred one is named in a comment",
    arguments: [
      (#""rows":[[1,"a"],[2,"b"]]"#, "/rows", "2 elements", #"shape = "rows""#),
      (#""rows":[["a"],["b"],["c"]]"#, "/rows", "3 elements", #"shape = "rows""#),
      (#""tags":["a","b","c"]"#, "/tags", "3 elements", #"shape = "values""#),
      (#""deep":{"ids":[1,2]}"#, "/deep/ids", "2 elements", #"shape = "values""#),
      (#""items":{"a":{"n":1,"m":2},"b":{"n":2,"m":3},"c":{"n":3}}"#, "/items", "3 members", #"shape = "map""#),
    ])
  func named(list: String, at: String, count: String, shape: String) throws {
    let found = try finding("{\(list),\(Self.facets)}")
    #expect(found.resource.records.description == "/suggested_facets")
    let notes = found.unseen(.records)
    #expect(notes.count == 1)
    #expect(notes.allSatisfy { $0.contains(at) && $0.contains(count) && $0.contains(shape) }, "\(notes)")
    #expect(found.toml.contains("# not seen: whether the records are at \(at)"))
  }

  @Test(
    "A list of another shape is not named if it is shorter, or only describes the answer",
    arguments: [
      #""tags":["a"]"#, #""columns":["id","name","price"]"#, #""_links":{"a":{"href":"/x"},"b":{"href":"/y"}}"#,
      #""meta":{"page":{"number":1},"query":{"text":"x"}}"#,
    ])
  func unnamed(list: String) throws {
    #expect(try finding("{\(list),\(Self.facets)}").unseen(.records).isEmpty)
  }

  @Test("Of two lists infer takes the one with the records: Datasette's rows as objects")
  func datasette() throws {
    let found = try finding(#"{"rows":[{"id":1,"name":"a"}],"columns":["id","name"],"next":null,\#(Self.facets)}"#)
    #expect(found.resource.records.description == "/rows" && found.unseen(.records).isEmpty)
  }

  @Test("A list inside a list is found: World Bank's answer has a description and the records")
  func inner() throws {
    let found = try finding(#"[{"page":1,"pages":3,"per_page":"2","total":6},[{"id":"A"},{"id":"B"}]]"#)
    #expect(found.resource.records.description == "/1" && found.records == 2)
    #expect(found.resource.pages.count?.description == "/0/total")
    #expect(!found.notes.contains { $0.place == .records && $0.text.contains("other lists") })
  }

  @Test(
    "55: without a list of objects, the longest list of another shape is taken, and shape says what it is",
    arguments: [
      (#"{"names":["a","b","c"]}"#, .values, "/names", "/value", ["value"]),
      ("[9129911,9129199]", .values, "", "/value", ["value"]),
      (#"{"a":{"n":1,"x":"p"},"b":{"n":2,"x":"q"}}"#, .map, "", "/@key", ["key", "n", "x"]),
      (#"{"query":{"pages":{"7":{"title":"A"},"8":{"title":"B"}}}}"#, .map, "/query/pages", "/@key", ["key", "title"]),
      ("[[1,\"a\"],[2,\"b\"]]", .rows, "", "/0", ["field_0", "field_1"]),
    ] as [(String, Resource.Shape, String, String, [String])])
  func taken(body: String, shape: Resource.Shape, at: String, key: String, columns: [String]) throws {
    let found = try finding(body)
    let resource = found.resource
    #expect(resource.shape == shape && resource.records.description == at && resource.rowNames.isWhole)
    #expect(resource.key.description == key && resource.columns.map(\.name) == columns)
    #expect(found.toml.contains("shape = \"\(shape.rawValue)\""))
  }

  @Test(
    "55: five lists of one form or more in an object are a map, with a list in each record",
    arguments: [
      (#"{"a":["x"],"b":["x","y"],"c":[],"d":["z"],"e":[]}"#, ""),
      (
        #"{"data":{"a":[{"n":1,"h":"p"}],"b":[{"n":2,"h":"q"}],"c":[{"n":3,"h":""}],"d":[{"n":4,"h":""}],"#
          + #""e":[{"n":5,"h":""}]}}"#, "/data"
      ),
    ])
  func mapOfLists(body: String, at: String) throws {
    let resource = try finding(body).resource
    #expect(resource.shape == .map && resource.records.description == at && resource.key.description == "/@key")
    #expect(resource.lists.map(\.at.description) == ["/value"])
  }

  @Test("Errors are no records, except at an address of errors", arguments: ["", #","data":null"#])
  func errors(others: String) throws {
    let body = #"{"errors":[{"message":"no such field","path":["x"]}]\#(others)}"#
    let failure = try failure(body)
    #expect(failure.cause == "the answer reports errors, and has no list of records")
    #expect(failure.hint?.contains("read the errors") == true)
    let found = try Sample(name: "", url: "https://api.example/errors", body: body).finding()
    #expect(found.resource.records.description == "/errors")
  }

  @Test("The id is preferred to a title in an object inside the record: Reddit's records are at /data")
  func innerID() throws {
    let found = try finding(
      #"{"items":[{"kind":"t3","data":{"title":"a","name":"t3_1","id":"1"}},"#
        + #"{"kind":"t3","data":{"title":"b","name":"t3_2","id":"2"}}]}"#)
    #expect(found.resource.key.description == "/data/id")
  }

  @Test(
    "Lists of several kinds of records, or the columns of one table, are no map",
    arguments: [
      #"{"a":[{"id":1,"x":1}],"b":[{"id":1,"y":1}],"c":[{"id":1,"z":1}],"d":[{"id":1,"u":1}],"e":[{"id":1,"v":1}]}"#,
      #"{"a":[1,2],"b":[1,2],"c":[1,2],"d":[1,2],"e":[1,2]}"#,
      #"{"a":[{"id":1}],"b":[{"id":1}],"c":[{"id":1}],"d":[{"id":1}]}"#,
      // The address ends with the name of one of them.
      #"{"products":[{"id":1}],"b":[{"id":1}],"c":[{"id":1}],"d":[{"id":1}],"e":[{"id":1}]}"#,
    ])
  func noMapOfLists(body: String) throws {
    #expect(try finding(body).resource.shape != .map)
  }

  @Test("55: rows with names are taken, also beside a shorter list of objects: Datasette's default answer")
  func rows() throws {
    let found = try finding(
      #"{"rows":[[1,"a"],[2,"b"]],"columns":["id","name"],"next_url":"https://api.example/shop/product.json?_next=2",\#(Self.facets)}"#
    )
    let resource = found.resource
    #expect(resource.shape == .rows && resource.records.description == "/rows")
    #expect(resource.rowNames.description == "/columns" && resource.key.description == "/id")
    #expect(resource.columns.map(\.name) == ["id", "name"])
    #expect(found.toml.contains("row_names = \"/columns\""))
  }

  @Test("55: done and not are comments where an answer hints at them")
  func comments() throws {
    let found = try finding(
      #"{"items":[{"id":1,"status":"open"},{"id":2,"status":"cancelled"}],"nextToken":"x","isLast":false}"#)
    #expect(found.toml.contains(#"# where = { "/status" = { not = "cancelled" } }"#), "\(found.toml)")
    #expect(found.toml.contains(#"# done = "/isLast""#), "\(found.toml)")
  }
}
