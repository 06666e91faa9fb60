/// The row of a sync could not be written at its start. The sync counts as failed and keeps the id meant for it.
package struct SyncStartError: Error {
  /// The id that was meant for it in `syncs`.
  package var id: Int64
  /// The reason why the row could not be written, mostly a `Failure`.
  package var cause: any Error

  /// Makes the error for a sync with this id.
  package init(id: Int64, cause: any Error) {
    self.id = id
    self.cause = cause
  }
}
