import Testing

@testable import RosterTerminal

@Suite("QR codes of addresses")
struct QRCodeTests {
  @Test("T12.2: the code is the one that a scanner reads")
  func modules() throws {
    // zbarimg reads this picture as the text.
    let code = try #require(QRCode("https://a.test/d?c=AB-CD"))
    let rows = code.modules.map { row in row.map { $0 ? "#" : "." }.joined() }
    #expect(rows == Self.picture)
  }

  @Test("T12.2: a text of 230 bytes has a code, a longer one has none")
  func limit() {
    #expect(QRCode(String(repeating: "a", count: 230))?.modules.count == 53)
    #expect(QRCode(String(repeating: "a", count: 231)) == nil)
  }

  @Test("T12.2: it is shown as a whole or not at all, and in black on white with a border of four modules")
  func terminals() throws {
    let text = "https://a.test/d?c=AB-CD"
    let lines = QRCode.lines(text, on: Terminal(isInteractive: true, columns: 33, colour: true, rows: 18))
    #expect(lines.count == 17)
    let cells = lines.map { $0.replacing("\u{1b}[38;5;16;48;5;231m", with: "").replacing("\u{1b}[0m", with: "") }
    #expect(cells.allSatisfy { $0.count == 33 && $0.hasPrefix("    ") && $0.hasSuffix("    ") })
    #expect(cells[0] == String(repeating: " ", count: 33))
    for terminal in [
      Terminal(isInteractive: true, columns: 32, colour: true, rows: 18),
      Terminal(isInteractive: true, columns: 33, colour: true, rows: 17),
      Terminal(isInteractive: true, columns: 80, colour: false, rows: 50),
    ] {
      #expect(QRCode.lines(text, on: terminal) == [])
    }
  }

  private static let picture = [
    "#######.##......#.#######",
    "#.....#......##.#.#.....#",
    "#.###.#.#..#####..#.###.#",
    "#.###.#.##.#.#..#.#.###.#",
    "#.###.#.####.#.#..#.###.#",
    "#.....#..#..###.#.#.....#",
    "#######.#.#.#.#.#.#######",
    ".........#.#....#........",
    "####..#.#....##.##..###.#",
    ".##....###......#......#.",
    "..###.##......#.#.###....",
    "...#.......#####..##.##..",
    "###...#.##.#..#..##.#.###",
    "..#.......##..##..###...#",
    ".#.#.###....#...##..#.##.",
    "#.##.#.#....#..##.###...#",
    "..#.#.#.#.##.##.#########",
    "........#...#..##...#.#.#",
    "#######..####.#.#.#.#.###",
    "#.....#...#.#..##...#..#.",
    "#.###.#..#.#.##.######..#",
    "#.###.#.##..#...###.#####",
    "#.###.#.#..#.##..##.#.##.",
    "#.....#.##..####.#..#.#..",
    "#######.###.#.#..########",
  ]
}
