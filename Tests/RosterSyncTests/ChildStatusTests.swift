import RosterCore
import Synchronization
import Testing

@testable import RosterCache

/// The lists of children in the status.
struct ChildStatusTests {
  private static func resource(_ name: String, _ bench: SyncBench) throws -> DaemonStatus.CachedResource {
    try #require(try CacheReader(path: bench.path).facts().resources.first { $0.name == name })
  }

  private static func lists(_ name: String, _ bench: SyncBench) throws -> [Int]? {
    try resource(name, bench).lists.map { [$0.total, $0.kept, $0.failed, $0.vanished, $0.current, $0.requested] }
  }

  @Test("48: the status has the parent of a child, and its lists: all, not requested, failed, vanished")
  func facts() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(9))
    #expect(try Self.resource("item", bench).parent == "doc" && Self.resource("part", bench).parent == "item")
    #expect(try Self.resource("doc", bench).parent == nil && Self.lists("doc", bench) == nil)
    #expect(try Self.lists("item", bench) == [9, 0, 0, 0, 9, 9])
    #expect(try Self.lists("part", bench) == [18, 0, 0, 0, 18, 18])
    _ = try await bench.sync(Forest.all, after: 60)
    #expect(try Self.lists("item", bench) == [9, 9, 0, 0, 9, 0])
    forest.update { state in
      for id in 2...4 { state.documents[id]?.revision = 2 }
      state.statuses = ["/docs/2/items": 403, "/docs/3/items": 404]
    }
    _ = try await bench.sync(Forest.all, after: 120)
    #expect(try Self.lists("item", bench) == [9, 6, 1, 1, 7, 3])
    #expect(try Self.lists("detail", bench) == [9, 6, 0, 0, 9, 3])
  }

  @Test("Pages are those of all lists of the cache, also after parents were removed and lists were kept")
  func pages() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(12))
    forest.update { state in
      state.documents[13] = state.documents.removeValue(forKey: 1)
      state.documents[2] = nil
    }
    _ = try await bench.sync(Forest.all, after: 60)
    _ = try await bench.sync(Forest.all, after: 120)
    #expect(try Self.resource("item", bench).pages == 11 && Self.resource("detail", bench).pages == 11)
    #expect(try Self.resource("part", bench).pages == 22 && Self.resource("doc", bench).pages == 4)
    #expect(try bench.ask("SELECT pages FROM cache_info") == ["48"])
    #expect(try CacheReader(path: bench.path).facts().pages == 48)
  }

  @Test("51: a child of a removed parent is found by --of, at the same cost for any number of removed parents")
  func removedParents() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(3))
    forest.update { $0.documents[2] = nil }
    _ = try await bench.sync(Forest.all, allowRemoval: true, after: 60)
    func steps(_ count: Int) throws -> Int {
      let writer = try Database(path: bench.path, access: .writer)
      try writer.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
        INSERT INTO changes(sync_id, resource, record_id, kind, at, before)
        SELECT 2, 'doc', 100 + i, 'removed', '', json_object('id', 100 + i) FROM n
        """)
      writer.close()
      let reader = try CacheReader(path: bench.path)
      let steps = Mutex(0)
      reader.database.tick(every: 10) { steps.withLock { $0 += 1 } }
      let found = try reader.show("item", key: ["1"], of: ["2"])
      #expect(found.record == nil && found.changes.map(\.kind) == [.removed])
      return steps.withLock { $0 }
    }
    let (few, many) = (try steps(500), try steps(1_500))
    #expect(few > 0 && Double(many) / Double(few) < 1.5, "\(few) steps, and \(many) for 4 times as much")
  }

  @Test("40, 48: lists that an interrupted sync pulled count as resumed and kept, and not as requested")
  func resumed() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(9))
    forest.update { $0.patience = 3 + 6 }
    #expect(try await bench.sync(Forest.all).exit == 69)
    let kept = Set(bench.shelf.asked().filter { $0.status == 200 && !$0.target.hasPrefix("/docs?") }.map(\.target))
    forest.update { $0.patience = nil }
    let record = try await bench.sync(Forest.all, after: 60)
    let asked = bench.shelf.asked().filter { !$0.target.hasPrefix("/docs?") }
    #expect(!kept.isEmpty && asked.count == 36 - kept.count && record.lists == asked.count)
    #expect(record.resumed == kept.count + 3 - (record.requests - asked.count))
    let items = asked.filter { $0.target.hasSuffix("/items") }.count
    #expect(try Self.lists("item", bench) == [9, 9 - items, 0, 0, 9, items])
  }

  /// Three documents whose items have a mark, after a first sync.
  private static func marked() async throws -> (SyncBench, Forest, [Resource]) {
    let (bench, forest) = try Forest.bench(Forest.documents(3))
    var item = Forest.changedItem
    item.each = Each(of: "doc")
    item.answers.noRecords.statuses = [404]
    let resources = [Forest.document(), item]
    _ = try await bench.sync(resources)
    _ = bench.asked()
    return (bench, forest, resources)
  }

  private static func address(_ document: Int) -> String { "/docs/\(document)/items?since=0" }

  @Test("23: a list that none makes empty in an incremental pull was requested and obtained")
  func emptied() async throws {
    let (bench, forest, resources) = try await Self.marked()
    forest.update { $0.statuses = [Self.address(1): 404, Self.address(2): 404, Self.address(3): 500] }
    let record = try await bench.sync(resources, allowRemoval: true, after: 60)
    #expect(record.exit == 0 && record.lists == 3 && record.listsFailed == 1, "\(record.error ?? "")")
    #expect(record.error?.contains("1 of 3 lists of item") == true, "\(record.error ?? "")")
    #expect(
      try bench.ask("SELECT lists || ' ' || whole FROM sync_resources WHERE sync_id = 2 AND lists = 3") == ["3 0"])
  }

  @Test("22, 40: a list that none makes empty in an incremental pull is kept if the sync is interrupted")
  func keptEmpty() async throws {
    let (bench, forest, resources) = try await Self.marked()
    forest.update { state in
      state.statuses = [Self.address(1): 404, Self.address(2): 404, Self.address(3): 404]
      (state.requests, state.patience) = (0, 2)
    }
    #expect(try await bench.sync(resources, after: 60).exit == 69)
    let kept = bench.shelf.asked().filter { $0.status == 404 }.map(\.target)
    forest.update { $0.patience = nil }
    let record = try await bench.sync(resources, allowRemoval: true, after: 120)
    let asked = bench.asked().filter { $0.contains("?since") }
    #expect(kept.count == 1 && asked.count == 2 && !asked.contains(kept[0]), "\(kept) \(asked)")
    #expect(record.exit == 0 && record.lists == 2, "\(record.error ?? "")")
    #expect(try bench.ask("SELECT count(*) FROM resource_lists WHERE resource = 'item' AND mark IS NULL") == ["3"])
    _ = try await bench.sync(resources, allowRemoval: true, after: 180)
    #expect(bench.asked().contains { $0.contains("?since") } == false)
  }

  @Test("21: the facts of a child say whether it has since")
  func since() async throws {
    let (bench, _) = try Forest.bench(Forest.documents(2))
    _ = try await bench.sync(Forest.incremental)
    #expect(try Self.resource("item", bench).hasSince && !Self.resource("part", bench).hasSince)
  }

  @Test("48: whole_at of a child is that of its oldest list; null if every sync pulls each list")
  func wholeAt() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(3))
    let first = try #require(try Self.resource("item", bench).wholeAt)
    forest.update { $0.documents[2]?.revision = 2 }
    _ = try await bench.sync(Forest.all, after: 60)
    #expect(try Self.resource("item", bench).wholeAt == first && Self.resource("item", bench).missed == nil)
    let (other, _) = try Forest.bench(Forest.documents(3))
    _ = try await other.sync([Forest.document(), Forest.item(Each(of: "doc"))])
    #expect(try Self.resource("item", other).wholeAt == nil)
  }

  @Test("47: failed and vanished lists are named by the keys of all their ancestors, at most ten of each")
  func named() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(30))
    forest.update { state in
      for id in 1...4 {
        state.documents[id]?.revision = 2
        state.documents[id]?.items[2]?.revision = 2
        state.statuses["/docs/\(id)/items/2/parts"] = 404
      }
      state.documents[20]?.revision = 2
      state.documents[20]?.items[1]?.revision = 2
      state.statuses["/docs/20/items/1/parts"] = 403
    }
    #expect(try await bench.sync(Forest.all, after: 60).exit == 0)
    let failed = try CacheReader(path: bench.path).facts().failedLists
    #expect(failed.filter(\.hasVanished).map(\.keys) == ["1 2", "2 2", "3 2", "4 2"])
    #expect(failed.filter { !$0.hasVanished }.map(\.concern.name) == ["20 1"])
    #expect(failed.allSatisfy { $0.resource == "part" && $0.concern.resource == "item" && $0.concern.kind == .record })
    #expect(failed.last?.reason.contains("upstream answered 404") == true)
  }

  @Test("23, 47: a sync that fails because of too many lists names their parents")
  func tooMany() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(20))
    forest.failItems(of: 1...12, with: 403)
    let concerned = try await bench.sync(Forest.all, after: 60).trouble?.concerned ?? []
    #expect(concerned.filter { $0.kind == .record && $0.resource == "doc" }.count == Diagnosis.maxConcerned)
    // The lists of the next level were not pulled.
    #expect(try !CacheReader(path: bench.path).pending().pull.isWhole)
  }

  @Test("48: lists_done reaches lists_total, also after an interrupted sync", arguments: [7, 20])
  func progress(_ patience: Int) async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(8))
    forest.update { ($0.patience, $0.wrongCounts) = (patience, 2) }
    #expect(try await bench.sync(Forest.all).exit == 69)
    forest.update { $0.patience = nil }
    _ = try await bench.sync(Forest.all, after: 60)
    let found = bench.progress.map { [$0.name, $0.kind.rawValue, "\($0.listsDone ?? -1)", "\($0.listsTotal ?? -1)"] }
    #expect(
      found == [
        ["part", "each", "16", "16"], ["item", "each", "8", "8"], ["detail", "each", "8", "8"],
        ["doc", "whole", "-1", "-1"],
      ])
  }

  @Test("48: the phase returns from verifying to pulling for each level of children")
  func phases() async throws {
    var (bench, _) = try Forest.bench(Forest.documents(2))
    let phases = Phases()
    bench.onPhase = { phase in
      phases.all.withLock { if $0.last != phase { $0.append(phase) } }
    }
    _ = try await bench.sync(Forest.all)
    #expect(
      phases.all.withLock { $0 } == [
        .discovering, .pulling, .verifying, .pulling, .verifying, .pulling, .verifying, .publishing,
      ])
  }

  @Test("48: list.failed and list.vanished name the list by the keys of its ancestors")
  func events() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(9))
    _ = bench.reported()
    forest.update { state in
      state.documents[2]?.revision = 2
      state.documents[2]?.items[1]?.revision = 2
      state.statuses = ["/docs/2/items/1/parts": 403, "/docs/2/detail": 410]
    }
    _ = try await bench.sync(Forest.all, after: 60)
    let told = bench.reported().filter { $0.of != nil }.sorted { $0.name.rawValue < $1.name.rawValue }
    #expect(told.map(\.name) == [.listFailed, .listVanished])
    #expect(told.map(\.of) == ["[2,1]", "[2]"] && told.map(\.resource) == ["part", "detail"])
    #expect(told.allSatisfy { $0.error?.contains("upstream answered 4") == true })
  }
}

private final class Phases: Sendable {
  let all = Mutex<[DaemonStatus.Current.Phase]>([])
}
