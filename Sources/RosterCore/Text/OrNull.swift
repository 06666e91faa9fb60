/// An optional that is encoded as null and never left out: documented JSON always has every member.
@propertyWrapper
package struct OrNull<Value: Codable & Sendable & Equatable>: Codable, Sendable, Equatable {
  /// The value; nil is encoded as null.
  package var wrappedValue: Value?

  /// Wraps a value.
  package init(wrappedValue: Value?) {
    self.wrappedValue = wrappedValue
  }

  /// Decodes null as nil. Throws `DecodingError` for anything that is neither null nor a value.
  package init(from decoder: any Decoder) throws {
    wrappedValue = try Value?(from: decoder)
  }

  /// Encodes nil as null.
  package func encode(to encoder: any Encoder) throws {
    try wrappedValue.encode(to: encoder)
  }
}

/// A count that a daemon of an earlier version leaves out.
@propertyWrapper
package struct OrZero: Codable, Sendable, Equatable {
  /// The count; 0 if it was left out.
  package var wrappedValue: Int

  /// Wraps a count.
  package init(wrappedValue: Int) { self.wrappedValue = wrappedValue }

  /// Decodes a number. Throws `DecodingError` for anything else.
  package init(from decoder: any Decoder) throws {
    wrappedValue = try Int(from: decoder)
  }

  /// Encodes the number.
  package func encode(to encoder: any Encoder) throws {
    try wrappedValue.encode(to: encoder)
  }
}

extension KeyedDecodingContainer {
  func decode(_ type: OrZero.Type, forKey key: Key) throws -> OrZero {
    try decodeIfPresent(type, forKey: key) ?? OrZero(wrappedValue: 0)
  }
}
