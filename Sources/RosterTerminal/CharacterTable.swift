package import RosterModel

/// A page of characters, for people.
package struct CharacterTable: Sendable {
  private let characters: [RosterModel.Character]

  /// In the order in which they are to stand.
  package init(_ characters: [RosterModel.Character]) {
    self.characters = characters
  }

  /// Lines of at most `width` cells, each with its end; nil: nobody's terminal, so nothing is cut.
  package func text(width: Int?, colour: Bool = false) -> String {
    table.lines(width: width, colour: colour).map { $0 + "\n" }.joined()
  }

  private var table: Table {
    Table(
      columns: [
        Table.Column(name: "ID", isNumber: true), Table.Column(name: "NAME", shrinks: true),
        Table.Column(name: "STATUS"), Table.Column(name: "SPECIES", shrinks: true),
        Table.Column(name: "LOCATION", shrinks: true),
      ],
      rows: characters.map { character in
        let texts = [character.name, character.status, character.species, character.location.name]
        return [Table.Cell(text: String(character.id))] + texts.map { Table.Cell(text: $0.printable) }
      })
  }
}
