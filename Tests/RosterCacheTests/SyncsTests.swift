import FoundationEssentials
import RosterCore
import Testing

@testable import RosterCache

struct SyncsTests {
  let folder = Folder()

  @Test("2: a sync that failed leaves its row with every column")
  func failed() async throws {
    let cache = try await folder.define()
    var report = try await cache.begin(at: noon)
    #expect(report == SyncRecord(id: 1, startedAt: noon.rfc3339))
    #expect(try await cache.facts().last == nil)
    report.outcome = .failed
    report.pages = 1
    report.records = 2
    report.added = 3
    report.changed = 4
    report.removed = 5
    report.rejected = 6
    report.skipped = 13
    report.requests = 7
    report.notModified = 8
    report.resumed = 9
    report.retries = 10
    report.refreshes = 11
    report.bytes = 12
    report.exit = 69
    report.error = "cannot pull page 1"
    report.finishedAt = noon.rfc3339
    try await cache.end(report, at: noon, history: ninetyDays)
    #expect(try CacheReader(path: folder.cache).recent(limit: 9) == [report])
    #expect(try await cache.facts().last == report)
    #expect(try folder.ask("SELECT not_modified || '/' || resumed || '/' || exit FROM syncs") == ["8/9/69"])
    await cache.close()
  }

  @Test("47: the cache knows the last sync that was neither cancelled nor killed, and its trouble")
  func conclusive() async throws {
    let cache = try await folder.define()
    for outcome in [SyncRecord.Outcome.failed, .cancelled, .interrupted] {
      var record = try await cache.begin(at: noon)
      (record.outcome, record.finishedAt) = (outcome, noon.rfc3339)
      if outcome == .failed { (record.exit, record.error) = (69, "cannot pull page 1") }
      try await cache.end(record, at: noon, history: ninetyDays)
    }
    let facts = try await cache.facts()
    #expect(facts.last?.id == 3 && facts.conclusive?.id == 1)
    await cache.close()
    let alone = try CacheReader(path: folder.cache).facts()
    #expect(alone.last?.id == 3 && alone.conclusive?.trouble?.what == "cannot pull page 1")
  }

  @Test("7: history ends older rows, but never the snapshot's sync nor the newest change")
  func prune() async throws {
    let cache = try await folder.define()
    func at(_ days: Double) -> Date { noon.addingTimeInterval(days * 86_400) }
    _ = try await cache.mirror([[person(1)]], at: at(0))
    _ = try await cache.mirror([[person(1, mark: "!")]], at: at(1))
    _ = try await cache.mirror([[person(1, mark: "?")]], at: at(2))
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

  /// Syncs that fail on these days; then one at the end, which prunes.
  private func syncs(on days: [Double], ending day: Double) async throws -> [String] {
    let cache = try await folder.define()
    for day in days + [day] {
      let date = noon.addingTimeInterval(day * 86_400)
      try await cache.end(try await cache.begin(at: date), at: date, history: ninetyDays)
    }
    await cache.close()
    return try folder.ask("SELECT id FROM syncs ORDER BY id")
  }

  @Test("9: a time stamp from the future does not keep later rows, and expires with its time")
  func future() async throws {
    #expect(try await syncs(on: [0, 9_999, 1, 2], ending: 100) == ["5"])
  }

  @Test("9: a clock that is years behind for a moment expires nothing")
  func past() async throws {
    #expect(try await syncs(on: [0, 1], ending: -9_999) == ["1", "2", "3"])
  }

  @Test("9: a clock that was years behind for a moment expires nothing afterwards")
  func wasPast() async throws {
    #expect(try await syncs(on: [0, -9_999], ending: 1) == ["1", "2", "3"])
  }

  @Test("A sync that could not begin (73) has a number, and its row is written with the next one's")
  func notBegun() async throws {
    let cache = try await folder.mirrored([[person(1)]])
    let other = try Database(path: folder.cache, access: .writer)
    try other.keepLog()
    try other.execute("BEGIN IMMEDIATE")
    let start = ContinuousClock.now
    let failure = try #require(await #expect(throws: SyncStartError.self) { try await cache.begin(at: noon) })
    #expect(ContinuousClock.now - start >= .seconds(2))
    #expect(failure.id == 2 && (failure.cause as? Failure)?.kind == .cannotWrite)
    var report = SyncRecord(id: failure.id, startedAt: noon.rfc3339, outcome: .failed)
    report.exit = 73
    await cache.noteFailedStart(report)
    try other.execute("ROLLBACK")
    other.close()
    #expect(try await cache.begin(at: noon).id == 3)
    #expect(try folder.ask("SELECT id || outcome FROM syncs ORDER BY id") == ["1published", "2failed", "3running"])
    await cache.close()
  }

  @Test("2: a row with the same id in another file belongs to another sync and stays unchanged")
  func sameID() async throws {
    let cache = try await folder.define()
    var report = try await cache.begin(at: noon)
    let other = try Database(path: folder.cache, access: .writer)
    try other.keepLog()
    try other.execute("UPDATE syncs SET started_at = '2001-01-01T00:00:00.000Z', outcome = 'published'")
    other.close()
    report.outcome = .failed
    try await cache.end(report, at: noon, history: .seconds(99_999 * 86_400))
    #expect(try folder.ask("SELECT outcome FROM syncs") == ["published"])
    await cache.close()
  }
}
