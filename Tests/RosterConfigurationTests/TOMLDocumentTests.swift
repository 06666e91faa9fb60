import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite("Reading TOML")
struct TOMLDocumentTests {
  @Test("A key's line is where its statement begins, in tables, dotted keys, inline tables and lists of many lines")
  func lines() throws {
    let text = """
      # a comment with a = 1 and [x]
      top.dotted = 1

      [one] # the table
      list = [
        "a", # [two]
        "b",
      ]
      text = \"\"\"
      [two]
      key = 1
      \"\"\"
      inline = { inner = 1, deep = { er = 2 } }
      [one.two]
      "quoted.key" = 1
        [three]
        last = true
      """
    let expected: [[String]: Int] = [
      ["top"]: 2, ["top", "dotted"]: 2, ["one"]: 4, ["one", "list"]: 5, ["one", "text"]: 9, ["one", "inline"]: 13,
      ["one", "inline", "inner"]: 13, ["one", "inline", "deep"]: 13, ["one", "inline", "deep", "er"]: 13,
      ["one", "two"]: 14, ["one", "two", "quoted.key"]: 15, ["three"]: 16, ["three", "last"]: 17,
    ]
    #expect(try TOMLDocument(text).lines() == expected)
    let windows = text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
    #expect(try TOMLDocument(windows).lines() == expected)
  }

