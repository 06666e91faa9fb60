/// A list of a child that could not be pulled.
package struct FailedList: Sendable, Equatable {
  /// Name of the child.
  package var resource: String
  /// Name of its parent resource.
  package var parent: String
  /// Keys of the ancestors, outermost first, separated by spaces.
  package var keys: String
  /// True if the parent record disappeared in the meantime; false if the list has failed.
  package var hasVanished: Bool
  /// The reason, as one sentence.
  package var reason: String

  /// Makes the description of a list.
  package init(of resource: String, parent: String, keys: String, hasVanished: Bool, reason: String) {
    self.resource = resource
    self.parent = parent
    self.keys = keys
    self.hasVanished = hasVanished
    self.reason = reason
  }

  /// The parent record, for `explain`.
  package var concern: AffectedItem { .record(keys, of: parent, reason: reason) }
}
