/// Writes one JSON object field by field (RFC 8259). By hand, because a reader of `/v1/events` is sent up to 10,000 small ones a second.
struct JSONText {
  private var bytes: [UInt8] = [UInt8(ascii: "{")]

  var object: [UInt8] { bytes + [UInt8(ascii: "}")] }

  mutating func add(_ key: String, _ value: String) {
    begin(key)
    addString(value)
  }

  mutating func add(_ key: String, _ value: some BinaryInteger) {
    begin(key)
    bytes += String(value).utf8
  }

  mutating func add(_ key: String, _ value: Double) {
    begin(key)
    bytes += (value.isFinite ? value.description : "null").utf8
  }

  mutating func addNull(_ key: String) {
    begin(key)
    bytes += "null".utf8
  }

  private mutating func begin(_ key: String) {
    if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
    addString(key)
    bytes.append(UInt8(ascii: ":"))
  }

  private mutating func addString(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes += [UInt8(ascii: "\\"), byte]
      case 0..<0x20:
        let digits = String(byte, radix: 16)
        bytes += "\\u".utf8
        bytes += repeatElement(UInt8(ascii: "0"), count: 4 - digits.utf8.count)
        bytes += digits.utf8
      default:
        bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}
