import Testing

@testable import RosterDaemon

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

  @Test("Every kind of value arrives")
  func items() throws {
    let text = "a = 'x'\nb = -1\nc = 1.5\nd = false\ne = 2026-01-01\nf = [1, ['y']]\ng = { h = 07:32:00 }"
    #expect(
      try TOMLDocument(text).items == [
        "a": .string("x"), "b": .integer(-1), "c": .float(1.5), "d": .boolean(false), "e": .date,
        "f": .list([.integer(1), .list([.string("y")])]), "g": .table(["h": .date]),
      ])
  }

  @Test(
    "A value by itself is one value and no more",
    arguments: [
      ("8", .integer(8)), ("[403]", .list([.integer(403)])), ("", nil), ("eight", nil), ("8\nother = 1", nil),
      ("1\n[table]", nil),
    ] as [(String, TOMLItem?)])
  func item(text: String, expected: TOMLItem?) {
    #expect(TOMLDocument.item(text) == expected)
  }

  @Test("T9: a syntax error repeats no text that is not a key's name")
  func quotes() {
    #expect(
      cause(of: "a = 1\nb = 99999999999999999999999")
        == "error while parsing decimal integer: '…' is not representable in 64 bits")
    #expect(
      cause(of: "geheim = 1\ngeheim = 2") == "error while parsing key-value pair: cannot redefine existing integer '…'")
  }

  @Test(
    "NUL is refused, written or escaped: the parser would stop there",
    arguments: ["a = 1\n\0", "a = 1\nb = \"\\u0000\"", "a = 1\n\"b\\U00000000\" = 1"])
  func nul(text: String) {
    #expect(throws: TOMLDocument.SyntaxError(line: 2, cause: "NUL in the text")) { _ = try TOMLDocument(text) }
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
