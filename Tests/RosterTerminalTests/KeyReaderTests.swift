import Testing

@testable import RosterTerminal

@Suite struct KeyReaderTests {
  @Test("Keys are found in a terminal's input, in any pieces; other input is skipped")
  func keys() {
    let sent =
      "q\u{1b}[A\u{1b}OB\u{1b}[5~\u{1b}[6~\u{1b}[H\u{1b}[1;5F\u{1b}[1~\u{1b}[4~\u{1b}[200~é \r\u{1b}[Zs\u{1b}e\u{1b}\u{1b}[A"
    let expected: [Key] = [
      .letter("q"), .up, .down, .pageUp, .pageDown, .home, .end, .home, .end, .letter("s"), .letter("e"), .up,
    ]
    for size in [1, 3, 100] {
      var reader = KeyReader()
      var keys: [Key] = []
      var rest = Array(sent.utf8)[...]
      while !rest.isEmpty {
        keys += reader.keys(in: rest.prefix(size))
        rest = rest.dropFirst(size)
      }
      #expect(keys == expected)
    }
  }
}
