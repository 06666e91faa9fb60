import RosterModel

/// Values of a definition that are valid separately, but not together.
struct DefinitionConflict {
  /// The place of the correction, below the definition.
  var path: [String]
  /// The conflict is not reported if one of these values is already refused.
  var restsOn: [[String]] = []
  var problem: String
  var allowed: String
}

extension ResourceDraft {
  var conflicts: [DefinitionConflict] {
    [
      pathMissing, columnsMissing, askWithoutByKey, keyInByKey, keyWithoutPlace, recordsWithoutByKey, namesWithoutRows,
      inlineTwice,
    ].compactMap { $0 } + (isDetail ? [] : key.compactMap(keyWithoutColumn)) + searchConflicts
      + listConflicts + pages.conflicts(of: ["pages"]) + bodyConflicts + sinceConflicts
  }

  private var pathMissing: DefinitionConflict? {
    guard path == nil, inline == nil else { return nil }
    return DefinitionConflict(
      path: ["path"], restsOn: [["path"], ["inline"]], problem: "is missing",
      allowed: "a path below base_url that begins with /")
  }

  /// Two records of the file with one key (F1.1).
  private var inlineTwice: DefinitionConflict? {
    var keys: Set<[UInt8]> = []
    let twice = inline?.lazy.map { record in key.compactMap { record[$0] } }.first { values in
      values.count == key.count && !keys.insert(Array(JSONValue.list(values).toml.utf8)).inserted
    }
    guard let twice else { return nil }
    let named = twice.count == 1 ? twice[0].toml : JSONValue.list(twice).toml
    return DefinitionConflict(
      path: ["inline"], restsOn: [["inline"], ["key"]], problem: "two records have the key \(named)",
      allowed: "records with different keys")
  }

  private var columnsMissing: DefinitionConflict? {
    guard columns.isEmpty else { return nil }
    return DefinitionConflict(
      path: ["columns"], restsOn: [["columns"]], problem: "there are no columns", allowed: "one column at least")
  }

  private func keyWithoutColumn(_ key: JSONPointer) -> DefinitionConflict? {
    guard !columns.isEmpty else { return nil }
    let there = columns.filter { $0.at == key }
    if let column = there.first(where: { $0.type == .integer || $0.type == .text }) {
      guard self.key.count > 1, column.isNullable else { return nil }
      return DefinitionConflict(
        path: ["key"], restsOn: [["key"], ["columns"]], problem: "the column \(column.name) has null = true",
        allowed: "columns without null = true: no part of a key is NULL")
    }
    let problem =
      there.first.map { "the column \($0.name), which is at \(key.description.tomlString), is \($0.type.rawValue)" }
      ?? "no column is at \(key.description.tomlString)"
    return DefinitionConflict(
      path: ["key"], restsOn: [["key"], ["columns"]], problem: problem,
      allowed: "the place of a column of the type integer or text")
  }

  /// A composite key needs each of its columns in the path, a plain key needs `{key}` or `{keys}` (F1.3).
  private var keyInByKey: DefinitionConflict? {
    guard let byKey, !isDetail else { return nil }
    let (parts, isPlain) = (byKey.keyParts, byKey.contains("{key}") || byKey.contains("{keys}"))
    let names = key.compactMap { place in columns.first { $0.at == place }?.name }
    let problem: String? =
      if key.count == 1 {
        parts.first.map { "has {key.\($0)}, and the key is one value" }
      } else if isPlain {
        "has {key} or {keys}, and the key has \(key.count) places"
      } else if let missing = names.first(where: { !parts.contains($0) }) {
        "lacks {key.\(missing)}"
      } else {
        parts.first { !names.contains($0) }.map { "has {key.\($0)}, and \($0) is no column of the key" }
      }
    return problem.map {
      DefinitionConflict(
        path: ["by_key"], restsOn: [["by_key"], ["key"], ["columns"]], problem: $0,
        allowed: key.count == 1
          ? "a path with {key} or {keys}" : "a path with \(names.map { "{key.\($0)}" }.joined(separator: ", "))")
    }
  }

