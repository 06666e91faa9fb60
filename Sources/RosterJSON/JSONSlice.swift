/// What a value is, as far as its bytes tell without being read.
package enum JSONKind: UInt8, Sendable {
  /// There is no value.
  case absent
  case null, `false`, `true`
  /// A number without fraction and exponent.
  case integer
  /// A number with one.
  case fraction
  case string
  /// A string with escapes in it.
  case escapedString
  case list
  case object

  // By patterns, not ==: that is a call where it is used from another module.
  /// There is no value.
  @inlinable
  package var isAbsent: Bool { if case .absent = self { true } else { false } }
  /// It is an object.
  @inlinable
  package var isObject: Bool { if case .object = self { true } else { false } }
  /// It is a list.
  @inlinable
  package var isList: Bool { if case .list = self { true } else { false } }
  /// It is a string with escapes in it.
  @inlinable
  package var isEscaped: Bool { if case .escapedString = self { true } else { false } }
}

/// Where a value is among the bytes, quotes and brackets included.
package struct JSONSlice {
  /// Its first byte.
  package var start: UInt32
  /// The byte behind it.
  package var end: UInt32
  /// What it is.
  package var kind: JSONKind
  /// There is white space between its tokens.
  package var hasSpace: Bool

  /// From `start` up to `end`, which is not in it.
  @inlinable
  package init(_ start: Int, _ end: Int, _ kind: JSONKind, hasSpace: Bool = false) {
    self.start = UInt32(truncatingIfNeeded: start)
    self.end = UInt32(truncatingIfNeeded: end)
    self.kind = kind
    self.hasSpace = hasSpace
  }

  /// No value.
  @inlinable
  package static var absent: JSONSlice { JSONSlice(0, 0, .absent) }

  /// Where it is.
  @inlinable
  package var range: Range<Int> { Int(start)..<Int(end) }
  /// Of a string: what is between the quotes.
  @inlinable
  package var content: Range<Int> { Int(start) + 1..<Int(end) - 1 }

  /// Offsets are of 31 bits: no body may be as large as this.
  package static let largestBody = 1 << 31 - 1
}
