import RosterModel

extension ResourceDraft {
  @Rules<DefinitionConflict> var conflicts: [DefinitionConflict] {
    if path == nil, inline == nil {
      DefinitionConflict(
        path: ["path"], restsOn: [["path"], ["inline"]], problem: "is missing",
        allowed: "a path below base_url that begins with /")
    }
    if columns.isEmpty {
      DefinitionConflict(
        path: ["columns"], restsOn: [["columns"]], problem: "there are no columns", allowed: "one column at least")
    }
    keyConflicts
    if !shape.isRows, !rowNames.isWhole {
      DefinitionConflict(
        path: ["row_names"], restsOn: [["shape"]], problem: "needs shape = \"rows\"",
        allowed: "shape = \"rows\" beside it")
    }
    if let twice = inlineTwice {
      DefinitionConflict(
        path: ["inline"], restsOn: [["inline"], ["key"]], problem: "two records have the key \(twice.toml)",
        allowed: "records with different keys")
    }
    (isDetail ? [] : key).compactMap(keyWithoutColumn)
    searchConflicts
    listConflicts
    pages.conflicts(of: ["pages"])
    bodyConflicts
    sinceConflicts
  }

  /// Conflicts of `by_key`, and of a key of several places.
  @Rules<DefinitionConflict> private var keyConflicts: [DefinitionConflict] {
    if removal == .ask, byKey == nil {
      DefinitionConflict(
        path: ["removal"], restsOn: [["by_key"]], problem: "\"ask\" needs by_key", allowed: "twice, never, or a by_key")
    }
    let names = key.compactMap { place in columns.first { $0.at == place && $0.type.isOfKeys }?.name }
    if let problem = problemOfByKey(names) {
      DefinitionConflict(
        path: ["by_key"], restsOn: [["by_key"], ["key"], ["columns"]], problem: problem,
        allowed: key.count == 1
          ? "a path with {key} or {keys}" : "a path with \(names.map { "{key.\($0)}" }.joined(separator: ", "))")
    }
    if key.count > 1, pages.style == .after, pages.at == nil {
      DefinitionConflict(
        path: ["pages", "at"], restsOn: [["pages", "style"], ["pages", "at"]],
        problem: "the style \"after\" needs it beside a key of several places", allowed: "a JSON Pointer into a record")
    }
    if byKey == nil, !byKeyRecords.isWhole {
      DefinitionConflict(
        path: ["by_key_records"], restsOn: [["by_key"]], problem: "needs by_key", allowed: "a by_key beside it")
    }
  }

  /// A composite key needs each of its columns in the path, a plain key needs `{key}` or `{keys}` (F1.3).
  /// - Parameter names: The columns of the key.
  private func problemOfByKey(_ names: [String]) -> String? {
    guard let byKey, !isDetail else { return nil }
    let parts = byKey.keyParts
    if key.count == 1 { return parts.first.map { "has {key.\($0)}, and the key is one value" } }
    if byKey.contains("{key}") || byKey.contains("{keys}") {
      return "has {key} or {keys}, and the key has \(key.count) places"
    }
    if let missing = names.first(where: { !parts.contains($0) }) { return "lacks {key.\(missing)}" }
    return parts.first { !names.contains($0) }.map { "has {key.\($0)}, and \($0) is no column of the key" }
  }

  /// The key that two records of `inline` share, as a value or the list of its parts (F1.1); nil if all keys differ.
  private var inlineTwice: JSONValue? {
    var keys: Set<[UInt8]> = []
    let twice = inline?.lazy.map { record in key.compactMap { record[$0] } }.first { values in
      values.count == key.count && !keys.insert(Array(JSONValue.list(values).toml.utf8)).inserted
    }
    return twice.map { $0.count == 1 ? $0[0] : .list($0) }
  }

  private func keyWithoutColumn(_ key: JSONPointer) -> DefinitionConflict? {
    guard !columns.isEmpty else { return nil }
    let there = columns.filter { $0.at == key }
    if there.contains(where: \.type.isOfKeys) { return nil }
    let problem =
      there.first.map { "the column \($0.name), which is at \(key.description.tomlString), is \($0.type.rawValue)" }
      ?? "no column is at \(key.description.tomlString)"
    return DefinitionConflict(
      path: ["key"], restsOn: [["key"], ["columns"]], problem: problem,
      allowed: "the place of a column of the type integer or text")
  }

