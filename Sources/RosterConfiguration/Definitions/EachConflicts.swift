import RosterModel

extension ResourceDraft {
  /// Mistakes of a child or of `inline` that concern no other resource (F1.1, F3.1, F4).
  @Rules<DefinitionConflict> func eachConflicts(of name: String) -> [DefinitionConflict] {
    recordConflicts
    if let each {
      if each.parent == nil { DefinitionConflict.parent("is missing") }
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
      for column in columns where column.name.lowercased() == each.parent.map({ "\($0)_id" }) {
        DefinitionConflict(
          path: ["columns", column.name],
          problem: "is a column of rosterd's own: it has the record id of the parent", allowed: "another name")
      }
    }
  }

  /// A page of one record has no part that changed, and the questions of `by_key` repeat it.
  @Rules<DefinitionConflict> private var recordConflicts: [DefinitionConflict] {
    let isRecord = pages.style == .record
    if isRecord || since?.pages?.style == .record, since != nil {
      DefinitionConflict(
        path: ["since"], restsOn: [["since"], ["pages"]],
        problem: "the style \"record\" has no list of changed records", allowed: "no since")
    }
    if isDetail, byKey != nil {
      DefinitionConflict(
        path: ["by_key"], restsOn: [["by_key"], ["pages"], ["each"]],
        problem: "a detail has no key: path asks for it alone", allowed: "no by_key")
    } else if isRecord, byKey != nil, shape.readsLists {
      DefinitionConflict(
        path: ["by_key"], restsOn: [["by_key"], ["pages"], ["shape"]],
        problem: "its answers are lists, and with the style \"record\" a list is one record of the shape "
          + shape.rawValue.tomlString, allowed: "no by_key")
    }
  }

  /// Each placeholder of an ancestor's column, and its place below the definition (R5.2).
  fileprivate var placeholders: [(path: [String], column: ParentColumn)] {
    let since = since.map { since in
      let start = ["value": since.value, "from": since.from ?? ""].sorted { $0.key > $1.key }.flatMap { key, text in
        ParentColumn.all(in: text).map { (path: [key], column: $0) }
      }
      return (Self.placeholders(path: since.path, query: since.query ?? [], body: since.body) + start).map {
        (path: ["since"] + $0.path, column: $0.column)
      }
    }
    let tests = conditions.flatMap { condition in
      condition.test.scalars.flatMap(\.parentColumns).map { (path: ["where", condition.at.description], column: $0) }
    }
    return Self.placeholders(path: path, query: query, body: body) + (since ?? []) + tests
      + ParentColumn.all(in: byKey ?? "").map { (path: ["by_key"], column: $0) }
  }

  private static func placeholders(
    path: String?, query: [Resource.Parameter], body: JSONValue?
  ) -> [(path: [String], column: ParentColumn)] {
    let inQuery = query.flatMap { parameter in
      parameter.value.parentColumns.map { (path: ["query", parameter.name], column: $0) }
    }
    return ParentColumn.all(in: path ?? "").map { (path: ["path"], column: $0) } + inQuery
      + (body?.placeholders(at: ["body"]) ?? [])
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
  private let drafts: [String: ResourceDraft]

  init(_ drafts: [(name: String, draft: ResourceDraft)]) {
    self.drafts = Dictionary(drafts.map { ($0.name, $0.draft) }) { first, _ in first }
  }

  /// Conflicts whose paths begin with the resource's name.
  func conflicts(_ drafts: [(name: String, draft: ResourceDraft)]) -> [DefinitionConflict] {
    drafts.flatMap { name, draft in
      conflicts(of: name, draft).map { conflict in
        var conflict = conflict
        conflict.path.insert(name, at: 0)
        return conflict
      }
    }
  }

  /// Sentences about conditions that never change: a text column without `null = true` is never NULL.
  func warnings(_ drafts: [(name: String, draft: ResourceDraft)]) -> [String] {
    drafts.flatMap { name, draft in
      let columns = draft.each?.parent.flatMap { self.drafts[$0] }?.columns ?? []
      return (draft.each?.empty ?? []).compactMap { condition -> String? in
        guard let column = columns.first(where: { $0.name == condition.column }), column.type.isText,
          !column.isNullable, condition.test == .absent || condition.test == .present
        else { return nil }
        let place = dotted(["resource", name, "each", "empty", condition.column])
        let isTrue = condition.test == .present
        return "\(place) is always \(isTrue): the column is never NULL; write \"\" or { not = \"\" }"
      }
    }
  }

  /// The ancestors, the parent first. A circle ends before the first repetition.
  private func ancestors(of name: String) -> [String] {
    var found: [String] = []
    var next = drafts[name]?.each?.parent
    while let parent = next, !found.contains(parent) {
      found.append(parent)
      next = drafts[parent]?.each?.parent
    }
    return found
  }

  @Rules<DefinitionConflict>
  private func conflicts(of name: String, _ draft: ResourceDraft) -> [DefinitionConflict] {
    let ancestors = draft.each == nil ? [] : ancestors(of: name)
    if let parent = draft.each?.parent, parent != name {
      if let problem = problem(of: name, ancestors) { DefinitionConflict.parent(problem, of: name) }
      if let columns = drafts[parent]?.columns {
        parentColumnConflicts(draft, parent: parent, columns: Set(columns.map(\.name)), of: name)
        emptyConflicts(draft.each?.empty ?? [], parent: parent, columns: columns, of: name)
      }
    }
    for (path, column) in draft.placeholders {
      if let problem = problem(of: column, in: draft, ancestors) {
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
    if drafts[parent] == nil { return "\(parent.tomlString) is no resource" }
    if ancestors.contains(name) { return "is part of a circle: \(([name] + ancestors).joined(separator: ", "))" }
    return ancestors.count > Each.maxSteps
      ? "has \(ancestors.count) ancestors: \(ancestors.joined(separator: ", "))" : nil
  }

  private func parentColumnConflicts(
    _ draft: ResourceDraft, parent: String, columns: Set<String>, of name: String
  ) -> [DefinitionConflict] {
    guard let each = draft.each else { return [] }
    let named =
      each.changed.map { ("changed", nil as String?, $0) } + each.empty.map { ("empty", $0.column, $0.column) }
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
  private func problem(of column: ParentColumn, in draft: ResourceDraft, _ ancestors: [String]) -> String? {
    guard draft.each != nil else { return "needs each" }
    guard ancestors.contains(column.resource) else { return "names no ancestor" }
    guard let columns = drafts[column.resource]?.columns else { return nil }
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
