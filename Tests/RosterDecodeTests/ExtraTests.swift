import RosterCore
import RosterDecode
import Testing

private let nested = resource(
  [
    idColumn, Resource.Column("a", at: at("/o/a")), Resource.Column("b", at: at("/o/p/b")),
    Resource.Column("j", at: at("/j"), .json), Resource.Column("first", at: at("/n/0")),
  ],
  lists: [Resource.List(table: "thing_l", at: at("/l"), columns: [Resource.Column("v", at: at(""), .json)])],
  where: [Resource.Condition(at("/w/x"), .absent)])

private func extra(_ record: String, resource: Resource = nested) throws -> String? {
  let decoded = try Decoded.page("[\(record)]", resource: resource).decoded
  #expect(decoded.rejects.isEmpty)
  return try #require(decoded.records.first).extra
}

@Suite struct ExtraTests {
  @Test(
    "4: fields without a column or list are kept at every level, as upstream wrote them",
    arguments: [
      (#"{"id":1,"o":{"a":"x","p":{"b":"y"}},"j":{"z":1},"l":[{"q":1}]}"#, nil),
      (#"{"id":1,"o":null,"l":null,"j":null}"#, nil), (#"{"id":1,"o":{"p":null}}"#, nil),
      (#"{"id":1,"o":{},"p":{}}"#, #"{"p":{}}"#),
      (#"{"z":1.10,"id":1,"a": [ 1E400 , " x " ]}"#, #"{"a":[1E400," x "],"z":1.10}"#),
      (#"{"id":1,"o":{"p":{"c" : "é\u00e9"},"d":null}}"#, #"{"o":{"d":null,"p":{"c":"é\u00e9"}}}"#),
      (#"{"id":1,"pp":1,"o":{"x":1},"n2":2,"nn":0}"#, #"{"n2":2,"nn":0,"o":{"x":1},"pp":1}"#),
      (#"{"id":1,"n":[ "x", {"k": 1} ]}"#, #"{"n":["x",{"k":1}]}"#), (#"{"id":1,"n":[]}"#, #"{"n":[]}"#),
      (#"{"id":1,"n":{"0":"x","1":2}}"#, #"{"n":{"1":2}}"#),
      (#"{"id":1,"w":{"y": 2,"a":1}}"#, #"{"w":{"y":2,"a":1}}"#), (#"{"id":1,"w":null}"#, #"{"w":null}"#),
      (#"{"id":1,"":0,"\"q\"":1}"#, #"{"":0,"\"q\"":1}"#),
    ] as [(String, String?)])
  func kept(record: String, expected: String?) throws {
    #expect(try extra(record) == expected)
  }

  @Test("4: another order of the same fields is no change")
  func order() throws {
    let one = try extra(#"{"id":1,"b":1,"a":2,"o":{"z":1,"y":2,"p":{"d":1,"c":2}},"ab":3}"#)
    #expect(try extra(#"{"ab":3,"o":{"p":{"c":2,"d":1},"y":2,"z":1},"a":2,"b":1,"id":1}"#) == one)
    #expect(one == #"{"a":2,"ab":3,"b":1,"o":{"p":{"c":2,"d":1},"y":2,"z":1}}"#)
  }

  @Test("4: the last field of a name is kept, in any spelling, and an object keeps only its own fields")
  func repeated() throws {
    #expect(try extra(#"{"id":1,"x":1,"y":0,"x":2}"#) == #"{"x":2,"y":0}"#)
    #expect(try extra(#"{"id":1,"x":1,"\u0078":2,"a":0}"#) == #"{"\u0078":2,"a":0}"#)
    #expect(try extra(#"{"id":1,"\u0078":2,"a":0,"x":1}"#) == #"{"a":0,"x":1}"#)
    #expect(try extra(#"{"id":1,"o":{"x":1},"o":{"y":2}}"#) == #"{"o":{"y":2}}"#)
    #expect(try extra(#"{"id":1,"o":{"x":1,"p":{"z":1}},"o":null}"#) == nil)
    #expect(try extra(#"{"id":1,"n":[1],"n":null}"#) == nil)
    #expect(try extra("{\"id\":1,\"e\u{301}\":1,\"\u{e9}\":2}") == "{\"e\u{301}\":1,\"\u{e9}\":2}")
  }

  @Test("4: a name of the definition is written with the escapes that it needs")
  func escapedNames() throws {
    let odd = resource([idColumn, Resource.Column("a", at: at("/q\"\\/a"))])
    #expect(try extra(#"{"id":1,"q\"\\":{"b":1},"q":2,"r":3}"#, resource: odd) == #"{"q":2,"q\"\\":{"b":1},"r":3}"#)
  }

  @Test("4: a column of the whole record leaves no field for `extra`")
  func wholeRecord() throws {
    let whole = resource([idColumn, Resource.Column("raw", at: at(""), .json)])
    let decoded = try Decoded.page(#"[{"id": 1, "x":2}]"#, resource: whole).decoded
    #expect(decoded.records.first?.columns == ["1", #"{"id":1,"x":2}"#])
    #expect(decoded.records.first?.extra == nil)
  }

  @Test("The built-in resource keeps what 0.1 kept, byte for byte")
  func asBefore() throws {
    let record = #"""
      {"zeta":{"b": 1, "a":[ 2 ]},"id":183,"name":"Johnny Depp","status":"Alive","origin":{"url":"u","dimension":"C-137",
       "name":"Earth"},"location":{"name":"Zürich","type" : null},"episode":["e/8","e/9"],"Alpha":1.0,"é":"\u00e9","\u0065":3}
      """#
    let (scan, decoded) = try Decoded.page(
      #"{"info":{"count":1,"pages":1},"results":[\#(record)]}"#, resource: .character)
    let row = try #require(decoded.records.first)
    #expect(row.columns == ["183", "Johnny Depp", "Alive", "", "", "", "Earth", "u", "Zürich", "", "", "", ""])
    #expect(row.lists == [[.init(columns: ["e/8"], extra: nil), .init(columns: ["e/9"], extra: nil)]])
    #expect(
      row.extra
        == #"{"Alpha":1.0,"\u0065":3,"location":{"type":null},"origin":{"dimension":"C-137"},"zeta":{"b":1,"a":[2]},"é":"\u00e9"}"#
    )
    #expect((scan.count.kind, scan.last.kind) == (.integer(1), .integer(1)))
  }
}
