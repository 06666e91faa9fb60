import RosterCore
import RosterDecode
import RosterTestSupport
import Testing

private func shaped(
  _ shape: Resource.Shape, columns: [Resource.Column], key: String, names: String = "", records: String = "/r",
  lists: [Resource.List] = [], where conditions: [Resource.Condition] = [], pages: Resource.Pages = .init(.one)
) -> Resource {
  var resource = resource(key: key, columns, lists: lists, where: conditions, records: records, pages: pages)
  resource.shape = shape
  resource.rowNames = at(names)
  return resource
}

private func text(_ name: String, place: String) -> Resource.Column { .init(name, at: at(place), isNullable: true) }
private func integer(_ name: String, place: String) -> Resource.Column { .init(name, at: at(place), .integer) }
private func json(_ name: String, place: String) -> Resource.Column { .init(name, at: at(place), .json) }

/// Records that are no objects: each must be read as an object.
@Suite struct ShapeTests {
  /// Reads a body by its shape, and the same records as objects.
  private func expectSame(
    _ shapedBody: String, objects: String, resource: Resource, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    var plain = resource
    plain.shape = .objects
    plain.rowNames = JSONPointer()
    let (scan, decoded) = try Decoded.page(shapedBody, resource: resource)
    let (other, expected) = try Decoded.page(objects, resource: plain)
    #expect(decoded.records == expected.records, sourceLocation: sourceLocation)
    #expect(decoded.rejects.map(\.key) == expected.rejects.map(\.key), sourceLocation: sourceLocation)
    #expect(decoded.rejects.map(\.reason) == expected.rejects.map(\.reason), sourceLocation: sourceLocation)
    #expect(
      (scan.records, scan.rejects, scan.skipped) == (other.records, other.rejects, other.skipped),
      sourceLocation: sourceLocation)
    #expect(scan.keys == other.keys && scan.rejectedKeys == other.rejectedKeys, sourceLocation: sourceLocation)
    #expect(scan.at == other.at || scan.at.kind == other.at.kind, sourceLocation: sourceLocation)
  }

  @Test("52: an element that is not an object is read as its value")
  func values() throws {
    let numbers = shaped(.values, columns: [integer("id", place: "/value")], key: "/value")
    try expectSame(
      #"{"r":[8863, 1 ,2]}"#, objects: #"{"r":[{"value":8863},{"value":1},{"value":2}]}"#, resource: numbers)
    try expectSame(
      #"{"r":["a","é\n",null,{"value":"x","more":[1]},7]}"#,
      objects: #"{"r":[{"value":"a"},{"value":"é\n"},{"value":null},{"value":"x","more":[1]},{"value":7}]}"#,
      resource: shaped(.values, columns: [text("id", place: "/value")], key: "/value"))
    // Fields without a column are in extra.
    try expectSame(
      #"{"r":[{"id":1}, "b", [1, 2]]}"#, objects: #"{"r":[{"id":1},{"value":"b"},{"value":[1, 2]}]}"#,
      resource: shaped(.values, columns: [integer("id", place: "/id")], key: "/id"))
    let deep = shaped(.values, columns: [text("id", place: "/value/0"), json("all", place: "/value")], key: "/value/0")
    try expectSame(#"{"r":[["a", 1],["b"]]}"#, objects: #"{"r":[{"value":["a", 1]},{"value":["b"]}]}"#, resource: deep)
  }

  @Test("52: each member of a map is a record with the member's name as @key")
  func map() throws {
    let pages = shaped(.map, columns: [text("id", place: "/@key"), text("title", place: "/title")], key: "/@key")
    try expectSame(
      #"{"r":{ "7" : {"title":"A", "z":1,"B":2}, "\u0061\"b":{"x":{}},"c":[1, 2],"d":"text","e":null}}"#,
      objects:
        #"{"r":[{"@key":"7","title":"A","z":1,"B":2},{"@key":"\u0061\"b","x":{}},{"@key":"c","value":[1, 2]},{"@key":"d","value":"text"},{"@key":"e","value":null}]}"#,
      resource: pages)
    try expectSame(
      #"{"r":{"x":{"id":1,"A":1,"Z":2,"é":3},"y":{"id":2}, "k":5}}"#,
      objects: #"{"r":[{"@key":"x","id":1,"A":1,"Z":2,"é":3},{"@key":"y","id":2},{"@key":"k","value":5}]}"#,
      resource: shaped(.map, columns: [integer("id", place: "/id")], key: "/id"))
    for empty in [#"{"r":{}}"#, #"{"r":[]}"#, #"{"r": [ ] }"#] {
      let (scan, decoded) = try Decoded.page(empty, resource: pages)
      #expect(scan.records == 0 && decoded == Decoded())
    }
    for odd in [#"{"r":[1]}"#, #"{"r":7}"#, "{}", #"{"r":{"a":1,}}"#] {
      #expect(throws: Malformed.self, "\(odd)") { try Decoded.page(odd, resource: pages) }
    }
  }

  @Test("52: a map may be the whole answer, or lie deep in it beside what the pages need")
  func mapPlaces() throws {
    var whole = shaped(.map, columns: [text("id", place: "/@key")], key: "/@key", records: "")
    #expect(try Decoded.page(#"{"b":1,"a":{}}"#, resource: whole).decoded.records.map(\.key) == ["b", "a"])
    whole.records = at("/query/pages")
    whole.pages = .init(.cursor(param: .everyMember, at: .body(at("/continue"))), count: .body(at("/query/n")))
    let body = #"{"continue":{"g":"x"},"query":{"n":3,"pages":{"b":{"a":1}}}}"#
    let (scan, decoded) = try Decoded.page(body, resource: whole)
    #expect(scan.count.kind == .integer(3) && scan.at.kind == .members([.init("g", .text("x"))]))
    #expect(decoded.records.map(\.key) == ["b"] && decoded.records[0].extra == #"{"a":1}"#)
  }

  @Test("18, 52: a name that occurs twice is a key that occurs twice")
  func twice() throws {
    let (scan, _) = try Decoded.page(
      #"{"r":{"a":1,"a":2}}"#, resource: shaped(.map, columns: [text("id", place: "/@key")], key: "/@key"))
    #expect(Decoded.keys(scan.keys, isText: true) == ["a", "a"])
  }

  @Test("52: a value of a map that has a member @key itself is rejected, with its name as key")
  func ownName() throws {
    let (scan, decoded) = try Decoded.page(
      #"{"r":{"a":{"@key":"b"},"c":{"@key":null},"d":{}}}"#,
      resource: shaped(.map, columns: [text("id", place: "/@key")], key: "/@key"))
    #expect(scan.rejects == 2 && scan.rejectsOfUnknownKey == 0)
    #expect(Decoded.keys(scan.rejectedKeys, isText: true) == ["a", "c"])
    #expect(decoded.rejects.map(\.reason) == Array(repeating: "it has a member @key of its own", count: 2))
    #expect(decoded.records.map(\.key) == ["d"])
  }

  @Test("4, 52: the values of a row are called by their number; what no column takes is in extra by it")
  func rows() throws {
    let rows = shaped(
      .rows, columns: [integer("id", place: "/1"), text("name", place: "/0"), text("deep", place: "/2/a")], key: "/1")
    try expectSame(
      #"{"r":[["x",1],["y\n", 2 ,{"a":"d","b":1}, 3,[1, 2],null],[null,3]]}"#,
      objects:
        #"{"r":[{"0":"x","1":1},{"0":"y\n","1":2,"2":{"a":"d","b":1},"3":3,"4":[1, 2],"5":null},{"0":null,"1":3}]}"#,
      resource: rows
    )
    let long = (0..<120).map { "\($0 + 1)" }
    let object = long.enumerated().map { "\"\($0)\":\($1)" }.joined(separator: ",")
    try expectSame(
      #"{"r":[[\#(long.joined(separator: ","))]]}"#, objects: #"{"r":[{\#(object)}]}"#,
      resource: shaped(.rows, columns: [integer("id", place: "/7")], key: "/7"))
    let (_, decoded) = try Decoded.page(#"{"r":[["a",1,null,4]]}"#, resource: rows)
    #expect(decoded.records.map(\.extra) == [#"{"3":4}"#])
  }

  @Test("52: an element that is not a list is rejected")
  func notARow() throws {
    let (scan, decoded) = try Decoded.page(
      #"{"r":[{"0":1},7,[2]]}"#, resource: shaped(.rows, columns: [integer("id", place: "/0")], key: "/0"))
    #expect(scan.rejects == 2 && scan.rejectsOfUnknownKey == 2)
    #expect(decoded.rejects.map(\.reason) == Array(repeating: "the record is not a list", count: 2))
    #expect(decoded.rejects.map(\.document) == [#"{"0":1}"#, "7"] && decoded.records.map(\.key) == ["2"])
  }

  @Test("52: with row_names a value is called by its name, wherever the names are", arguments: [true, false])
  func names(areFirst: Bool) throws {
    let named = shaped(
      .rows, columns: [integer("id", place: "/id"), text("b", place: "/b"), json("tags", place: "/tags")], key: "/id",
      names: "/meta/names",
      lists: [.init(table: "l", at: at("/items"), columns: [.init("v", at: at("/v"))])])
    let names = #""meta":{"names":["b","i\u0064","n\"x","tags","items","a"]}"#
    let rows = #""r":[["x",1,2,[ 1],[{"v":"p","w":1}],5],["y",2],[null,3,null,{"q" : 1}]]"#
    try expectSame(
      areFirst ? "{\(names),\(rows)}" : "{\(rows),\(names)}",
      objects:
        #"{"r":[{"b":"x","id":1,"n\"x":2,"tags":[ 1],"items":[{"v":"p","w":1}],"a":5},{"b":"y","id":2},{"b":null,"id":3,"n\"x":null,"tags":{"q" : 1}}]}"#,
      resource: named)
    // Other names in the next answer.
    var decoder = RecordDecoder(try RecordPlan(named))
    for (names, row, key) in [
      (#"["id"]"#, "[4]", "4"), (#"["x","id"]"#, "[4,5]", "5"),
      (#"[{"type":"s","name":"x"},{"name":"id"}]"#, "[4,6]", "6"),
    ] {
      let body = Array(#"{"meta":{"names":\#(names)},"r":[\#(row)]}"#.utf8)
      let scan = try decoder.scan(page: body)
      #expect(try Decoded.read(body, scan: scan, decoder: &decoder).records.map(\.key) == [key])
    }
  }

  @Test("52: names that are no list of different texts are malformed; a row with more values is rejected")
  func oddNames() throws {
    let named = shaped(
      .rows, columns: [integer("id", place: "/id"), text("b", place: "/b")], key: "/id", names: "/names")
    for names in [
      #"["id","id"]"#, #"["id","\u0069d"]"#, #"["id",1]"#, #"{"id":1}"#, "null", #""id""#, #"[{"title":"id"}]"#,
    ] {
      #expect(throws: Malformed.self, "\(names)") {
        try Decoded.page(#"{"names":\#(names),"r":[[1]]}"#, resource: named)
      }
    }
    #expect(throws: Malformed.self) { try Decoded.page(#"{"r":[[1]]}"#, resource: named) }
    let (scan, decoded) = try Decoded.page(#"{"names":["id","b"],"r":[[1,"x",2],[2],[],[3,"x"]]}"#, resource: named)
    #expect(scan.rejects == 2 && scan.rejectsOfUnknownKey == 1)
    #expect(decoded.rejects.map(\.key) == ["1", nil])
    #expect(decoded.rejects.map(\.reason) == ["it has more values than /names has names", "id is missing"])
    #expect(decoded.records.map(\.columns) == [["2", nil], ["3", "x"]])
  }

  @Test("13: an answer for one key without a row needs no names; one with a row does")
  func answerWithoutRow() throws {
    var named = shaped(.rows, columns: [integer("id", place: "/id")], key: "/id", names: "/names")
    (named.byKey, named.byKeyRecords) = ("/r/{key}", at("/r"))
    var decoder = RecordDecoder(try RecordPlan(named))
    for body in [#"{"r":[]}"#, #"{"r":[ ]}"#, #"{"r":null}"#] {
      #expect(try decoder.scan(answer: Array(body.utf8)).records == 0, "\(body)")
    }
    #expect(throws: Malformed.self) { try decoder.scan(answer: Array(#"{"r":[[1]]}"#.utf8)) }
    #expect(try decoder.scan(answer: Array(#"{"r":[[1]],"names":["id"]}"#.utf8)).keys.count == 1)
  }

  @Test("52: conditions and the value of the last record are those of the record's object")
  func places() throws {
    let after = { (place: String) in Resource.Pages(.after(param: .query("a"), at: at(place))) }
    try expectSame(
      #"{"r":[1,2]}"#, objects: #"{"r":[{"value":1},{"value":2}]}"#,
      resource: shaped(
        .values, columns: [integer("id", place: "/value")], key: "/value",
        where: [.init(at("/value"), .equal(.integer(2)))],
        pages: after("/value")))
    try expectSame(
      #"{"r":{"a":{"n":1},"b":{"n":2}}}"#, objects: #"{"r":[{"@key":"a","n":1},{"@key":"b","n":2}]}"#,
      resource: shaped(
        .map, columns: [text("id", place: "/@key")], key: "/@key", where: [.init(at("/@key"), .differs([.text("a")]))],
        pages: after("/@key")))
    try expectSame(
      #"{"r":{"a":{"n":1},"b":{"n":2}}}"#, objects: #"{"r":[{"@key":"a","n":1},{"@key":"b","n":2}]}"#,
      resource: shaped(.map, columns: [text("id", place: "/@key")], key: "/@key", pages: after("/n")))
    try expectSame(
      #"{"r":[["a",1],["b",2]]}"#, objects: #"{"r":[{"0":"a","1":1},{"0":"b","1":2}]}"#,
      resource: shaped(
        .rows, columns: [integer("id", place: "/1")], key: "/1", where: [.init(at("/0"), .equal(.text("b")))],
        pages: after("/1")))
    try expectSame(
      #"{"r":[["a",1],["b",2]],"names":["n","id"]}"#, objects: #"{"r":[{"n":"a","id":1},{"n":"b","id":2}]}"#,
      resource: shaped(.rows, columns: [integer("id", place: "/id")], key: "/id", names: "/names", pages: after("/id")))
  }

  @Test("13: an answer for one key becomes a map of that name, or a list of that key")
  func answers() throws {
    func body(_ resource: Resource, key: String, answer: String) throws -> String? {
      var decoder = RecordDecoder(try RecordPlan(resource))
      return try decoder.body(of: key, answer: Array(answer.utf8)).map { String(decoding: $0, as: UTF8.self) }
    }
    var map = shaped(.map, columns: [text("id", place: "/@key")], key: "/@key")
    #expect(try body(map, key: "a\"b", answer: #" {"x": 1} "#) == #"{"a\"b":{"x": 1}}"#)
    #expect(try body(map, key: "a", answer: "null") == nil && body(map, key: "a", answer: "[ ]") == nil)
    map.byKeyRecords = at("/data")
    #expect(try body(map, key: "a", answer: #"{"data":[1]}"#) == #"{"a":[1]}"#)
    #expect(throws: Malformed.self) { try body(map, key: "a", answer: "{}") }
    let numbers = shaped(.values, columns: [integer("id", place: "/value")], key: "/value")
    #expect(
      try body(numbers, key: "12", answer: #"{"id":12,"title":"x"}"#) == "[12]"
        && body(numbers, key: "12", answer: "null") == nil)
    #expect(
      try body(shaped(.values, columns: [text("id", place: "/value")], key: "/value"), key: "é", answer: "[]")
        == #"["é"]"#)
  }

  @Test("13: an empty list where a list answers for one value means that the value was not found")
  func emptyAnswers() throws {
    func isFound(_ answer: String, records: JSONPointer = JSONPointer(), byKey: String) throws -> Bool {
      var numbers = shaped(.values, columns: [integer("id", place: "/value")], key: "/value")
      (numbers.byKey, numbers.byKeyRecords) = (byKey, records)
      var decoder = RecordDecoder(try RecordPlan(numbers))
      return try decoder.body(of: "12", answer: Array(answer.utf8)) != nil
    }
    #expect(try !isFound("[]", byKey: "/things?ids={keys}") && isFound("[12]", byKey: "/things?ids={keys}"))
    #expect(try !isFound(#"{"data":[ ]}"#, records: at("/data"), byKey: "/things/{key}"))
    #expect(try isFound("[]", byKey: "/things/{key}"))
  }

  @Test("52: random records of each shape are read as their objects")
  func random() throws {
    var random = SeededDice(seed: 24)
    let names = ["a", "id", "z", "é", "0", "10", "value", "x\\\"y"]
    let values = ["1", "null", #""t""#, #""\u00e9\n""#, "[ 1, 2]", #"{"b" : 1,"a":[]}"#, "true", "1.50", "{}", "[]"]
    for _ in 0..<300 {
      let columns = names.indices.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }.map {
        json("c\($0)", place: "/\(names[$0].replacing("\\\"", with: "\""))")
      }
      let header = names.shuffled(using: &random)
      let rows = (1...4).map { id in header.map { $0 == "id" ? "\(id)" : values.randomElement(using: &random) ?? "1" } }
      let objects = rows.map { row in "{\(zip(header, row).map { "\"\($0)\":\($1)" }.joined(separator: ", "))}" }
      let all = #"{"r":[\#(objects.joined(separator: ","))]}"#
      let key = columns.contains { $0.at == at("/id") } ? columns.filter { $0.at != at("/id") } : columns
      let list = rows.map { "[\($0.joined(separator: " ,"))]" }.joined(separator: ",")
      let written = header.map { "\"\($0)\"" }.joined(separator: ",")
      try expectSame(
        #"{"r":[\#(list)],"names":[\#(written)]}"#, objects: all,
        resource: shaped(.rows, columns: [integer("id", place: "/id")] + key, key: "/id", names: "/names"))
      let members = objects.enumerated().map { "\"k\($0)\": \($1)" }.joined(separator: ",")
      let named = objects.enumerated().map { "{\"@key\":\"k\($0)\",\($1.dropFirst())" }.joined(separator: ",")
      try expectSame(
        #"{"r":{\#(members)}}"#, objects: #"{"r":[\#(named)]}"#,
        resource: shaped(.map, columns: [text("k", place: "/@key")] + columns, key: "/@key"))
    }
  }
}
