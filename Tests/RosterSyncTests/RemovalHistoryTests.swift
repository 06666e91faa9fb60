import FoundationEssentials
import RosterCore
import RosterSync
import RosterTestSupport
import Synchronization
import Testing

/// Random histories of an upstream of three levels whose lists lack records for a while, and whose `by_key` breaks and
/// is repaired. Syncs are interrupted, killed, are dry runs, and are started by a clock that jumps.
struct RemovalHistoryTests {
  /// `make soak`: 5,000.
  private static let histories = ProcessInfo.processInfo.environment["ROSTER_REMOVALS"].flatMap(Int.init) ?? 80

  @Test(
    "11, 13, 14, 19, 40, 51: no record is removed that upstream has, unless two pulls missed it")
  func removals() async throws {
    var (syncs, removed, kept, killed, odd, broken) = (0, 0, 0, 0, 0, 0)
    for seed in 1...Self.histories {
      var history = try RemovalHistory(seed: UInt64(seed))
      let faults = try await history.run()
      #expect(faults.isEmpty, "history \(seed): \(faults.joined(separator: "; "))")
      syncs += history.syncs
      removed += history.removed
      kept += history.kept
      killed += history.killed
      odd += history.oddAnswers
      broken += history.brokenPromises
      if !faults.isEmpty { return }
    }
    // The histories reach what they are for.
    #expect(
      removed > Self.histories && kept > Self.histories / 2 && killed > Self.histories / 4
        && odd > 2 * Self.histories && broken > Self.histories,
      "\(syncs) syncs, \(removed), \(kept), \(killed), \(odd) and \(broken)")
  }
}

/// One history.
private struct RemovalHistory {
  private(set) var syncs = 0
  /// Number of removed records.
  private(set) var removed = 0
  /// Number of syncs that kept missing records because of `by_key`.
  private(set) var kept = 0
  /// Number of syncs that were killed before their end.
  private(set) var killed = 0
  /// Number of answers that were partial or lacked their list, of empty pages in the middle, and of capped totals.
  var oddAnswers: Int { upstream.oddAnswers }
  /// Number of promised pages that were not there.
  var brokenPromises: Int { upstream.brokenPromises }
  private var dice: SeededDice
  private let upstream: ErringUpstream
  private let bench: SyncBench
  private let resources: [Resource]
  private var seconds = 0.0

  init(seed: UInt64) throws {
    dice = SeededDice(seed: seed)
    let plan = ErringUpstream.Plan(&dice)
    (upstream, resources) = (ErringUpstream(plan), plan.resources)
    var bench = try SyncBench([:])
    bench.maxRemoval = 100
    self.bench = bench
    bench.shelf.update { [upstream] in $0.answers = { upstream.answer($0) } }
  }

  mutating func run() async throws -> [String] {
    upstream.change(&dice) { state, dice in for _ in 0..<14 { state.add(&dice) } }
    for step in 1...10 {
      let before = try records()
      upstream.change(&dice) { state, dice in state.live(&dice, isFirst: step == 1) }
      // Most syncs are so close together that pages and lists of an interrupted one are used again.
      seconds += [5.0, 60, 400, 2000, 9000].randomElement(using: &dice) ?? 5
      let jump = Int.random(in: 0..<8, using: &dice) == 0 ? Double.random(in: -5000...5000, using: &dice) : 0
      let isDryRun = Int.random(in: 0..<4, using: &dice) == 0
      let kill =
        Int.random(in: 0..<5, using: &dice) == 0 ? KillPoint(after: Int.random(in: 1...40, using: &dice)) : nil
      let record = try await bench(with: kill).sync(
        definitions(), isFresh: Int.random(in: 0..<12, using: &dice) == 0, isDryRun: isDryRun,
        after: max(0, seconds + jump))
      syncs += 1
      let found =
        try kill.flatMap { try check(killedAt: $0, before: before) }
        ?? check(record, before: before, isDryRun: isDryRun)
      let faults = found.map { "step \(step): \($0)" }
      if !faults.isEmpty { return faults + ["\(upstream)"] }
    }
    return []
  }

  /// The bench, whose next sync is killed at that point.
  private func bench(with kill: KillPoint?) -> SyncBench {
    var bench = bench
    let reach: @Sendable () -> Void = { [folder = bench.workspace.folder] in kill?.reach(folder) }
    bench.tick = reach
    bench.shelf.update { [upstream] in
      $0.answers = {
        reach()
        return upstream.answer($0)
      }
    }
    return bench
  }

  /// Puts the files back as the kill left them. They have the state of before, or that of the whole sync. nil if the
  /// sync ended before the kill.
  private mutating func check(killedAt kill: KillPoint, before: Set<String>) throws -> [String]? {
    let whole = try records()
    if try !kill.restore(bench.workspace.folder) { return nil }
    killed += 1
    hasKeptLists = true
    let after = try records()
    return after == before || after == whole ? [] : ["a kill left \(after.symmetricDifference(before).sorted())"]
  }

