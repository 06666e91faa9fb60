package import RosterCore

/// A column of a parent, and its value in the given address: `issue.number=5` of `infer --of`.
package struct GivenParent: Sendable, Equatable {
  /// The column whose placeholder replaces the value.
  package let column: ParentColumn
  /// The value as the cache has it, not percent-encoded.
  package let value: String

  /// nil for any text but `RESOURCE.COLUMN=VALUE`.
  package init?(_ text: String) {
    let parts = text.split(separator: "=", maxSplits: 1)
    guard parts.count == 2, let column = ParentColumn(name: parts[0]) else { return nil }
    self.column = column
    value = String(parts[1])
  }
}
