import FoundationEssentials
import RosterCore
import Testing

@testable import RosterTerminal

@Suite struct HumanFormatTests {
  @Test("A duration has two units at most")
  func spans() {
    let spans: [(Double, String)] = [
      (0, "0.0 s"), (0.44, "0.4 s"), (9.99, "10.0 s"), (12.3, "12 s"), (60, "1 min"), (200, "3 min 20 s"),
      (7500, "2 h 5 min"), (273_600, "3 d 4 h"), (-1, "0.0 s"),
    ]
    for (seconds, text) in spans { #expect(HumanFormat.span(seconds) == text) }
    #expect(HumanFormat.took(0.0124) == "12 ms" && HumanFormat.took(0.43) == "0.4 s" && HumanFormat.took(-1) == "0 ms")
  }

  @Test("A difference of two times counts in whole milliseconds, as on the page")
  func differences() {
    let start = Date(timeIntervalSinceReferenceDate: 817_198_811.123)
    func took(_ milliseconds: Double) -> String {
      HumanFormat.took((start + milliseconds / 1000).timeIntervalSince(start))
    }
    #expect(
      [50, 100, 150, 250, 350, 450, 1050].map(took) == ["50 ms", "0.1 s", "0.2 s", "0.3 s", "0.4 s", "0.5 s", "1.1 s"])
  }

  @Test("Ranges join neighbours, in order and once")
  func ranges() {
    #expect(HumanFormat.ranges([9, 2, 5, 6, 7, 8, 12, 13, 5]) == "2, 5–9, 12, 13")
    #expect(HumanFormat.ranges([]) == "")
  }

  @Test("Counts and sizes are written for people")
  func counts() {
    #expect(1.counted(as: "page") == "1 page" && 0.counted(as: "page") == "0 pages")
    #expect(2.counted(as: "refresh") == "2 refreshes")
    #expect(1.counted(as: "retry") == "1 retry" && 2.counted(as: "retry") == "2 retries")
    #expect(
      HumanFormat.bytes(0) == "0 B" && HumanFormat.bytes(4096) == "4.0 KiB" && HumanFormat.bytes(1_258_291) == "1.2 MiB"
    )
  }

  @Test("Lines are wrapped at spaces; a long word stays whole")
  func wraps() {
    #expect("one two three".wrapped(7) == ["one two", "three"])
    #expect("since 11 min 55 s, or so".wrapped(8) == ["since", "11 min", "55 s, or", "so"])
    #expect("see /var/lib/rosterd/roster.db now".wrapped(8) == ["see", "/var/lib/rosterd/roster.db", "now"])
  }

  @Test(
    "Thousands are separated, and windows have names",
    arguments: [(0, "0"), (999, "999"), (4032, "4,032"), (1_000_000, "1,000,000")])
  func grouped(number: Int, text: String) {
    #expect(HumanFormat.grouped(number) == text)
    #expect([60, 3600, 86_400, 7200].map(HumanFormat.per) == ["a minute", "an hour", "a day", "in 2 h"])
  }
}
