/// Values that are good each by itself, and not together or not on this machine.
package struct Conflict: Sendable, Equatable {
  /// The first is to be mended; the others have a part in it.
  package var keys: [String]
  /// The entry of the first key's table that is at fault.
  package var entry: String?
  /// A clause.
  package var problem: String
  /// What would be good.
  package var allowed: String

  /// - Parameter problem: names no secret.
  package init(keys: [String], entry: String? = nil, problem: String, allowed: String) {
    self.keys = keys
    self.entry = entry
    self.problem = problem
    self.allowed = allowed
  }
}
