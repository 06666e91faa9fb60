/// An error in a body: the position, and what was expected there.
public struct Malformed: Error, Equatable, CustomStringConvertible {
  /// Offset of the error in the body.
  public var offset: Int
  /// A noun: "a value".
  public var expected: String

  /// Makes the error for this offset of the body.
  public init(offset: Int, expected: String) {
    self.offset = offset
    self.expected = expected
  }

  /// The error as one clause.
  public var description: String { "expected \(expected) at byte \(offset)" }
}
