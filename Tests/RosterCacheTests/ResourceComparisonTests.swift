import FoundationEssentials
import RosterCore
import Synchronization
import Testing

@testable import RosterCache

struct ResourceComparisonTests {
  let folder = Folder()

  private func compare(_ cache: Cache, _ pages: [[String]?]) async throws -> ResourceComparison {
    try await Pull(cache: cache).pages(.character, pages: pages)
    return try #require(try await cache.compare().first)
  }

  @Test("49: each page that is compared is a sign of life, in a first sync too")
  func signsOfLife() async throws {
    let signs = Mutex(0)
    let cache = try await folder.define { signs.withLock { $0 += 1 } }
    for mark in ["", "!"] {
      let record = try await cache.begin(at: noon)
      try await Pull(cache: cache).pages(.character, pages: paired(people(1...6, mark: mark)))
      signs.withLock { $0 = 0 }
      _ = try await cache.compare()
      #expect(signs.withLock { $0 } >= 3)
      _ = try await cache.publish(record)
    }
    await cache.close()
  }

  @Test("41: a comparison that is interrupted changes nothing, and can be repeated", arguments: 1...6)
  func interrupted(at sign: Int) async throws {
    let running = Mutex<(cache: Cache, sign: Int)?>(nil)
    let cache = try await folder.define {
      running.withLock { running in
        running?.sign -= 1
        if running?.sign == 0 { running?.cache.interruptPublish() }
      }
    }
    _ = try await cache.mirror(paired(people(1...6)))
    let record = try await cache.begin(at: noon)
    try await Pull(cache: cache).pages(.character, pages: paired(people(3...8, mark: "!")))
    running.withLock { $0 = (cache, sign) }
    await #expect(throws: CancellationError.self) { _ = try await cache.compare() }
    running.withLock { $0 = nil }
    let found = try #require(try await cache.compare().first)
    #expect(found.distinct == 6 && found.missing == 2)
    #expect(try await cache.publish(record).changed == 4)
    try await folder.expectSound(closing: cache)
  }

