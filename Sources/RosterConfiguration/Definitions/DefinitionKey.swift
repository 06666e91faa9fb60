import RosterModel

/// One key of a table of `[resource.NAME]`, with the facts that reading, `check` and the man page need.
struct DefinitionKey<Draft: Sendable>: Sendable {
  let name: String
  /// The permitted values in words.
  let allowed: String
  let read: @Sendable (TOMLItem, inout Draft) throws(Mistakes) -> Void
  /// TOML that `read` accepts again; nil if no text represents the value.
  let write: @Sendable (Draft) -> String?

  init<Value>(_ name: String, _ field: any WritableKeyPath<Draft, Value> & Sendable, _ type: ValueType<Value>) {
    self.name = name
    allowed = type.allowed
    read = { (item, draft) throws(Mistakes) in draft[keyPath: field] = try type.read(item) }
    write = { type.write($0[keyPath: field]) }
  }

  /// A key without a default.
  /// - Parameter absent: the text for an omitted value; nil writes no line.
  init<Value>(
    _ name: String, _ field: any WritableKeyPath<Draft, Value?> & Sendable, _ type: ValueType<Value>,
    absent: String? = "".tomlString
  ) {
    self.name = name
    allowed = type.allowed
    read = { (item, draft) throws(Mistakes) in draft[keyPath: field] = try type.read(item) }
    write = { $0[keyPath: field].map(type.write) ?? absent }
  }
}
