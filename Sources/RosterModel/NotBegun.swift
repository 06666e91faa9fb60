/// Why the row of a sync could not be written as it began. It is a sync that failed, with a number of its own.
package struct NotBegun: Error {
  package var id: Int64
  package var cause: any Error

  package init(id: Int64, cause: any Error) {
    self.id = id
    self.cause = cause
  }
}