  @Test("41: a cancelled task compares nothing")
  func cancelled() async throws {
    let cache = try await folder.define()
    _ = try await cache.begin(at: noon)
    try await Pull(cache: cache).pages(.character, pages: [people(1...2)])
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await cache.compare()
    }
    await #expect(throws: CancellationError.self) { _ = try await task.value }
    await cache.close()
  }

  @Test("17, 18: a key that moved from a changed page to a kept one is counted once")
  func movedToKept() async throws {
    let cache = try await folder.mirrored(paired(people(1...4)))
    _ = try await cache.begin(at: noon)
    // Page 1 is unchanged; page 2 now contains 1 again, and 3 and 4 are lost.
    let found = try await compare(cache, [nil, people([1, 5])])
    #expect(found.distinct == 3 && found.repeats == 1 && found.missing == 2 && found.snapshot == 4)
    #expect(try await cache.missing("character", after: 0, limit: 9).map(\.id) == [3, 4])
    #expect(try await cache.missing("character", after: 3, limit: 9).map(\.id) == [4])
    #expect(try await cache.missing("character", after: 0, limit: 1).map(\.id) == [3])
    await cache.close()
  }

  @Test("17, 18: a key on a page that lists the same keys as before and on another page is counted once")
  func relisted() async throws {
    let cache = try await folder.mirrored(paired(people(1...6)))
    let record = try await cache.begin(at: noon)
    let changed = paired(people(1...4, mark: "!"))
    // One of the pages is unchanged.
    let kept = try await compare(cache, [nil, changed[1], people([5, 3])])
    #expect(kept.distinct == 5 && kept.repeats == 1 && kept.missing == 1)
    let all = try await compare(cache, changed + [people(5...6, mark: "!")])
    #expect(all.distinct == 6 && all.repeats == 0 && all.missing == 0)
    let one = try await compare(cache, changed + [people([5, 7])])
    #expect(one.distinct == 6 && one.repeats == 0 && one.missing == 1)
    let moved = try await compare(cache, changed + [[person(5), person(1, mark: "?")]])
    #expect(moved.distinct == 5 && moved.repeats == 1 && moved.missing == 1 && moved.snapshot == 6)
    #expect(try await cache.missing("character", after: 0, limit: 9).map(\.id) == [6])
    #expect(try await cache.publish(record).changed == 4)
    await cache.close()
    // The last occurrence wins.
    #expect(try folder.ask("SELECT name FROM characters WHERE id < 3") == ["Name 1?", "Name 2!"])
  }

  @Test("17: the last occurrence of a key wins, also if its page lists the same keys as before")
  func relistedLater() async throws {
    let cache = try await folder.mirrored(paired(people(1...6)))
    let record = try await cache.begin(at: noon)
    let found = try await compare(cache, [[person(1), person(4, mark: "?")]] + paired(people(3...6, mark: "!")))
    #expect(found.distinct == 5 && found.repeats == 1 && found.missing == 1)
    #expect(try await cache.publish(record).changed == 4)
    await cache.close()
    #expect(try folder.ask("SELECT name FROM characters WHERE id IN (3, 4)") == ["Name 3!", "Name 4!"])
  }

  @Test("17, 18: a record that was skipped, or that moved, is counted once, also on a kept page")
  func passedTwice() async throws {
    var alive = Resource.character
    alive.conditions = [.init(at("gone"), .absent)]
    func gone(_ id: Int64) -> String { person(id, more: #","gone":1"#) }
    func faulty(_ id: Int64) -> String { #"{"id":\#(id),"name":1}"# }
    let cache = try await folder.define([alive])
    func compare(_ pages: [[String]?]) async throws -> ResourceComparison {
      try await Pull(cache: cache).pages(alive, pages: pages)
      return try #require(try await cache.compare().first)
    }
    var first = try await cache.begin(at: noon)
    for moved in [gone(1), faulty(1)] {
      let found = try await compare([[person(1), person(2)], [person(4), moved]])
      #expect(found.distinct == 3 && found.skipped + found.rejected == 1 && found.passedRepeats == 1)
    }
    #expect(try await compare([[gone(1), person(2)], [faulty(1), gone(1)]]).passedRepeats == 2)
    #expect(try await compare([[gone(1), person(2)], [person(3), gone(4)]]).passedRepeats == 0)
    first = try await cache.publish(first)
    #expect(first.outcome == .published && first.skipped == 2 && first.records == 2)
    _ = try await cache.begin(at: noon)
    #expect(try await compare([nil, [gone(2), gone(4)]]).passedRepeats == 1)
    #expect(try await compare([nil, [person(3), gone(1)]]).passedRepeats == 1)
    #expect(try await compare([nil, [person(3), person(1)]]).passedRepeats == 1)
    #expect(try await compare([nil, [person(3), faulty(5)]]).passedRepeats == 0)
    await cache.close()
  }

  @Test("17: pages that an earlier sync left and this one did not reach are not part of the pull")
  func beyond() async throws {
    let cache = try await folder.mirrored(paired(people(1...6)))
    let broken = try await cache.begin(at: noon)
    try await cache.append([Pull(cache: cache).received(.character, 4, [person(9), "{}"])])
    try await cache.end(broken, at: noon, history: ninetyDays)
    let record = try await cache.begin(at: noon)
    let found = try await compare(cache, [nil, nil])
    #expect(found.distinct == 4 && found.missing == 2 && found.rejected == 0 && found.pages == 2)
    let written = try await cache.publish(record)
    #expect([written.removed, written.added, written.rejected, written.records] == [2, 0, 0, 4])
    _ = try await cache.begin(at: noon)
    #expect(try await Set(cache.known("character", addresses: (1...9).map(address)).keys) == [address(1), address(2)])
    try await folder.expectSound(closing: cache)
  }

  @Test("5, 14: a rejected record is not missing if its key is known, and counted if its key is unknown")
  func rejects() async throws {
    let cache = try await folder.mirrored(paired(people(1...4)))
    _ = try await cache.begin(at: noon)
    let found = try await compare(cache, [[#"{"id":1,"name":1}"#, "{}"], nil])
    #expect(found.rejected == 2 && found.rejectedUnknown == 1)
    #expect(found.distinct == 2 && found.missing == 1)
    #expect(try await cache.missing("character", after: 0, limit: 9).map(\.id) == [2])
    await cache.close()
  }

  @Test("5: rejects of a page that is transferred again are those of its new body")
  func rejectsAgain() async throws {
    let cache = try await folder.define()
    let record = try await cache.begin(at: noon)
    #expect(try await compare(cache, [[person(1)], [#"{"id":7,"name":1}"#]]).rejected == 1)
    let found = try await compare(cache, [[person(1)], [person(2)]])
    #expect(found.rejected == 0 && found.distinct == 2 && found.pages == 2)
    let written = try await cache.publish(record)
    #expect(written.rejected == 0 && written.records == 2)
    await cache.close()
  }

  @Test("11: an answer that an interrupted sync got does not count in the next one", arguments: [false, true])
  func staleAnswer(isRestarted: Bool) async throws {
    var cache = try await folder.define()
    _ = try await cache.mirror(paired(people(1...4)))
    let record = try await cache.begin(at: noon)
    #expect(try await compare(cache, [people(1...2)]).missing == 2)
    try await Pull(cache: cache).answers(.character, records: [person(3), #"{"id":4,"name":1}"#])
    #expect(try await cache.missing("character", after: 0, limit: 9).isEmpty)
    try await cache.end(record, at: noon, history: ninetyDays)
    if isRestarted {
      await cache.close()
      cache = try await folder.define()
    }
    _ = try await cache.begin(at: noon)
    #expect(try await compare(cache, [people(1...2)]).missing == 2)
    #expect(try await cache.missing("character", after: 0, limit: 9).map(\.id) == [3, 4])
    await cache.close()
  }
}
