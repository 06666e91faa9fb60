/// A body of `application/x-www-form-urlencoded`.
struct Form {
  private var fields: [String: String] = [:]

  init(_ body: [UInt8]) {
    for pair in body.split(separator: UInt8(ascii: "&")) {
      let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { fields[Self.decode(parts[0])] = Self.decode(parts[1]) }
    }
  }

  subscript(name: String) -> String? { fields[name] }

  static func decode(_ bytes: some Sequence<UInt8>) -> String {
    var decoded: [UInt8] = []
    var rest = Array(bytes)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
        decoded.append(value)
        rest = rest.dropFirst(2)
      } else {
        decoded.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return String(decoding: decoded, as: UTF8.self)
  }
}
