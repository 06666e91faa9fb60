import FoundationEssentials
import RosterCore
import Testing

@testable import RosterDaemon

@Suite struct RepeatFilterTests {
  private let start = Date(timeIntervalSince1970: 1_700_000_000)

  private func failed(_ error: String) -> Event { Event(.syncFailed, error: error) }

  @Test("A quiet log reports an upstream that is down for ten days fifteen times, not at each of a thousand syncs")
  func downForDays() {
    var recurrences = RepeatFilters()
    var told: [Int] = []
    for quarter in 0..<960 {
      let now = start + Double(quarter) * 900
      let event = failed("cannot pull page \(quarter % 9): connection refused (after 4 attempts)")
      if recurrences.telling(of: event, at: now) != .known { told.append(quarter / 4) }
    }
    // Hours: at once, then after 1, 2 and 4 further hours and so on, then daily.
    #expect(told == [0, 1, 3, 7, 15, 31, 55, 79, 103, 127, 151, 175, 199, 223])
    let good = Event(.syncUnchanged, report: SyncRecord(id: 1, startedAt: "", outcome: .unchanged))
    #expect(recurrences.telling(of: good, at: start) == .over(times: 960, since: start))
    #expect(recurrences.telling(of: good, at: start) == nil)
    #expect(recurrences.telling(of: failed("cannot pull page 3"), at: start) == .first)
    #expect(recurrences.telling(of: good, at: start) == nil)
  }

  @Test("A quiet log reports another message at once, but at most eight of them")
  func otherSentences() {
    var recurrences = RepeatFilters()
    #expect(recurrences.telling(of: failed("refused"), at: start) == .first)
    #expect(recurrences.telling(of: failed("timeout"), at: start) == .first)
    #expect(recurrences.telling(of: failed("refused"), at: start) == .known)
    for letter in "abcdef" { #expect(recurrences.telling(of: failed("\(letter)"), at: start) == .first) }
    #expect(recurrences.telling(of: failed("g"), at: start) == .known)
    #expect(recurrences.telling(of: failed("g"), at: start + 3600) == .again(times: 11, since: start))
  }

  @Test("A quiet log does not delay its reminder if a clock was years ahead for a moment")
  func clockSetBack() {
    var recurrences = RepeatFilters()
    #expect(recurrences.telling(of: failed("refused"), at: start + 86_400 * 999) == .first)
    #expect(recurrences.telling(of: failed("refused"), at: start) != .known)
    #expect(recurrences.telling(of: failed("refused"), at: start + 7199) == .known)
    #expect(recurrences.telling(of: failed("refused"), at: start + 7200) != .known)
  }

  @Test("A quiet log reports records that are rejected in each sync once; a cancelled sync does not repeat them")
  func shortcomings() {
    var recurrences = RepeatFilters()
    var report = SyncRecord(id: 1, startedAt: "", outcome: .unchanged)
    report.rejected = 2
    let event = Event(.syncUnchanged, report: report)
    #expect(recurrences.telling(of: event, at: start) == .first)
    #expect(recurrences.telling(of: Event(.syncCancelled), at: start) == nil)
    #expect(recurrences.telling(of: event, at: start) == .known)
  }

  @Test("A quiet log does not report a token request that is tried again")
  func tokens() {
    var recurrences = RepeatFilters()
    #expect(recurrences.telling(of: Event(.tokenFailed, delaySeconds: 1, error: "x"), at: start) == nil)
    #expect(recurrences.telling(of: Event(.tokenFailed, error: "x"), at: start) == .first)
    #expect(recurrences.telling(of: Event(.tokenFailed, error: "x"), at: start) == .known)
    #expect(recurrences.telling(of: Event(.tokenRefreshed), at: start) == nil)
    #expect(recurrences.telling(of: Event(.tokenFailed, error: "x"), at: start) == .first)
  }
}
