import RosterJSON
import RosterModel

/// A usual reason why a body is not JSON, with an excerpt. Pure.
struct NamedMalformation: CustomStringConvertible {
  /// A clause for people.
  let description: String

  /// nil if the reason is not a usual one.
  init?(_ malformed: Malformed, in body: [UInt8]) {
    let rest = body.dropFirst(malformed.offset)
    let excerpt = Self.excerpt(body, around: malformed.offset)
    if malformed.expected == "UTF-8" {
      description = "the text is not UTF-8, perhaps Latin-1: \(excerpt)"
    } else if let word = Self.numbers.first(where: { rest.starts(with: $0.utf8) }) {
      description = "\(word) is no number of JSON: \(excerpt)"
    } else if body.drop(while: { $0 <= UInt8(ascii: " ") }).starts(with: Self.prefix.utf8) {
      description = "the answer begins with \(Self.prefix), which prevents scripts from reading it: \(excerpt)"
    } else {
      return nil
    }
  }

  private static let numbers = ["NaN", "Infinity", "-Infinity"]
  /// The prefix of answers of Gerrit and AngularJS.
  private static let prefix = ")]}'"

  /// At most 20 bytes before the place, and 20 from it.
  private static func excerpt(_ body: [UInt8], around offset: Int) -> String {
    let part = body[max(0, offset - 20)..<min(body.count, offset + 20)]
    return "\"\(String(decoding: part, as: UTF8.self).printable)\""
  }
}
