import Testing

@testable import RosterStatus

@Suite struct SwitchesTests {
  @Test(
    "The body of POST /v1/sync is read as in RFC 8259",
    arguments: [
      ("{}", [:]), (" {\t\r\n} ", [:]), (#"{"a":true}"#, ["a": true]),
      (#" { "a" : false , "b\"}," : true } "#, ["a": false, #"b"},"#: true]), (#"{"\u0061\\":true}"#, [#"a\"#: true]),
      (#"{"é":true}"#, ["é": true]),
    ] as [(String, [String: Bool])])
  func good(text: String, members: [String: Bool]) {
    #expect(BooleanObject.read(Array(text.utf8)) == members)
  }

  @Test(
    "A body that is not JSON, or not an object of booleans, is refused",
    arguments: [
      "", "{", "}", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":true"#, #"{"a":true,}"#, #"{,"a":true}"#,
      #"{"a":true "b":true}"#,
      #"{"a":true}}"#, #"{"a":true} x"#, #"{"a":True}"#, #"{"a":truefalse}"#, #"{"a":null}"#, #"{"a":1}"#,
      #"{a:true}"#, #"{'a':true}"#, #"{"a:true}"#, #"{"a\":true}"#, #"{"\x":true}"#, "{\"a\n\":true}",
      "{/* */}", "[]", "true", "\u{FEFF}{}", "{\u{A0}}", #"{"a":true,"a":true}"#, #"{"a":true,"\u0061":false}"#,
    ])
  func bad(text: String) {
    #expect(BooleanObject.read(Array(text.utf8)) == nil)
  }

  @Test("A body in UTF-16 or invalid UTF-8 is refused")
  func encodings() {
    #expect(BooleanObject.read(#"{"a":true}"#.utf16.flatMap { [UInt8($0), 0] }) == nil)
    #expect(BooleanObject.read(Array("{\"".utf8) + [0xFF] + Array("\":true}".utf8)) == nil)
  }
}
