extension Resource {
  /// The types of storable values; `json` accepts any value. The raw value is the name in a definition and in the
  /// cache. `RosterDecode/RowMemory.swift` says which values are storable.
  package enum ColumnType: String, Sendable, CaseIterable { case text, integer, real, boolean, json, timestamp }
}

extension Resource.ColumnType {
  /// The form of the values in SQLite, and in the JSON that is made of them there.
  package enum Form: Sendable {
    /// A text or a whole number, which SQLite writes as JSON itself.
    case plain
    /// A number that SQLite's own JSON would round to 15 digits.
    case number
    /// 1 for true and 0 for false.
    case flag
    /// A text that is JSON.
    case document
  }

  /// The facts about one type.
  private struct Facts {
    let form: Form
    let sql: String
    let replica: ReplicaTable.ColumnType
    /// A noun for a value, for messages.
    let phrase: String
    var isOfKeys = false
    var isWhole = false
    var isNumber = false
    var isLong = false
  }

  private var facts: Facts {
    switch self {
    case .text: Facts(form: .plain, sql: "TEXT", replica: .text, phrase: "a string", isOfKeys: true, isLong: true)
    case .integer:
      Facts(
        form: .plain, sql: "INTEGER", replica: .bigint, phrase: "an integer of 64 bits", isOfKeys: true, isWhole: true,
        isNumber: true)
    case .real:
      Facts(form: .number, sql: "REAL", replica: .double, phrase: "a number that a Double holds", isNumber: true)
    case .boolean: Facts(form: .flag, sql: "INTEGER", replica: .boolean, phrase: "true or false")
    case .timestamp:
      Facts(form: .plain, sql: "TEXT", replica: .timestamp, phrase: "a time such as 2026-01-01T10:00:00Z")
    case .json: Facts(form: .document, sql: "TEXT", replica: .jsonb, phrase: "a value", isLong: true)
    }
  }

  /// The form of the stored values.
  package var form: Form { facts.form }
  /// The type of the column in SQLite.
  package var sql: String { facts.sql }
  /// The type of the column in PostgreSQL.
  package var replica: ReplicaTable.ColumnType { facts.replica }
  /// A noun for a value, for messages: `an integer of 64 bits`.
  package var phrase: String { facts.phrase }
  /// True if a column of this type can be a key.
  package var isOfKeys: Bool { facts.isOfKeys }
  /// True for whole numbers.
  package var isWhole: Bool { facts.isWhole }
  /// True for numbers, which tables align to the right.
  package var isNumber: Bool { facts.isNumber }
  /// True if the values may be too long for a cell of a table.
  package var isLong: Bool { facts.isLong }
  /// True for texts of upstream. They can be searched, and an absent one is '' unless its column is nullable.
  package var isText: Bool { self == .text }
}
