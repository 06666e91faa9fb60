import RosterCore

/// JSON as a tree that keeps its spelling. A body is generated from it, so its content is known without a parser.
enum Written {
  /// The spelling in the body, and the text if it is a string.
  case scalar(String, text: String? = nil)
  case list([Written])
  case object([Member])

  struct Member {
    var name: String
    /// The spelling between the quotes, with escapes.
    var written: String
    var value: Written

    /// Compares byte by byte, because String treats é and e with an accent as equal.
    func isNamed(_ other: String) -> Bool { name.utf8.elementsEqual(other.utf8) }
  }

  var compact: String {
    switch self {
    case .scalar(let written, _): written
    case .list(let elements): "[" + elements.map(\.compact).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { "\"\($0.written)\":\($0.value.compact)" }.joined(separator: ",") + "}"
    }
  }

  func json(space: () -> String) -> String {
    let inner =
      switch self {
      case .scalar(let written, _): written
      case .list(let elements):
        "[" + elements.map { $0.json(space: space) }.joined(separator: ",") + (elements.isEmpty ? space() : "") + "]"
      case .object(let members):
        "{"
          + members.map { space() + "\"\($0.written)\"" + space() + ":" + $0.value.json(space: space) }
          .joined(separator: ",") + "}"
      }
    return space() + inner + space()
  }

  /// The members of an object. If a name occurs several times, the last one wins.
  var members: [Member] {
    guard case .object(let members) = self else { return [] }
    return members.indices.filter { index in !members[(index + 1)...].contains { $0.isNamed(members[index].name) } }
      .map { members[$0] }
  }

  /// Nesting depth of lists and objects, including overwritten members.
  var depth: Int {
    switch self {
    case .scalar: 0
    case .list(let elements): 1 + (elements.map(\.depth).max() ?? 0)
    case .object(let members): 1 + (members.map(\.value.depth).max() ?? 0)
    }
  }

  /// A string without escapes.
  static func digits(_ text: String) -> Written { .scalar("\"\(text)\"", text: text) }

  /// True for the values that count as absent in place of an object or a list.
  var isEmptyPlaceholder: Bool {
    switch self {
    case .scalar("false", nil), .scalar(_, ""): true
    case .scalar: false
    case .list(let elements): elements.isEmpty
    case .object(let members): members.isEmpty
    }
  }

  var isNull: Bool { if case .scalar("null", nil) = self { true } else { false } }

  /// The elements of a list of objects, which PHP writes as an object if it has gaps; nil for another value.
  var elements: [Written]? {
    switch self {
    case .scalar: return nil
    case .list(let elements): return elements
    case .object(let members):
      let isNumbered = members.allSatisfy { member in
        let isObject = if case .object = member.value { true } else { false }
        return isObject && !member.written.isEmpty && member.written.utf8.allSatisfy { (0x30...0x39).contains($0) }
      }
      return isNumbered && !members.isEmpty ? members.map(\.value) : nil
    }
  }

  func child(_ segment: String) -> Written? {
    if case .list(let elements) = self, let index = JSONPointer.index(segment), index < elements.count {
      return elements[index]
    }
    return members.first { $0.isNamed(segment) }?.value
  }

  /// nil also if a value on the path is null.
  func find(_ segments: ArraySlice<String>) -> Written? {
    guard let first = segments.first else { return self }
    return child(first)?.find(segments.dropFirst())
  }
}

/// A slow and simple specification of the decoder's result for a record.
struct ReferenceDecoder {
  let resource: Resource

  enum Outcome: Equatable {
    case skipped
    case rejected(key: String?)
    case stored(Decoded.Row)
  }

  func outcome(_ record: Written) -> Outcome {
    let isObject = if case .object = record { true } else { false }
    guard isObject || record.isNull else { return .rejected(key: nil) }
    guard resource.conditions.allSatisfy({ holds($0, record: record) }) else { return .skipped }
    guard isObject else { return .rejected(key: nil) }
    guard let key = key(of: record) else { return .rejected(key: nil) }
    return row(record, key: key).map(Outcome.stored) ?? .rejected(key: key)
  }

