/// Any JSON as a tree, for what is small: configuration, tokens, status. Records of upstream are never made into one.
package enum JSONValue: Sendable, Equatable {
  case null
  case boolean(Bool)
  /// As it is written, so that no digit is lost (RFC 8259 §6).
  case number(String)
  case text(String)
  case list([JSONValue])
  /// In the order in which they are written, each name once.
  case object([Member])

  /// A name of an object, and what it has.
  package struct Member: Sendable, Equatable {
    /// Without its escapes.
    package var name: String
    /// Of any kind.
    package var value: JSONValue

    /// A member of that name and value.
    package init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }
}

extension JSONValue {
  /// A number without fraction and exponent.
  package static func integer(_ number: some BinaryInteger) -> JSONValue { .number(String(number)) }

  /// A member's value; names are compared byte by byte. nil where there is none, or this is no object.
  package subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.last { $0.name.utf8.elementsEqual(name.utf8) }?.value
  }

  /// What stands at a place; nil where nothing does.
  package subscript(at: JSONPointer) -> JSONValue? {
    at.segments.reduce(self) { value, segment in
      guard case .list(let elements) = value else { return value?[segment] }
      return JSONPointer.index(segment).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
    }
  }

  /// nil for what is no text.
  package var text: String? {
    if case .text(let text) = self { text } else { nil }
  }

  /// nil for what is no number.
  package var number: Double? {
    if case .number(let digits) = self { Double(digits) } else { nil }
  }

  /// nil where it is no number, or has a fraction, an exponent, or more than 64 bits.
  package var integer: Int64? {
    if case .number(let digits) = self { Int64(digits) } else { nil }
  }
}
