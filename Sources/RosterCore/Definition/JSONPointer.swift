/// The address of a value inside JSON (RFC 6901). `""` is the whole value; `/a/0` is the first element if `a` is a
/// list, and the member `0` if `a` is an object.
package struct JSONPointer: Sendable {
  /// The unescaped segments, the outermost first.
  package var segments: [String]

  /// Makes a pointer from unescaped segments; without any it addresses the whole value.
  package init(segments: [String] = []) {
    self.segments = segments
  }

  /// nil if the text is not a pointer: it does not start with `/`, or has a `~` that neither 0 nor 1 follows.
  package init?(_ text: String) {
    if text.isEmpty {
      self.init()
      return
    }
    guard text.utf8.first == UInt8(ascii: "/") else { return nil }
    var segments: [String] = []
    for part in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      guard let segment = Self.unescaped(Array(part)) else { return nil }
      segments.append(segment)
    }
    self.init(segments: segments)
  }

  /// True if the pointer addresses the whole value.
  package var isWhole: Bool { segments.isEmpty }

  /// The list index that a segment means (RFC 6901 §4: digits without a leading zero); nil if it is not an index.
  package static func index(_ segment: String) -> Int? {
    let digits = segment.utf8
    guard digits.allSatisfy(\.isDigit) else { return nil }
    return digits.count > 1 && digits.first == UInt8(ascii: "0") ? nil : Int(segment)
  }

  private static func unescaped(_ part: [UInt8]) -> String? {
    var bytes: [UInt8] = []
    var at = 0
    while at < part.count {
      guard part[at] == UInt8(ascii: "~") else {
        bytes.append(part[at])
        at += 1
        continue
      }
      switch part.dropFirst(at + 1).first {
      case UInt8(ascii: "0"): bytes.append(UInt8(ascii: "~"))
      case UInt8(ascii: "1"): bytes.append(UInt8(ascii: "/"))
      default: return nil
      }
      at += 2
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Compared byte by byte: names that only Unicode normalization makes equal are different.
extension JSONPointer: Equatable {
  /// True if both have the same segments, byte by byte.
  package static func == (one: JSONPointer, other: JSONPointer) -> Bool {
    one.segments.count == other.segments.count
      && zip(one.segments, other.segments).allSatisfy { $0.utf8.elementsEqual($1.utf8) }
  }
}

extension JSONPointer: CustomStringConvertible {
  /// The pointer as the configuration writes it.
  package var description: String {
    var text: [UInt8] = []
    for segment in segments {
      text.append(UInt8(ascii: "/"))
      for byte in segment.utf8 {
        switch byte {
        case UInt8(ascii: "~"): text += "~0".utf8
        case UInt8(ascii: "/"): text += "~1".utf8
        default: text.append(byte)
        }
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