  private var keyWithoutPlace: DefinitionConflict? {
    guard key.count > 1, pages.style == .after, pages.at == nil else { return nil }
    return DefinitionConflict(
      path: ["pages", "at"], restsOn: [["pages", "style"], ["pages", "at"]],
      problem: "the style \"after\" needs it beside a key of several places", allowed: "a JSON Pointer into a record")
  }

  private var askWithoutByKey: DefinitionConflict? {
    guard removal == .ask, byKey == nil else { return nil }
    return DefinitionConflict(
      path: ["removal"], restsOn: [["by_key"]], problem: "\"ask\" needs by_key", allowed: "twice, never, or a by_key")
  }

  private var recordsWithoutByKey: DefinitionConflict? {
    guard byKey == nil, !byKeyRecords.isWhole else { return nil }
    return DefinitionConflict(
      path: ["by_key_records"], restsOn: [["by_key"]], problem: "needs by_key", allowed: "a by_key beside it")
  }

  private var namesWithoutRows: DefinitionConflict? {
    guard shape != .rows, !rowNames.isWhole else { return nil }
    return DefinitionConflict(
      path: ["row_names"], restsOn: [["shape"]], problem: "needs shape = \"rows\"",
      allowed: "shape = \"rows\" beside it")
  }

  private var searchConflicts: [DefinitionConflict] {
    search.compactMap { name in
      guard let column = columns.first(where: { $0.name == name }) else { return (name, "is no column") }
      return column.type == .text ? nil : (name, "is \(column.type.rawValue)")
    }.map { (name: String, problem: String) in
      DefinitionConflict(
        path: ["search"], restsOn: [["columns"]], problem: "\(name.tomlString) \(problem)",
        allowed: "names of text columns")
    }
  }

  private var listConflicts: [DefinitionConflict] {
    lists.indices.flatMap { index in
      let list = lists[index]
      let path = ["lists", list.table]
      var conflicts: [DefinitionConflict] = []
      if list.at.isWhole {
        conflicts.append(
          .init(
            path: path + ["at"], restsOn: [path + ["at"]], problem: "is missing", allowed: "a JSON Pointer to a list"))
      } else if let other = lists[..<index].first(where: { $0.at == list.at }) {
        conflicts.append(
          .init(
            path: path + ["at"], problem: "\(other.table) is at \(list.at.description.tomlString) too",
            allowed: "a list of its own"))
      }
      if list.columns.isEmpty {
        conflicts.append(
          .init(
            path: path + ["columns"], restsOn: [path + ["columns"]], problem: "there are no columns",
            allowed: "one column at least"))
      }
      return conflicts
    }
  }

  /// Conflicts about places in `body` that cannot be written to.
  private var bodyConflicts: [DefinitionConflict] {
    [("param", pages.param), ("size_param", pages.sizeParam)].compactMap { name, place in
      guard case .body(let pointer)? = place else { return nil }
      let path = ["pages", name]
      if method == .get {
        return DefinitionConflict(
          path: path, restsOn: [["method"]],
          problem: "\(pointer.description.tomlString) is a place in the body of a POST",
          allowed: "the name of a query parameter, or the method POST")
      }
      guard !body.isObject(onTheWayTo: pointer.segments[...]) else { return nil }
      return DefinitionConflict(
        path: path, restsOn: [["body"]],
        problem: "\(pointer.description.tomlString) leads through a value in body that is not a table",
        allowed: "a place in a table")
    }
  }
}

extension JSONValue {
  /// True if the existing part of the path consists of objects.
  fileprivate func isObject(onTheWayTo place: ArraySlice<String>) -> Bool {
    guard case .object = self else { return false }
    guard place.count > 1, let name = place.first, let inner = self[name] else { return true }
    return inner.isObject(onTheWayTo: place.dropFirst())
  }
}

extension JSONPointer {
  /// True if the path goes through the value at the other one.
  fileprivate func isBelow(_ other: JSONPointer) -> Bool {
    let count = other.segments.count
    return segments.count > count && JSONPointer(segments: Array(segments.prefix(count))) == other
  }
}

