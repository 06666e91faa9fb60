package import RosterModel

/// A page of records, for people.
package struct RecordTable: Sendable {
  private let columns: [Resource.Column]
  private let records: [String]

  /// - Parameters:
  ///   - columns: what is shown of a record, the key first.
  ///   - records: JSON objects, in the order in which they are to stand.
  package init(_ columns: [Resource.Column], _ records: [String]) {
    self.columns = columns
    self.records = records
  }

  /// Lines of at most `width` cells, each with its end; nil: nobody's terminal, so only long texts are cut.
  package func text(width: Int?, colour: Bool = false) -> String {
    table.lines(width: width, colour: colour).map { $0 + "\n" }.joined()
  }

  /// What is longer is for `show`: whoever reads a list wants a line a record.
  private static let longest = 80

  private var table: Table {
    Table(
      columns: columns.enumerated().map { index, column in
        Table.Column(
          name: column.name.uppercased(), isNumber: [.integer, .real].contains(column.type),
          shrinks: index > 0 && [.text, .json].contains(column.type))
      },
      rows: records.map { record in
        let values = JSONMembers.texts(record)
        return columns.map { Table.Cell(text: (values[$0.name] ?? "").oneLine.cut(to: Self.longest)) }
      })
  }
}

/// The resources of a cache, for people.
package struct ResourceTable: Sendable {
  private let resources: [(name: String, table: String, records: Int)]

  /// In the order in which they are to stand.
  package init(_ resources: [(name: String, table: String, records: Int)]) {
    self.resources = resources
  }

  /// Lines of at most `width` cells, each with its end; nil: nobody's terminal, so nothing is cut.
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
