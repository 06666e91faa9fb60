import RosterDecode
import Testing

/// True if the whole text is one JSON value; also returns its depth.
private func check(_ bytes: [UInt8]) throws(Malformed) -> Int {
  try bytes.withUnsafeBufferPointer { bytes throws(Malformed) -> Int in
    try JSONScanner.checkUTF8(bytes)
    var scanner = JSONScanner(bytes)
    _ = try scanner.value()
    try scanner.end()
    return scanner.deepest
  }
}

@Suite struct JSONScannerTests {
  @Test("Plain text ends at the first quote, backslash or control character, at whatever place it is")
  func plainText() {
    for filler in [0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7F, 0x80, 0xA2, 0xDC, 0xFF] as [UInt8] {
      for end in [0x00, 0x1F, 0x22, 0x5C] as [UInt8] {
        for count in 0...40 {
          for place in 0...count {
            var text = [UInt8](repeating: filler, count: count)
            for index in place..<count { text[index] = index == place || index % 3 == 0 ? end : filler }
            let start = place / 2
            text.withUnsafeBufferPointer { text in
              #expect(text.plainEnd(from: start) == place, "\(filler) \(end) \(count)")
            }
          }
        }
      }
    }
  }

  /// Named as in JSONTestSuite, whose cases they follow (github.com/nst/JSONTestSuite).
  @Test(
    "Valid JSON is read",
    arguments: [
      "[]", "[ ]", "[[]   ]", "{}", "{ }", "[\"\"]", "[\"a\"]", "[false]", "[null, 1, \"1\", {}]", "[1\n]", " [1]",
      "[1] ", "[1,null,null,null,2]", "[123e65]", "[0e+1]", "[0e1]", "[ 4]", "[-0.000000000000000000000000000000001]",
      "[20e1]", "[-0]", "[-123]", "[-1]", "[1E22]", "[1E-2]", "[1E+2]", "[123e45]", "[123.456e78]", "[1e-2]",
      "[1e+2]", "[123]", "[123.456789]", "[1e400]", "[12345678901234567890123]",
      #"{"asd":"sdf", "dfg":"fgh"}"#, #"{"a":"b","a":"c"}"#, #"{"":0}"#, #"{"foo\u0000bar": 42}"#,
      #"{"a":[]}"#, "{\n\"a\": \"b\"\n}", #"["\u0060\u012a\u12AB"]"#, #"["\uD801\udc37"]"#, #"["\"\\\/\b\f\n\r\t"]"#,
      #"["\\u0000"]"#, #"["\ud800"]"#, "[\"\u{7f}\"]", "[\"\u{ffff}\"]", "[\"asd \"]", "\"\"", "42", "-0.1", "null",
      "\"asd\"", "true", "[true]", "[\"a\"]\n", " [] ", "[\"\u{2028}\"]",
    ])
  func accepts(json: String) {
    #expect(throws: Never.self) { try check(Array(json.utf8)) }
  }

  @Test(
    "Invalid JSON is malformed",
    arguments: [
      "", " ", "[1 true]", "[a]", "[\"\": 1]", "[\"\"],", "[,1]", "[1,,2]", "[\"x\"]]", "[\"\",]", "[\"x\"", "[x",
      "[3[4]]", "[,]", "[-]", "[   , \"\"]", "[\"a\",\n4\n,1,", "[1,]", "[*]", "[\"\"", "[1,\n1\n,1", "[{}",
      "[fals]", "[nul]", "[tru]", "[++1234]", "[+1]", "[-01]", "[-1.0.]", "[-2.]", "[-NaN]", "[.-1]", "[.2e-3]",
      "[0.1.2]", "[0.3e+]", "[0.3e]", "[0.e1]", "[0E+]", "[0E]", "[1.0e+]", "[1.0e-]", "[1.0e]", "[1 000.0]", "[1eE2]",
      "[2.e+3]", "[2.e3]", "[9.e+]", "[Inf]", "[NaN]", "[1+2]", "[0x1]", "[0x42]", "[-Infinity]", "[0e+-1]",
      "[-foo]", "[- 1]", "[-012]", "[-.123]", "[1a]", "[1ea]", "[1.]", "[.123]", "[1.2a-3]", "[012]",
      #"["x", truth]"#, "{[: \"x\"}", #"{"x", null}"#, #"{"x"::"b"}"#, "{🇨🇭}", #"{"a":"a" 123}"#, "{key: 'value'}",
      "{\"a\":\"b\",,\"c\":1}", "{\"a\"", "{\"a\":", "{:\"b\"}", #"{"a" "b"}"#, #"{"a":/*c*/"b"}"#,
      "{1:1}", "{null:null}", #"{"id":0,}"#, "{'a':0}", #"{"a":"a"#, #"{ "foo" : "bar", "a" }"#, #"{"a":"b"}#"#,
      #"["\"#, #"["\u"#, #"["\u00A"]"#, #"["\u1"]"#, #"["\uD800\u"]"#, #"["\x00"]"#, #"["\\\"]"#, "[\"\t\"]",
      #"["\a"]"#, #"["\uqqqq"]"#, "[\\u0020\"asd\"]", "\"", "\"\\", "['x']", "[\"a\u{0}a\"]", "[\"new\nline\"]",
      "[\"\u{1f}\"]", "<.>", "[<null>]", "[1]x", "[1]]", "aå", "[True]", "{\"x\": true,", "2@", "{}}", "{\"\":",
      "{\"a\":/*comment*/\"b\"}", "[\u{2060}]", "[\u{c}]", "{\"a\":\"b\"}#{}", "[\"asd]", "å", "[True]", "1]",
      "[][]", "]", "{\"a\":1]", "[1}", "{ ", "[", "*", "{\"a\":\"b\"}/**/", "[\"\\{[\"\\{[\"\\{[\"\\{", "nan", "-",
    ])
  func refuses(json: String) {
    #expect(throws: Malformed.self) { try check(Array(json.utf8)) }
  }

