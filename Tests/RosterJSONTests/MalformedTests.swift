import RosterJSON
import Testing

@Suite struct MalformedTests {
  @Test("A malformed body has the place and what was expected there")
  func description() {
    #expect(Malformed(offset: 7, expected: "a value").description == "expected a value at byte 7")
  }
}
