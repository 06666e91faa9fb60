/// Collects all mistakes. Their paths begin with `resource`.
package struct DefinitionFaults {
  /// The mistakes in the order in which they were found.
  package private(set) var list: [DefinitionConflict] = []
  /// The paths of the mistakes, and all paths above them.
  private var refused: Set<[String]> = []

  mutating func add(_ path: [String], _ problem: String, allowed: String) {
    list.append(DefinitionConflict(path: path, problem: problem, allowed: allowed))
    for count in 0...path.count { refused.insert(Array(path.prefix(count))) }
  }

  /// True if the value there, or one below it, is already refused. Conflicts that depend on it are not checked.
  func holds(_ path: [String]) -> Bool { refused.contains(path) }

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
