import RosterModel

extension WrittenDefinition {
  /// Mistakes of a child or of `inline` that concern no other resource (F1.1, F3.1, F4).
  @Rules<DefinitionConflict> var eachConflicts: [DefinitionConflict] {
    recordConflicts
    if let each = resource.each {
      let name = resource.name
      if parent == nil { DefinitionConflict.parent("is missing") }
      if each.parent == name { DefinitionConflict.parent("\(name.tomlString) is the resource itself") }
      if each.parent == ParentColumn.key {
        DefinitionConflict.parent("a parent cannot be called key, because {key.COLUMN} is a part of a key")
      }
      if each.wholeEvery == .never, each.changed.isEmpty {
        DefinitionConflict(
          path: ["each", "whole_every"], restsOn: [["each", "changed"]],
          problem: "\"never\" needs changed, because no list would be pulled again",
          allowed: "a duration, or columns of the parent in changed")
      }
      for column in resource.columns where column.name.lowercased() == parent.map({ "\($0)_id" }) {
        DefinitionConflict(
          path: ["columns", column.name],
          problem: "is a column of rosterd's own: it has the record id of the parent", allowed: "another name")
      }
    }
  }

  /// A page of one record has no part that changed, and the questions of `by_key` repeat it.
  @Rules<DefinitionConflict> private var recordConflicts: [DefinitionConflict] {
    let isRecord = resource.pages.style.kind.isRecord
    if let since = resource.since, isRecord || since.listing.pages.style.kind.isRecord {
      DefinitionConflict(
        path: ["since"], restsOn: [["since"], ["pages"]],
        problem: "the style \"record\" has no list of changed records", allowed: "no since")
    }
    if resource.isDetail, resource.byKey != nil {
      DefinitionConflict(
        path: ["by_key"], restsOn: [["by_key"], ["pages"], ["each"]],
        problem: "a detail has no key: path asks for it alone", allowed: "no by_key")
    } else if isRecord, resource.byKey != nil, resource.shape.readsLists {
      DefinitionConflict(
        path: ["by_key"], restsOn: [["by_key"], ["pages"], ["shape"]],
        problem: "its answers are lists, and with the style \"record\" a list is one record of the shape "
          + resource.shape.rawValue.tomlString, allowed: "no by_key")
    }
  }

  /// Each placeholder of an ancestor's column, and its place below the definition (R5.2).
  fileprivate var placeholders: [(path: [String], column: ParentColumn)] {
    let since = resource.since.map { since in
      let listing = since.listing
      let start = ["value": since.value, "from": since.from ?? ""].sorted { $0.key > $1.key }.flatMap { key, text in
        ParentColumn.all(in: text).map { (path: [key], column: $0) }
      }
      let own = Self.placeholders(
        headers: has("since", "headers") ? listing.headers : [], path: has("since", "path") ? listing.path : nil,
        query: has("since", "query") ? listing.query : [],
        body: has("since", "body") ? listing.body : nil)
      return (own + start).map {
        (path: ["since"] + $0.path, column: $0.column)
      }
    }
    let tests = resource.conditions.flatMap { condition in
      condition.test.scalars.flatMap(\.parentColumns).map { (path: ["where", condition.at.description], column: $0) }
    }
    return Self.placeholders(
      headers: resource.listing.headers, path: resource.path, query: resource.query, body: resource.body)
      + (since ?? []) + tests
      + ParentColumn.all(in: resource.keyQuestion?.text ?? "").map { (path: ["by_key"], column: $0) }
  }

  private static func placeholders(
    headers: [Request.Header], path: String?, query: [Resource.Parameter], body: JSONValue?
  ) -> [(path: [String], column: ParentColumn)] {
    let inQuery = query.flatMap { parameter in
      parameter.value.parentColumns.map { (path: ["query", parameter.name], column: $0) }
    }
    return ParentColumn.all(in: path ?? "").map { (path: ["path"], column: $0) } + inQuery
      + (body?.placeholders(at: ["body"]) ?? [])
      + headers.flatMap { header in
        ParentColumn.all(in: header.value).map { (path: ["headers", header.name], column: $0) }
      }
  }
}

