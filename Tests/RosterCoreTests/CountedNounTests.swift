import RosterCore
import Testing

@Suite struct CountedNounTests {
  @Test(
    "A number has its noun in the singular or the plural",
    arguments: [
      (1, "page", "1 page"), (2, "page", "2 pages"), (0, "record", "0 records"), (2, "refresh", "2 refreshes"),
      (3, "retry", "3 retries"), (10, "key", "10 keys"), (2, "day", "2 days"),
    ])
  func counted(number: Int, noun: String, text: String) {
    #expect(number.counted(as: noun) == text)
  }
}
