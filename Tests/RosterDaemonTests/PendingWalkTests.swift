import FoundationEssentials
import RosterCore
import RosterSimulator
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterCache
@testable import RosterDaemon

/// Random definitions, upstreams and histories: the pending changes must equal the changes of the next sync.
@Suite struct PendingWalkTests {
  /// `make soak`: 2,000.
  private static let histories = ProcessInfo.processInfo.environment["ROSTER_PENDING"].flatMap(Int.init) ?? 40
  /// The seed of a single history to run.
  private static let seed = ProcessInfo.processInfo.environment["ROSTER_SEED"].flatMap(UInt64.init)

  @Test("51: pending after a dry run or the removal guard equals what the next sync writes in changes")
  func histories() async throws {
    var told = [ChangeKind: Int]()
    for seed in Self.seed.map({ [$0] }) ?? Array(0..<UInt64(Self.histories)) {
      var dice = SeededDice(seed: seed)
      let definitions = (0..<Int.random(in: 1...3, using: &dice)).map { RandomDefinition($0, using: &dice) }
      let upstream = RandomUpstream(definitions, dice: dice)
      let transfers = Mutex([String]())
      var scenario = Scenario(characters: [])
      scenario.beside = { request in
        let response = upstream.answer(request)
        if response?.status == 200 { transfers.withLock { $0.append(request.url) } }
        return response
      }
      let toml = definitions.map(\.toml).joined()
      do {
        try await withBench(
          scenario, concurrency: [1, 8][Int.random(in: 0...1, using: &dice)],
          environment: ["ROSTERD_SYNC_MAX_REMOVAL": "0"], file: toml
        ) { bench in
          for number in 0..<6 {
            upstream.change(times: Int.random(in: 0...4, using: &dice))
            upstream.begin(changeAt: nil, failing: nil)
            let note = Comment(rawValue: "seed \(seed), sync \(number)\n\(toml)")
            let request = SyncRequest(allowRemoval: dice.happens(0.5), isDryRun: dice.happens(0.7))
            let before = try await bench.sync(request)
            guard ![.published, .unchanged].contains(before.outcome) else { continue }
            let last = try Self.rows("SELECT coalesce(max(id), 0) FROM changes", in: bench).first ?? ""
            let pending = try Self.pending(in: bench)
            #expect(pending.pull.isWhole && pending.pull.sync == before.id, note)
            for kind in pending.kinds { told[kind, default: 0] += 1 }
            let hadSnapshot = try Self.rows("SELECT snapshot IS NOT NULL FROM cache_info", in: bench) == ["1"]
            transfers.withLock { $0 = [] }
            let after = try await bench.sync(SyncRequest(allowRemoval: true))
            #expect([.published, .unchanged].contains(after.outcome), note)
            if before.outcome == .tried {
              let counts = [\SyncRecord.added, \.changed, \.removed, \.records, \.pages, \.rejected, \.skipped]
              #expect(counts.map { before[keyPath: $0] } == counts.map { after[keyPath: $0] }, note)
            }
            if hadSnapshot {
              let changes = try Self.rows(
                """
                SELECT resource || ' ' || kind || ' ' || ifnull(before, '') || ' → ' || ifnull(after, '') FROM changes
                WHERE id > \(last) ORDER BY id
                """, in: bench)
              #expect(changes == pending.changes, note)
              #expect(try Self.differing(last, in: bench) == pending.fields, note)
            } else {
              #expect(pending.pull.resources.reduce(0) { $0 + $1.added } == after.records, note)
            }
            if before.outcome == .tried {
              // A page without a validator is transferred again.
              let again = transfers.withLock { $0 }
              let unconfirmed = definitions.filter { $0.validators == .none || $0.isPost }.map { "/api\($0.path)" }
              #expect(unconfirmed.allSatisfy { path in again.contains { $0.hasPrefix(path) } }, "\(again) \(note)")
              let confirmed = definitions.filter { $0.validators != .none && !$0.isPost }.map { "/api\($0.path)" }
              let twice = again.filter { url in !url.contains("/of/") && confirmed.contains { url.hasPrefix($0) } }
              // An empty page after a full last one has no validator.
              #expect(twice.count <= confirmed.count, "\(twice) \(note)")
            }
            #expect(try CacheReader(path: bench.cachePath).pending().pull == PendingPull(), note)
          }
        }
      } catch {
        Issue.record("seed \(seed): \(error)\n\(toml)")
      }
    }
    guard Self.seed == nil else { return }
    #expect(ChangeKind.allCases.allSatisfy { told[$0, default: 0] > Self.histories / 2 }, "\(told)")
  }

  private struct Pending {
    var pull: PendingPull
    var kinds: [ChangeKind] = []
    var changes: [String] = []
    var fields: [String] = []
  }

  /// The pending changes. Their reader is closed then, because the next publication would wait for it.
  private static func pending(in bench: Bench) throws -> Pending {
    let found = try CacheReader(path: bench.cachePath).pending()
    var pending = Pending(pull: found.pull)
    try found.each { record, resource in
      pending.kinds.append(record.kind)
      pending.changes.append("\(resource.name) \(record.kind) \(record.before ?? "") → \(record.after ?? "")")
      pending.fields.append(Set(record.fields.map { $0.hasPrefix("extra.") ? "extra" : $0 }).sorted().joined())
    }
    return pending
  }

  private static func rows(_ sql: String, in bench: Bench) throws -> [String] {
    try Database(path: bench.cachePath, access: .readOnly).rows(sql) { $0.text(0) }
  }

  /// The differing members of each later change according to SQLite.
  private static func differing(_ last: String, in bench: Bench) throws -> [String] {
    try rows(
      """
      SELECT coalesce((SELECT group_concat(key, '') FROM (SELECT a.key AS key FROM json_each(c.after) a
        JOIN json_each(c.before) b ON b.key = a.key AND b.value IS NOT a.value ORDER BY a.key)), '')
      FROM changes c WHERE id > \(last) ORDER BY id
      """, in: bench)
  }
}
