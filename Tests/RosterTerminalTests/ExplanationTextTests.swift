import FoundationEssentials
import RosterCore
import RosterTerminal
import Testing

@Suite struct ExplanationTextTests {
  private var explanation: Explanation {
    var last = SyncRecord(id: 18, startedAt: "2026-11-21T05:19:03.000Z", outcome: .failed)
    last.exit = 69
    last.trouble = Diagnosis(
      .serverError, "cannot pull page 17 of character: upstream answered 500",
      [.page(17, of: "character", url: "https://up.example/api/character?page=17"), .header("Retry-After")])
    last.trouble?.since = "2026-11-20T23:19:04.000Z"
    var situation = Situation(
      .degraded, cache: CacheFacts(snapshot: 17, publishedAt: "2026-11-21T05:04:03.000Z", records: 826, last: last),
      path: "/cache/roster.db")
    situation.sync.nextAt = "2026-11-21T05:34:04.000Z"
    return Explanation(situation)
  }

  @Test("The next sync of an ended session makes no request without another credential")
  func endedSession() throws {
    var explanation = explanation
    explanation.state = .unauthorized
    let now = try #require(Date(rfc3339: "2026-11-21T05:20:04.000Z"))
    #expect(
      ExplanationText(explanation, now: now).text(width: 120).hasSuffix(
        "(in 14 min), without a request unless a credential file has changed\n"))
  }

  @Test("The first line names the cache if it is given")
  func cache() throws {
    let now = try #require(Date(rfc3339: "2026-11-21T05:20:04.000Z"))
    let text = ExplanationText(explanation, now: now, cache: "/tmp/other.db").text(width: 120)
    #expect(text.hasPrefix("▲ degraded since 2026-11-20 23:19:04 UTC (6 h 1 min ago), cache /tmp/other.db\n"))
  }

  @Test("Lists that failed for one reason are on one line")
  func oneReason() throws {
    var last = SyncRecord(id: 18, startedAt: "2026-11-21T05:19:03.000Z", outcome: .published)
    let lists = (1...8).map {
      AffectedItem.record("\($0)", of: "group", reason: $0 == 5 ? "too slow" : "upstream answered 202")
    }
    last.trouble = Diagnosis(.failedLists, "40 of 50 lists of member failed", [.resource("member")] + lists)
    let explanation = Explanation(
      Situation(.degraded, cache: CacheFacts(snapshot: 17, records: 826, last: last), path: "/cache/roster.db"))
    let now = try #require(Date(rfc3339: "2026-11-21T05:20:04.000Z"))
    let lines = ExplanationText(explanation, now: now).text(width: 120).split(separator: "\n")
    #expect(lines.contains { $0.hasSuffix("group 1, 2, 3, 4, 6, 7, 8: upstream answered 202") }, "\(lines)")
    #expect(lines.contains { $0.hasSuffix("group 5: too slow") })
  }

  private func text(_ width: Int, colour: Bool = false) throws -> String {
    let now = try #require(Date(rfc3339: "2026-11-21T05:20:04.000Z"))
    return ExplanationText(explanation, now: now).text(width: width, colour: colour)
  }

  @Test("An explanation is a state, its time, and a paragraph for each question, with times for people")
  func wide() throws {
    #expect(
      try text(120) == """
        ▲ degraded since 2026-11-20 23:19:04 UTC (6 h 1 min ago)
               what  Sync 18 failed: cannot pull page 17 of character: upstream answered 500. That is a fault of upstream's own,
                     not of the request.
            readers  They see the snapshot of sync 17, whole: 826 records, published at 05:04:03 UTC (16 min 1 s ago).
          concerned  page 17 of character: https://up.example/api/character?page=17
                     header Retry-After
              to do  Ask who runs upstream, or wait: rosterd tries again by itself. To see it: curl -i
                     'https://up.example/api/character?page=17'
          next sync  05:34:04 UTC (in 14 min)

        """)
  }

  @Test("No line is wider than the terminal, except for a word that must stay whole")
  func narrow() throws {
    for width in [40, 80, 120] {
      let lines = try text(width).split(separator: "\n")
      #expect(lines.allSatisfy { $0.count <= width || $0.contains("https://") }, "\(width)")
    }
    #expect(try text(80, colour: true).contains("\u{1b}[1mdegraded\u{1b}[0m"))
    #expect(try !text(80).contains("\u{1b}"))
  }
}
