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
