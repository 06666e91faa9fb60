/// Why the row of a sync could not be written as it began. It is a sync that failed, with a number of its own.
package struct NotBegun: Error {
  /// The number that it would have had in `syncs`.
  package var id: Int64
  /// Why the row could not be written: a `Failure`, mostly.
  package var cause: any Error

  /// A sync of that number that did not begin.
  package init(id: Int64, cause: any Error) {
    self.id = id
    self.cause = cause
  }
}
