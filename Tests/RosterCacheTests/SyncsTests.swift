import FoundationEssentials
import RosterModel
import Testing

@testable import RosterCache

struct SyncsTests {
  let folder: Folder
  init() throws { folder = try Folder() }

  @Test("P3: a sync that failed leaves its row, every column as told")
  func failed() async throws {
    let cache = try await folder.open()
    var report = try await cache.begin(at: noon)
    #expect(report == SyncReport(id: 1, startedAt: noon.rfc3339))
    #expect(try await cache.facts().last == nil)
    report.outcome = .failed
    report.pages = 1
    report.characters = 2
    report.added = 3
    report.changed = 4
    report.removed = 5
    report.rejected = 6
    report.requests = 7
    report.notModified = 8
    report.resumed = 9
    report.retries = 10
    report.refreshes = 11
    report.bytes = 12
    report.exit = 69
    report.error = "cannot pull page 1"
    try await cache.end(report, at: noon, history: ninetyDays)
    report.finishedAt = noon.rfc3339
    #expect(try await cache.recent(limit: 9) == [report])
    #expect(try await cache.facts().last == report)
    #expect(try folder.ask("SELECT not_modified || '/' || resumed || '/' || exit FROM syncs") == ["8/9/69"])
    await cache.close()
  }

  @Test("5: history ends what is older, but never the snapshot's sync nor the newest change")
  func prune() async throws {
    let cache = try await folder.open()
    func at(_ days: Double) -> Date { noon.addingTimeInterval(days * 86_400) }
    _ = try await cache.sync(paged([character(1)]), at: at(0))
    _ = try await cache.sync(paged([character(1, "!")]), at: at(1))
    _ = try await cache.sync(paged([character(1, "?")]), at: at(2))
    for day in 3...5 {
      let report = try await cache.begin(at: at(Double(day)))
      try await cache.end(report, at: at(Double(day)), history: ninetyDays)
    }
    #expect(try folder.ask("SELECT id FROM syncs") == ["1", "2", "3", "4", "5", "6"])
    let report = try await cache.begin(at: at(94.5))
    try await cache.end(report, at: at(94.5), history: ninetyDays)
    #expect(try folder.ask("SELECT id FROM syncs") == ["3", "6", "7"])
    #expect(try folder.ask("SELECT id FROM changes") == ["2"])
    #expect(try await cache.facts().snapshot == 3)
    await cache.close()
  }
}
