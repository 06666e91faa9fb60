import Testing

@testable import RosterTerminal

@Suite struct TableTests {
  private let table = Table(
    columns: [
      Table.Column(name: "ID", isNumber: true), Table.Column(name: "NAME", shrinks: true), Table.Column(name: "STATUS"),
    ],
    rows: [
      [Table.Cell(text: "9"), Table.Cell(text: "日本語の名前"), Table.Cell(text: "Alive", tone: .good)],
      [Table.Cell(text: "10"), Table.Cell(text: "Rick Sa\u{301}nchez the First"), Table.Cell(text: "Dead")],
    ])

  @Test("Columns are aligned, with wide and combining characters counted in the terminal's cells")
  func columns() {
    #expect(
      table.lines(width: nil, colour: false) == [
        "ID  NAME                    STATUS", " 9  日本語の名前            Alive", "10  Rick Sa\u{301}nchez the First  Dead",
      ])
  }

  @Test("A narrow terminal cuts names, then leaves out columns")
  func narrow() {
    #expect(table.lines(width: 22, colour: false)[2] == "10  Rick Sa\u{301}nc…  Dead")
    #expect(table.lines(width: 22, colour: false)[1] == " 9  日本語の…   Alive")
    #expect(table.lines(width: 14, colour: false) == ["ID  NAME", " 9  日本語…", "10  Rick Sa\u{301}…"])
  }

  @Test("No line is wider than the terminal", arguments: 1...60)
  func fits(width: Int) {
    #expect(table.lines(width: width, colour: false).allSatisfy { $0.cells <= width })
  }

  @Test("Colour does not move a column")
  func colour() {
    #expect(table.lines(width: nil, colour: true)[1] == " 9  日本語の名前            \u{1b}[32mAlive\u{1b}[0m")
  }
}