  /// The definitions, of which one may have a further column from now on.
  private mutating func definitions() -> [Resource] {
    var resources = resources
    if isRedefined || Int.random(in: 0..<20, using: &dice) == 0 {
      isRedefined = true
      resources[1].columns.append(.init("again", at: at("rev"), .integer))
    }
    return resources
  }

  private var isRedefined = false
  /// True if an interrupted sync precedes, whose pages and lists the next one uses.
  private var hasKeptLists = false

  private mutating func check(_ record: SyncRecord, before: Set<String>, isDryRun: Bool) throws -> [String] {
    let after = try records()
    if isDryRun || record.outcome == .failed {
      if record.outcome == .failed { hasKeptLists = true }
      return after == before ? [] : ["\(record.outcome) changed the cache: \(before.symmetricDifference(after))"]
    }
    let gone = before.subtracting(after)
    removed += gone.count
    if [.wrongByKey, .unproven, .unasked].contains(record.trouble?.kind) { kept += 1 }
    let known = upstream.records
    var faults: [String] = []
    let wrong = gone.intersection(upstream.lasting)
    if !wrong.isEmpty { faults.append("removed although upstream has them: \(wrong.sorted())") }
    if !isRedefined { faults += try notReplayed() }
    defer { hasKeptLists = false }
    if record.error == nil, record.listsFailed == 0, upstream.isHonest, upstream.plan.start == nil, !hasKeptLists {
      let late = upstream.plan.isChanged ? upstream.missed : []
      let known = upstream.plan.prompt(known).subtracting(late)
      let after = upstream.plan.prompt(after).subtracting(late)
      if after != known {
        faults.append("lacks \(known.subtracting(after).sorted()), has \(after.subtracting(known).sorted())")
      }
    }
    return faults
  }

  /// The records of all tables, by their keys and those of their ancestors.
  private func records() throws -> Set<String> {
    guard syncs > 0, try bench.ask("SELECT name FROM main.resources WHERE name = 'part'") != [] else { return [] }
    return Set(try upstream.plan.queries.flatMap { try bench.ask($0) })
  }

  /// The differences between the tables and the changes since the first publication, which has none of its own.
  private mutating func notReplayed() throws -> [String] {
    var faults: [String] = []
    for (name, table, id) in upstream.plan.rows {
      let rows = Set(try bench.ask("SELECT \(id) FROM \(table)"))
      guard let start = published[name] else {
        published[name] = rows
        continue
      }
      let replayed = start.subtracting(try changed(name, isRemoved: true)).union(try changed(name, isRemoved: false))
      if replayed != rows { faults.append("\(name): the changes lead to \(replayed.sorted()), not \(rows.sorted())") }
    }
    return faults
  }

  /// The record ids of the tables after the first publication.
  private var published: [String: Set<String>] = [:]

  /// The ids of records whose last change is a removal, or is not.
  private func changed(_ name: String, isRemoved: Bool) throws -> [String] {
    try bench.ask(
      """
      SELECT record_id FROM changes c WHERE resource = '\(name)' AND kind \(isRemoved ? "=" : "<>") 'removed'
        AND id = (SELECT max(id) FROM changes d WHERE d.resource = c.resource AND d.record_id = c.record_id)
      """)
  }
}

/// Copies the files of the cache at one moment of a sync, as a SIGKILL would leave them. The moment is an answer, or a
/// sign of life of the cache. At an answer the file of pulled pages may be written, so that the copy may lack its end.
private final class KillPoint: Sendable {
  private let state: Mutex<(left: Int, isCopied: Bool)>
  private let copies = Workspace()

  init(after moments: Int) { state = Mutex((moments, false)) }

  func reach(_ folder: String) {
    state.withLock { state in
      state.left -= 1
      guard state.left == 0 else { return }
      state.isCopied = (try? Self.copy(folder, to: copies.folder)) != nil
    }
  }

  /// Returns false if the sync ended before.
  func restore(_ folder: String) throws -> Bool {
    guard state.withLock(\.isCopied) else { return false }
    for name in try Self.files(folder) { try FileManager.default.removeItem(atPath: "\(folder)/\(name)") }
    try Self.copy(copies.folder, to: folder)
    return true
  }

  private static func copy(_ folder: String, to other: String) throws {
    for name in try files(folder) where !name.hasSuffix("-shm") {
      try FileManager.default.copyItem(atPath: "\(folder)/\(name)", toPath: "\(other)/\(name)")
    }
  }

  private static func files(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).filter {
      $0.hasPrefix("roster.db") && !$0.hasSuffix(".lock")
    }
  }
}
