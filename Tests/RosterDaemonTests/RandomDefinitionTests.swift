import FoundationEssentials
import RosterCore
import RosterSimulator
import RosterSync
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterCache
@testable import RosterDaemon

/// Tests that configuration alone suffices for any API: random definitions and random upstreams, and the real engine.
@Suite struct RandomDefinitionTests {
  /// `make soak`: 2,000.
  private static let histories = ProcessInfo.processInfo.environment["ROSTER_DEFINITIONS"].flatMap(Int.init) ?? 50
  /// The seed of a single history to run.
  private static let seed = ProcessInfo.processInfo.environment["ROSTER_SEED"].flatMap(UInt64.init)

  /// Tokens that end at random requests, or none.
  private static func tokens(_ seed: UInt64) -> Scenario.Tokens {
    var dice = SeededDice(seed: seed &+ 1_000_003)
    let flows = [Flow.none, .oauth2Refresh, .authenticateForm]
    // The first requests in parallel fit into each token, and a sync needs fewer than eight of them.
    let uses = (0..<100).map { _ in Int.random(in: 9...50, using: &dice) }
    return Scenario.Tokens(flow: flows[Int.random(in: 0..<flows.count, using: &dice)], uses: uses)
  }

  @Test("17, 18, 34: a published state existed upstream or has a weak proof, with one refresh for each token")
  func histories() async throws {
    let seeds = Self.seed.map { [$0] } ?? Array(0..<UInt64(Self.histories))
    let refreshes = Mutex(0)
    defer { #expect(refreshes.withLock { $0 } > 0 || Self.seed != nil) }
    for seed in seeds {
      var dice = SeededDice(seed: seed)
      let definitions = (0..<Int.random(in: 1...3, using: &dice)).map { RandomDefinition($0, using: &dice) }
      let upstream = RandomUpstream(definitions, dice: dice)
      var scenario = Scenario(characters: [], tokens: Self.tokens(seed))
      scenario.beside = { upstream.answer($0) }
      let concurrency = [1, 2, 8][Int.random(in: 0..<3, using: &dice)]
      let settings = ["ROSTERD_SYNC_MAX_REMOVAL": "100", "ROSTERD_RETRY_MAX_RETRIES": "1"]
      let toml = definitions.map(\.toml).joined()
      do {
        try await withBench(scenario, concurrency: concurrency, environment: settings, file: toml) { bench in
          var history = History(seed: seed, definitions: definitions, upstream: upstream, bench: bench, dice: dice)
          try await history.run()
          let counts = bench.upstream.counts
          refreshes.withLock { $0 += counts.tokensGranted }
          #expect(counts.tokensGranted == counts.refusedGenerations.count, "seed \(seed): one refresh for each token")
          #expect(counts.peakTokensInFlight <= 1 && counts.reuses == 0, "seed \(seed)")
        }
      } catch {
        Issue.record("seed \(seed): \(error)\n\(toml)")
      }
    }
  }
}

/// One cache from its first sync to its last.
private struct History {
  let seed: UInt64
  let definitions: [RandomDefinition]
  let upstream: RandomUpstream
  let bench: Bench
  var dice: SeededDice
  /// The records of each table that upstream no longer lists and the cache still has.
  private var lingering: [String: Set<[String]>] = [:]

  init(seed: UInt64, definitions: [RandomDefinition], upstream: RandomUpstream, bench: Bench, dice: SeededDice) {
    self.seed = seed
    self.definitions = definitions
    self.upstream = upstream
    self.bench = bench
    self.dice = dice
  }

  private static let syncs = 6

  mutating func run() async throws {
    var isFresh = true
    for number in 0..<Self.syncs {
      let isLast = number == Self.syncs - 1
      if isFresh { upstream.change(times: Int.random(in: 0...3, using: &dice)) }
      upstream.begin(changeAt: isLast ? nil : changeAt(), failing: isLast ? nil : failing())
      let before = try rows()
      let record = try await bench.sync()
      isFresh = record.outcome == .published || record.outcome == .unchanged
      if isFresh {
        let isExplained = record.error.map { upstream.hasFailed || isUnproven($0) } ?? true
        #expect(isExplained, "seed \(seed), sync \(number): \(record.error ?? "")")
        try expectState(before, number: number, hasAsked: record.error == nil)
      } else {
        #expect(upstream.hasFailed, "seed \(seed), sync \(number): \(record.error ?? "")")
        #expect(try rows() == before, "seed \(seed), sync \(number): a failed sync changed what readers see")
      }
    }
    #expect(isFresh)
  }

  /// True if no record is left that shows that `by_key` works. Upstream emptied the table, or removed the
  /// record of the control question in the meantime.
  private func isUnproven(_ error: String) -> Bool {
    zip(definitions, upstream.seen).contains { definition, states in
      definition.tables.contains { table in
        let start = "no \(table.name) was removed, because by_key does not find"
        let isEmptied = states.contains { rows(table, state: $0, definition: definition).isEmpty }
        return error.hasPrefix("\(start) the missing records") && isEmptied
          || error.hasPrefix("\(start) a \(table.name) that upstream lists") && upstream.hasChanged
      }
    }
  }

