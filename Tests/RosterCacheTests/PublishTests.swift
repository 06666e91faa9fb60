import FoundationEssentials
import Glibc
import RosterModel
import Synchronization
import Testing

@testable import RosterCache

struct PublishTests {
  let folder: Folder
  init() throws { folder = try Folder() }

  @Test(
    "P2: another process that reads while 50 snapshots are published sees each whole or not at all",
    .enabled(if: Reader.isThere))
  func readersSeeWholeSnapshots() async throws {
    let cache = try await folder.open()
    func version(_ number: Int) async throws {
      let mark = "v\(number)v"
      let pages = (0..<10).map { page in
        staged(
          page + 1,
          (1...20).map { position in
            let id = Int64(page * 20 + position)
            return character(id, " \(mark)", episodes: [mark, mark])
          }, of: 201, pages: 10,
          rejects: page == 0 ? [Reject(position: 20, id: nil, reason: mark, document: mark)] : [])
      }
      #expect(try await cache.sync(pages, removing: .nobody).outcome == .published)
    }
    try await version(1)
    let reader = try Reader(path: folder.cache)
    try reader.waitUntilReady()
    for number in 2...50 { try await version(number) }
    let verdict = try reader.finish()
    #expect(verdict.mixed == "", "\(verdict)")
    #expect(verdict.last == "v50v")
    #expect(verdict.versions > 1)
    await cache.close()
    #expect(try folder.isSound())
  }

  @Test("P2: on a machine that must prove it, the reader's tool is there")
  func toolIsThere() {
    if ProcessInfo.processInfo.environment["CI"] == "true" { #expect(Reader.isThere) }
  }

  @Test("5: a sync ends when its publish does: published_at and verified_at are of then")
  func endOfPublish() async throws {
    let cache = try await folder.open()
    let report = try await cache.begin(at: noon)
    try await cache.stage(paged([character(1)]))
    let looks = Mutex(0)
    let written = try await cache.publish(
      report, pages: 1, removing: .missing,
      at: noon
        + looks.withLock {
          $0 += 1
          return Double($0)
        },
      history: ninetyDays)
    let end = (noon + 2).rfc3339
    #expect(written.finishedAt == end)
    #expect(try folder.ask("SELECT published_at FROM cache_info") == [end])
    await cache.close()
  }

  enum Moment: CaseIterable { case before, inside }

  @Test(
    "P2, 73: a cache that is removed or replaced during a sync fails it; the next one publishes all",
    arguments: Moment.allCases, [false, true])
  func goneDuringSync(moment: Moment, isReplaced: Bool) async throws {
    let cache = try await folder.open()
    let path = folder.cache
    let copy = folder.path + "/copy.db"
    _ = try await cache.sync(paged([character(1)]))
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    var report = try await cache.begin(at: noon)
    try await cache.stage(paged([character(1, "!")]))
    let take = { @Sendable in
      // Once: the other end is already taken.
      if !isReplaced { unlink(path) } else if rename(copy, path) != 0 { return noon }
      return noon
    }
    if moment == .before { _ = take() }
    let failure = await #expect(throws: Failure.self) {
      _ = try await cache.publish(
        report, pages: 1, removing: .missing, at: moment == .before ? noon : take(), history: ninetyDays)
    }
    #expect(failure?.exit == .cannotWrite && failure?.cause.contains("removed or replaced") == true)
    report.outcome = .failed
    report.finishedAt = noon.rfc3339
    try await cache.end(report, at: noon, history: ninetyDays)
    #expect(try folder.ask("SELECT outcome FROM syncs WHERE id = \(report.id)") == ["failed"])
    #expect(try await cache.sync(paged([character(1, "!")])).outcome == .published)
    #expect(try folder.ask("SELECT name FROM characters") == ["Name 1!"])
    await cache.close()
    #expect(try folder.isSound())
  }

  @Test("73: a -wal that is removed during a sync fails it; the next one publishes all")
  func logGoneDuringSync() async throws {
    let cache = try await folder.open()
    let report = try await cache.begin(at: noon)
    try await cache.stage(paged([character(1)]))
    try #require(unlink(folder.cache + "-wal") == 0)
    await #expect(throws: Failure.self) {
      _ = try await cache.publish(report, pages: 1, removing: .missing, at: noon, history: ninetyDays)
    }
    #expect(try await cache.sync(paged([character(1)])).outcome == .published)
    #expect(try folder.ask("SELECT name FROM characters") == ["Name 1"])
    await cache.close()
    #expect(try folder.isSound())
  }

  @Test("P3: a publish that was broken off has changed nothing, and what it pulled is still staged")
  func brokenOff() async throws {
    let cache = try await folder.open()
    _ = try await cache.sync(paged((1...4).map { character($0) }))
    let before = try folder.ask("SELECT name FROM characters")
    let report = try await cache.begin(at: noon)
    try await cache.stage(paged((1...4).map { character($0, "!") }))
    await #expect(throws: CancellationError.self) { try await cache.publishInterrupted(report, pages: 2) }
    #expect(try folder.ask("SELECT name FROM characters") == before)
    #expect(try folder.ask("SELECT count(*) FROM changes") == ["0"])
    #expect(try await cache.held(pages: 1...9).allSatisfy { !$0.isPublished })
    // The next one has it all.
    let written = try await cache.publish(report, pages: 2, removing: .missing, at: noon, history: ninetyDays)
    #expect(written.changed == 4)
    await cache.close()
    #expect(try folder.isSound())
  }

  @Test("P13: once COMMIT has begun, nothing breaks it off")
  func commitIsFinished() throws {
    let interruption = Interruption()
    interruption.arm(0)
    try interruption.disarm()
    interruption.interrupt()
    try interruption.disarm()
    interruption.arm(0)
    interruption.interrupt()
    #expect(throws: CancellationError.self) { try interruption.disarm() }
  }

  @Test("5: a reader that keeps a transaction open keeps its snapshot and fails no sync")
  func pinned() async throws {
    let cache = try await folder.open()
    _ = try await cache.sync(paged([character(1)]))
    let reader = try Database(path: folder.cache, access: .readOnly)
    try reader.execute("BEGIN")
    #expect(try reader.first("SELECT name FROM characters") { $0.text(0) } == "Name 1")
    let written = try await cache.sync(paged([character(1, "!")]))
    #expect(written.outcome == .published)
    #expect(try reader.first("SELECT name FROM characters") { $0.text(0) } == "Name 1")
    #expect(cache.sizes().wal > 0)
    try reader.execute("COMMIT")
    #expect(try reader.first("SELECT name FROM characters") { $0.text(0) } == "Name 1!")
    _ = try await cache.sync(paged([character(1)]))
    #expect(cache.sizes().wal == 0)
    await cache.close()
  }
}

extension Cache {
  /// Publishes, and is told to stop when all is written and COMMIT is next.
  fileprivate func publishInterrupted(_ report: SyncReport, pages: Int) throws {
    _ = try compare(pages: pages)
    database?.arm(interruption)
    interruptPublish()
    _ = try commit(report, pages, .missing, { noon }, ninetyDays)
  }
}
