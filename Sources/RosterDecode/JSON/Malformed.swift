internal import RosterCore

/// An error in a body: the position, and what was expected there.
public struct Malformed: Error, Equatable, CustomStringConvertible {
  /// Offset of the error in the body.
  public var offset: Int
  /// A noun: "a value".
  public var expected: String

  /// Makes the error for this offset of the body.
  public init(offset: Int, expected: String) {
    self.offset = offset
    self.expected = expected
  }

  /// The error as one clause.
  public var description: String { "expected \(expected) at byte \(offset)" }
}

/// A usual reason why a body is not JSON, with an excerpt. Pure.
package struct NamedMalformation: CustomStringConvertible {
  /// A clause for people.
  package let description: String

  /// nil if the reason is not a usual one.
  package init?(_ malformed: Malformed, in body: [UInt8]) {
    guard let reason = Self.reason(malformed, in: body) else { return nil }
    description = "\(reason): \(Self.excerpt(body, around: malformed.offset))"
  }

  private static func reason(_ malformed: Malformed, in body: [UInt8]) -> String? {
    let rest = body.dropFirst(malformed.offset)
    if malformed.expected == "UTF-8" {
      return isUTF16(body) ? "the text is UTF-16, not UTF-8" : "the text is not UTF-8, perhaps Latin-1"
    }
    if let word = numbers.first(where: { rest.starts(with: $0.utf8) }) { return "\(word) is no number of JSON" }
    if body.drop(while: { $0 <= UInt8(ascii: " ") }).starts(with: prefix.utf8) {
      return "the answer begins with \(prefix), which prevents scripts from reading it"
    }
    if malformed.expected == "the end", rest.first.map({ $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "[") }) == true {
      return "the answer has several JSON values, such as one on each line"
    }
    return malformed.expected.hasPrefix("no control character") ? "a control character must be escaped" : nil
  }

  private static func isUTF16(_ body: [UInt8]) -> Bool {
    body.starts(with: [0xFF, 0xFE]) || body.starts(with: [0xFE, 0xFF])
  }

  private static let numbers = ["NaN", "Infinity", "-Infinity"]
  /// The prefix of answers of Gerrit and AngularJS.
  private static let prefix = ")]}'"

  /// The bytes around the place: at most 20 before it, and 20 from it.
  private static func excerpt(_ body: [UInt8], around offset: Int) -> String {
    let part = body[max(0, offset - 20)..<min(body.count, offset + 20)]
    return "\"\(String(decoding: part, as: UTF8.self).printable)\""
  }
}
