import FoundationEssentials
import RosterCore
import Testing

@Suite struct PointInTimeTests {
  private let now = Date(timeIntervalSince1970: 1_800_000_000)

  @Test(
    "A time is RFC 3339, a date its first moment, and a duration that time ago",
    arguments: [
      ("2026-11-21T05:19:03Z", "2026-11-21T05:19:03.000Z"), ("2026-11-21t05:19:03.5z", "2026-11-21T05:19:03.500Z"),
      ("2026-11-21 05:19:03.614999Z", "2026-11-21T05:19:03.615Z"),
      ("2026-11-21T05:19:03+02:00", "2026-11-21T03:19:03.000Z"),
      ("2026-11-20T23:19:03.25-05:30", "2026-11-21T04:49:03.250Z"), ("2026-11-21", "2026-11-21T00:00:00.000Z"),
      ("2028-02-29", "2028-02-29T00:00:00.000Z"), ("0s", "2027-01-15T08:00:00.000Z"),
      ("2026-11-21T05:19Z", "2026-11-21T05:19:00.000Z"), ("2026-11-21T05:19:03+0200", "2026-11-21T03:19:03.000Z"),
      ("2h", "2027-01-15T06:00:00.000Z"), ("1d", "2027-01-14T08:00:00.000Z"),
    ])
  func read(text: String, time: String) throws {
    #expect(try #require(Date(pointInTime: text, now: now)).rfc3339 == time)
  }

  @Test(
    "Any other text is refused",
    arguments: [
      "", "yesterday", "2026-11-21T05:19:03", "2026-11-21T05:19", "2026-02-30", "2026-13-01", "2026-1-1",
      "2026-11-21T24:00:01Z", "2026-11-21T05:19:03.Z", "2026-11-21T05:19:03+02:0", "2026-11-21T05:19:03+25:00",
      "2026-11-21T05:19:03Zx", "-2h", "21.11.2026", "1763702343", "2026-11-2١",
    ])
  func refused(text: String) {
    #expect(Date(pointInTime: text, now: now) == nil)
  }
}
