/// The kind of a value, as far as its first pass shows it.
public enum JSONKind: UInt8, Sendable {
  /// There is no value.
  case absent
  case null, `false`, `true`
  /// A number without fraction and exponent.
  case integer
  /// A number with a fraction or an exponent.
  case fraction
  case string
  /// A string that contains escapes.
  case escapedString
  case list
  case object

  // These use patterns and not ==, which would be a function call in other modules.
  /// True if there is no value.
  @inlinable
  public var isAbsent: Bool { if case .absent = self { true } else { false } }
  /// True for an object.
  @inlinable
  public var isObject: Bool { if case .object = self { true } else { false } }
  /// True for a list.
  @inlinable
  public var isList: Bool { if case .list = self { true } else { false } }
  /// True for a string that contains escapes.
  @inlinable
  public var isEscaped: Bool { if case .escapedString = self { true } else { false } }
}

/// The position of a value among the bytes, quotes and brackets included.
public struct JSONSlice {
  /// Offset of the first byte.
  public var start: UInt32
  /// Offset after the last byte.
  public var end: UInt32
  /// Kind of the value.
  public var kind: JSONKind
  /// True if there is white space between the value's tokens.
  public var hasSpace: Bool

  /// Makes a slice from `start` up to, but not including, `end`.
  @inlinable
  public init(_ start: Int, end: Int, kind: JSONKind, hasSpace: Bool = false) {
    self.start = UInt32(truncatingIfNeeded: start)
    self.end = UInt32(truncatingIfNeeded: end)
    self.kind = kind
    self.hasSpace = hasSpace
  }

  /// The slice of a missing value.
  @inlinable
  public static var absent: JSONSlice { JSONSlice(0, end: 0, kind: .absent) }

  /// The bytes of the value.
  @inlinable
  public var range: Range<Int> { Int(start)..<Int(end) }
  /// The bytes between the quotes of a string.
  @inlinable
  public var content: Range<Int> { Int(start) + 1..<Int(end) - 1 }

  /// Upper bound for the size of a body: offsets have 31 bits.
  public static let largestBody = 1 << 31 - 1
}