extension PagesDraft {
  /// Conflicts of the table at that path below the definition.
  func conflicts(of table: [String]) -> [DefinitionConflict] {
    // Every other key is refused already.
    if style == .record { return [] }
    let own = [
      paramMissing, placeMissing, placeInHeader, sizeMissing, paramTwice, valueWithoutPlaceholder, doneBesideMore,
    ]
    let found = own.compactMap { $0 } + starConflicts
    return found.map { conflict in
      var conflict = conflict
      conflict.path = table + conflict.path.dropFirst()
      conflict.restsOn = conflict.restsOn.map { table + $0.dropFirst() }
      return conflict
    }
  }

  private func conflict(_ name: String, rests: [String], problem: String, allowed: String) -> DefinitionConflict {
    DefinitionConflict(
      path: ["pages", name], restsOn: (["style"] + rests).map { ["pages", $0] }, problem: problem, allowed: allowed)
  }

  private var paramMissing: DefinitionConflict? {
    guard style.needsParam, param == nil else { return nil }
    return conflict(
      "param", rests: ["param"], problem: "the style \"\(style.rawValue)\" needs it",
      allowed: "the name of a query parameter, or a place in body")
  }

  private var placeMissing: DefinitionConflict? {
    guard style.needsPlace, at == nil else { return nil }
    return conflict(
      "at", rests: ["at"], problem: "the style \"\(style.rawValue)\" needs it",
      allowed: "a JSON Pointer such as \"/next\", or \"header:NAME\"")
  }

  private var placeInHeader: DefinitionConflict? {
    guard style == .after, case .header? = at else { return nil }
    return conflict(
      "at", rests: [], problem: "a header has nothing of the last record", allowed: "a JSON Pointer into a record")
  }

  private var sizeMissing: DefinitionConflict? {
    guard short, size == nil else { return nil }
    return conflict("short", rests: ["size"], problem: "needs size", allowed: "short with size")
  }

  private var valueWithoutPlaceholder: DefinitionConflict? {
    guard let value, let placeholder = style.placeholder,
      Resource.ValueTemplate(value, placeholder: placeholder) == nil
    else { return nil }
    return conflict(
      "value", rests: ["value"], problem: "does not contain \(placeholder) once",
      allowed: "a text with one \(placeholder)")
  }

  private var doneBesideMore: DefinitionConflict? {
    guard done != nil, more != nil else { return nil }
    return conflict(
      "done", rests: ["more"], problem: "is beside more", allowed: "more or done: one is the opposite of the other")
  }

  /// `*` sends each member of an object, which only `param` of a cursor can do.
  private var starConflicts: [DefinitionConflict] {
    var conflicts: [DefinitionConflict] = []
    let parameter = "the name of a query parameter, or a place in body"
    if sizeParam == .everyMember {
      conflicts.append(conflict("size_param", rests: [], problem: "\"*\" is for param", allowed: parameter))
    }
    guard param == .everyMember, !style.foreignKeys.contains("param") else { return conflicts }
    guard style == .cursor else {
      return conflicts + [
        conflict("param", rests: ["param"], problem: "\"*\" is for the style \"cursor\"", allowed: parameter)
      ]
    }
    if start != nil {
      conflicts.append(
        conflict(
          "start", rests: ["param"], problem: "has no meaning beside param = \"*\"",
          allowed: "query, for what the first request sends"))
    }
    if value != nil {
      conflicts.append(
        conflict(
          "value", rests: ["param"], problem: "has no meaning beside param = \"*\"",
          allowed: "no value: each member of the object has its own"))
    }
    if case .header? = at {
      conflicts.append(
        conflict(
          "at", rests: ["param"], problem: "param = \"*\" needs an object, which no header is",
          allowed: "a JSON Pointer to an object"))
    }
    return conflicts
  }

  private var paramTwice: DefinitionConflict? {
    guard sizeParam != .everyMember, let sizeParam, let param = sentParam else { return nil }
    let problem: String? =
      if sizeParam == param {
        "is param too"
      } else if case (.body(let one), .body(let other)) = (sizeParam, param), one.isBelow(other) || other.isBelow(one) {
        "and \(param.description.tomlString), which is param, are one in the other"
      } else {
        nil
      }
    return problem.map {
      conflict(
        "size_param", rests: ["param"], problem: "\(sizeParam.description.tomlString) \($0)",
        allowed: "a parameter of its own")
    }
  }
}
