/// The body is not what was expected of it: where, and what.
package struct Malformed: Error, Equatable, CustomStringConvertible {
  /// Bytes from the start of the body.
  package var offset: Int
  /// A noun: "a value".
  package var expected: String

  /// At a byte of the body, something else was expected.
  package init(offset: Int, expected: String) {
    self.offset = offset
    self.expected = expected
  }

  /// One clause.
  package var description: String { "expected \(expected) at byte \(offset)" }
}
