import RosterCore

/// `[resource.NAME.each]`, with the definitions of its ancestors.
struct WrittenChild {
  let definition: WrittenDefinition
  let family: WrittenFamily
  let ancestors: [String]

  init(_ definition: WrittenDefinition, of family: WrittenFamily) {
    (self.definition, self.family) = (definition, family)
    ancestors = definition.resource.each == nil ? [] : family.ancestors(of: definition.resource.name)
  }

  static var rules: [KeyRule<WrittenChild>] {
    [
      .key("each.of", of: "F4.1", allowed: parent) { $0.problemOfParent },
      .key(
        "each.whole_every", beside: ["each.changed"], of: "F4.2", "\"never\" needs changed",
        allowed: "a duration, because without changed no list would be pulled again"
      ) { $0.each?.wholeEvery == .never && $0.each?.changed.isEmpty == true },
      .each(["columns.*"], of: "F4.4", allowed: "another name") { child in
        child.definition.resource.columns.filter {
          $0.name.lowercased() == child.definition.resource.parentColumn?.lowercased()
        }.map {
          .init(entry: [$0.name], problem: "is a column of rosterd's own: it has the record id of the parent")
        }
      },
      .each(["each.changed", "each.of"], of: "F4.2", allowed: "names of columns of the parent") { child in
        (child.each?.changed ?? []).compactMap(child.problemOfColumn).map { .init(problem: $0) }
      },
      .each(["each.empty", "each.of"], of: "F4.2", allowed: "columns of the parent, with values of their types") {
        child in
        (child.each?.empty ?? []).flatMap(\.self).compactMap { condition in
          (child.problemOfColumn(condition.column) ?? child.problemOfValue(condition)).map {
            .init(entry: [condition.column], problem: $0)
          }
        }
      },
      .each(["each"], of: "F4.3", allowed: placeholder) { child in
        child.definition.placedColumns.compactMap { placed in
          child.problem(of: placed.column).map {
            .init(of: placed.key, entry: placed.entry, problem: "\(placed.column.placeholder) \($0)")
          }
        }
      },
    ]
  }

  private static let parent = "the name of another resource, at most \(Each.maxSteps) steps below one without each"
  private static let placeholder =
    "{RESOURCE.COLUMN} of an integer or text column of the parent or of another ancestor"

  private var each: Each? { definition.resource.each }

  /// The reason why the resource in `each.of` cannot be the parent; nil if it can.
  private var problemOfParent: String? {
    guard let each else { return nil }
    let name = definition.resource.name
    return switch each.parent {
    case "": "is missing"
    case name: "\(name.tomlString) is the resource itself"
    case ParentColumn.key: "a parent cannot be called key, because {key.COLUMN} is a part of a key"
    case let parent where !family.has(parent): "\(parent.tomlString) is no resource"
    case _ where ancestors.contains(name):
      "is part of a circle: \(([name] + ancestors).joined(separator: ", "))"
    case _ where ancestors.count > Each.maxSteps:
      "has \(ancestors.count) ancestors: \(ancestors.joined(separator: ", "))"
    default: nil
    }
  }

  private func problemOfColumn(_ column: String) -> String? {
    guard let parent = definition.parent, let columns = family.columns(of: parent) else { return nil }
    return columns.contains { $0.name == column } ? nil : "\(column.tomlString) is no column of \(parent)"
  }

  /// A boolean for a column of numbers, or the reverse. The cache stores true as 1, but `where` never takes
  /// them for equal.
  private func problemOfValue(_ condition: Each.ParentCondition) -> String? {
    let type = definition.parent.flatMap { family.columns(of: $0) }?.first { $0.name == condition.column }?.type
    guard let type else { return nil }
    return condition.test.scalars.first { scalar in
      switch scalar {
      case .text: false
      case .integer, .real: type.form == .flag
      case .boolean: type.isNumber
      }
    }.map { "\($0.toml) is no value of a column of type \(type.rawValue)" }
  }

  /// The reason why a placeholder has no value.
  private func problem(of column: ParentColumn) -> String? {
    guard each != nil else { return "needs each" }
    guard ancestors.contains(column.resource) else { return "names no ancestor" }
    guard let columns = family.columns(of: column.resource) else { return nil }
    guard let found = columns.first(where: { $0.name == column.column }) else {
      return "names no column of \(column.resource)"
    }
    return found.type.isOfKeys ? nil : "is \(found.type.rawValue)"
  }
}

extension WrittenDefinition {
  /// The placeholders of the definition, without those that `since` inherits.
  fileprivate var placedColumns: [PlacedColumn] {
    resource.placedColumns.filter { !$0.key.hasPrefix("since.") || has($0.key) }
  }
}

extension Resource.Condition.Test {
  fileprivate var scalars: [Resource.Scalar] {
    switch self {
    case .absent, .present: []
    case .equal(let scalar): [scalar]
    case .differs(let scalars): scalars
    }
  }
}

/// The parents of all definitions, and their columns.
struct WrittenFamily {
  private let definitions: [String: WrittenDefinition]
  private let unknown: Set<String>

  /// - Parameter unknown: names of definitions whose columns are refused.
  init(_ definitions: [WrittenDefinition], unknown: Set<String>) {
    self.definitions = Dictionary(definitions.map { ($0.resource.name, $0) }) { first, _ in first }
    self.unknown = unknown
  }

  func has(_ name: String) -> Bool { definitions[name] != nil }

  /// nil if the columns are unknown.
  func columns(of name: String) -> [Resource.Column]? {
    unknown.contains(name) ? nil : definitions[name]?.resource.columns
  }

  /// The ancestors, the parent first. A circle ends before the first repetition.
  func ancestors(of name: String) -> [String] {
    var found: [String] = []
    var next = definitions[name]?.parent
    while let parent = next, !found.contains(parent) {
      found.append(parent)
      next = definitions[parent]?.parent
    }
    return found
  }

  /// Sentences about conditions that never change: a text column without `null = true` is never NULL.
  func warnings(_ definition: WrittenDefinition) -> [String] {
    let columns = definition.parent.flatMap { definitions[$0] }?.resource.columns ?? []
    return (definition.resource.each?.empty.flatMap(\.self) ?? []).compactMap { condition -> String? in
      guard let column = columns.first(where: { $0.name == condition.column }), column.type.isText,
        !column.isNullable, condition.test == .absent || condition.test == .present
      else { return nil }
      let place = dotted(["resource", definition.resource.name, "each", "empty", condition.column])
      let isTrue = condition.test == .present
      return "\(place) is always \(isTrue): the column is never NULL; write \"\" or { not = \"\" }"
    }
  }
}
