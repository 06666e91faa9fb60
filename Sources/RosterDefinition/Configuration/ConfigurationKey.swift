/// One key, with the facts that the file, the environment, `check` and the man page need.
package struct ConfigurationKey: Sendable {
  /// The path of the key, such as "upstream.tls.ca_file".
  package let name: String
  /// The type with an article, such as "a duration".
  package let type: String
  /// The permitted values in words, such as "1 to 64".
  package let allowed: String
  /// One line for people.
  package let doc: String
  /// True if a reload does not change the value.
  package let needsRestart: Bool
  /// The default in TOML; "" for a path that depends on the environment.
  package let defaultValue: String

  let isBare: Bool
  let read: @Sendable (TOMLItem, inout Configuration) throws(Mistakes) -> Void
  let write: @Sendable (Configuration) -> String
  let isSame: @Sendable (Configuration, Configuration) -> Bool
  let copy: @Sendable (Configuration, inout Configuration) -> Void

  init<Value>(
    _ name: String, field: any WritableKeyPath<Configuration, Value> & Sendable, type: ValueType<Value>,
    restart: Bool = false, doc: String
  ) {
    self.name = name
    self.type = type.name
    allowed = type.allowed
    self.doc = doc
    needsRestart = restart
    defaultValue = type.write(Configuration()[keyPath: field]).toml
    isBare = type.isBare
    read = { (item, configuration) throws(Mistakes) in configuration[keyPath: field] = try type.read(item) }
    write = { type.write($0[keyPath: field]).toml }
    isSame = { $0[keyPath: field] == $1[keyPath: field] }
    copy = { $1[keyPath: field] = $0[keyPath: field] }
  }

  var path: [String] { name.split(separator: ".").map(String.init) }

  /// The name of the variable, such as "ROSTERD_UPSTREAM_TLS_CA_FILE".
  package var variable: String {
    Self.variablePrefix + String(name.uppercased().map { $0 == "." ? "_" : $0 })
  }

  static let variablePrefix = "ROSTERD_"
}
