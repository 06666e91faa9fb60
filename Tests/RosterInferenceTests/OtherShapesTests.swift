import RosterModel
import Testing

@testable import RosterInference

/// Lists whose elements are not objects: a definition cannot read them.
@Suite struct OtherShapesTests {
  private func finding(_ body: String) throws -> Finding {
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
    "An answer with lists of another shape only is refused (65) with place and shape of the longest",
    arguments: [
      (#"{"rows":[[1,"a"],[2,"b"]],"columns":["id","name"]}"#, "/rows has 2 elements that are arrays"),
      (#"{"names":["a","b","c"]}"#, "/names has 3 elements that are not objects"),
      (#"{"1":{"id":1},"2":{"id":2}}"#, "the answer has 2 members that look like records"),
      ("[[1],[2]]", "the answer has 2 elements that are arrays"),
    ])
  func refused(body: String, clause: String) throws {
    let failure = try failure(body)
    #expect(failure.kind == .badAnswer && failure.description.contains(clause), "\(failure)")
  }
}
