import FoundationEssentials
import Glibc
import RosterCore
import Synchronization
import Testing

@testable import RosterCache

struct PublishSnapshotTests {
  let folder = Folder()

  @Test(
    "1: another process that reads while 50 snapshots are published sees each whole or not at all",
    .enabled(if: Reader.isThere))
  func readersSeeWholeSnapshots() async throws {
    let cache = try await folder.define()
    func version(_ number: Int) async throws {
      let mark = "v\(number)v"
      var pages = (0..<10).map { page in
        (1...20).map { person(Int64(page * 20 + $0), mark: " \(mark)", episodes: [mark, mark]) }
      }
      pages[0].append("\"\(mark)\"")
      #expect(try await cache.mirror(pages, removal: .keepsAll).outcome == .published)
    }
    try await version(1)
    let reader = try Reader(path: folder.cache)
    try reader.waitUntilReady()
    for number in 2...50 { try await version(number) }
    let verdict = try reader.finish()
    #expect(verdict.mixed == "", "\(verdict)")
    #expect(verdict.last == "v50v")
    #expect(verdict.versions > 1)
    try await folder.expectSound(closing: cache)
  }

  @Test("1: on a machine that must prove it, the reader's tool exists")
  func toolIsThere() {
    if ProcessInfo.processInfo.environment["CI"] == "true" { #expect(Reader.isThere) }
  }

  @Test(
    "1: a sync ends when its publish does: its row, published_at and verified_at; changes have its start",
    arguments: [true, false])
  func endOfPublish(isNew: Bool) async throws {
    let cache = try await folder.mirrored([[person(1)]])
    let record = try await cache.pull(pages: [[person(1, mark: isNew ? "!" : "")]])
    let looks = Mutex(0)
    let written = try await cache.publish(
      record, decisions: [:],
      at: noon
        + looks.withLock {
          $0 += 1
          return Double($0)
        },
      history: ninetyDays)
    let end = (noon + 2).rfc3339
    #expect(written.startedAt == noon.rfc3339 && written.finishedAt == end)
    #expect(try CacheReader(path: folder.cache).recent(limit: 1) == [written])
    let published = isNew ? end : noon.rfc3339
    #expect(try folder.ask("SELECT published_at || verified_at FROM cache_info") == [published + end])
    #expect(try folder.ask("SELECT at FROM changes") == (isNew ? [(noon + 1).rfc3339] : []))
    await cache.close()
  }

  enum Moment: CaseIterable { case before, inside }

  @Test(
    "1: a cache that is removed or replaced during a sync fails it (73); the next one publishes all",
    arguments: Moment.allCases, [false, true])
  func goneDuringSync(moment: Moment, isReplaced: Bool) async throws {
    let cache = try await folder.define()
    let path = folder.cache
    let copy = folder.path + "/copy.db"
    _ = try await cache.mirror([[person(1)]])
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    var record = try await cache.pull(pages: [[person(1, mark: "!")]])
    let take = { @Sendable in
      // Once: the other end is already taken.
      if !isReplaced { unlink(path) } else if rename(copy, path) != 0 { return noon }
      return noon
    }
    if moment == .before { _ = take() }
    let failure = await #expect(throws: Failure.self) {
      _ = try await cache.publish(record, decisions: [:], at: moment == .before ? noon : take(), history: ninetyDays)
    }
    #expect(failure?.kind == .cannotWrite && failure?.cause.contains("removed or replaced") == true)
    record.outcome = .failed
    record.finishedAt = noon.rfc3339
    try await cache.end(record, at: noon, history: ninetyDays)
    #expect(try folder.ask("SELECT outcome FROM syncs WHERE id = \(record.id)") == ["failed"])
    #expect(try folder.ask("SELECT name FROM characters") == (isReplaced ? ["Name 1"] : []))
    #expect(try await cache.mirror([[person(1, mark: "!")]]).outcome == .published)
    #expect(try folder.ask("SELECT name FROM characters") == ["Name 1!"])
    try await folder.expectSound(closing: cache)
  }

