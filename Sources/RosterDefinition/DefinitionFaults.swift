/// A mistake in a definition.
package struct DefinitionFault: Sendable {
  /// The place of the correction.
  package let path: [String]
  /// The reason, as a clause.
  package let problem: String
  /// The permitted values in words.
  package let allowed: String
  /// The name of the broken rule; nil for a value that is invalid by itself.
  package let rule: String?
}

/// Collects all mistakes. Their paths begin with `resource`.
package struct DefinitionFaults {
  /// The mistakes in the order in which they were found.
  package private(set) var list: [DefinitionFault] = []
  /// The paths of the mistakes.
  private var places: Set<[String]> = []
  /// The paths of the mistakes, and all paths above them.
  private var refused: Set<[String]> = []

  mutating func add(_ path: [String], _ problem: String, allowed: String, rule: String? = nil) {
    list.append(DefinitionFault(path: path, problem: problem, allowed: allowed, rule: rule))
    places.insert(path)
    for count in 0...path.count { refused.insert(Array(path.prefix(count))) }
  }

  /// True if the value there, or one below it, is already refused.
  func holds(_ path: [String]) -> Bool { refused.contains(path) }

  /// Checks the rules of a table, in their order. A key is refused by one rule only.
  /// - Parameters:
  ///   - table: The path of the table.
  ///   - place: The place of a path below the table; by default the path itself.
  mutating func check<Table>(
    _ rules: [KeyRule<Table>], of values: Table, at table: [String], place: ([String]) -> [String] = { $0 }
  ) {
    func path(_ key: String) -> [String] { place(key.split(separator: ".").map(String.init)) }
    for rule in rules {
      let violations = rule.violations(values)
      // Paths are compared only for the few rules that are broken.
      if violations.isEmpty { continue }
      let read = rule.keys.filter { !$0.contains("*") }
      if read.contains(where: { holds(table + path($0)) }) { continue }
      let found = violations.map { violation in
        (violation, place: table + path(violation.key ?? rule.key) + violation.entry)
      }.filter { !places.contains($0.place) }
      for (violation, place) in found {
        add(place, violation.problem, allowed: violation.allowed ?? rule.allowed, rule: rule.name)
      }
    }
  }

  /// The members of a table; nil, with a mistake, if the value is not a table.
  mutating func table(_ item: TOMLItem, at path: [String]) -> TOMLMembers? {
    if case .table(let members) = item { return members }
    add(path, item.isNot("a table"), allowed: "[\(dotted(path))]")
    return nil
  }

  /// Reads the keys of a table. The value `""` means that the key is omitted.
  /// - Parameter others: keys that are read elsewhere. All other keys are unknown.
  mutating func read<Table>(
    _ members: TOMLMembers, at path: [String], _ keys: [DefinitionKey<Table>], besides others: [String] = [],
    into table: inout Table
  ) {
    for member in members.list {
      let place = path + [member.name]
      if let key = keys.first(where: { $0.name == member.name }) {
        guard member.item != .string("") else { continue }
        do throws(Mistakes) { try key.read(member.item, &table) } catch { add(error, at: place, key.allowed) }
      } else if !others.contains(member.name) {
        add(place, "is unknown", allowed: (keys.map(\.name) + others).joined(separator: ", "))
      }
    }
  }

  /// nil if the value is refused.
  mutating func value<Value>(_ item: TOMLItem, at path: [String], _ type: ValueType<Value>) -> Value? {
    do throws(Mistakes) { return try type.read(item) } catch {
      add(error, at: path, type.allowed)
      return nil
    }
  }

  private mutating func add(_ mistakes: Mistakes, at path: [String], _ allowed: String) {
    for mistake in mistakes.list {
      let place = path + (mistake.entry.map { [$0] } ?? [])
      add(place, mistake.problem, allowed: mistake.allowed ?? allowed)
    }
  }
}

extension TOMLMembers {
  /// The value of a key; nil also for `""`, which means that the key is omitted.
  func given(_ name: String) -> TOMLItem? { self[name].flatMap { $0 == .string("") ? nil : $0 } }
}