  @Test("Strings and lists of many lines end as in TOML, whatever they contain")
  func ends() throws {
    let text = #"""
      a = """x\""" ] # "" """""
      b = ["]", '[', # ]
        [ { c = "}" } ], """
      ]"""
      ]
      c = '''
      d = 1 '''
      "e # [" = 'a' # [
      f = ""
      """#
    #expect(try TOMLDocument(text).lines() == [["a"]: 1, ["b"]: 2, ["c"]: 6, ["e # ["]: 8, ["f"]: 9])
  }

  @Test(
    "The lines of a file of 256 KiB are found within a moment, whatever its content",
    arguments: [
      "a = [\n" + String(repeating: "1,\n", count: 85_000) + "]",
      "a = '''\n" + String(repeating: "\n", count: 260_000) + "'''",
      "[" + String(repeating: "a", count: 128_000) + "]\n" + (0..<14_000).map { "b\($0) = 1\n" }.joined(),
      String(repeating: "\n", count: 260_000) + "a = 1",
    ])
  func large(text: String) throws {
    let document = try TOMLDocument(text)
    let took = ContinuousClock().measure { #expect(!document.lines().isEmpty) }
    #expect(took < .seconds(2) || Sanitizer.isPresent)
  }

  @Test("Every kind of value is read")
  func items() throws {
    let text = "a = 'x'\nb = -1\nc = 1.5\nd = false\ne = 2026-01-01\nf = [1, ['y']]\ng = { h = 07:32:00 }"
    #expect(
      try TOMLDocument(text).items == [
        "a": .string("x"), "b": .integer(-1), "c": .float(1.5), "d": .boolean(false), "e": .date,
        "f": .list([.integer(1), .list([.string("y")])]), "g": .table(["h": .date]),
      ])
  }

  @Test("Keys keep the file's order, in tables, dotted keys, inline tables, and tables in lists")
  func order() throws {
    let text = #"""
      z = 1
      'x y' = [ 1, # "
        { n = 1, b."\u0061 \n\"" = """a = 1""", "" = 2 }, { m = 1, c = 1 } ]
      [t.s]
      q = 2026-01-01 07:32:00 # c = 1
      a = 'no = 1'
      [[t.r]]
      y = 1
      b = 1
      [[t.r]]
      c = 1
      b = 1
        [t.r.in]
        k = """
      e = 1
      """
        f = { u = {}, g = [] }
      [a]
      [t]
      m = 1
      """#
    let inner: TOMLItem = .table(["k": .string("e = 1\n"), "f": .table(["u": .table([:]), "g": .list([])])])
    let document = try TOMLDocument(text)
    #expect(
      document.items == [
        "z": .integer(1),
        "x y": .list([
          .integer(1),
          .table(["n": .integer(1), "b": .table(["a \n\"": .string("a = 1")]), "": .integer(2)]),
          .table(["m": .integer(1), "c": .integer(1)]),
        ]),
        "t": .table([
          "s": .table(["q": .date, "a": .string("no = 1")]),
          "r": .list([
            .table(["y": .integer(1), "b": .integer(1)]),
            .table(["c": .integer(1), "b": .integer(1), "in": inner]),
          ]), "m": .integer(1),
        ]), "a": .table([:]),
      ])
    #expect(document.lines()[["t", "m"]] == 20)
  }

  @Test(
    "The search for keys ends in invalid TOML, too",
    arguments: [
      "[", "a", "=", "\"", "'''", "a = [", "a = {", "]", "a = [}", "{", "a.", "[[", "a = \"\\", "a = \"\\u", ",",
      "a = {]", "a = [1", "a = {b", "a = {b = ,}",
    ])
  func ends(text: String) {
    #expect(TOMLKeyPlaces(of: "\(text)\nc = 1\n").places.count < 6)
    #expect(TOMLKeyPlaces(of: text).places.count < 4)
  }

  @Test(
    "A single value is one value and no more",
    arguments: [
      ("8", .integer(8)), ("[403]", .list([.integer(403)])), ("", nil), ("eight", nil), ("8\nother = 1", nil),
      ("1\n[table]", nil),
    ] as [(String, TOMLItem?)])
  func item(text: String, expected: TOMLItem?) {
    #expect(TOMLDocument.item(text) == expected)
  }

  @Test("38: a syntax error repeats no text except a key's name")
  func quotes() {
    #expect(
      cause(of: "a = 1\nb = 99999999999999999999999")
        == "error while parsing decimal integer: '…' is not representable in 64 bits")
    #expect(
      cause(of: "geheim = 1\ngeheim = 2") == "error while parsing key-value pair: cannot redefine existing integer '…'")
  }

  @Test("A syntax error is one line, and does not control the terminal", arguments: ["\u{85}", "\u{2028}", "\u{202E}"])
  func steering(scalar: String) {
    #expect(
      cause(of: "a = \"\\u\(scalar)\"")
        == "error while parsing unicode scalar sequence: expected hex digit, saw '\u{FFFD}'")
  }

  @Test(
    "NUL is refused, written or escaped, because the parser would stop there",
    arguments: [
      "a = 1\n\0", "a = 1\nb = \"\\u0000\"", "a = 1\n\"b\\U00000000\" = 1", "a = \"\"\"\n\\\\\\u0000\"\"\"",
    ])
  func nul(text: String) {
    #expect(throws: TOMLDocument.SyntaxError(line: 2, cause: "NUL in the text")) { _ = try TOMLDocument(text) }
  }

  @Test(
    "The letters of an escaped NUL are allowed in a comment, in a literal text and after an escaped backslash",
    arguments: [#"a = 1 # \u0000"#, #"a = 'C:\u0000'"#, #"a = "C:\\u0000""#, "a = \"\"\"\n\\\\U00000000\"\"\""])
  func noNUL(text: String) throws {
    #expect(try TOMLDocument(text).lines() == [["a"]: 1])
  }

  @Test(
    "A key of thousands of parts is refused, because each would be a deeper call",
    arguments: ["x = 1\na", "x = 1\n\"a\"", "x = 1\n[a", "x = 1\ny = { a"])
  func deep(start: String) {
    let text = start + String(repeating: ".a", count: 20_000) + " = 1"
    #expect(throws: TOMLDocument.SyntaxError(line: 2, cause: "a key of more than 10 parts")) {
      _ = try TOMLDocument(text)
    }
  }

  @Test(
    "A table's name with an invalid beginning is refused, because the parser would end the program",
    arguments: ["[=a]", "[.a]", "[#]", "[\t@ ]", "[[é]]", " [ é]", "[\u{A0}a]", "[{]", "[[[", "[,", "[", "[[ "])
  func nameless(header: String) {
    let cause = "a table's name begins with what needs quotes"
    #expect(throws: TOMLDocument.SyntaxError(line: 2, cause: cause)) { _ = try TOMLDocument("a = 1\n\(header)\nb = 1") }
  }

  @Test(
    "A list's value with an invalid beginning is refused, because the parser would end the program",
    arguments: [
      "c = [}", "c = [ 'x', }", "c = { d = [ } }", "c = [ # [\n}", "c = [\u{2028}1]", "c = [1,\u{85}", "é = 1",
    ])
  func valueless(text: String) {
    #expect(throws: TOMLDocument.SyntaxError.self) { _ = try TOMLDocument("a = 1\n\(text)\nb = 1") }
  }

  @Test(
    "A date that is followed by an invalid time is refused, because the parser would end the program",
    arguments: [
      "T+7:30", "T:", "t-1:00", "TZ:", "T", "T7:30", "t ", " 1", " 1:00", " 1 :00", " 0#", " 7",
    ])
  func timeless(behind: String) {
    let error = TOMLDocument.SyntaxError(line: 2, cause: "a date is followed by what is no time")
    #expect(throws: error) { _ = try TOMLDocument("a = 1\nb = 1979-05-27\(behind)\n") }
    #expect(throws: error) { _ = try TOMLDocument("a = 1\nb = [1979-05-27\(behind)]") }
  }

  @Test("Dates and times are read, and similar text in strings and comments is unchanged")
  func times() throws {
    let text = """
      a = [1979-05-27T07:32:00Z, 1979-05-27 07:32:00.5-01:00, 1979-05-27, 07:32:00, 1979-05-27t07:32:00 ]
      b = "1979-05-27T+7" # 1979-05-27T+7
      c = '1979-05-27 1'
      """
    #expect(try TOMLDocument(text).items.list.map(\.name) == ["a", "b", "c"])
  }

  @Test("Text in brackets is unchanged unless it is a table's name")
  func bracketed() throws {
    let text = "a = [\n[{ b = 1 }], # [=\n[ # é\n+1]\n]\nc = \"\"\"\n[é]\n\"\"\"\n[ 'é' ]\n[[ \"=\" ]]\n[-._.1]"
    #expect(try TOMLDocument(text).items.list.map(\.name) == ["a", "c", "é", "=", "-"])
    for text in ["[]", "[ ]", "[[]]"] {
      #expect(throws: TOMLDocument.SyntaxError.self) { _ = try TOMLDocument(text) }
    }
  }

  @Test("Dots in texts, comments and numbers do not divide keys")
  func dots() throws {
    let dots = String(repeating: ".", count: 100)
    let text = "a = \"\(dots)\" # \(dots)\nb = [\(String(repeating: "1.5, ", count: 50))]\n\"\(dots)\".c = '\(dots)'"
    #expect(try TOMLDocument(text).items.list.count == 3)
  }

  private func cause(of text: String) -> String? {
    do {
      _ = try TOMLDocument(text)
      return nil
    } catch {
      return error.cause
    }
  }
}