  @Test(
    "1: a -wal or -shm that is removed during a sync fails it (73); the next one publishes all",
    arguments: ["wal", "shm"])
  func logGoneDuringSync(part: String) async throws {
    let cache = try await folder.define()
    let record = try await cache.pull(pages: [[person(1)]])
    try #require(unlink("\(folder.cache)-\(part)") == 0)
    let failure = await #expect(throws: Failure.self) { _ = try await cache.publish(record) }
    #expect(failure?.kind == .cannotWrite)
    #expect(try await cache.mirror([[person(1)]]).outcome == .published)
    #expect(try folder.ask("SELECT name FROM characters") == ["Name 1"])
    try await folder.expectSound(closing: cache)
  }

  @Test("2, 41: a publish that is interrupted right before COMMIT changes nothing; the next one has its pages")
  func brokenOff() async throws {
    let cache = try await folder.mirrored(paired(people(1...4)))
    let before = try folder.ask("SELECT name FROM characters")
    let record = try await cache.pull(pages: paired(people(1...4, mark: "!")))
    let looks = Mutex(0)
    // The second look at the clock is at the end.
    let interrupt = { @Sendable in
      if looks.withLock({
        $0 += 1
        return $0 == 2
      }) {
        cache.interruptPublish()
      }
      return noon
    }
    await #expect(throws: CancellationError.self) {
      _ = try await cache.publish(record, decisions: [:], at: interrupt(), history: ninetyDays)
    }
    #expect(try folder.ask("SELECT name FROM characters") == before)
    #expect(try folder.ask("SELECT count(*) FROM changes") == ["0"])
    #expect(try folder.ask("SELECT outcome FROM syncs WHERE id = \(record.id)") == ["running"])
    #expect(try await cache.publish(record).changed == 4)
    try await folder.expectSound(closing: cache)
  }

  @Test("41: nothing interrupts a COMMIT that has begun")
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

  @Test("2: a publish without disk space changes nothing (73); it succeeds once there is space")
  func full() async throws {
    let cache = try await folder.mirrored(paired(people(1...4)))
    let record = try await cache.pull(pages: paired(people(1...4_000, mark: "!")))
    let pages = try #require(try folder.ask("PRAGMA page_count").first)
    try await cache.perform("test") { try $0.execute("PRAGMA max_page_count = \(pages)") }
    let failure = await #expect(throws: Failure.self) { _ = try await cache.publish(record) }
    #expect(failure?.kind == .cannotWrite && failure?.hint != nil)
    #expect(try folder.ask("SELECT name FROM characters") == (1...4).map { "Name \($0)" })
    #expect(try folder.ask("SELECT count(*) FROM changes") == ["0"])
    try await cache.perform("test") { try $0.execute("PRAGMA max_page_count = 1000000") }
    let written = try await cache.publish(record)
    #expect([written.added, written.changed, written.records] == [3_996, 4, 4_000])
    try await folder.expectSound(closing: cache)
  }

  @Test("3: a reader that keeps a transaction open keeps its snapshot and fails no sync")
  func pinned() async throws {
    let cache = try await folder.mirrored([[person(1)]])
    let reader = try Database(path: folder.cache, access: .readOnly)
    try reader.execute("BEGIN")
    #expect(try reader.first("SELECT name FROM characters") { $0.text(0) } == "Name 1")
    #expect(try await cache.mirror([[person(1, mark: "!")]]).outcome == .published)
    #expect(try reader.first("SELECT name FROM characters") { $0.text(0) } == "Name 1")
    #expect(cache.sizes().wal > 0)
    #expect(try await cache.facts().isWALPinned)
    try reader.execute("COMMIT")
    #expect(try reader.first("SELECT name FROM characters") { $0.text(0) } == "Name 1!")
    _ = try await cache.mirror([[person(1)]])
    #expect(cache.sizes().wal == 0)
    #expect(try await cache.facts().isWALPinned == false)
    await cache.close()
  }
}
