import RosterCore
import RosterDecode
import Testing

private func child(_ resource: Resource) -> Resource {
  var child = resource
  child.each = Each(of: "page")
  return child
}

private func detail(
  _ columns: [Resource.Column] = [.init("name", at: at("/name"))], records: String = "",
  shape: Resource.Shape = .objects, names: String = "", where conditions: [Resource.Condition] = []
) -> Resource {
  var detail = child(resource(columns, where: conditions, records: records, pages: .init(.record)))
  detail.shape = shape
  detail.rowNames = at(names)
  return detail
}

/// Records of children, and pages of the style `record`.
@Suite struct ChildTests {
  @Test("8: a key of a child is read as the key of any other record")
  func keys() throws {
    let numbers = child(resource([idColumn, .init("b", at: at("/b"))], where: [.init(at("/s"), .absent)]))
    let (scan, decoded) = try Decoded.page(
      #"[{"id":5,"b":"x"},{"id":0},{"id":7,"b":3},{"id":null},{"id":9,"s":1}]"#, resource: numbers)
    #expect(Decoded.keys(scan.keys) == ["5", "0"] && Decoded.keys(scan.skippedKeys) == ["9"])
    #expect(scan.rejectsOfUnknownKey == 1 && Decoded.keys(scan.rejectedKeys) == ["7"])
    #expect(decoded.records.map(\.key) == ["5", "0"] && decoded.rejects.map(\.key) == ["7", nil])
    let texts = child(resource(key: "/n", [.init("n", at: at("/n"))]))
    let other = try Decoded.page(#"[{"n":"a\"b"},{"n":"é"},{"n":""}]"#, resource: texts)
    #expect(Decoded.keys(other.scan.keys, isText: true) == [#"a"b"#, "é"] && other.scan.rejects == 1)
    #expect(try RecordPlan(texts).hasTextKeys && !RecordPlan(numbers).hasTextKeys && !RecordPlan(numbers).isDetail)
  }

  @Test("52: the answer is the detail of its parent, and null is no record")
  func details() throws {
    let (scan, decoded) = try Decoded.page(#" {"name":"a","x":[1, 2]} "#, resource: detail())
    #expect(scan.records == 1 && Decoded.keys(scan.keys) == ["1"] && scan.storable == 1)
    #expect(decoded.records == [.init(key: "1", columns: ["a"], extra: #"{"x":[1,2]}"#)])
    for none in [#"{"r":null}"#, #" { "r" : null , "q" : 1 }"#] {
      let (scan, decoded) = try Decoded.page(none, resource: detail(records: "/r"))
      #expect(scan.records == 0 && scan.keys.count == 0 && decoded == Decoded())
    }
    #expect(try Decoded.page("null", resource: detail()).scan.records == 0)
    #expect(try Decoded.page("\u{FEFF}null", resource: detail()).scan.records == 0)
    let deep = try Decoded.page(#"{"r":1,"d":{"r":{"name":"b"}}}"#, resource: detail(records: "/d/r"))
    #expect(deep.decoded.records.map(\.columns) == [["b"]])
    let plan = try RecordPlan(detail())
    #expect(plan.isDetail && !plan.hasTextKeys)
  }

  @Test("52: a detail that cannot be stored, or that where excludes, has the key too")
  func rejected() throws {
    let wrong = try Decoded.page(#"{"name":7}"#, resource: detail())
    #expect(wrong.scan.rejects == 1 && wrong.scan.rejectsOfUnknownKey == 0)
    #expect(Decoded.keys(wrong.scan.rejectedKeys) == ["1"] && wrong.decoded.rejects.map(\.key) == ["1"])
    let gone = try Decoded.page(
      #"{"name":"a","deleted":true}"#, resource: detail(where: [.init(at("/deleted"), .absent)]))
    #expect(gone.scan.skipped == 1 && Decoded.keys(gone.scan.skippedKeys) == ["1"] && gone.decoded == Decoded())
  }

  @Test(
    "52: an answer without a record in its place is malformed",
    arguments: [
      ("[]", ""), ("7", ""), ("\"x\"", ""), (#"{"a":1}"#, "/r"), (#"{"r":[{"name":"a"}]}"#, "/r"), ("", ""),
      ("{} {}", ""),
      (#"{"r":{"name":"a"}"#, "/r"),
    ])
  func malformed(body: String, records: String) {
    #expect(throws: Malformed.self) { try Decoded.page(body, resource: detail(records: records)) }
  }

  @Test("52: one record of each shape")
  func shapes() throws {
    let value = [Resource.Column("v", at: at("/value"), .json)]
    for (body, found) in [("7", "7"), ("[1, [2]]", "[1,[2]]"), ("\"null\"", "\"null\""), ("\n[]", "[]")] {
      #expect(
        try Decoded.page(body, resource: detail(value, shape: .values)).decoded.records.map(\.columns) == [[found]])
    }
    #expect(try Decoded.page("null", resource: detail(value, shape: .values)).scan.records == 0)
    let pair = [Resource.Column("id", at: at("/@key")), Resource.Column("t", at: at("/t"))]
    let map = detail(pair, records: "/p", shape: .map)
    #expect(
      try Decoded.page(#"{"p":{"12":{"t":"x"}}}"#, resource: map).decoded.records.map(\.columns) == [["12", "x"]])
    for none in [#"{"p":{}}"#, #"{"p":[]}"#, #"{"p":null}"#] {
      #expect(try Decoded.page(none, resource: map).scan.records == 0)
    }
    #expect(throws: Malformed.self) { try Decoded.page(#"{"p":{"1":{},"2":{}}}"#, resource: map) }
    let named = [Resource.Column("a", at: at("/a"), .integer), Resource.Column("b", at: at("/b"))]
    let row = detail(named, records: "/row", shape: .rows, names: "/names")
    let rows = try Decoded.page(#"{"names":["a","b","c"],"row":[1,"x",true]}"#, resource: row)
    #expect(rows.decoded.records.map(\.columns) == [["1", "x"]])
    #expect(rows.decoded.records.map(\.extra) == [#"{"c":true}"#])
    #expect(try Decoded.page(#"{"row":null}"#, resource: row).scan.records == 0)
    #expect(throws: Malformed.self) { try Decoded.page(#"{"names":["a"],"row":{"a":1}}"#, resource: row) }
    let numbered = detail([.init("a", at: at("/0"), .integer)], shape: .rows)
    #expect(try Decoded.page("[5, 6]", resource: numbered).decoded.records.map(\.columns) == [["5"]])
  }

  @Test("A page of the record style without each is a list of one record with its own key")
  func oneRecord() throws {
    let one = resource([idColumn], records: "/r", pages: .init(.record))
    let (scan, decoded) = try Decoded.page(#"{"r":{"id":4}}"#, resource: one)
    #expect(Decoded.keys(scan.keys) == ["4"] && decoded.records.map(\.key) == ["4"])
    #expect(try Decoded.page(#"{"r":{"id":null}}"#, resource: one).scan.rejectsOfUnknownKey == 1)
    #expect(try Decoded.page(#"{"r":null}"#, resource: one).scan.records == 0)
    #expect(try RecordPlan(one).isDetail == false)
  }

  @Test("13: an answer for one key of a child has the value of the key")
  func answers() throws {
    var values = child(resource(key: "/value", [.init("id", at: at("/value"))]))
    values.shape = .values
    var decoder = RecordDecoder(try RecordPlan(values))
    #expect(try decoder.body(of: "a", answer: Array("{}".utf8)) == Array(#"["a"]"#.utf8))
    var map = child(resource(key: "/@key", [.init("id", at: at("/@key")), .init("t", at: at("/t"))]))
    map.shape = .map
    var other = RecordDecoder(try RecordPlan(map))
    let body = try #require(try other.body(of: "a/b", answer: Array(#"{"t":"x"}"#.utf8)))
    #expect(String(decoding: body, as: UTF8.self) == #"{"a/b":{"t":"x"}}"#)
    #expect(Decoded.keys(try other.scan(answer: body, isWhole: true).keys, isText: true) == ["a/b"])
  }
}
