package import FoundationEssentials

extension Encodable {
  /// The value as one line of JSON. Keys are sorted, so that two answers can be compared, and a newline ends the line
  /// for terminals.
  package func jsonLine() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self) + [UInt8(ascii: "\n")]
  }
}
