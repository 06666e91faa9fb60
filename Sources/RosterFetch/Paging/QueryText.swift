import RosterModel

/// Query strings as forms are sent (RFC 3986 §3.4): all but unreserved characters percent-encoded.
enum QueryText {
  static func adding(_ parameters: [(String, String)], to url: String) -> String {
    if parameters.isEmpty { return url }
    return url + "?" + parameters.map { "\(encoded($0))=\(encoded($1))" }.joined(separator: "&")
  }

  /// As one segment of a path, too.
  static func encoded(_ text: String) -> String {
    if text.utf8.allSatisfy(isUnreserved) { return text }
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if isUnreserved(byte) {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "%"), hex[Int(byte >> 4)], hex[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static let hex = Array("0123456789ABCDEF".utf8)

  /// RFC 3986 §2.3.
  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }
}

extension Resource.Scalar {
  var queryText: String {
    switch self {
    case .text(let text): text
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .boolean(let flag): "\(flag)"
    }
  }
}