  private var searchConflicts: [DefinitionConflict] {
    search.compactMap { name in
      guard let column = columns.first(where: { $0.name == name }) else { return (name, "is no column") }
      return column.type.isText ? nil : (name, "is \(column.type.rawValue)")
    }.map { (name: String, problem: String) in
      DefinitionConflict(
        path: ["search"], restsOn: [["columns"]], problem: "\(name.tomlString) \(problem)",
        allowed: "names of text columns")
    }
  }

  @Rules<DefinitionConflict> private var listConflicts: [DefinitionConflict] {
    for (index, list) in lists.enumerated() {
      let path = ["lists", list.table]
      if list.at.isWhole {
        DefinitionConflict(
          path: path + ["at"], restsOn: [path + ["at"]], problem: "is missing", allowed: "a JSON Pointer to a list")
      } else if let other = lists[..<index].first(where: { $0.at == list.at }) {
        DefinitionConflict(
          path: path + ["at"], problem: "\(other.table) is at \(list.at.description.tomlString) too",
          allowed: "a list of its own")
      }
      if list.columns.isEmpty {
        DefinitionConflict(
          path: path + ["columns"], restsOn: [path + ["columns"]], problem: "there are no columns",
          allowed: "one column at least")
      }
    }
  }

  /// Conflicts about places in `body` that cannot be written to, in whole pulls and in incremental ones.
  @Rules<DefinitionConflict> private var bodyConflicts: [DefinitionConflict] {
    if method == .get {
      pages.conflictsWithGET(below: ["pages"], restsOn: [["method"]])
    } else {
      pages.conflicts(in: body, below: ["pages"])
    }
    if let since { bodyConflicts(of: since) }
  }

  /// Conflicts of an incremental pull that a whole pull does not have.
  private func bodyConflicts(of since: SinceDraft) -> [DefinitionConflict] {
    let table = ["since", "pages"]
    guard since.method ?? method == .get else {
      if let pages = since.pages { return pages.conflicts(in: since.body ?? body, below: table) }
      return since.body.map { pages.conflicts(in: $0, below: ["pages"]) } ?? []
    }
    if since.pages == nil, method == .get { return [] }
    return (since.pages ?? pages).conflictsWithGET(below: table, restsOn: [["since", "method"], ["method"]])
  }
}

extension PagesDraft {
  /// The places in `body` that a request sets, with the names of their keys.
  fileprivate var places: [(name: String, pointer: JSONPointer)] {
    [("param", param), ("size_param", sizeParam)].compactMap { name, place in
      if case .body(let pointer)? = place { (name, pointer) } else { nil }
    }
  }

  /// Conflicts about places in the body of a request that has none.
  fileprivate func conflictsWithGET(below table: [String], restsOn: [[String]]) -> [DefinitionConflict] {
    places.map { name, pointer in
      DefinitionConflict(
        path: table + [name], restsOn: restsOn,
        problem: "\(pointer.description.tomlString) is a place in the body of a POST",
        allowed: "the name of a query parameter, or the method POST")
    }
  }

  /// Conflicts about places that a body does not let a request set.
  fileprivate func conflicts(in body: JSONValue, below table: [String]) -> [DefinitionConflict] {
    places.filter { !body.canSet($0.pointer) }.map { name, pointer in
      DefinitionConflict(
        path: table + [name], restsOn: [["body"]], problem: pointer.unsettable, allowed: "a place in a table")
    }
  }
}

extension JSONPointer {
  /// A clause that says why a request cannot set the value at this place of `body`.
  var unsettable: String {
    "\(description.tomlString) leads through something in body that is neither a table nor an existing element"
  }
}

extension JSONPointer {
  /// True if the path goes through the value at the other one.
  fileprivate func isBelow(_ other: JSONPointer) -> Bool {
    let count = other.segments.count
    return segments.count > count && JSONPointer(segments: Array(segments.prefix(count))) == other
  }
}

