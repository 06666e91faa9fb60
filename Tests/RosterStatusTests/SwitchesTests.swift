import Testing

@testable import RosterStatus

@Suite struct SwitchesTests {
  @Test(
    "Status: a body is read as RFC 8259 has it",
    arguments: [
      ("{}", [:]), (" {\t\r\n} ", [:]), (#"{"a":true}"#, ["a": true]),
      (#" { "a" : false , "b\"}," : true } "#, ["a": false, #"b"},"#: true]), (#"{"\u0061\\":true}"#, [#"a\"#: true]),
      (#"{"é":true}"#, ["é": true]),
    ] as [(String, [String: Bool])])
  func good(text: String, members: [String: Bool]) {
    #expect(Switches.read(Array(text.utf8)) == members)
  }

  @Test(
    "Status: a body that is no JSON, or not of this kind, is none",
    arguments: [
      "", "{", "}", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":true"#, #"{"a":true,}"#, #"{,"a":true}"#,
      #"{"a":true "b":true}"#,
      #"{"a":true}}"#, #"{"a":true} x"#, #"{"a":True}"#, #"{"a":truefalse}"#, #"{"a":null}"#, #"{"a":1}"#,
      #"{a:true}"#, #"{'a':true}"#, #"{"a:true}"#, #"{"a\":true}"#, #"{"\x":true}"#, "{\"a\n\":true}",
      "{/* */}", "[]", "true", "\u{FEFF}{}", "{\u{A0}}", #"{"a":true,"a":true}"#, #"{"a":true,"\u0061":false}"#,
    ])
  func bad(text: String) {
    #expect(Switches.read(Array(text.utf8)) == nil)
  }

  @Test("Status: UTF-16 is no body, nor is what is no UTF-8")
  func encodings() {
    #expect(Switches.read(#"{"a":true}"#.utf16.flatMap { [UInt8($0), 0] }) == nil)
    #expect(Switches.read(Array("{\"".utf8) + [0xFF] + Array("\":true}".utf8)) == nil)
  }
}
