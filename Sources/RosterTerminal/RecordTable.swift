package import RosterCore

/// A page of records for people, or all records for a program.
package struct RecordTable: Sendable {
  private let telling: [Resource.Column]
  private let columns: [Resource.Column]
  private let values: [[String: String]]

  /// - Parameters:
  ///   - telling: The columns that a table shows first, the key before all others.
  ///   - columns: All columns of the resource, in the order of its definition.
  ///   - records: JSON objects, in the order of the table.
  package init(_ telling: [Resource.Column], besides columns: [Resource.Column], records: [String]) {
    self.telling = telling
    self.columns = columns
    values = records.map(JSONMembers.texts)
  }

  /// Lines of at most `width` cells, each with its end. Further columns are shown if they fit without a cut.
  package func text(width: Int, colour: Bool = false) -> String {
    var shown = telling
    var room = width - table(telling).naturalWidth
    for column in columns where !telling.contains(column) {
      let cells = table([column]).naturalWidth + Table.gap.count
      guard cells <= room else { continue }
      shown.append(column)
      room -= cells
    }
    return table(shown).lines(width: width, colour: colour).map { $0 + "\n" }.joined()
  }

  /// A line with the names of all columns, then a line for each record, separated by tabs. Texts are not cut. A tab or
  /// a line end inside a text becomes a space.
  package var tabSeparated: String {
    let names = columns.map(\.name)
    let rows = [names] + values.map { values in names.map { (values[$0] ?? "").oneLine } }
    return rows.map { $0.joined(separator: "\t") + "\n" }.joined()
  }

  /// A list has one line for each record, so longer texts are cut; `rosterctl show` prints them completely.
  private static let longest = 80

  private func table(_ columns: [Resource.Column]) -> Table {
    Table(
      columns: columns.enumerated().map { index, column in
        Table.Column(
          name: column.name.uppercased(), isNumber: column.type.isNumber,
          shrinks: index > 0 && column.type.isLong)
      },
      rows: values.map { values in
        columns.map { Table.Cell(text: (values[$0.name] ?? "").oneLine.cut(to: Self.longest)) }
      })
  }
}

/// The resources of a cache for people.
package struct ResourceTable: Sendable {
  private let resources: [(name: String, table: String, records: Int)]

  /// - Parameter resources: in the order of the table.
  package init(_ resources: [(name: String, table: String, records: Int)]) {
    self.resources = resources
  }

  /// Lines of at most `width` cells, each with its end; nil to cut nothing, because the output is not a terminal.
  package func text(width: Int?, colour: Bool = false) -> String {
    let table = Table(
      columns: [
        Table.Column(name: "RESOURCE", shrinks: true), Table.Column(name: "TABLE", shrinks: true),
        Table.Column(name: "RECORDS", isNumber: true),
      ],
      rows: resources.map {
        [Table.Cell(text: $0.name), Table.Cell(text: $0.table), Table.Cell(text: String($0.records))]
      })
    return table.lines(width: width, colour: colour).map { $0 + "\n" }.joined()
  }
}

extension Collection<Resource.Column> {
  /// The name of a record for people: the text column after the key among the identifying columns. Empty if that column
  /// has another type or does not exist.
  func title(_ values: [String: String]) -> String {
    dropFirst().first.flatMap { $0.type.isText ? values[$0.name] : nil } ?? ""
  }
}