extension JSONValue {
  fileprivate func placeholders(at path: [String]) -> [(path: [String], column: ParentColumn)] {
    switch self {
    case .text(let text): ParentColumn.all(in: text).map { (path: path, column: $0) }
    case .list(let elements): elements.flatMap { $0.placeholders(at: path) }
    case .object(let members): members.flatMap { $0.value.placeholders(at: path + [$0.name]) }
    case .null, .boolean, .number: []
    }
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

extension Resource.Scalar {
  /// True for a boolean beside a column of numbers, or the reverse: the cache stores true as 1, but `where` never takes
  /// them for equal.
  fileprivate func isMistaken(for type: Resource.ColumnType) -> Bool {
    switch self {
    case .text: false
    case .integer, .real: type.form == .flag
    case .boolean: type.isNumber
    }
  }
}

extension DefinitionConflict {
  fileprivate static func parent(_ problem: String) -> DefinitionConflict {
    DefinitionConflict(
      path: ["each", "of"], restsOn: [["each", "of"]], problem: problem, allowed: "the name of another resource")
  }
}

/// Compares children with their ancestors.
struct Ancestry {
  private let definitions: [String: WrittenDefinition]

  init(_ definitions: [WrittenDefinition]) {
    self.definitions = Dictionary(definitions.map { ($0.resource.name, $0) }) { first, _ in first }
  }

  /// Conflicts whose paths begin with the resource's name.
  func conflicts(_ written: [WrittenDefinition]) -> [DefinitionConflict] {
    written.flatMap { definition in
      conflicts(of: definition).map { conflict in
        var conflict = conflict
        conflict.path.insert(definition.resource.name, at: 0)
        return conflict
      }
    }
  }

  /// Sentences about conditions that never change: a text column without `null = true` is never NULL.
  func warnings(_ written: [WrittenDefinition]) -> [String] {
    written.flatMap { definition in
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

  /// The ancestors, the parent first. A circle ends before the first repetition.
  private func ancestors(of name: String) -> [String] {
    var found: [String] = []
    var next = definitions[name]?.parent
    while let parent = next, !found.contains(parent) {
      found.append(parent)
      next = definitions[parent]?.parent
    }
    return found
  }

  @Rules<DefinitionConflict>
  private func conflicts(of definition: WrittenDefinition) -> [DefinitionConflict] {
    let name = definition.resource.name
    let ancestors = definition.resource.each == nil ? [] : ancestors(of: name)
    if let parent = definition.parent, parent != name {
      if let problem = problem(of: name, ancestors) { DefinitionConflict.parent(problem, of: name) }
      if let each = definition.resource.each, let columns = definitions[parent]?.resource.columns {
        parentColumnConflicts(each, columns: Set(columns.map(\.name)), of: name)
        emptyConflicts(each.empty.flatMap(\.self), parent: parent, columns: columns, of: name)
      }
    }
    for (path, column) in definition.placeholders {
      if let problem = problem(of: column, in: definition, ancestors) {
        DefinitionConflict(
          path: path, restsOn: [[name] + path, [name, "each"]] + ancestors.map { [$0, "columns"] },
          problem: "\(column.placeholder) \(problem)",
          allowed: "{RESOURCE.COLUMN} of an integer or text column of the parent or of another ancestor")
      }
    }
  }

  /// The reason why the resource in `each.of` cannot be the parent (F4.1); nil if it can.
  private func problem(of name: String, _ ancestors: [String]) -> String? {
    guard let parent = ancestors.first else { return nil }
    if definitions[parent] == nil { return "\(parent.tomlString) is no resource" }
    if ancestors.contains(name) { return "is part of a circle: \(([name] + ancestors).joined(separator: ", "))" }
    return ancestors.count > Each.maxSteps
      ? "has \(ancestors.count) ancestors: \(ancestors.joined(separator: ", "))" : nil
  }

  private func parentColumnConflicts(
    _ each: Each, columns: Set<String>, of name: String
  ) -> [DefinitionConflict] {
    let parent = each.parent
    let named =
      each.changed.map { ("changed", nil as String?, $0) } + each.emptyColumns.map { ("empty", $0, $0) }
    return named.filter { !columns.contains($0.2) }.map { key, entry, column in
      DefinitionConflict(
        path: ["each", key] + (entry.map { [$0] } ?? []), restsOn: [[name, "each", "of"], [parent, "columns"]],
        problem: "\(column.tomlString) is no column of \(parent)", allowed: "names of columns of the parent")
    }
  }

  /// Conflicts of `empty` with a boolean for a column of numbers, or the reverse (F4.2).
  private func emptyConflicts(
    _ conditions: [Each.ParentCondition], parent: String, columns: [Resource.Column], of name: String
  ) -> [DefinitionConflict] {
    conditions.compactMap { condition in
      guard let type = columns.first(where: { $0.name == condition.column })?.type,
        let scalar = condition.test.scalars.first(where: { $0.isMistaken(for: type) })
      else { return nil }
      return DefinitionConflict(
        path: ["each", "empty", condition.column], restsOn: [[name, "each", "of"], [parent, "columns"]],
        problem: "\(scalar.toml) is no value of a column of type \(type.rawValue)",
        allowed: type.form == .flag ? "true, false" : "numbers")
    }
  }

  /// The reason why a placeholder has no value (F4.3).
  private func problem(of column: ParentColumn, in definition: WrittenDefinition, _ ancestors: [String]) -> String? {
    guard definition.resource.each != nil else { return "needs each" }
    guard ancestors.contains(column.resource) else { return "names no ancestor" }
    guard let columns = definitions[column.resource]?.resource.columns else { return nil }
    guard let found = columns.first(where: { $0.name == column.column }) else {
      return "names no column of \(column.resource)"
    }
    return found.type.isOfKeys ? nil : "is \(found.type.rawValue)"
  }
}

extension DefinitionConflict {
  fileprivate static func parent(_ problem: String, of name: String) -> DefinitionConflict {
    var conflict = parent(problem)
    conflict.restsOn = [[name, "each", "of"]]
    conflict.allowed = "the name of another resource, at most \(Each.maxSteps) steps below one without each"
    return conflict
  }
}
