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
  @inlinable
  package var isAbsent: Bool { if case .absent = self { true } else { false } }
  @inlinable
  package var isObject: Bool { if case .object = self { true } else { false } }
  @inlinable
  package var isList: Bool { if case .list = self { true } else { false } }
  @inlinable
  package var isEscaped: Bool { if case .escapedString = self { true } else { false } }
}

/// Where a value is among the bytes, quotes and brackets included.
package struct JSONSlice {
  package var start: UInt32
  package var end: UInt32
  package var kind: JSONKind
  /// There is white space between its tokens.
  package var hasSpace: Bool

  @inlinable
  package init(_ start: Int, _ end: Int, _ kind: JSONKind, hasSpace: Bool = false) {
    self.start = UInt32(truncatingIfNeeded: start)
    self.end = UInt32(truncatingIfNeeded: end)
    self.kind = kind
    self.hasSpace = hasSpace
  }

  @inlinable
  package static var absent: JSONSlice { JSONSlice(0, 0, .absent) }

  @inlinable
  package var range: Range<Int> { Int(start)..<Int(end) }
  /// Of a string: what is between the quotes.
  @inlinable
  package var content: Range<Int> { Int(start) + 1..<Int(end) - 1 }

  /// Offsets are of 31 bits: no body may be as large as this.
  package static let largestBody = 1 << 31 - 1
}
