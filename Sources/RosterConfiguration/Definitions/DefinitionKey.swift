import RosterModel

/// One key of a table of `[resource.NAME]`: what reading it, `check` and the man page know of it.
struct DefinitionKey<Draft: Sendable>: Sendable {
  let name: String
  /// Its values, in words.
  let allowed: String
  let read: @Sendable (TOMLItem, inout Draft) throws(Mistakes) -> Void
  /// TOML that `read` takes again; nil: nothing that could be written holds.
  let write: @Sendable (Draft) -> String?

  init<Value>(_ name: String, _ field: any WritableKeyPath<Draft, Value> & Sendable, _ type: ValueType<Value>) {
    self.name = name
    allowed = type.allowed
    read = { (item, draft) throws(Mistakes) in draft[keyPath: field] = try type.read(item) }
    write = { type.write($0[keyPath: field]) }
  }

  /// Of a key without a default of its own.
  /// - Parameter absent: how it is written that it is left out; nil: not at all.
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
