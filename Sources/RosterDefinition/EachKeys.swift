package import RosterCore

extension Each {
  /// The keys of `[resource.NAME.each]`, in the order of the manual page.
  package static let keys: [DefinitionKey<Each>] = [
    DefinitionKey(
      "of", \.parent, type: .text("the name of another resource"),
      doc: "Name of the parent, at most three steps below a resource without this table."),
    DefinitionKey(
      "changed", \.changed, type: .columnNames("names of columns of the parent"), doc: "Columns of the parent."),
    DefinitionKey(
      "whole_every", optional: \.period, type: .wholeEvery, isWritten: false,
      doc: "Maximum time between two pulls of a list."),
    DefinitionKey(
      "empty", \.empty, type: .alternatives, doc: "Columns of the parent with conditions as in where."),
    DefinitionKey(
      "none", optional: \.emptyStatuses, type: .integers(400...599, noContent: "no records"), isWritten: false,
      doc: "An older name for statuses of no_records."),
  ]
}

extension ValueType<Each.Whole> {
  static var wholeEvery: Self {
    let duration = ValueType<Duration?>.durationOrNever(atLeast: .seconds(60))
    return Self(
      name: duration.name, allowed: duration.allowed,
      read: { (item) throws(Mistakes) in try duration.read(item).map(Each.Whole.every) ?? .never },
      write: { whole in
        if case .every(let time) = whole { duration.write(time) } else { duration.write(nil) }
      })
  }
}