  @Test("Bytes that are not UTF-8 are malformed, with their place")
  func utf8() {
    for bad in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82], [0xF4, 0x90, 0x80, 0x80], [0x80]] as [[UInt8]] {
      #expect(throws: Malformed(offset: 2, expected: "UTF-8")) { try check([0x5B, 0x22] + bad + [0x22, 0x5D]) }
    }
  }

  @Test("A quote, a backslash and a control character are found at every distance from a string's start")
  func everyDistance() throws {
    for length in 0..<40 {
      let plain = String(repeating: "é", count: length / 2) + String(repeating: "x", count: length % 2)
      #expect(try check(Array("\"\(plain)\"".utf8)) == 0)
      #expect(try check(Array("[\"\(plain)\\n\(plain)\"]".utf8)) == 1)
      #expect(throws: Malformed(offset: length + 1, expected: "no control character in a string")) {
        try check(Array("\"\(plain)\u{1f}\(plain)\"".utf8))
      }
      #expect(throws: Malformed(offset: length + 1, expected: "the end of a string")) {
        try check(Array("\"\(plain)".utf8))
      }
    }
  }

  @Test("Nested lists and objects, deeper than a word has bits, are distinguished to the end")
  func deep() throws {
    for levels in [1, 63, 64, 65, 127, 128, 129, 1000] {
      let open = (0..<levels).map { $0 % 3 == 0 ? #"{"a":"# : "[" }.joined()
      let close = (0..<levels).reversed().map { $0 % 3 == 0 ? "}" : "]" }
      #expect(try check(Array((open + "1" + close.joined()).utf8)) == levels)
      var wrong = close
      wrong[levels / 2] = wrong[levels / 2] == "}" ? "]" : "}"
      #expect(throws: Malformed.self) { try check(Array((open + "1" + wrong.joined()).utf8)) }
    }
    #expect(throws: Malformed.self) { try check(Array(repeating: UInt8(ascii: "["), count: 1 << 20)) }
  }

  @Test("A value's slice knows its kind, and whether there is white space between its tokens")
  func slices() throws {
    let cases: [(String, JSONKind, Bool)] = [
      ("null", .null, false), ("true", .true, false), ("false", .false, false), ("-12", .integer, false),
      ("1.0", .fraction, false), ("1e2", .fraction, false), (#""a b""#, .string, false),
      (#""a\n""#, .escapedString, false), (#"[1,"a b"]"#, .list, false), ("[1, 2]", .list, true),
      (#"{"a":1}"#, .object, false), (#"{"a" :1}"#, .object, true),
    ]
    for (json, kind, hasSpace) in cases {
      try Array("  \(json) ".utf8).withUnsafeBufferPointer { bytes in
        var scanner = JSONScanner(bytes)
        let slice = try scanner.value()
        #expect(slice.kind == kind, "\(json)")
        #expect(slice.hasSpace == hasSpace, "\(json)")
        #expect(slice.range == 2..<2 + json.utf8.count, "\(json)")
      }
    }
  }
}
