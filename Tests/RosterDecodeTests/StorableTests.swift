import RosterCore
import RosterDecode
import Testing

private func column(_ type: Resource.ColumnType, isNullable: Bool = false) -> Resource {
  resource([idColumn, Resource.Column("v", at: at("/v"), type, isNullable: isNullable)])
}

private func stored(_ record: String, resource: Resource) throws -> [String?] {
  let (scan, decoded) = try Decoded.page("[\(record)]", resource: resource)
  #expect(scan.storable == 1 && decoded.rejects.isEmpty, "\(record): \(decoded.rejects)")
  return try #require(decoded.records.first).columns
}

/// The reason for which a record is rejected.
private func reason(_ record: String, resource: Resource) throws -> String {
  let (scan, decoded) = try Decoded.page(#"[\#(record)]"#, resource: resource)
  #expect(scan.rejects == 1 && scan.storable == 0)
  let reject = try #require(decoded.rejects.first)
  #expect(reject.document == record)
  #expect((reject.key == nil) == (scan.rejectsOfUnknownKey == 1))
  #expect(Decoded.keys(scan.rejectedKeys, isText: resource.key == at("/slug")) == [reject.key].compactMap(\.self))
  return reject.reason
}

@Suite struct StorableTests {
  @Test(
    "6: each type of column takes its values, null and absent",
    arguments: [
      (.text, #""a\u00fc\"b""#, "aü\"b"), (.text, #""""#, ""), (.text, "null", ""),
      (.integer, "0", "0"), (.integer, "-9223372036854775808", "-9223372036854775808"),
      (.integer, "9223372036854775807", "9223372036854775807"), (.integer, "null", nil),
      (.integer, #""12""#, "12"), (.integer, #""-7""#, "-7"), (.integer, #""0""#, "0"),
      (.integer, #""-9223372036854775808""#, "-9223372036854775808"), (.integer, "12.0", "12"),
      (.integer, "-3.00", "-3"), (.integer, #""\u0031\u0032""#, "12"), (.integer, #""\u002d7""#, "-7"),
      (.integer, #""1\u00300""#, "100"), (.integer, #""922337203685477580\u0037""#, "9223372036854775807"),
      (.real, "1", "1.0"), (.real, "-1.5e2", "-150.0"), (.real, "123456789012345678901", "1.2345678901234568e+20"),
      (.real, "null", nil), (.boolean, "true", "true"), (.boolean, "false", "false"), (.boolean, "null", nil),
      (.json, #"{ "b" : [ 1.10 , " x " ] , "a":1 }"#, #"{"b":[1.10," x "],"a":1}"#),
      (.json, #""\u00e9""#, #""\u00e9""#),
      (.timestamp, #""2026-01-01T10:00:00.5+01:00""#, "2026-01-01T10:00:00.5+01:00"), (.timestamp, "null", nil),
      (.timestamp, #""2026-01-01 10:00""#, "2026-01-01 10:00"), (.timestamp, #""9999-12-31""#, "9999-12-31"),
      (.timestamp, #""2026\u002d01-01T10:00:00Z""#, "2026-01-01T10:00:00Z"),
      (.json, "1e2", "1e2"), (.json, "null", nil), (.json, "[]", "[]"), (.json, "true", "true"),
    ] as [(Resource.ColumnType, String, String?)])
  func types(type: Resource.ColumnType, json: String, value: String?) throws {
    #expect(try stored(#"{"id":1,"v":\#(json)}"#, resource: column(type)) == ["1", value])
  }

  @Test("Members are found by their whole names, whatever order and white space each record has")
  func order() throws {
    let names = ["abcdefgh1", "abcdefgh2", "abcdefgh", "abc", ""]
    let columns = names.enumerated().map {
      Resource.Column("c\($0)", at: JSONPointer(segments: [$1]), .json, isNullable: true)
    }
    func member(_ index: Int, _ space: String = "") -> String { "\"\(names[index])\"\(space):\"\(index)\"" }
    let orders = [[0, 1, 2, 3, 4], [1, 0, 4, 3, 2], [2, 3], [4], [3, 0, 1], [0, 1, 2, 3, 4], [1, 1, 0]]
    for space in ["", " "] {
      let records = orders.enumerated().map { id, order in
        let members = ["\"id\":\(id + 1)"] + order.map { member($0, space) } + ["\"abcdefgh3\":3"]
        return "{\(members.joined(separator: ","))}"
      }
      let (_, decoded) = try Decoded.page(
        "[\(records.joined(separator: ","))]", resource: resource([idColumn] + columns))
      for (id, order) in orders.enumerated() {
        let values = names.indices.map { order.contains($0) ? "\"\($0)\"" : nil }
        #expect(decoded.records[id].columns == ["\(id + 1)"] + values)
        #expect(decoded.records[id].extra == "{\"abcdefgh3\":3}")
      }
    }
  }

  @Test("6: an absent column is '' if it is text, otherwise NULL; a nullable text is NULL")
  func absent() throws {
    for type in Resource.ColumnType.allCases {
      #expect(try stored(#"{"id":1}"#, resource: column(type)) == ["1", type == .text ? "" : nil])
    }
    #expect(try stored(#"{"id":1}"#, resource: column(.text, isNullable: true)) == ["1", nil])
    #expect(try stored(#"{"id":1,"v":null}"#, resource: column(.text, isNullable: true)) == ["1", nil])
    #expect(try stored(#"{"id":1,"v":""}"#, resource: column(.text, isNullable: true)) == ["1", ""])
  }

  @Test(
    "5, 6: a value of another type is a reject with its key and its reason",
    arguments: [
      (.text, ["1", "true", "[]", "{}"], "v is not a string"),
      (
        .integer,
        [
          "1.5", "1.0e0", "1e0", "9223372036854775808.0", "9223372036854775808", "-9223372036854775809", "true", "[1]",
          #""""#, #""x""#, #""1.0""#,
          #"" 1""#, #""+1""#, #""01""#, #""-""#, #""9223372036854775808""#, #""100000000000000000000""#,
        ], "v is not an integer of 64 bits"
      ),
      (.real, [#""1 ""#, #""\u0031""#, "false", "1e400", "{}"], "v is not a number that a Double holds"),
      (.boolean, ["2", #""on""#, "[]"], "v is not true or false"),
      (
        .timestamp,
        [
          #""""#, #""never""#, "1767261600", #""0000-01-01T00:00:00Z""#, #""2026-02-30T00:00:00Z""#,
          #""2026-01-01T00:00:00+16:00""#, #""2026-01-01T00:00:00Z ""#, "[]",
        ], "v is not a time such as 2026-01-01T10:00:00Z"
      ),
    ] as [(Resource.ColumnType, [String], String)])
  func wrongTypes(type: Resource.ColumnType, values: [String], expected: String) throws {
    for value in values {
      #expect(try reason(#"{"id":1,"v":\#(value)}"#, resource: column(type)) == expected, "\(value)")
    }
  }

  @Test("6: an integer key is any integer of 64 bits, a text key a string that is not empty")
  func keys() throws {
    let integers = resource([idColumn])
    for key in ["1.5", "1e0", "9223372036854775808", "-9223372036854775809", #""9223372036854775808""#] {
      #expect(try reason(#"{"id":\#(key)}"#, resource: integers) == "id is not an integer of 64 bits")
    }
    #expect(try reason("{}", resource: integers) == "id is missing")
    #expect(try reason("7", resource: integers) == "the record is not an object")
    for key in ["9223372036854775807", "-9223372036854775808", "0", "-1"] {
      for json in [key, "\"\(key)\""] {
        let (scan, decoded) = try Decoded.page(#"[{"id":\#(json)}]"#, resource: integers)
        #expect(Decoded.keys(scan.keys) == [key] && decoded.records == [.init(key: key, columns: [key])])
      }
    }

    let texts = resource(key: "/slug", [Resource.Column("slug", at: at("/slug"))])
    #expect(try reason(#"{"slug":""}"#, resource: texts) == "slug is not a string that is not empty")
    let (scan, decoded) = try Decoded.page(#"[{"slug":"a\u0000b"},{"slug":"é"},{"slug":"\u00e9"}]"#, resource: texts)
    #expect(Decoded.keys(scan.keys, isText: true) == ["a\0b", "é", "é"])
    #expect(decoded.records.map(\.key) == ["a\0b", "é", "é"])
  }

  @Test(
    "6: a text key with half of a surrogate pair is a reject without a key, because different ones would be one key",
    arguments: [#"\ud800"#, #"\udc00"#, #"a\ud800b"#, #"\ud800\u0061"#, #"\ud800\ud801\udc37"#])
  func halfPairs(key: String) throws {
    let texts = resource(key: "/slug", [Resource.Column("slug", at: at("/slug"))])
    let half = #"has half of a surrogate pair, such as \ud800, which is no character"#
    #expect(try reason(#"{"slug":"\#(key)"}"#, resource: texts) == "slug \(half)")
    var composite = resource(key: "/slug", [Resource.Column("slug", at: at("/slug")), idColumn])
    composite.otherKeys = [at("/id")]
    #expect(
      try reason(#"{"slug":"\#(key)","id":1}"#, resource: composite) == "slug, a part of the key, \(half)")
    let whole = try Decoded.page(#"[{"slug":"\ud801\udc37"},{"slug":"\\ud800"}]"#, resource: texts).0
    #expect(Decoded.keys(whole.keys, isText: true) == ["\u{10437}", #"\ud800"#])
  }

  @Test("6: the reason names the type of a key that its column does not take")
  func mistypedKeys() throws {
    let integers = resource([idColumn])
    for (key, kind) in [
      (#""x""#, "a string"), (#""7.0""#, "a string"), (#""""#, "a string"), ("null", "null"), ("[]", "a list"),
      ("true", "a boolean"), ("false", "a boolean"),
    ] {
      #expect(try reason(#"{"id":\#(key)}"#, resource: integers) == "id is \(kind), and its column is integer")
    }
    let texts = resource(key: "/slug", [Resource.Column("slug", at: at("/slug"))])
    for (key, kind) in [("7", "a number"), ("1.5", "a number"), ("null", "null"), ("{}", "an object")] {
      #expect(try reason(#"{"slug":\#(key)}"#, resource: texts) == "slug is \(kind), and its column is text")
    }
  }

  @Test("5: a reject whose text key has escapes has the decoded key")
  func escapedRejectKey() throws {
    let texts = resource(key: "/slug", [Resource.Column("slug", at: at("/slug")), Resource.Column("n", at: at("/n"))])
    let (scan, decoded) = try Decoded.page(#"[{"slug":"\u0061","n":1}]"#, resource: texts)
    #expect(Decoded.keys(scan.rejectedKeys, isText: true) == ["a"])
    #expect(decoded.rejects.map(\.key) == ["a"])
  }

  @Test("6: an object on the way to a column is an object, empty or absent; a list if an element is addressed")
  func ways() throws {
    let nested = resource([
      idColumn, Resource.Column("u", at: at("/user/login")), Resource.Column("l", at: at("/labels/1/name")),
    ])
    #expect(try stored(#"{"id":1,"user":null,"labels":null}"#, resource: nested) == ["1", "", ""])
    #expect(
      try stored(#"{"id":1,"user":{"login":"x"},"labels":[{},{"name":"b"}]}"#, resource: nested) == ["1", "x", "b"])
    #expect(try stored(#"{"id":1,"labels":[7]}"#, resource: nested) == ["1", "", ""])
    #expect(try stored(#"{"id":1,"labels":{"1":{"name":"c"}}}"#, resource: nested) == ["1", "", "c"])
    for value in ["1", #""x""#, "[0]", "[[]]", "true", #"" ""#] {
      #expect(try reason(#"{"id":1,"user":\#(value)}"#, resource: nested) == "user is not an object")
    }
    for value in ["[]", "[ ]", "false", #""""#, "{}"] {
      #expect(try stored(#"{"id":1,"user":\#(value),"labels":\#(value)}"#, resource: nested) == ["1", "", ""])
      #expect(try stored(#"{"id":1,"labels":[0,\#(value)]}"#, resource: nested) == ["1", "", ""])
      for (other, extra) in [("", nil), (#","z":1"#, #"{"z":1}"#)] {
        let user = resource([idColumn, Resource.Column("u", at: at("/user/login"))])
        let (_, decoded) = try Decoded.page(#"[{"id":1,"user":\#(value)\#(other)}]"#, resource: user)
        #expect(decoded.records.map(\.extra) == [extra], "\(value)")
      }
    }
    let flagged = resource([
      idColumn, Resource.Column("f", at: at("/user"), .boolean), Resource.Column("u", at: at("/user/login")),
    ])
    #expect(try stored(#"{"id":1,"user":false}"#, resource: flagged) == ["1", "false", ""])
    for value in ["0", #""no""#, "true"] {
      #expect(try reason(#"{"id":1,"user":\#(value)}"#, resource: flagged) == "user is not an object")
    }
    #expect(try reason(#"{"id":1,"labels":[0,7]}"#, resource: nested) == "labels.1 is not an object")
    #expect(try reason(#"{"id":1,"labels":7}"#, resource: nested) == "labels is not an object")
  }

  @Test("6: a list is a list, empty or absent, and its elements fit its columns")
  func lists() throws {
    let list = { (columns: [Resource.Column]) in
      resource([idColumn], lists: [Resource.List(table: "thing_l", at: at("/l"), columns: columns)])
    }
    let bare = list([Resource.Column("v", at: at(""))])
    for value in ["0", "1", #""x""#, "true"] {
      #expect(try reason(#"{"id":1,"l":\#(value)}"#, resource: bare) == "l is not a list")
    }
    #expect(try reason(#"{"id":1,"l":{"a":1}}"#, resource: bare).hasPrefix("l is an object, not a list; "))
    #expect(try reason(#"{"id":1,"l":["x",1,[]]}"#, resource: bare) == "l holds something that is not a string")
    let objects = list([
      Resource.Column("n", at: at("/n"), .integer), Resource.Column("u", at: at("/u/v"), isNullable: true),
    ])
    #expect(
      try reason(#"{"id":1,"l":[{"n":1},{"n":"x"}]}"#, resource: objects)
        == "l holds something whose n is not an integer of 64 bits")
    #expect(try reason(#"{"id":1,"l":[{"u":1}]}"#, resource: objects) == "l holds something whose u is not an object")
    #expect(try reason(#"{"id":1,"l":[1]}"#, resource: objects) == "l holds something that is not an object")
    for absent in ["", #","l":null"#, #","l":[ ]"#, #","l":{}"#, #","l":{ }"#, #","l":"""#, #","l":false"#] {
      for resource in [bare, objects] {
        let records = try Decoded.page(#"[{"id":1\#(absent)}]"#, resource: resource).decoded.records
        #expect(records == [.init(key: "1", columns: ["1"], lists: [[]])], "\(absent)")
      }
    }
    let rows = try Decoded.page(
      #"[{"id":1,"l":[{"n":1,"u":{"v":"x","w":2}}, null, {"u":null, "z": [ 1 ]}]}]"#, resource: objects)
    #expect(
      rows.decoded.records.first?.lists == [
        [
          .init(columns: ["1", "x"], extra: #"{"u":{"w":2}}"#), .init(columns: [nil, nil], extra: nil),
          .init(columns: [nil, nil], extra: #"{"z":[1]}"#),
        ]
      ])
  }

  @Test("6: bare elements may have every type; null is '' or NULL")
  func bareElements() throws {
    let types: [(Resource.ColumnType, String, [String?])] = [
      (.text, #"["a", "\u0062", null]"#, ["a", "b", ""]), (.integer, #"[1,"-2",null]"#, ["1", "-2", nil]),
      (.json, #"[{"a": 1},[ ],null,"x"]"#, [#"{"a":1}"#, "[]", nil, #""x""#]),
      (.boolean, "[true,false]", ["true", "false"]),
      (.real, "[1,2.5]", ["1.0", "2.5"]),
    ]
    for (type, json, values) in types {
      let list = Resource.List(table: "thing_l", at: at("/l"), columns: [Resource.Column("v", at: at(""), type)])
      let decoded = try Decoded.page(#"[{"id":1,"l":\#(json)}]"#, resource: resource([idColumn], lists: [list])).decoded
      #expect(decoded.records.first?.lists == [values.map { .init(columns: [$0], extra: nil) }])
    }
  }

  @Test("6: a record deeper than 128 levels is one reject; 128 levels are kept")
  func depth() throws {
    let nested = { (levels: Int) in String(repeating: "[", count: levels) + String(repeating: "]", count: levels) }
    #expect(try stored(#"{"id":1,"x":\#(nested(127))}"#, resource: resource([idColumn])) == ["1"])
    #expect(
      try reason(#"{"id":1,"x":\#(nested(128))}"#, resource: resource([idColumn])) == "it nests deeper than 128 levels")
    let (scan, decoded) = try Decoded.page(
      #"[{"id":1},{"id":2,"x":\#(nested(50_000))},{"id":3}]"#, resource: resource([idColumn]))
    #expect((scan.records, scan.storable, scan.rejects, scan.rejectsOfUnknownKey) == (3, 2, 1, 0))
    #expect(decoded.records.map(\.key) == ["1", "3"])
    let list = Resource.List(table: "thing_l", at: at("/l"), columns: [Resource.Column("v", at: at(""), .json)])
    let deepList = #"{"id":1,"l":[\#(nested(127))]}"#
    #expect(try reason(deepList, resource: resource([idColumn], lists: [list])) == "it nests deeper than 128 levels")
  }

  @Test("The last of members with one name counts, with its whole content, in any spelling")
  func repeated() throws {
    let nested = resource([idColumn, Resource.Column("a", at: at("/o/a")), Resource.Column("b", at: at("/o/b"))])
    #expect(try stored(#"{"id":1,"id":2,"o":{"a":"x","b":"y"},"o":{"b":"z"}}"#, resource: nested) == ["2", "", "z"])
    #expect(try stored(#"{"id":1,"o":5,"\u006f":{"a":7,"a":"x"}}"#, resource: nested) == ["1", "x", ""])
    #expect(try stored(#"{"id":1,"o":{"a":"x"},"o":null}"#, resource: nested) == ["1", "", ""])
    let list = Resource.List(table: "thing_l", at: at("/l"), columns: [Resource.Column("v", at: at(""))])
    let decoded = try Decoded.page(#"[{"id":1,"l":["a",1],"l":["b"]}]"#, resource: resource([idColumn], lists: [list]))
      .decoded
    #expect(decoded.records.first?.lists == [[.init(columns: ["b"], extra: nil)]])
  }

  @Test("Names are compared byte by byte: \\u0000id is not id, and names equal after normalization differ")
  func names() throws {
    #expect(try reason(#"{"\u0000id":1}"#, resource: resource([idColumn])) == "id is missing")
    #expect(try stored(#"{"\u0069d":1}"#, resource: resource([idColumn])) == ["1"])
    let two = resource([
      idColumn, Resource.Column("a", at: at("/\u{e9}")), Resource.Column("b", at: at("/e\u{301}")),
    ])
    #expect(try stored("{\"id\":1,\"\u{e9}\":\"x\",\"e\u{301}\":\"y\"}", resource: two) == ["1", "x", "y"])
    let long = ["a_name_of_16_byte", "a_name_of_16_bytf", "a_name_o", "a_name_of", ""]
    let many = resource([idColumn] + long.map { Resource.Column("c\($0)", at: at("/\($0)")) })
    let members = long.map { #""\#($0)":"<\#($0)>""# }.joined(separator: ",")
    #expect(try stored(#"{"id":1,\#(members)}"#, resource: many) == ["1"] + long.map { "<\($0)>" })
  }
}