extension Resource.RequestPlace {
  /// True if the two are places in `body`, one in the other: a request cannot set both.
  func isNested(with place: Self) -> Bool {
    guard case (.body(let one), .body(let other)) = (self, place) else { return false }
    return one.isBelow(other) || other.isBelow(one)
  }
}

extension PagesDraft {
  /// Conflicts of the table at that path below the definition.
  func conflicts(of table: [String]) -> [DefinitionConflict] {
    // Every other key is refused already.
    if style == .record { return [] }
    return (ownConflicts + starConflicts).map { conflict in
      var conflict = conflict
      conflict.path = table + conflict.path
      conflict.restsOn = conflict.restsOn.map { table + $0 }
      return conflict
    }
  }

  private func conflict(_ name: String, rests: [String], problem: String, allowed: String) -> DefinitionConflict {
    DefinitionConflict(path: [name], restsOn: (["style"] + rests).map { [$0] }, problem: problem, allowed: allowed)
  }

  /// The permitted values of a parameter of a request.
  static let parameter = "the name of a query parameter, or a place in body"

  @Rules<DefinitionConflict> private var ownConflicts: [DefinitionConflict] {
    if style.needsParam, param == nil {
      conflict(
        "param", rests: ["param"], problem: "the style \"\(style.rawValue)\" needs it", allowed: Self.parameter)
    }
    if style.needsPlace, at == nil {
      conflict(
        "at", rests: ["at"], problem: "the style \"\(style.rawValue)\" needs it",
        allowed: "a JSON Pointer such as \"/next\", or \"header:NAME\"")
    }
    if style == .after, case .header? = at {
      conflict(
        "at", rests: [], problem: "a header has nothing of the last record", allowed: "a JSON Pointer into a record")
    }
    if short, size == nil { conflict("short", rests: ["size"], problem: "needs size", allowed: "short with size") }
    if omitsFalse, more == nil, done == nil {
      conflict(
        "omits_false", rests: ["more", "done"], problem: "needs more or done", allowed: "omits_false with more or done")
    }
    if hidden, style != .number, style != .offset {
      conflict(
        "hidden", rests: ["style"], problem: "is for lists by number or offset", allowed: "the style number or offset")
    }
    if let problem = paramTwice {
      conflict("size_param", rests: ["param"], problem: problem, allowed: "a parameter of its own")
    }
    if let value, let placeholder = style.placeholder, Resource.ValueTemplate(value, placeholder: placeholder) == nil {
      conflict(
        "value", rests: ["value"], problem: "does not contain \(placeholder) once",
        allowed: "a text with one \(placeholder)")
    }
    if done != nil, more != nil {
      conflict(
        "done", rests: ["more"], problem: "is beside more", allowed: "more or done: one is the opposite of the other")
    }
  }

  /// `*` sends each member of an object, which only `param` of a cursor can do.
  @Rules<DefinitionConflict> private var starConflicts: [DefinitionConflict] {
    if sizeParam == .everyMember {
      conflict("size_param", rests: [], problem: "\"*\" is for param", allowed: Self.parameter)
    }
    let isStar = param == .everyMember && !style.foreignKeys.contains("param")
    if isStar, style != .cursor {
      conflict("param", rests: ["param"], problem: "\"*\" is for the style \"cursor\"", allowed: Self.parameter)
    } else if isStar {
      if start != nil {
        conflict(
          "start", rests: ["param"], problem: "has no meaning beside param = \"*\"",
          allowed: "query, for what the first request sends")
      }
      if value != nil {
        conflict(
          "value", rests: ["param"], problem: "has no meaning beside param = \"*\"",
          allowed: "no value: each member of the object has its own")
      }
      if case .header? = at {
        conflict(
          "at", rests: ["param"], problem: "param = \"*\" needs an object, which no header is",
          allowed: "a JSON Pointer to an object")
      }
    }
  }

  /// A clause if `size_param` would replace `param`.
  private var paramTwice: String? {
    guard sizeParam != .everyMember, let sizeParam, let param = sentParam else { return nil }
    let text = sizeParam.description.tomlString
    if sizeParam == param { return "\(text) is param too" }
    guard sizeParam.isNested(with: param) else { return nil }
    return "\(text) and \(param.description.tomlString), which is param, are one in the other"
  }
}
