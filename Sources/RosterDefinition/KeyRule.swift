import RosterCore

/// A rule between keys whose values are valid separately: the keys, a condition, and a sentence.
package struct KeyRule<Table>: Sendable {
  /// A fault in a table.
  package struct Violation: Sendable {
    /// The key at fault; nil for the first key of the rule.
    package var key: String?
    /// The path of the entry at fault, if the key has a table.
    package var entry: [String] = []
    /// The reason, as a clause.
    package var problem: String
    /// The permitted values in words; nil for those of the rule.
    package var allowed: String?

    /// Makes a violation.
    package init(of key: String? = nil, entry: [String] = [], problem: String, allowed: String? = nil) {
      (self.key, self.entry, self.problem, self.allowed) = (key, entry, problem, allowed)
    }
  }

  /// The group of rules that it belongs to, such as F7.2. Tests use it, and no message shows it.
  package let number: String
  /// The keys that the condition reads, below the rule's table. The first is at fault. A rule is not checked if one
  /// of its keys is refused, unless it has `*` for the names of entries.
  package let keys: [String]
  /// The permitted values in words.
  package let allowed: String
  /// The violations in a table.
  package let violations: @Sendable (Table) -> [Violation]

  /// The key at fault, unless a violation has another one.
  package var key: String { keys.first.map { key in String(key.prefix { $0 != "*" }) } ?? "" }

  /// The number, the keys and the permitted values, which no two rules share.
  package var name: String { "\(([number] + keys).joined(separator: " ")): \(allowed)" }

  /// A rule that finds entries, other keys than its first one, or several violations.
  package static func each(
    _ keys: [String], of number: String, allowed: String = "",
    find: @escaping @Sendable (Table) -> [Violation]
  ) -> Self { Self(number: number, keys: keys, allowed: allowed, violations: find) }
}

extension KeyRule {
  /// A rule whose sentence depends on the values.
  /// - Parameter allowed: nil allows no value.
  package static func key(
    _ key: String, beside others: [String] = [], of number: String, allowed: String? = nil,
    problem: @escaping @Sendable (Table) -> String?
  ) -> Self {
    each([key] + others, of: number, allowed: allowed ?? "no \(shown(key))") { table in
      problem(table).map { [Violation(problem: $0)] } ?? []
    }
  }

  /// A rule with one sentence.
  package static func key(
    _ key: String, beside others: [String] = [], of number: String, _ problem: String, allowed: String? = nil,
    if isBroken: @escaping @Sendable (Table) -> Bool
  ) -> Self {
    .key(key, beside: others, of: number, allowed: allowed) { isBroken($0) ? problem : nil }
  }

  /// A key without which another one, or the request, has no meaning.
  package static func missing(
    _ key: String, beside others: [String] = [], of number: String, allowed: String,
    if isBroken: @escaping @Sendable (Table) -> Bool
  ) -> Self {
    .key(key, beside: others, of: number, "is missing", allowed: allowed, if: isBroken)
  }

  /// A key that needs one of others.
  /// - Parameter others: keys, or settings such as `shape = "rows"`.
  package static func needs(
    _ key: String, _ others: String..., of number: String, if isBroken: @escaping @Sendable (Table) -> Bool
  ) -> Self {
    let text = others.map(shown).joined(separator: " or ")
    return .key(
      key, beside: others.map(named), of: number, "needs \(text)", allowed: "\(shown(key)) with \(text)", if: isBroken)
  }

  /// A key that another one, or a value of it, makes meaningless.
  package static func excludes(
    _ key: String, _ other: String, of number: String, if isBroken: @escaping @Sendable (Table) -> Bool
  ) -> Self {
    .key(
      key, beside: [named(other)], of: number, "is beside \(shown(other))", allowed: "\(shown(key)) or \(shown(other))",
      if: isBroken)
  }

  /// The same rule, which is not checked either if that key is refused.
  package func beside(_ key: String) -> Self {
    keys.contains(key) ? self : .each(keys + [key], of: number, allowed: allowed, find: violations)
  }

  /// The key of a setting.
  private static func named(_ setting: String) -> String { String(setting.prefix { $0 != " " }) }

  /// A setting without the tables of its key.
  private static func shown(_ setting: String) -> String {
    let tables = named(setting).split(separator: ".").dropLast().map { "\($0)." }.joined()
    return String(setting.dropFirst(tables.count))
  }
}

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
