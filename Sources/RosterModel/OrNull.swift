/// An optional that is encoded as null, not left out: the contract's JSON names every field always.
@propertyWrapper
package struct OrNull<Value: Codable & Sendable & Equatable>: Codable, Sendable, Equatable {
  /// nil is null.
  package var wrappedValue: Value?

  /// nil is null.
  package init(wrappedValue: Value?) {
    self.wrappedValue = wrappedValue
  }

  /// Takes null for nil. Throws `DecodingError` for what is neither null nor a value.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
  }

  /// Writes null for nil.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
  }
}