  private mutating func changeAt() -> Int? { dice.happens(0.7) ? Int.random(in: 2...10, using: &dice) : nil }

  private mutating func failing() -> (requests: ClosedRange<Int>, status: Int)? {
    guard dice.happens(0.3) else { return nil }
    let first = Int.random(in: 1...10, using: &dice)
    // With a total that may be capped, 400 after the last page means that no page follows.
    let refusal = definitions.contains(where: \.capsTotal) ? 403 : 400
    let status = [refusal, 500, 503][Int.random(in: 0..<3, using: &dice)]
    return (first...(dice.happens(0.4) ? first : 10_000), status)
  }

  // MARK: What readers see

  /// The rows of each table with their list rows.
  private func rows() throws -> [String: Set<[String]>] {
    let tables = definitions.flatMap(\.tables)
    guard FileManager.default.fileExists(atPath: bench.cachePath) else {
      return Dictionary(uniqueKeysWithValues: tables.map { ($0.name, []) })
    }
    let database = try Database(path: bench.cachePath, access: .readOnly)
    return try Dictionary(uniqueKeysWithValues: tables.map { ($0.name, try rows($0, in: database)) })
  }

  private func rows(_ table: RandomDefinition.Table, in database: Database) throws -> Set<[String]> {
    let isText = definitions.first { $0.tables.contains { $0.name == table.name } }?.hasTextKeys == true
    let owner = "t.\(isText ? "record_id" : "id")"
    func list(_ name: String, _ value: String) -> String {
      """
      (SELECT json_group_array(v) FROM (SELECT \(value) AS v FROM \(table.name)_\(name) l
        WHERE l.\(table.name)_id = \(owner) ORDER BY position))
      """
    }
    let columns =
      table.columns.map { "quote(t.\($0.name))" } + ["quote(t.extra)"] + (table.hasTags ? [list("tags", "tag")] : [])
      + (table.hasParts ? [list("parts", "a || ' ' || extra")] : [])
    let found = try database.rows("SELECT \(columns.joined(separator: ", ")) FROM \(table.name) t") { row in
      columns.indices.map { row.text(Int32($0)) }
    }
    #expect(Set(found).count == found.count)
    return Set(found)
  }

  /// Expects a state that upstream had at some time of the pull.
  /// - Parameter hasAsked: true if upstream answered for each missing record; otherwise no record of the resource is
  ///   removed.
  private mutating func expectState(_ before: [String: Set<[String]>], number: Int, hasAsked: Bool) throws {
    let hasChanged = upstream.hasChanged
    let met = upstream.published()
    let now = try rows()
    let database = try Database(path: bench.cachePath, access: .readOnly)
    for (definition, states) in zip(definitions, met) {
      for table in definition.tables {
        let note = Comment(rawValue: "seed \(seed), sync \(number), \(table.name)\n\(definition.toml)")
        let proof = try database.first("SELECT proof FROM resources WHERE name = ?", .text(table.name)) { $0.text(0) }
        #expect(proof.map(definition.proofs.contains) == true, note)
        if definition.isWeak, hasChanged {
          lingering[table.name] = []
          continue
        }
        let there = now[table.name] ?? []
        let ends = states.map {
          lingers(
            table, state: $0, there: there, before: before[table.name] ?? [], definition: definition, hasAsked: hasAsked
          )
        }
        if !ends.contains(where: { $0 != nil }) {
          let listed = rows(table, state: states[0], definition: definition)
          Issue.record("\(note) lacks \(listed.subtracting(there)), has \(there.subtracting(listed)) beside \(states)")
        }
        lingering[table.name] = ends.compactMap { $0 }.first ?? []
      }
    }
  }

  private func rows(
    _ table: RandomDefinition.Table, state: [RandomRecord], definition: RandomDefinition
  ) -> Set<[String]> {
    let listed = state.filter { table.state == nil || $0.state == table.state }
    return Set(listed.map { $0.row(of: table, isText: definition.hasTextKeys) })
  }

  /// The records that the cache has in addition to a state of upstream. nil if it lacks the state, or has more
  /// additional records than `removal` keeps.
  private func lingers(
    _ table: RandomDefinition.Table, state: [RandomRecord], there: Set<[String]>, before: Set<[String]>,
    definition: RandomDefinition, hasAsked: Bool
  ) -> Set<[String]>? {
    let listed = rows(table, state: state, definition: definition)
    let beside = there.subtracting(listed)
    guard listed.isSubset(of: there), beside.isSubset(of: before) else { return nil }
    switch table.removal {
    case .ask: return beside.isEmpty || !hasAsked ? beside : nil
    case .twice: return beside.isDisjoint(with: lingering[table.name] ?? []) ? beside : nil
    case .never: return beside
    }
  }
}
