/// Values that are valid separately, but not together or not on this machine.
package struct Conflict: Sendable, Equatable {
  /// The first key should be corrected; the others contribute to the conflict.
  package var keys: [String]
  /// The wrong entry of the first key's table.
  package var entry: String?
  /// A clause about the conflict.
  package var problem: String
  /// The permitted values.
  package var allowed: String
  /// The name of the broken rule; nil for a conflict with this machine.
  package var rule: String?

  /// - Parameter problem: a clause without secrets.
  package init(keys: [String], entry: String? = nil, problem: String, allowed: String, rule: String? = nil) {
    (self.keys, self.entry, self.problem, self.allowed, self.rule) = (keys, entry, problem, allowed, rule)
  }
}
