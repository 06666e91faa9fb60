import RosterModel

extension WrittenDefinition {
  /// Conflicts of a table of pages.
  /// - Parameter table: Its path below the definition.
  func pagesConflicts(_ pages: Resource.Pages, below table: [String]) -> [DefinitionConflict] {
    let style = pages.style.kind
    let own = Resource.Pages.keys.map(\.name).filter(style.uses)
    let foreign = Resource.Pages.keys.map(\.name).filter { !style.uses($0) && given.contains(table + [$0]) }.map {
      DefinitionConflict(
        path: [$0], restsOn: [["style"]], problem: "the style \(style.name.tomlString) does not use it",
        allowed: own.joined(separator: ", "))
    }
    // Every other key of a record is refused already.
    let others = style.isRecord ? [] : pages.ownConflicts + pages.starConflicts
    return (foreign + others).map { conflict in
      var conflict = conflict
      conflict.path = table + conflict.path
      conflict.restsOn = conflict.restsOn.map { table + $0 }
      return conflict
    }
  }
}

extension Resource.Pages {
  private func conflict(_ name: String, rests: [String], problem: String, allowed: String) -> DefinitionConflict {
    DefinitionConflict(path: [name], restsOn: (["style"] + rests).map { [$0] }, problem: problem, allowed: allowed)
  }

  /// The permitted values of a parameter of a request.
  static let parameter = "the name of a query parameter, or a place in body"

  @Rules<DefinitionConflict> fileprivate var ownConflicts: [DefinitionConflict] {
    let kind = style.kind
    if kind.neededKeys.contains("param"), style.param == nil {
      conflict(
        "param", rests: ["param"], problem: "the style \(kind.name.tomlString) needs it", allowed: Self.parameter)
    }
    if kind.neededKeys.contains("at"), style.at == nil {
      conflict(
        "at", rests: ["at"], problem: "the style \(kind.name.tomlString) needs it",
        allowed: "a JSON Pointer such as \"/next\", or \"header:NAME\"")
    }
    if kind.step == .sends(.ofLastRecord), case .entry? = style.at {
      conflict(
        "at", rests: [], problem: "a list of the answer has nothing of the last record",
        allowed: "a JSON Pointer into a record")
    }
    if kind.step == .sends(.ofLastRecord), case .header? = style.at {
      conflict(
        "at", rests: [], problem: "a header has nothing of the last record", allowed: "a JSON Pointer into a record")
    }
    if short, sizeRecords == nil {
      conflict("short", rests: ["size"], problem: "needs size", allowed: "short with size")
    }
    if omitsFalse, more == nil, done == nil {
      conflict(
        "omits_false", rests: ["more", "done"], problem: "needs more or done", allowed: "omits_false with more or done")
    }
    if hidden, !kind.isPositional {
      conflict(
        "hidden", rests: ["style"], problem: "is for lists by number or offset", allowed: "the style number or offset")
    }
    if let problem = paramTwice {
      conflict("size_param", rests: ["param"], problem: problem, allowed: "a parameter of its own")
    }
    if let valueText, let placeholder = kind.placeholder,
      Resource.ValueTemplate(valueText, placeholder: placeholder) == nil
    {
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
  @Rules<DefinitionConflict> fileprivate var starConflicts: [DefinitionConflict] {
    if sizeParam == .everyMember {
      conflict("size_param", rests: [], problem: "\"*\" is for param", allowed: Self.parameter)
    }
    let isStar = style.param == .everyMember && style.kind.uses("param")
    if isStar, style.kind.step != .sends(.ofAnswer) {
      conflict("param", rests: ["param"], problem: "\"*\" is for the style \"cursor\"", allowed: Self.parameter)
    } else if isStar {
      if style.start != nil {
        conflict(
          "start", rests: ["param"], problem: "has no meaning beside param = \"*\"",
          allowed: "query, for what the first request sends")
      }
      if valueText != nil {
        conflict(
          "value", rests: ["param"], problem: "has no meaning beside param = \"*\"",
          allowed: "no value: each member of the object has its own")
      }
      if case .entry? = style.at {
        conflict("at", rests: ["param"], problem: "is beside param = \"*\"", allowed: "a JSON Pointer to an object")
      }
      if case .header? = style.at {
        conflict(
          "at", rests: ["param"], problem: "param = \"*\" needs an object, which no header is",
          allowed: "a JSON Pointer to an object")
      }
    }
  }

  /// A clause if `size_param` would replace `param`.
  private var paramTwice: String? {
    guard sizeParam != .everyMember, let sizeParam, let param = style.param else { return nil }
    let text = sizeParam.description.tomlString
    if sizeParam == param { return "\(text) is param too" }
    guard sizeParam.isNested(with: param) else { return nil }
    return "\(text) and \(param.description.tomlString), which is param, are one in the other"
  }
}

extension Resource.Pages {
  /// The places in `body` that a request sets, with the names of their keys.
  fileprivate var places: [(name: String, pointer: JSONPointer)] {
    [("param", style.param), ("size_param", sizeParam)].compactMap { name, place in
      if case .body(let pointer)? = place { (name, pointer) } else { nil }
    }
  }

  /// Conflicts about places in the body of a request that has none.
  func conflictsWithGET(below table: [String], restsOn: [[String]]) -> [DefinitionConflict] {
    places.map { name, pointer in
      DefinitionConflict(
        path: table + [name], restsOn: restsOn,
        problem: "\(pointer.description.tomlString) is a place in the body of a POST",
        allowed: "the name of a query parameter, or the method POST")
    }
  }

  /// Conflicts about places that a body does not let a request set.
  func conflicts(in body: JSONValue, below table: [String]) -> [DefinitionConflict] {
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
