import Testing

@testable import RosterDecode

struct MemberOrderTests {
  private func isOnlyDifference(_ one: String, _ other: String) -> Bool {
    Array(one.utf8).withUnsafeBufferPointer { one in
      Array(other.utf8).withUnsafeBufferPointer { MemberOrder.isOnlyDifference(one, $0) }
    }
  }

  @Test(
    "9: another order of the members of an object is no difference, at any depth",
    arguments: [
      (#"{"a":1,"b":[2,{"d":3,"c":null}]}"#, #"{"b":[2,{"c":null,"d":3}],"a":1}"#),
      (#"[{"a":{},"b":[]}]"#, #"[{"b":[],"a":{}}]"#),
      (#"{"é":"\u00e9","a\"":1.50e2}"#, #"{"a\"":1.50e2,"é":"\u00e9"}"#),
      ("{}", "{}"),
    ])
  func same(one: String, other: String) { #expect(isOnlyDifference(one, other)) }

  @Test(
    "9: every other difference is one",
    arguments: [
      (#"{"a":1,"b":2}"#, #"{"a":2,"b":1}"#), ("[1,2]", "[2,1]"), (#"{"a":1}"#, #"{"b":1}"#),
      (#"{"a":1.0}"#, #"{"a":1e0}"#), (#"{"a":1,"a":2}"#, #"{"a":2,"a":1}"#), (#"{"a":[]}"#, #"{"a":{}}"#),
      (#"{"a":"\ud800"}"#, #"{"a":"\ud801"}"#), (#"{"a":1,"b":2}"#, #"{"a":1,"b":22}"#), (#""ab""#, #""ba""#),
      ("[{}", "[[]"), (#"{"a":null}"#, #"{"a":true}"#),
    ])
  func different(one: String, other: String) { #expect(!isOnlyDifference(one, other)) }

  @Test("6: a value that nests deeper than a record can is different")
  func deep() {
    let deep = { (count: Int) in String(repeating: "[", count: count) + String(repeating: "]", count: count) }
    #expect(isOnlyDifference(deep(128), deep(128)) && !isOnlyDifference(deep(200), deep(200)))
  }
}