  private func key(of record: Written) -> String? {
    guard case .scalar(let written, let text)? = record.find(resource.key.segments[...]) else { return nil }
    // Another column may have the same place and a type that is not allowed for keys.
    let types = resource.columns.filter { $0.at == resource.key }.map(\.type)
    if types.first(where: { $0 == .text || $0 == .integer }) == .text {
      return text.flatMap { $0.isEmpty || hasHalfPair(written) ? nil : $0 }
    }
    return integer(written, text: text, readsDigits: types.allSatisfy { $0 == .integer }).map { String($0) }
  }

  /// True if an escape of the string is half of a surrogate pair.
  private func hasHalfPair(_ written: String) -> Bool {
    var units: [UInt16] = []
    var rest = Array(written.utf8)[...]
    while let byte = rest.popFirst() {
      let isUnit = byte == UInt8(ascii: "\\") && rest.popFirst() == UInt8(ascii: "u")
      units.append(isUnit ? UInt16(String(decoding: rest.prefix(4), as: UTF8.self), radix: 16) ?? 0 : 0)
      if isUnit { rest = rest.dropFirst(4) }
    }
    return String(validating: units, as: UTF16.self) == nil
  }

  private func holds(_ condition: Resource.Condition, record: Written) -> Bool {
    let value = record.find(condition.at.segments[...]).flatMap { $0.isNull ? nil : $0 }
    switch condition.test {
    case .absent: return value == nil
    case .present: return value != nil
    case .equal(let scalar):
      guard case .scalar(let written, let text)? = value else { return false }
      if case .text(let wanted) = scalar { return text?.utf8.elementsEqual(wanted.utf8) == true }
      return text == nil && holds(scalar, written: written)
    case .differs(let scalars):
      return !scalars.contains { holds(Resource.Condition(condition.at, .equal($0)), record: record) }
    }
  }

  /// The numbers 1, 1.0 and 1e0 are equal.
  private func holds(_ scalar: Resource.Scalar, written: String) -> Bool {
    switch scalar {
    case .text: false
    case .boolean(let flag): written == "\(flag)"
    case .real(let number): Double(written) == number
    case .integer(let number):
      written.contains { ".eE".contains($0) }
        ? Double(written).flatMap(Int64.init(exactly:)) == number
        : Int64(written) == number
    }
  }

  /// nil if the record cannot be stored.
  private func row(_ record: Written, key: String) -> Decoded.Row? {
    let places = resource.columns.map(\.at) + resource.lists.map(\.at)
    guard record.depth <= 128, let columns = values(resource.columns, of: record, isElement: false),
      passes(places, row: record, isElement: false)
    else { return nil }
    var lists: [[Decoded.Element]] = []
    for list in resource.lists {
      guard let elements = elements(list, of: record) else { return nil }
      lists.append(elements)
    }
    return Decoded.Row(
      position: 0, key: key, columns: columns, extra: Self.extra(record, taken: places.map { $0.segments[...] }),
      lists: lists)
  }

  private func elements(_ list: Resource.List, of record: Written) -> [Decoded.Element]? {
    guard let value = record.find(list.at.segments[...]), !value.isNull else { return [] }
    let isList = if case .list = value { true } else { false }
    let isBare = list.columns.allSatisfy(\.at.segments.isEmpty)
    guard let elements = isList || !isBare ? value.elements : nil else { return value.isEmptyPlaceholder ? [] : nil }
    var rows: [Decoded.Element] = []
    for element in elements {
      guard passes(list.columns.map(\.at), row: element, isElement: true),
        let columns = values(list.columns, of: element, isElement: true)
      else { return nil }
      let extra = list.hasExtra ? Self.extra(element, taken: list.columns.map { $0.at.segments[...] }) : nil
      rows.append(Decoded.Element(columns: columns, extra: extra))
    }
    return rows
  }

  private func values(_ columns: [Resource.Column], of row: Written, isElement: Bool) -> [String?]? {
    var values: [String?] = []
    for column in columns {
      guard let value = value(column, of: row, beside: columns) else { return nil }
      values.append(value)
    }
    return values
  }

