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

  /// - Parameter problem: a clause without secrets.
  package init(keys: [String], entry: String? = nil, problem: String, allowed: String) {
    self.keys = keys
    self.entry = entry
    self.problem = problem
    self.allowed = allowed
  }
}
