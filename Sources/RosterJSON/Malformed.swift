/// An error in a body: the position, and what was expected there.
package struct Malformed: Error, Equatable, CustomStringConvertible {
  /// Offset of the error in the body.
  package var offset: Int
  /// A noun: "a value".
  package var expected: String

  /// Makes the error for this offset of the body.
  package init(offset: Int, expected: String) {
    self.offset = offset
    self.expected = expected
  }

  /// The error as one clause.
  package var description: String { "expected \(expected) at byte \(offset)" }
}
