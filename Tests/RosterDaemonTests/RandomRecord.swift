/// A record of a random API. All its values depend on its key, state and version, so that a mixture of two versions is
/// visible.
struct RandomRecord: Sendable, Equatable {
  var id: Int
  var isOpen = true
  var version = 0

  /// The members that a definition may make columns of.
  enum Column: String, CaseIterable, Sendable {
    case id, name, number, ratio, flag, inner, raw, maybe

    func toml(hasTextKeys: Bool) -> String {
      switch self {
      case .id: hasTextKeys ? "id = \"/id\"" : "id = { at = \"/id\", type = \"integer\" }"
      case .name: "name = \"/name\""
      case .number: "number = { at = \"/number\", type = \"integer\" }"
      case .ratio: "ratio = { at = \"/ratio\", type = \"real\" }"
      case .flag: "flag = { at = \"/flag\", type = \"boolean\" }"
      case .inner: "inner_text = \"/deep/inner\""
      case .raw: "raw = { at = \"/raw\", type = \"json\" }"
      case .maybe: "maybe = { at = \"/maybe\", null = true }"
      }
    }

    var name: String { self == .inner ? "inner_text" : rawValue }
  }

  var state: String { isOpen ? "open" : "closed" }
  private var tags: [String] { (0..<(id + version) % 3).map { "tag \($0) v\(version)" } }

  /// The key in a form that sorts texts like numbers.
  func key(isText: Bool) -> String { isText ? "k\(1_000_000 + id)" : "\(id)" }

  // MARK: As JSON

  /// Each member in the order of the JSON, with the SQL notation of its value if it becomes a column.
  private func members(isText: Bool) -> [(column: Column?, name: String, json: String, sql: String)] {
    let key = key(isText: isText)
    let isThere = version % 2 == 0
    return [
      (.id, "id", isText ? "\"\(key)\"" : key, isText ? "'\(key)'" : key),
      (.name, "name", "\"Name \(id) v\(version)\"", "'Name \(id) v\(version)'"),
      (nil, "state", "\"\(state)\"", ""), (.number, "number", "\(version)", "\(version)"),
      (.ratio, "ratio", "\(id).5", "\(id).5"),
      (.flag, "flag", version % 3 == 0 ? "null" : "\(isThere)", version % 3 == 0 ? "NULL" : isThere ? "1" : "0"),
      (.inner, "deep", "{\"inner\":\"d\(version)\"}", "'d\(version)'"),
      (.raw, "raw", "{\"v\":[\(version)]}", "'{\"v\":[\(version)]}'"),
    ] + (isThere ? [(.maybe, "maybe", "\"m\(version)\"", "'m\(version)'")] : [])
  }

  private var lists: [(name: String, json: String)] {
    let parts = tags.map { "{\"a\":\"\($0)\",\"b\":\(version)}" }
    return [
      ("tags", "[\(tags.map { "\"\($0)\"" }.joined(separator: ","))]"),
      ("parts", "[\(parts.joined(separator: ","))]"),
    ]
  }

  func json(isText: Bool) -> String {
    let all = members(isText: isText).map { ($0.name, $0.json) } + lists.map { ($0.name, $0.json) }
    return "{\(all.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ","))}"
  }

  // MARK: As rows

  /// The row of a table, then those of its lists, each value in SQL's notation.
  func row(of table: RandomDefinition.Table, isText: Bool) -> [String] {
    let members = members(isText: isText)
    let values = table.columns.map { column in
      members.first { $0.column == column }?.sql ?? (column == .maybe ? "NULL" : "''")
    }
    let left =
      members.filter { member in member.column.map { !table.columns.contains($0) } ?? true }.map { ($0.name, $0.json) }
      + lists.filter { $0.name == "tags" ? !table.hasTags : !table.hasParts }.map { ($0.name, $0.json) }
    // The members of `extra` are sorted by name.
    let extra = left.sorted { $0.0 < $1.0 }.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",")
    return values + ["'{\(extra)}'"] + (table.hasTags ? [Self.list(tags)] : [])
      + (table.hasParts ? [Self.list(tags.map { "\($0) {\"b\":\(version)}" })] : [])
  }

  /// The list in the form that json_group_array writes for such texts.
  private static func list(_ texts: [String]) -> String { "[\(texts.map(\.debugDescription).joined(separator: ","))]" }
}
