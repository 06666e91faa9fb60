import RosterCore
import Testing

@Suite struct JSONPointerTests {
  @Test(
    "Pointers are read as in RFC 6901 §5, and written in the same form",
    arguments: [
      ("", []), ("/foo", ["foo"]), ("/foo/0", ["foo", "0"]), ("/", [""]), ("/a~1b", ["a/b"]), ("/c%d", ["c%d"]),
      ("/g|h", ["g|h"]), ("/i\\j", ["i\\j"]), ("/k\"l", ["k\"l"]), ("/ ", [" "]), ("/m~0n", ["m~n"]),
      ("/~01", ["~1"]), ("/a//b/", ["a", "", "b", ""]), ("/é", ["é"]),
    ] as [(String, [String])])
  func reads(text: String, segments: [String]) throws {
    let pointer = try #require(JSONPointer(text))
    #expect(pointer.segments == segments)
    #expect(pointer.description == text)
  }

  @Test("An invalid pointer is refused", arguments: ["a", "a/b", "/~", "/~2", "/a~", "#/a", " /a"])
  func refuses(text: String) {
    #expect(JSONPointer(text) == nil)
  }

  @Test("Places that are equal only after Unicode normalization are different")
  func normalization() {
    #expect(JSONPointer("/\u{e9}") != JSONPointer("/e\u{301}"))
    #expect(JSONPointer("/a") == JSONPointer("/a"))
  }

  @Test("An element's number has no leading zero and no sign")
  func index() {
    #expect(["0", "7", "10"].map(JSONPointer.index) == [0, 7, 10])
    #expect(["", "00", "01", "-1", "+1", "1a", "99999999999999999999"].allSatisfy { JSONPointer.index($0) == nil })
  }

  @Test("A value is found in objects by its name, in lists by its number")
  func value() {
    let value: JSONValue = .object([
      .init("0", .text("a member")), .init("list", .list([.text("first"), .object([.init("x", .null)])])),
    ])
    let places = ["": value, "/0": .text("a member"), "/list/0": .text("first"), "/list/1/x": .null]
    for (place, found) in places { #expect(JSONPointer(place).flatMap { value[$0] } == found, "\(place)") }
    for place in ["/1", "/list/2", "/list/00", "/list/x", "/0/0", "/list/1/x/y"] {
      #expect(JSONPointer(place).flatMap { value[$0] } == nil, "\(place)")
    }
  }
}
