import RosterCore
import Testing

@Suite struct DurationTextTests {
  @Test(
    "A number and a unit are read",
    arguments: [
      ("500ms", .milliseconds(500)), ("1.5s", .milliseconds(1500)), ("15m", .seconds(900)), ("2h", .seconds(7200)),
      ("90d", .seconds(7_776_000)), ("0s", .zero),
    ] as [(String, Duration)])
  func read(text: String, duration: Duration) {
    #expect(Duration(text: text) == duration)
  }

  @Test(
    "Any other text is refused",
    arguments: ["", "5", "s", "-1s", "1 s", "1.s", ".5s", "1e3s", "1.5.5s", "5S", "1w", "٣s", "99999999999d"])
  func refused(text: String) {
    #expect(Duration(text: text) == nil)
  }

  @Test(
    "The text of a duration is read as the same duration",
    arguments: [0, 1, 500, 1500, 60_000, 90_000, 3_600_000, 86_400_000])
  func roundTrip(milliseconds: Int) {
    let duration = Duration.milliseconds(milliseconds)
    #expect(Duration(text: duration.text) == duration)
  }
}
