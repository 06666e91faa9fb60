import RosterCore
import RosterDecode
import Testing

private func scan(_ json: String, resource: Resource) throws -> PageScan {
  var decoder = RecordDecoder(try RecordPlan(resource))
  return try decoder.scan(page: Array(json.utf8))
}

private func things(_ records: String, pages: Resource.Pages) -> Resource {
  resource([idColumn], records: records, pages: pages)
}

@Suite struct PageScanTests {
  @Test("One pass finds the number of records, the skipped ones, and the keys of the others")
  func counts() throws {
    let open = resource(
      [idColumn, Resource.Column("t", at: at("/t"))], where: [Resource.Condition(at("/state"), .equal(.text("open")))])
    let body = #"""
      [{"id":5,"state":"open"},{"id":6,"state":"closed"},{"id":4,"state":"\u006fpen","t":1},{"state":"open"},7,{"state":1}]
      """#
    let found = try scan(body, resource: open)
    #expect((found.records, found.storable, found.rejects, found.rejectsOfUnknownKey, found.skipped) == (6, 1, 3, 2, 2))
    #expect(Decoded.keys(found.keys) == ["5"])
    #expect(Decoded.keys(found.rejectedKeys) == ["4"])
    #expect(Decoded.keys(found.skippedKeys) == ["6"])
    #expect(try Decoded.page(body, resource: open).decoded.rejects.map(\.position) == [2, 3, 4])
  }

  @Test(
    "where compares with absent, present and a value; null is absent, and numbers are equal by value",
    arguments: [
      (.absent, ["null"], ["0", "{}", "false"]), (.present, ["0", #""""#, "[]"], ["null"]),
      (.equal(.text("a")), [#""a""#, #""\u0061""#], [#""A""#, "null", #"["a"]"#, "1"]),
      (.equal(.integer(1)), ["1", "1.0", "1e0", "10e-1"], ["1.5", "2", #""1""#, "true", "1e400"]),
      (.equal(.integer(.max)), ["9223372036854775807"], ["9223372036854775808", "9223372036854775806"]),
      (.equal(.real(1.5)), ["1.5", "15e-1"], ["1", "2"]), (.equal(.real(2)), ["2", "2.0"], ["3"]),
      (.equal(.boolean(true)), ["true"], ["false", "1", #""true""#]),
      (.equal(.boolean(false)), ["false"], ["null", "0"]),
    ] as [(Resource.Condition.Test, [String], [String])])
  func conditions(test: Resource.Condition.Test, kept: [String], skipped: [String]) throws {
    let deep = resource([idColumn], where: [Resource.Condition(at("/a/b"), test)])
    for (values, expected) in [(kept, 0), (skipped, 1)] {
      for value in values {
        #expect(try scan(#"[{"id":1,"a":{"b":\#(value)}}]"#, resource: deep).skipped == expected, "\(value)")
      }
    }
    let isAbsent = test == .absent
    for record in [#"{"id":1}"#, #"{"id":1,"a":7}"#, #"{"id":1,"a":null}"#] {
      #expect(try scan("[\(record)]", resource: deep).skipped == (isAbsent ? 0 : 1))
    }
  }

  @Test(
    "52: not is true for an absent value, for null, and for a value that differs from each element",
    arguments: [
      ([.text("a")], ["null", #""b""#, "1", "{}"], [#""a""#]),
      ([.text("a"), .integer(1), .boolean(false)], ["null", "2", "true", #""1""#, "[]"], [#""a""#, "1.0", "false"]),
    ] as [([Resource.Scalar], [String], [String])])
  func differs(scalars: [Resource.Scalar], kept: [String], skipped: [String]) throws {
    let state = resource([idColumn], where: [Resource.Condition(at("/a"), .differs(scalars))])
    for value in kept { #expect(try scan(#"[{"id":1,"a":\#(value)}]"#, resource: state).skipped == 0, "\(value)") }
    for value in skipped { #expect(try scan(#"[{"id":1,"a":\#(value)}]"#, resource: state).skipped == 1, "\(value)") }
    #expect(try scan(#"[{"id":1}]"#, resource: state).skipped == 0)
  }

  @Test("A record that where skips is no reject, whatever is wrong with it")
  func skippedNotRejected() throws {
    let open = resource([idColumn], where: [Resource.Condition(at("/pr"), .absent)])
    let (found, decoded) = try Decoded.page(#"[{"pr":1},{"id":1}]"#, resource: open)
    #expect((found.skipped, found.rejects) == (1, 0))
    #expect(decoded.records.map(\.position) == [1])
  }

  @Test("count, last, more and at are found before, after and beside the records; absent and null are distinguished")
  func places() throws {
    let pages = Resource.Pages(
      .cursor(param: .query("c"), at: .body(at("/meta/next"))), more: .body(at("/more")),
      count: .body(at("/meta/0/count")))
    let resource = things("/data/items", pages: pages)
    let found = try scan(
      #"{"meta":{"0":{"count":12},"next":"a\u0062"},"data":{"items":[{"id":1}]},"more":false}"#, resource: resource)
    #expect((found.count.kind, found.at.kind, found.more.kind) == (.integer(12), .text("ab"), .boolean(false)))
    #expect(found.count.offset == 22)
    let behind = try scan(#"{"data":{"items":[]},"meta":[{"count":1.5}],"more":null}"#, resource: resource)
    #expect((behind.count.kind, behind.at.kind, behind.more.kind) == (.number("1.5"), .absent, .null))
    let odd = try scan(#"{"data":{"items":[]},"meta":[{"count":9223372036854775808}],"more":[]}"#, resource: resource)
    #expect((odd.count.kind, odd.more.kind) == (.number("9223372036854775808"), .compound))
    #expect(try scan(#"{"meta":7,"data":{"items":[]}}"#, resource: resource).at.kind == .absent)
  }

  @Test("52: the members of a cursor object are read once each; null is absent, and any part malformed")
  func members() throws {
    func found(_ next: String) throws -> PointedValue.Kind {
      let pages = Resource.Pages(.cursor(param: .everyMember, at: .body(at("/next"))))
      return try scan(#"{"next":\#(next),"list":[{"id":1}]}"#, resource: things("/list", pages: pages)).at.kind
    }
    let all = #"{ "z" : "-||", "\u0061b":"\u00e9\n", "n": 12, "r" : 1.50, "b":true, "none" :null, "z":"last" }"#
    #expect(
      try found(all)
        == .members([
          .init("ab", .text("é\n")), .init("b", .boolean(true)), .init("n", .number("12")), .init("r", .number("1.50")),
          .init("z", .text("last")),
        ]))
    #expect(try found("{}") == .members([]) && found(#"{"a":null}"#) == .members([]))
    #expect(try found("null") == .null && found("[1]") == .compound && found("7") == .integer(7))
    for part in ["[]", "{}", #"["x"]"#] { #expect(throws: Malformed.self) { try found(#"{"a":"x","b":\#(part)}"#) } }
    // Only a definition that sends the members has them read.
    let cursor = things("/list", pages: Resource.Pages(.cursor(param: .query("c"), at: .body(at("/next")))))
    #expect(try scan(#"{"next":{"a":[]},"list":[]}"#, resource: cursor).at.kind == .compound)
  }

  @Test("Places inside the list of records are found, and after is the last record's")
  func placesInside() throws {
    let after = things(
      "/list", pages: Resource.Pages(.after(param: .query("since"), at: at("/at/1")), count: .body(at("/list/0/n"))))
    let found = try scan(#"{"list":[{"id":1,"n":3},{"at":[1,2],"at":[1,"x"]}]}"#, resource: after)
    #expect((found.at.kind, found.count.kind) == (.text("x"), .integer(3)))
    #expect(try scan(#"{"list":[{"at":[1,"x"]},{"id":2},null]}"#, resource: after).at.kind == .text("x"))
    #expect(try scan(#"{"list":[{"id":2},{"at":[1,null]}]}"#, resource: after).at.kind == .null)
    #expect(try scan(#"{"list":[]}"#, resource: after).at.kind == .absent)
    let whole = things(
      "", pages: Resource.Pages(.after(param: .query("since"), at: at("/id")), more: .body(at("/1/more"))))
    let list = try scan(#"[{"id":1},{"id":7,"more":true}]"#, resource: whole)
    #expect((list.at.kind, list.more.kind) == (.integer(7), .boolean(true)))
  }

  @Test("If the list of records occurs twice and differs, the body is malformed, as without a list")
  func repeatedRecords() throws {
    let one = things("/data/items", pages: Resource.Pages(.one))
    for twice in [#"{"items":[]}"#, #"{"items":[{"id":3}]}"#] {
      let body = #"{"data":\#(twice),"data":{"items":[{"id":3}]}}"#
      #expect(try Decoded.keys(scan(body, resource: one).keys) == ["3"])
      #expect(try Decoded.page(body, resource: one).decoded.records.map(\.key) == ["3"])
    }
    for body in [
      #"{"data":{"items":[{"id":1},{"id":2}]},"data":{"items":[{"id":3}]}}"#,
      #"{"data":{"items":[]},"data":{}}"#, "{}", "[]", "7", #"{"data":{"items":{}}}"#, #"{"data":{"items":null}}"#,
      #"{"data":[]}"#, #"{"data":{"items":[]}}x"#, #"{"data":{"items":[]}"#,
    ] {
      #expect(throws: Malformed.self, "\(body)") { try scan(body, resource: one) }
    }
  }

  @Test("A body that is truncated anywhere or is not UTF-8 is malformed; a byte order mark is skipped")
  func strict() throws {
    let one = things("/list", pages: Resource.Pages(.one))
    let whole = Array(#"{"a":"ü\n","list":[{"id":1,"x":-1.5e+3,"y":[true,{"z":null}]}],"b":[{}]}"#.utf8)
    var decoder = RecordDecoder(try RecordPlan(one))
    for length in 0..<whole.count {
      #expect(throws: Malformed.self) { try decoder.scan(page: Array(whole.prefix(length))) }
    }
    #expect(throws: Malformed.self) { try decoder.scan(page: Array(#"{"list":[],"a":""#.utf8) + [0xFF, 0x22, 0x7D]) }
    let marked = [0xEF, 0xBB, 0xBF] + whole
    let found = try decoder.scan(page: marked)
    #expect(try Decoded.read(marked, scan: found, decoder: &decoder).records.map(\.key) == ["1"])
  }

  @Test("11: the answer for a key is the record or a list; a record that where skips is not found")
  func answers() throws {
    let open = resource([idColumn], where: [Resource.Condition(at("/pr"), .absent)], records: "/results")
    var decoder = RecordDecoder(try RecordPlan(open))
    for (answer, keys, skipped) in [
      (#" {"id":1,"x":2} "#, ["1"], 0), (#"[{"id":1},{"id":2,"pr":1},{"id":3}]"#, ["1", "3"], 1), ("[]", [], 0),
      (#"{"id":1,"pr":{}}"#, [], 1),
    ] {
      let found = try decoder.scan(answer: Array(answer.utf8))
      #expect(Decoded.keys(found.keys) == keys)
      #expect(found.skipped == skipped)
      #expect(try Decoded.read(Array(answer.utf8), scan: found, decoder: &decoder).records.map(\.key) == keys)
    }
    for answer in ["7", "", "null", #"{"id":1}x"#, #"{"id":1"#] {
      #expect(throws: Malformed.self, "\(answer)") { try decoder.scan(answer: Array(answer.utf8)) }
    }
  }

  @Test("5: records of one key that differ are counted and reported alike, in a page and in an answer of by_key")
  func conflicts() throws {
    let body = Array(#"[{"id":1},{"id":2,"a":1},{"id":2,"a":2},{"id":2,"a":2}]"#.utf8)
    var decoder = RecordDecoder(try RecordPlan(resource([idColumn])))
    for scan in [try decoder.scan(page: body), try decoder.scan(answer: body)] {
      let decoded = try Decoded.read(body, scan: scan, decoder: &decoder)
      #expect(scan.rejects == 1 && decoded.rejects.map(\.position) == [1])
      #expect(decoded.records.map(\.key) == ["1", "2", "2", "2"] && scan.records == 4)
    }
  }

  @Test("13: by_key_records leads to the record or the list; null is no record; an absent place is malformed")
  func answersInside() throws {
    var inside = resource([idColumn])
    inside.byKeyRecords = at("/data/0/item")
    var decoder = RecordDecoder(try RecordPlan(inside))
    for (answer, keys) in [
      (#"{"a":[1],"data":[{"item":{"id":1,"x":{}}}],"b":2}"#, ["1"]),
      (#"{"data":[{"item":[{"id":1},{"id":2}]}]}"#, ["1", "2"]),
      (#"{"data":[{"item":null}]}"#, []), (#"{"data":[{"item":[]}]}"#, []),
    ] {
      let found = try decoder.scan(answer: Array(answer.utf8))
      #expect(Decoded.keys(found.keys) == keys)
      guard !keys.isEmpty else { continue }
      #expect(try Decoded.read(Array(answer.utf8), scan: found, decoder: &decoder).records.map(\.key) == keys)
    }
    for answer in [
      #"{"data":[]}"#, #"{"id":1}"#, #"{"data":[{"item":7}]}"#, #"{"data":[{"item":{"id":1}}]}x"#,
      #"{"data":[{"item":{"id":1}}],}"#, "[]",
    ] {
      #expect(throws: Malformed.self, "\(answer)") { try decoder.scan(answer: Array(answer.utf8)) }
    }
  }
}
