import RosterModel

/// The keys of `[resource.NAME.each]`, each by itself.
struct EachDraft: Sendable {
  var parent: String?
  var changed: [String] = []
  /// nil for the default, which depends on `changed`.
  var wholeEvery: Each.Whole?
  var empty: [Each.ParentCondition] = []
  /// An older name for statuses of `no_records`.
  var emptyStatuses: [Int]?

  init() {}

  init(_ each: Each) {
    parent = each.parent
    changed = each.changed
    wholeEvery = each.wholeEvery == .inEachSync ? nil : each.wholeEvery
    empty = each.empty
  }

  /// nil without a parent.
  var each: Each? {
    parent.map { Each(of: $0, changed: changed, wholeEvery: wholeEvery, empty: empty) }
  }

  static let keys: [DefinitionKey<EachDraft>] = [
    DefinitionKey("of", \.parent, .text("the name of another resource")),
    DefinitionKey("changed", \.changed, .columnNames("names of columns of the parent")),
    DefinitionKey("whole_every", \.wholeEvery, .wholeEvery, absent: nil),
    DefinitionKey("empty", \.empty, .parentConditions),
    DefinitionKey("none", \.emptyStatuses, .integers(400...599), absent: nil),
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
