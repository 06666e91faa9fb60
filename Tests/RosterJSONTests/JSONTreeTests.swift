import RosterCore
import RosterDecode
import Testing

private func tree(_ json: String) throws -> JSONValue { try JSONValue(json: json.utf8) }

@Suite struct JSONTreeTests {
  @Test("A tree has every kind of value, with numbers in their notation")
  func everyKind() throws {
    let value = try tree(#" {"a":[null,true,false,1.10,"x\u00fc"],"b":{}, "c": -3} "#)
    let expected = JSONValue.object([
      .init("a", .list([.null, .boolean(true), .boolean(false), .number("1.10"), .text("xü")])),
      .init("b", .object([])), .init("c", .integer(-3)),
    ])
    #expect(value == expected)
    #expect(value["c"]?.integer == -3)
    #expect(value["c"]?.number == -3)
    #expect(value["d"] == nil)
  }

  @Test("The last of members with one name counts; names equal only after normalization differ")
  func names() throws {
    #expect(try tree(#"{"a":1,"b":2,"\u0061":3}"#) == .object([.init("a", .integer(3)), .init("b", .integer(2))]))
    let two = try tree("{\"\u{e9}\":1,\"e\u{301}\":2}")
    #expect(two["\u{e9}"] == .integer(1))
    #expect(two["e\u{301}"] == .integer(2))
    #expect(try tree(#"{"\u0000id":1}"#)["id"] == nil)
  }

  @Test("Invalid JSON, or JSON that nests deeper than 136 levels, is malformed")
  func malformed() throws {
    for json in ["", "{", "[1,]", "1 2", "\u{feff}1"] {
      #expect(throws: Malformed.self, "\(json)") { try tree(json) }
    }
    let levels = { String(repeating: "[", count: $0) + String(repeating: "]", count: $0) }
    _ = try tree(levels(136))
    #expect(throws: Malformed.self) { try tree(levels(137)) }
    #expect(throws: Malformed.self) { try tree(String(repeating: "[", count: 1_000_000)) }
  }
}
