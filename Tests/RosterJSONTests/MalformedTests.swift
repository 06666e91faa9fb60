import RosterCore
import RosterDecode
import Testing

@Suite struct MalformedTests {
  private static let usual: [(body: [UInt8], reason: String)] = [
    (Array(#"[{"a": NaN}]"#.utf8), #"NaN is no number of JSON: "[{"a": NaN}]""#),
    (Array(#"[{"a": -Infinity}]"#.utf8), "Infinity is no number of JSON: "),
    ([0x5B, 0x22, 0xE9, 0x22, 0x5D], "the text is not UTF-8, perhaps Latin-1: "),
    ([0xFF, 0xFE, 0x5B, 0x00], "the text is UTF-16, not UTF-8: "),
    (Array(")]}'\n[]".utf8), "the answer begins with )]}', which prevents scripts from reading it: "),
    (Array("{\"a\":1}\n{\"a\":2}\n".utf8), "the answer has several JSON values, such as one on each line: "),
    (Array("[\"a\u{1}b\"]".utf8), "a control character must be escaped: "),
  ]

  @Test("A malformed body has the place and what was expected there")
  func description() {
    #expect(Malformed(offset: 7, expected: "a value").description == "expected a value at byte 7")
  }

  @Test(
    "A usual reason why a body is not JSON is named, with an excerpt",
    arguments: usual)
  func named(body: [UInt8], reason: String) throws {
    let malformed = try #require(throws: Malformed.self) { try JSONValue(json: body) }
    #expect(NamedMalformation(malformed, in: body)?.description.hasPrefix(reason) == true, "\(malformed)")
    let plain = Array("[1,]".utf8)
    let other = try #require(throws: Malformed.self) { try JSONValue(json: plain) }
    #expect(NamedMalformation(other, in: plain) == nil)
  }
}
