import RosterDecode
import RosterJSON
import RosterModel
import Testing

private func page(_ results: String, count: Int = 1, pages: Int = 1) throws -> Page {
  try PageDecoder.page(
    Array(#"{"info":{"count":\#(count),"pages":\#(pages),"next":null},"results":[\#(results)]}"#.utf8))
}

private func character(_ record: String) throws -> Character {
  try #require(try page(record).characters.first)
}

/// Levels of one record, itself the first.
private enum JSONLimit {
  static let deepest = 128
}

@Suite struct PageDecoderTests {
  @Test("a record of the real API fills every column")
  func everyColumn() throws {
    let record = #"""
      {"id":183,"name":"Johnny Depp","status":"Alive","species":"Human","type":"","gender":"Male",
       "origin":{"name":"Earth (C-500A)","url":"https://x/location/23"},"location":{"name":"Zürich","url":""},
       "image":"https://x/183.jpeg","episode":["https://x/episode/8","https://x/episode/9"],
       "url":"https://x/character/183","created":"2017-12-29T18:51:29.693Z"}
      """#
    let expected = Character(
      id: 183, name: "Johnny Depp", status: "Alive", species: "Human", gender: "Male",
      origin: .init(name: "Earth (C-500A)", url: "https://x/location/23"), location: .init(name: "Zürich"),
      image: "https://x/183.jpeg", url: "https://x/character/183", created: "2017-12-29T18:51:29.693Z",
      episodes: ["https://x/episode/8", "https://x/episode/9"])
    #expect(try page(record, count: 826, pages: 42) == Page(count: 826, pages: 42, characters: [expected]))
  }

  @Test("escapes, surrogate pairs and names with escapes are read")
  func escapes() throws {
    #expect(
      try character(#"{"\u0069d":1,"name":"a\"\\\/\b\f\n\r\t\u00fc\ud83d\ude00\ud800"}"#).name
        == "a\"\\/\u{8}\u{c}\n\r\tü😀\u{FFFD}")
  }

  @Test("P9: null and absent text is empty, absent and null objects and lists too")
  func nulls() throws {
    let read = try character(#"{"id":9223372036854775807,"name":null,"origin":null,"episode":null}"#)
    #expect(read == Character(id: .max))
  }

  @Test(
    "P9: a record that cannot be stored is rejected with its reason, the rest is kept",
    arguments: [
      (#"{"name":"x"}"#, nil, "id is missing"),
      (#"{"id":0}"#, nil, "id is not an integer from 1 to 9223372036854775807"),
      (#"{"id":9223372036854775808}"#, nil, "id is not an integer from 1 to 9223372036854775807"),
      (#"{"id":"7"}"#, nil, "id is not an integer from 1 to 9223372036854775807"),
      (#"{"id":1.0}"#, nil, "id is not an integer from 1 to 9223372036854775807"),
      (#"{"id":7,"name":5}"#, 7, "name is not a string"),
      (#"{"id":7,"origin":"x"}"#, 7, "origin is not an object"),
      (#"{"id":7,"location":{"url":[]}}"#, 7, "location.url is not a string"),
      (#"{"id":7,"episode":"x"}"#, 7, "episode is not a list"),
      (#"{"id":7,"episode":["x",1]}"#, 7, "episode holds something that is not a string"),
      ("[1, 2]", nil, "the record is not an object"),
    ] as [(String, Int64?, String)])
  func rejects(document: String, id: Int64?, reason: String) throws {
    let page = try page(#"{"id":1},"# + document)
    #expect(page.characters.map(\.id) == [1])
    #expect(page.rejects == [Reject(position: 1, id: id, reason: reason, document: document)])
  }

  @Test("P9: a record that nests deeper than the limit is rejected, wherever it does; the rest is kept")
  func tooDeep() throws {
    for levels in [JSONLimit.deepest, 1001, 100_000] {
      let lists = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
      let objects = String(repeating: #"{"x":"#, count: levels) + "{}" + String(repeating: "}", count: levels)
      for value in [lists, objects] {
        for field in [#""x":\#(value)"#, #""origin":{"x":\#(value)}"#] {
          let document = #"{"id":7,\#(field),"name":"n"}"#
          let page = try page(#"{"id":1},\#(document),{"id":3}"#)
          #expect(page.characters.map(\.id) == [1, 3])
          let reason = "it nests deeper than \(JSONLimit.deepest) levels"
          #expect(page.rejects == [Reject(position: 1, id: 7, reason: reason, document: document)])
        }
      }
    }
  }

  @Test("P10: a record that nests as deep as the limit is kept, in a list or alone")
  func deep() throws {
    let levels = JSONLimit.deepest - 1
    let value = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    let record = #"{"id":1,"x":\#(value)}"#
    #expect(try character(record).extra == #"{"x":\#(value)}"#)
    #expect(try PageDecoder.characters(Array(record.utf8)).characters.first?.extra == #"{"x":\#(value)}"#)
  }

  @Test("P9: a field with a fault of its own, and a record that is no object, are told as that however deep they nest")
  func deepFault() throws {
    let value = String(repeating: "[", count: 1000) + String(repeating: "]", count: 1000)
    let page = try page(#"{"id":1,"name":\#(value)},\#(value)"#)
    #expect(page.rejects.map(\.reason) == ["name is not a string", "the record is not an object"])
  }

  @Test("a value that is skipped is read as strictly as any other")
  func strict() {
    for value in [
      "[1,]", "[,1]", "[1 2]", "[1}", "{1:2}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a":1]"#, #"{"a":1 "b":2}"#, "[",
      "{", "[[]", "]", #"{"a":[{"b":1}}"#, #"["\q"]"#, "[01]", "",
    ] {
      #expect(throws: Malformed.self, "\(value)") { try page(#"{"id":1,"x":\#(value)}"#) }
    }
    for value in ["[]", "{}", " [ ] ", "[ [] , {} ]", #"{ "a" : [ 1 , { "b" : null } ] , "c" : { } }"#] {
      #expect(throws: Never.self, "\(value)") { try page(#"{"id":1,"x":\#(value)}"#) }
    }
  }

  @Test("P10: unknown fields are kept as they were written, sorted by name, nested ones under their object")
  func extra() throws {
    let read = try character(
      #"{"id":1,"z":1.10,"a":{"x": [123456789012345678901234567890, " é "]},"origin":{"dimension":"C-137"}}"#)
    #expect(
      read.extra == #"{"a":{"x":[123456789012345678901234567890," é "]},"origin":{"dimension":"C-137"},"z":1.10}"#)
  }

  @Test("P10: another order of the same unknown fields is no change")
  func extraOrder() throws {
    #expect(try character(#"{"id":1,"a":1,"b":2}"#) == character(#"{"b": 2,"a": 1,"id": 1}"#))
  }

  @Test(
    "what is not the JSON of a page is malformed",
    arguments: [
      "", "<html></html>", "[]", "{}", #"{"info":{"count":1,"pages":1}}"#, #"{"results":[]}"#,
      #"{"info":{"count":-1,"pages":1},"results":[]}"#, #"{"info":{"count":1,"pages":1},"results":{}}"#,
      #"{"info":{"count":1,"pages":1},"results":[]}x"#, #"{"info":{"count":1,"pages":1},"results":[{"id":1]}"#,
      #"{"info":{"count":01,"pages":1},"results":[]}"#, #"{"info":{"count":1,"pages":1},"results":[{"id":1,}]}"#,
      #"{"info":{"count":1,"pages":1},"results":[{"x":"\#u{1}"}]}"#, #"{"info":{"count":1,"pages":1},"results":[tru]}"#,
    ])
  func malformed(body: String) {
    #expect(throws: Malformed.self) { try PageDecoder.page(Array(body.utf8)) }
  }

  @Test("a body cut off anywhere is malformed")
  func truncated() throws {
    let whole = Array(#"{"info":{"count":1,"pages":1},"results":[{"id":1,"name":"ü\n","x":-1.5e+3,"y":[true]}]}"#.utf8)
    _ = try PageDecoder.page(whole)
    for length in 0..<whole.count {
      #expect(throws: Malformed.self) { try PageDecoder.page(Array(whole.prefix(length))) }
    }
  }

  @Test("bytes that are not UTF-8, and nesting without end, are malformed")
  func hostile() {
    let start = #"{"info":{"count":1,"pages":1},"results":[{"id":1,"name":""#
    #expect(throws: Malformed.self) { try PageDecoder.page(Array(start.utf8) + [0xFF] + Array(#""}]}"#.utf8)) }
    let deep = String(repeating: "[", count: 100_000)
    #expect(throws: Malformed.self) { try PageDecoder.page(Array((start + "\",\"x\":" + deep).utf8)) }
  }

  @Test("P8: one asked-for id is answered with an object, several with a list")
  func byID() throws {
    #expect(try PageDecoder.characters(Array(#"{"id":1}"#.utf8)).characters.map(\.id) == [1])
    #expect(try PageDecoder.characters(Array(#"[{"id":1},{"id":2}]"#.utf8)).characters.map(\.id) == [1, 2])
    #expect(try PageDecoder.characters(Array("[]".utf8)).characters.isEmpty)
    #expect(throws: Malformed.self) { try PageDecoder.characters(Array("7".utf8)) }
  }
}
