/// The body is not what was expected of it: where, and what.
package struct Malformed: Error, Equatable, CustomStringConvertible {
  /// Bytes from the start of the body.
  package var offset: Int
  package var expected: String

  package init(offset: Int, expected: String) {
    self.offset = offset
    self.expected = expected
  }

  package var description: String { "expected \(expected) at byte \(offset)" }
}
