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
