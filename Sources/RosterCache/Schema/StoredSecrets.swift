internal import RosterJSON
internal import RosterModel

/// Secrets in the definitions that an earlier version stored (T9.5).
enum StoredSecrets {
  /// Masks them, also those of resources that the configuration lacks now. Overwrites the clear text in the file and
  /// its log. The feed stays.
  static func remove(from database: Database) throws {
    let found = try database.definitions().compactMap { name, definition -> (String, String)? in
      guard let value = try? JSONValue(json: definition.utf8), value.definitionMasked != value else { return nil }
      return (name, JSONWriter(value.definitionMasked).text)
    }
    if found.isEmpty { return }
    try database.execute("PRAGMA secure_delete = ON")
    try database.transaction {
      for (name, definition) in found {
        try database.run("UPDATE main.resources SET definition = ?2 WHERE name = ?1", .text(name), .text(definition))
      }
    }
    // A reader may prevent it; a later checkpoint overwrites the log as well.
    _ = try? database.checkpoint(.truncate)
  }
}

extension String {
  /// The address of `by_key` without secrets, but with its placeholders.
  fileprivate var addressMasked: String {
    let columns = ParentColumn.all(in: self).map(\.placeholder)
    return secretsMasked(besides: nil, keeping: ["{key}", "{keys}", "{key."] + columns)
  }
}

extension JSONValue {
  /// A definition, or its `since`, without secrets: the values that `rosterd check` masks.
  var definitionMasked: JSONValue {
    guard case .object(let members) = self else { return self }
    return .object(
      members.map { member in
        switch member.name {
        case "query", "body": Member(member.name, member.value.secretsMasked)
        case "by_key": Member(member.name, member.value.text.map { .text($0.addressMasked) } ?? member.value)
        case "since": Member(member.name, member.value.definitionMasked)
        default: member
        }
      })
  }
}
