import FoundationEssentials
import Glibc
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterCache

@Suite struct ChangesFeedTests {
  let folder = Folder()
  private struct Page: Decodable {
    struct Change: Decodable {
      struct Record: Decodable {
        var episodes: [String]?
      }
      var id: Int64
      var resource: String
      var kind: String
      var before: Record?
      var after: Record?
    }
    var feed: String
    var changes: [Change]
    var last: Int64
  }

  private func page(_ answer: FeedAnswer) throws -> Page {
    guard case .page(let json, let isEmpty) = answer else {
      Issue.record("\(answer)")
      throw CancellationError()
    }
    let page = try JSONDecoder().decode(Page.self, from: Data(json))
    #expect(isEmpty == page.changes.isEmpty)
    return page
  }

  private func isAnew(_ answer: FeedAnswer) -> Bool { if case .readAnew = answer { true } else { false } }

  @Test("7: another feed, a smallest id above the seen one + 1, or a largest one below it means to read again")
  func rule() {
    func refuses(_ feed: String?, seen: Int64?, first: Int64?, last: Int64) -> Bool {
      FeedPosition(feed: feed, seen: seen).refusal(feed: "a", first: first, last: last) != nil
    }
    #expect(
      !refuses("a", seen: 0, first: nil, last: 0) && !refuses(nil, seen: 0, first: 1, last: 9)
        && !refuses("a", seen: 9, first: 1, last: 9) && !refuses("a", seen: 4, first: 5, last: 9))
    #expect(
      !refuses(nil, seen: nil, first: 5, last: 9) && !refuses("a", seen: nil, first: 5, last: 9)
        && !refuses("a", seen: nil, first: nil, last: 0))
    #expect(refuses("b", seen: 5, first: 1, last: 9) && refuses("b", seen: nil, first: 1, last: 9))
    #expect(refuses("a", seen: 3, first: 5, last: 9) && refuses("a", seen: 0, first: 2, last: 2))
    #expect(
      refuses("a", seen: 10, first: 1, last: 9) && refuses("a", seen: 1, first: nil, last: 0)
        && refuses("a", seen: .max, first: 1, last: 9))
  }

  @Test("Changes are in order, with documents as JSON; `last` is the id to go on with, also with a filter")
  func pages() async throws {
    let cache = try await folder.define([.character, issue])
    let reader = SideReader(beside: cache)
    let empty = try page(try await reader.changes(FeedRequest(since: 0)))
    #expect(empty.changes.isEmpty && empty.last == 0)
    #expect(isAnew(try await reader.changes(FeedRequest(since: 1))))
    func mirror(_ mark: String, titles: [String]) async throws {
      let record = try await cache.begin(at: noon)
      let pull = Pull(cache: cache, validators: false)
      try await pull.pages(.character, pages: [people(1...3, mark: mark)])
      try await pull.pages(issue, pages: [titles.map { #"{"node":"\#($0)","title":"\#(mark)"}"# }])
      _ = try await cache.compare()
      _ = try await cache.publish(record)
    }
    try await mirror("", titles: ["x"])
    #expect(isAnew(try await reader.changes(FeedRequest(since: 0, feed: empty.feed))))
    let first = try page(try await reader.changes(FeedRequest(since: 0)))
    #expect(first.changes.isEmpty && first.last == 0 && first.feed != empty.feed)
    try await mirror("!", titles: ["x", "y"])
    let all = try page(try await reader.changes(FeedRequest(since: 0, feed: first.feed)))
    #expect(all.changes.map(\.id) == [1, 2, 3, 4, 5] && all.last == 5)
    #expect(all.changes[0].kind == "changed" && all.changes[0].before?.episodes == ["e/1", "e/2"])
    #expect(all.changes[4].kind == "added" && all.changes[4].resource == "issue" && all.changes[4].before == nil)
    let two = try page(try await reader.changes(FeedRequest(since: 1, limit: 2)))
    #expect(two.changes.map(\.id) == [2, 3] && two.last == 3)
    let issues = try page(try await reader.changes(FeedRequest(since: 0, resource: "issue", limit: 1)))
    #expect(issues.changes.map(\.id) == [4] && issues.last == 4)
    let persons = try page(try await reader.changes(FeedRequest(since: 2, resource: "character")))
    #expect(persons.changes.map(\.id) == [3] && persons.last == 5)
    #expect(
      try await reader.changes(FeedRequest(since: 0, resource: "nobody"))
        == .noResource(
          "cannot read the cache (nobody): \(folder.cache) has no resource of that name; name one that it has: character, issue"
        ))
    await reader.close()
    await cache.close()
  }

  @Test("7, 56: a follower of a removed resource reads everything again; a new follower gets an error")
  func gone() async throws {
    let first = try await folder.mirrored(issue, pages: [[#"{"node":"x","title":""}"#]])
    let reader = SideReader(beside: first)
    let before = try page(try await reader.changes(FeedRequest(since: 0, resource: issue.name)))
    await reader.close()
    await first.close()
    let second = try await folder.define([.character])
    _ = try await second.mirror([people(1...3)])
    let next = SideReader(beside: second)
    let answer = try await next.changes(FeedRequest(since: before.last, feed: before.feed, resource: issue.name))
    #expect(isAnew(answer))
    guard case .noResource = try await next.changes(FeedRequest(since: 0, resource: issue.name)) else {
      Issue.record("a removed resource")
      return
    }
    await next.close()
    await second.close()
  }

  @Test("Long changes arrive in parts of at least one change, and none is missed")
  func parts() async throws {
    let cache = try await folder.mirrored([people(1...3)])
    _ = try await cache.mirror([people(1...3, mark: String(repeating: "x", count: 2_000))])
    _ = try await cache.mirror([people(1...3)])
    await cache.close()
    let reader = try CacheReader(path: folder.cache)
    // Each has 4,000 bytes and some.
    for (bytes, expected) in [(1, [[1], [2], [3], [4], [5], [6]]), (5_000, [[1, 2], [3, 4], [5, 6]])]
      as [(Int, [[Int64]])]
    {
      var (seen, parts): (Int64, [[Int64]]) = (0, [])
      while case .page(let part) = try reader.feed(FeedPosition(seen: seen), limit: 1000, bytes: bytes),
        !part.changes.isEmpty
      {
        parts.append(part.changes.map(\.id))
        seen = part.last
        #expect(part.isWhole == (seen == 6))
      }
      #expect(parts == expected)
    }
  }

  @Test("If the cache is replaced under the daemon, changes are read from the new file only")
  func replaced() async throws {
    let cache = try await folder.mirrored([people(1...3)])
    _ = try await cache.mirror([people(1...3, mark: "!")])
    let reader = SideReader(beside: cache)
    var follower = FeedFollower(path: folder.cache, from: FeedPosition(), resource: nil)
    #expect(try follower.next().map(\.id) == [1, 2, 3])
    #expect(try follower.next().isEmpty)
    let before = try page(try await reader.changes(FeedRequest(since: 0)))
    for part in ["roster.db", "roster.db-wal", "roster.db-shm"] {
      try FileManager.default.removeItem(atPath: "\(folder.path)/\(part)")
    }
    // The feed keeps its id until the cache is replaced.
    #expect(try page(try await reader.changes(FeedRequest(since: 3, feed: before.feed))).last == 3)
    #expect(try follower.next().isEmpty)
    _ = try await cache.mirror([people(1...2)])
    #expect(isAnew(try await reader.changes(FeedRequest(since: 3, feed: before.feed))))
    #expect(try await reader.recent(SyncsRequest(limit: 9)).map(\.outcome) == [.published])
    let failure = #expect(throws: Failure.self) { try follower.next() }
    #expect(failure?.kind == .badAnswer && failure?.hint?.hasPrefix("read everything again") == true)
    await reader.close()
    await cache.close()
  }

  @Test("44: a reader beside the writer leaves the writer's locks alone, and an empty WAL at the end")
  func locks() async throws {
    let cache = try await folder.mirrored([people(1...3)])
    let reader = SideReader(beside: cache)
    _ = try await reader.recent(SyncsRequest(limit: 1))
    // A stranger who were the last one on the file, as far as its locks tell, would remove its log when it closes.
    #expect(try shell("sqlite3 \(folder.cache) 'SELECT count(*) FROM characters'") == 0)
    #expect(try folder.names().contains("roster.db-wal"))
    _ = try await cache.mirror([people(1...3, mark: "!")])
    #expect(try page(try await reader.changes(FeedRequest(since: 0))).last == 3)
    await reader.close()
    await cache.close()
    #expect(try folder.bytes("roster.db-wal").isEmpty)
    await #expect(throws: Failure.self) { try await reader.recent(SyncsRequest(limit: 1)) }
  }

  @Test("43: damage that a reader beside the writer finds is repaired by the next sync")
  func damage() async throws {
    let cache = try await folder.mirrored([people(1...200)])
    _ = try await cache.mirror([people(1...200, mark: "!")])
    let reader = SideReader(beside: cache)
    let file = open(folder.cache, O_WRONLY | O_CLOEXEC)
    let size = try folder.bytes().count
    let garbage = [UInt8](repeating: 0x5A, count: size - 4096)
    #expect(pwrite(file, garbage, garbage.count, 4096) == garbage.count)
    // Closing it would take the writer's locks.
    await #expect(throws: Failure.self) { try await reader.changes(FeedRequest(since: 0)) }
    #expect(await cache.isDamageSuspected)
    close(file)
    await reader.close()
    await cache.close()
  }

  @Test("changes --follow misses and repeats nothing over publishes, also with another connection's numbers")
  func follows() async throws {
    let cache = try await folder.mirrored([people(1...5)])
    var follower = FeedFollower(path: folder.cache, from: FeedPosition(), resource: nil)
    var seen: [Int64] = []
    for round in 1...20 {
      _ = try await cache.mirror([people(1...5, mark: "\(round)")])
      while case let more = try follower.next(limit: 3), !more.isEmpty { seen += more.map(\.id) }
    }
    #expect(seen == Array(1...100))
    await cache.close()
  }
}

/// Exit code of a command.
private func shell(_ command: String) throws -> Int32 {
  var pid: pid_t = 0
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  closeInherited(&actions)
  let texts: [String] = ["sh", "-c", command]
  let words: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) } + [nil]
  defer { for word in words { free(word) } }
  try #require(posix_spawn(&pid, "/bin/sh", &actions, nil, words, environ) == 0)
  var status: Int32 = 0
  waitpid(pid, &status, 0)
  return status
}
