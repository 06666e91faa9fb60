import RosterCore

/// One key of a table of `[resource.NAME]`: its place in the model, its type, and its sentence for people. The file,
/// `check`, the cache, `infer` and the manual page use the same keys.
package struct DefinitionKey<Table: Sendable>: Sendable {
  /// The name in the configuration.
  package let name: String
  /// The permitted values in words.
  package let allowed: String
  /// The first sentence of the manual page.
  package let doc: String
  /// The default if it depends on other keys; nil if it is the value of a new table.
  let usual: String?
  let read: @Sendable (TOMLItem, inout Table) throws(Mistakes) -> Void
  /// The value that `read` accepts again; nil if no text represents it.
  package let write: @Sendable (Table) -> TOMLItem?

  init<Value>(
    _ name: String, _ field: any WritableKeyPath<Table, Value> & Sendable, type: ValueType<Value>, usual: String? = nil,
    doc: String
  ) {
    self.name = name
    allowed = type.allowed
    self.usual = usual
    self.doc = doc
    read = { (item, table) throws(Mistakes) in table[keyPath: field] = try type.read(item) }
    write = { type.write($0[keyPath: field]) }
  }

  /// A key without a default.
  /// - Parameter isWritten: False if an omitted value has no line.
  init<Value>(
    _ name: String, optional field: any WritableKeyPath<Table, Value?> & Sendable, type: ValueType<Value>,
    isWritten: Bool = true, usual: String? = nil, doc: String
  ) {
    self.name = name
    allowed = type.allowed
    self.usual = usual
    self.doc = doc
    read = { (item, table) throws(Mistakes) in table[keyPath: field] = try type.read(item) }
    write = { $0[keyPath: field].map(type.write) ?? (isWritten ? .string("") : nil) }
  }

  /// The default in TOML.
  /// - Parameter table: A new table.
  package func defaultText(in table: Table) -> String { usual ?? write(table)?.toml ?? "".tomlString }
}
