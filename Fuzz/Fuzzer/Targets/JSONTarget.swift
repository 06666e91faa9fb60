import RosterCore
import RosterDecode

/// Arbitrary bytes: rosterd must agree whether they are JSON, and about the value, and must write the same value again.
enum JSONTarget {
  /// Maximum depth of a `JSONValue`.
  static let deepest = 136

  static func check(_ bytes: [UInt8]) {
    guard PlainJSON.isShallow(bytes) else { return }
    let expected = PlainJSON.read(bytes).flatMap { $0.depth <= deepest ? $0 : nil }
    let value = try? JSONValue(json: bytes)
    guard let expected, let value else {
      return promise((value == nil) == (expected == nil), "\(value == nil) is JSON")
    }
    promise(isSame(value, expected), "another value: \(value)")
    var json = JSONWriter()
    json.value(value)
    let again = certain("read what was written") { try JSONValue(json: json.bytes) }
    promise(again == value, "written, it is another value: \(json.text)")
    promise(PlainJSON.read(json.bytes).map { isSame(value, $0) } == true, "written, it is no JSON: \(json.text)")
  }

  static func isSame(_ value: JSONValue, _ expected: Written) -> Bool {
    switch (value, expected) {
    case (.null, .scalar("null", nil)), (.boolean(true), .scalar("true", nil)),
      (.boolean(false), .scalar("false", nil)):
      true
    case (.number(let digits), .scalar(let written, nil)): digits == written
    case (.text(let text), .scalar(_, let other?)): text.utf8.elementsEqual(other.utf8)
    case (.list(let elements), .list(let others)):
      elements.count == others.count && zip(elements, others).allSatisfy(isSame)
    case (.object(let members), .object): isSame(members, expected.members)
    default: false
    }
  }

  private static func isSame(_ members: [JSONValue.Member], _ expected: [Written.Member]) -> Bool {
    members.count == expected.count
      && members.allSatisfy { member in
        expected.contains { $0.isNamed(member.name) && isSame(member.value, $0.value) }
      }
  }
}
