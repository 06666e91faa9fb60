package import FoundationEssentials

extension Encodable {
  /// As JSON, its keys sorted so that two answers compare, a newline at its end for terminals.
  package func jsonLine() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self) + [UInt8(ascii: "\n")]
  }
}