  /// The outer nil means that the value cannot be stored. The inner nil is NULL.
  private func value(_ column: Resource.Column, of row: Written, beside columns: [Resource.Column]) -> String?? {
    guard let value = row.find(column.at.segments[...]), !value.isNull else {
      return .some(column.type == .text && !column.isNullable ? "" : nil)
    }
    if column.type == .json { return value.compact }
    guard case .scalar(let written, let text) = value else { return .none }
    let readsForms = columns.allSatisfy { $0.at != column.at || $0.type == column.type }
    switch column.type {
    case .text: return text.map { .some($0) } ?? .none
    case .boolean: return flag(written, text: text, readsForms: readsForms).map { .some($0) } ?? .none
    case .integer:
      return integer(written, text: text, readsDigits: readsForms).map { .some(String($0)) } ?? .none
    case .real:
      let isText = readsForms && !written.contains("\\") && text.map(isNumber) == true
      let number = text == nil ? finite(written) : isText ? text.flatMap(finite) : nil
      return number.map { .some(String($0)) } ?? .none
    case .timestamp: return text.flatMap { isTime($0) ? .some($0) : nil } ?? .none
    case .json: return .none
    }
  }

  private func isTime(_ text: String) -> Bool {
    text.wholeMatch(of: /[1-9][0-9]{3}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]Z/) != nil
  }

  /// A whole number of 64 bits, with a fraction of zeros too, or the one that a text of digits writes as JSON would.
  /// With a column of another type at the same place, the value is not converted.
  private func integer(_ written: String, text: String?, readsDigits: Bool) -> Int64? {
    guard let text else {
      if readsDigits, let whole = written.wholeMatch(of: /(-?[0-9]{1,19})\.0+/) { return Int64(whole.1) }
      return Int64(written)
    }
    return readsDigits && text.wholeMatch(of: /-?(0|[1-9][0-9]*)/) != nil ? Int64(text) : nil
  }

  private func isNumber(_ text: String) -> Bool {
    text.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/) != nil
  }

  /// `true` or `false`; with a column of another type at the same place, only these are read.
  private func flag(_ written: String, text: String?, readsForms: Bool) -> String? {
    if text == nil, ["true", "false"].contains(written) { return written }
    guard readsForms else { return nil }
    switch (text ?? written).lowercased() {
    case "1", "true", "yes", "y": return text == nil && written != "1" ? nil : "true"
    case "0", "false", "no", "n": return text == nil && written != "0" ? nil : "false"
    default: return nil
    }
  }

  private func finite(_ written: String) -> Double? {
    Double(written).flatMap { $0.isFinite ? $0 : nil }
  }

  /// Each value on the path to a place must be an object, null, missing or an empty placeholder. It may be a
  /// list if the place continues with an index.
  private func passes(_ places: [JSONPointer], row: Written, isElement: Bool) -> Bool {
    for place in places {
      for depth in (isElement ? 0 : 1)..<max(place.segments.count, isElement ? 0 : 1) {
        let prefix = place.segments[..<depth]
        guard let value = row.find(prefix), !value.isNull, !value.isEmptyPlaceholder else { continue }
        switch value {
        case .object: continue
        case .list:
          let isIndexed = (places + (isElement ? [] : resource.conditions.map(\.at))).contains {
            $0.segments.count > depth && $0.segments[..<depth] == prefix && JSONPointer.index($0.segments[depth]) != nil
          }
          if !isIndexed { return false }
        case .scalar: return false
        }
      }
    }
    return true
  }

  static func extra(_ value: Written, taken: [ArraySlice<String>]) -> String? {
    if taken.contains(where: \.isEmpty) { return nil }
    switch value {
    case .list:
      // A list on the way that no place selects an element of is empty, and counts as absent.
      return taken.contains { $0.first.flatMap(JSONPointer.index) != nil } ? value.compact : nil
    case .scalar: return nil
    case .object: break
    }
    var kept: [(name: String, text: String)] = []
    for member in value.members {
      let below = taken.filter { $0.first.map(member.isNamed) == true }.map { $0.dropFirst() }
      if below.isEmpty {
        kept.append((member.written, member.value.compact))
      } else if let rest = extra(member.value, taken: below) {
        kept.append((Self.escaped(member.name), rest))
      }
    }
    kept.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    return kept.isEmpty ? nil : "{" + kept.map { "\"\($0.name)\":\($0.text)" }.joined(separator: ",") + "}"
  }

  /// A name of the definition in JSON, if it contains no control characters.
  private static func escaped(_ name: String) -> String {
    name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
  }
}
