internal import FoundationEssentials

/// Reads a JSON object whose values are all true or false. By hand, because JSONDecoder also takes what is no JSON (a comma at the end, UTF-16) and keeps one of two members of the same name.
struct Switches {
  private var rest: ArraySlice<UInt8>

  /// nil where the bytes are anything but one such object in UTF-8, without a byte order mark and no name twice (RFC 8259 §4, §8.1).
  static func read(_ bytes: [UInt8]) -> [String: Bool]? {
    var reader = Switches(rest: bytes[...])
    guard let members = reader.members() else { return nil }
    reader.skipSpace()
    return reader.rest.isEmpty ? members : nil
  }

  private mutating func members() -> [String: Bool]? {
    var members: [String: Bool] = [:]
    guard take("{") else { return nil }
    if take("}") { return members }
    repeat {
      guard let name = name(), take(":"), let value = value(), members.updateValue(value, forKey: name) == nil
      else { return nil }
    } while take(",")
    return take("}") ? members : nil
  }

  private mutating func value() -> Bool? {
    if take("true") { return true }
    return take("false") ? false : nil
  }

  /// A string, whose escapes JSONDecoder resolves.
  private mutating func name() -> String? {
    skipSpace()
    guard rest.first == UInt8(ascii: "\"") else { return nil }
    var end = rest.startIndex + 1
    while end < rest.endIndex, rest[end] != UInt8(ascii: "\"") {
      end += rest[end] == UInt8(ascii: "\\") ? 2 : 1
    }
    guard end < rest.endIndex else { return nil }
    let name = try? JSONDecoder().decode(String.self, from: Data(rest[...end]))
    rest = rest[(end + 1)...]
    return name
  }

  private mutating func take(_ token: StaticString) -> Bool {
    skipSpace()
    let bytes = UnsafeBufferPointer(start: token.utf8Start, count: token.utf8CodeUnitCount)
    guard rest.starts(with: bytes) else { return false }
    rest = rest.dropFirst(bytes.count)
    return true
  }

  private mutating func skipSpace() {
    rest = rest.drop { " \t\r\n".utf8.contains($0) }
  }
}
