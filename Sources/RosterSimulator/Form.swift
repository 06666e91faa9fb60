import RosterCore

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

  static func decode(_ bytes: some Collection<UInt8>) -> String {
    String(decoding: bytes.percentDecoded(isForm: true), as: UTF8.self)
  }
}
