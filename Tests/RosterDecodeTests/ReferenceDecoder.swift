import RosterModel
import RosterTestSupport

/// JSON as a tree that keeps how it was written: what a body was made from, so that no parser is needed to know what is
/// in it.
enum Written {
  /// As it stands in the body, and its text where it is a string.
  case scalar(String, text: String? = nil)
  case list([Written])
  case object([Member])

  struct Member {
    var name: String
    /// With escapes, as it stands between the quotes.
    var written: String
    var value: Written
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

  /// Of members of one name the last one.
  var members: [Member] {
    guard case .object(let members) = self else { return [] }
    return members.indices.filter { index in !members[(index + 1)...].contains { $0.name == members[index].name } }
      .map { members[$0] }
  }

  var isNull: Bool { if case .scalar("null", nil) = self { true } else { false } }

  func child(_ segment: String) -> Written? {
    if case .list(let elements) = self, let index = JSONPointer.index(segment), index < elements.count {
      return elements[index]
    }
    return members.first { $0.name == segment }?.value
  }

  /// nil also where something on the way is null.
  func find(_ segments: ArraySlice<String>) -> Written? {
    guard let first = segments.first else { return self }
    return child(first)?.find(segments.dropFirst())
  }
}

/// Says slowly and plainly what a decoder must make of a record.
struct ReferenceDecoder {
  let resource: Resource

  /// nil: it cannot be stored.
  func row(_ record: Written) -> Decoded.Row? {
    guard case .object = record, case .scalar(let key, nil)? = record.find(resource.key.segments[...]),
      let number = Int64(key), number > 0,
      let columns = values(resource.columns, of: record, isElement: false)
    else { return nil }
    guard passes(resource.columns.map(\.at) + resource.lists.map(\.at), record, isElement: false) else { return nil }
    var lists: [[Decoded.Element]] = []
    for list in resource.lists {
      guard let elements = elements(list, of: record) else { return nil }
      lists.append(elements)
    }
    let taken = (resource.columns.map(\.at) + resource.lists.map(\.at)).map(\.segments)
    return Decoded.Row(
      position: 0, key: String(number), columns: columns, extra: Self.extra(record, taken.map { $0[...] }), lists: lists
    )
  }

  private func elements(_ list: Resource.List, of record: Written) -> [Decoded.Element]? {
    guard let value = record.find(list.at.segments[...]), !value.isNull else { return [] }
    guard case .list(let elements) = value else { return nil }
    var rows: [Decoded.Element] = []
    for element in elements {
      guard passes(list.columns.map(\.at), element, isElement: true),
        let columns = values(list.columns, of: element, isElement: true)
      else { return nil }
      let extra = list.hasExtra ? Self.extra(element, list.columns.map { $0.at.segments[...] }) : nil
      rows.append(Decoded.Element(columns: columns, extra: extra))
    }
    return rows
  }

  private func values(_ columns: [Resource.Column], of row: Written, isElement: Bool) -> [String?]? {
    var values: [String?] = []
    for column in columns {
      guard let value = value(column, of: row) else { return nil }
      values.append(value)
    }
    return values
  }

  /// Outer nil: it cannot be stored; inner nil: NULL.
  private func value(_ column: Resource.Column, of row: Written) -> String?? {
    guard let value = row.find(column.at.segments[...]), !value.isNull else {
      return .some(column.type == .text && !column.isNullable ? "" : nil)
    }
    if column.type == .json { return value.compact }
    guard case .scalar(let written, let text) = value else { return .none }
    switch column.type {
    case .text: return text.map { .some($0) } ?? .none
    case .boolean: return text == nil && ["true", "false"].contains(written) ? .some(written) : .none
    case .integer: return text == nil ? Int64(written).map { .some(String($0)) } ?? .none : .none
    case .real: return text == nil ? Double(written).map { .some(String($0)) } ?? .none : .none
    case .json: return .none
    }
  }

  /// On the way to each place is an object, null or nothing; or a list where a place beyond names an element.
  private func passes(_ places: [JSONPointer], _ row: Written, isElement: Bool) -> Bool {
    for place in places {
      for depth in (isElement ? 0 : 1)..<max(place.segments.count, isElement ? 0 : 1) {
        let prefix = place.segments[..<depth]
        guard let value = row.find(prefix), !value.isNull else { continue }
        switch value {
        case .object: continue
        case .list:
          let isIndexed = places.contains {
            $0.segments.count > depth && $0.segments[..<depth] == prefix && JSONPointer.index($0.segments[depth]) != nil
          }
          if !isIndexed { return false }
        case .scalar: return false
        }
      }
    }
    return true
  }

  static func extra(_ value: Written, _ taken: [ArraySlice<String>]) -> String? {
    if taken.contains(where: \.isEmpty) { return nil }
    switch value {
    case .list: return value.compact
    case .scalar: return nil
    case .object: break
    }
    var kept: [(name: String, text: String)] = []
    for member in value.members {
      let below = taken.filter { $0.first == member.name }.map { $0.dropFirst() }
      if below.isEmpty {
        kept.append((member.written, member.value.compact))
      } else if let rest = extra(member.value, below) {
        kept.append((member.name, rest))
      }
    }
    kept.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    return kept.isEmpty ? nil : "{" + kept.map { "\"\($0.name)\":\($0.text)" }.joined(separator: ",") + "}"
  }
}
