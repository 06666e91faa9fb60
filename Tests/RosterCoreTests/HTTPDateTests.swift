import FoundationEssentials
import RosterCore
import Testing

struct HTTPDateTests {
  @Test(
    "The three forms of RFC 9110 are one time",
    arguments: [
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
  func forms(text: String) {
    #expect(Date(httpDate: text)?.timeIntervalSince1970 == 784_111_777)
  }

  @Test("A time is written in today's form, without the fraction of a second")
  func written() {
    #expect(Date(timeIntervalSince1970: 784_111_777.9).httpDate == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(Date(timeIntervalSince1970: 1_709_164_800).httpDate == "Thu, 29 Feb 2024 00:00:00 GMT")
  }

  @Test("Leap days are counted")
  func leapDays() {
    #expect(Date(httpDate: "Thu, 29 Feb 2024 00:00:00 GMT")?.timeIntervalSince1970 == 1_709_164_800)
    #expect(Date(httpDate: "Fri, 01 Mar 2024 00:00:00 GMT")?.timeIntervalSince1970 == 1_709_251_200)
  }

  @Test(
    "Any other text is no date",
    arguments: ["", "120", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 32 Nov 1994 08:49:37 GMT"])
  func none(text: String) {
    #expect(Date(httpDate: text) == nil)
  }
}
