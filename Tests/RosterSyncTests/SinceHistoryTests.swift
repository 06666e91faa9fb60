import Foundation
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterCache

/// Random histories of an upstream whose records are pulled by time.
@Suite("9, 21: random histories of an upstream")
struct SinceHistoryTests {
  /// `make soak`: 2,000.
  static let histories = ProcessInfo.processInfo.environment["ROSTER_HISTORIES"].flatMap(UInt64.init) ?? 50

  @Test(
    "1, 15, 21, 40: the cache is what the answers say, and lacks only moved records",
    // History 797 has an incremental pull that drifts three times.
    arguments: Array(1...histories) + [797])
  func history(seed: UInt64) async throws {
    let faults = try await faults(seed: seed)
    #expect(faults.isEmpty, "history \(seed): \(faults.joined(separator: "; "))")
  }

  @Test("21: these histories lose records if the mark may be above Date, or if there is no overlap")
  func sensitive() async throws {
    var (ahead, abrupt) = (0, 0)
    for seed in UInt64(1)...60 {
      if ahead == 0, try await !faults(seed: seed, dateAhead: 1_000_000, isBusy: true).isEmpty { ahead += 1 }
      if abrupt == 0, try await !faults(seed: seed, overlap: 1, isBusy: true).isEmpty { abrupt += 1 }
    }
    #expect(ahead > 0 && abrupt > 0, "\(ahead) and \(abrupt)")
  }

  /// What is wrong after the syncs of a history.
  private func faults(seed: UInt64, overlap: Int = 60, dateAhead: Double = 0, isBusy: Bool = false) async throws
    -> [String]
  {
    var dice = SeededDice(seed: seed)
    let upstream = ChangingUpstream(seed: seed, dateAhead: dateAhead, isBusy: isBusy, &dice)
    let bench = try SyncBench([:])
    bench.shelf.update { $0.answers = { upstream.answer($0) } }
    let resource = upstream.resource(overlap: overlap)
    var oracle = SinceOracle(overlap: overlap)
    var faults: [String] = []
    for step in 1...14 {
      let pause: Double = [8, 400, 2000].randomElement(using: &dice) ?? 8
      upstream.live(seconds: Double.random(in: 1...pause, using: &dice), changes: Int.random(in: 0...5, using: &dice))
      let isQuiet = Bool.random(using: &dice) && !isBusy
      let isCut = Int.random(in: 0..<4, using: &dice) == 0
      // An interrupted sync keeps its pages for the next one, a killed one keeps what its files have.
      let isKilled = Bool.random(using: &dice)
      let wrong = Double.random(in: -20_000...20_000, using: &dice)
      bench.shelf.update { $0.now = upstream.now + (step.isMultiple(of: 4) ? wrong : 0) }
      let before = try CachedItems(bench, step: step)
      upstream.begin(
        isQuiet: isQuiet, at: isCut ? Int.random(in: 1...6, using: &dice) : nil, clock: bench.shelf.now
      ) { if isKilled { try? before.keep() } }
      let record = try await bench.sync([resource], allowRemoval: true)
      let isRestored = isKilled && upstream.wasCut
      if isRestored { try before.restore() }
      let after = try CachedItems(bench, step: step)
      var found: [String] = []
      if isRestored || record.outcome == .failed {
        if !upstream.wasCut, isQuiet { found.append("failed: \(record.error ?? "")") }
        if !after.isLike(before) { found.append("a sync that is not published changes the cache") }
      } else {
        found = oracle.check(
          upstream, before: before, after: after, isIncremental: bench.progress.first?.kind == .since)
        upstream.forgetAnswers()
      }
      faults += found.map { "step \(step): \($0), \(upstream.description)" }
    }
    return faults
  }
}

/// The content of the cache, and a copy of its files.
struct CachedItems {
  private(set) var records: [Int: String] = [:]
  private(set) var mark: String?
  private(set) var wholeAt: String?
  private(set) var missed: Int?
  private let folder: URL
  private let aside: URL

  init(_ bench: SyncBench, step: Int) throws {
    folder = URL(filePath: bench.path).deletingLastPathComponent()
    aside = URL(filePath: bench.workspace.path("killed-\(step)"))
    guard FileManager.default.fileExists(atPath: bench.path) else { return }
    let database = try Database(path: bench.path, access: .readOnly)
    defer { database.close() }
    let known = try database.rows("SELECT 1 FROM sqlite_schema WHERE name = 'items'") { $0.int(0) }
    if known.isEmpty { return }
    for (id, name) in try database.rows("SELECT id, name FROM items", read: { ($0.int(0), $0.text(1)) }) {
      records[id] = name
    }
    let list = try database.first("SELECT mark, whole_at, missed FROM resource_lists") {
      (mark: $0.optionalText(0), wholeAt: $0.optionalText(1), missed: $0.optionalInteger(2))
    }
    (mark, wholeAt, missed) = (list?.mark, list?.wholeAt, list?.missed.map { Int($0) })
  }

  func isLike(_ other: CachedItems) -> Bool {
    records == other.records && mark == other.mark && wholeAt == other.wholeAt && missed == other.missed
  }

  private func names(in folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path()).filter { $0.hasPrefix("roster.db") }
  }

  /// Copies the files as a SIGKILL at this instant would leave them.
  func keep() throws {
    try FileManager.default.createDirectory(at: aside, withIntermediateDirectories: true)
    for name in try names(in: folder) {
      try Data(contentsOf: folder.appending(path: name)).write(to: aside.appending(path: name))
    }
  }

  func restore() throws {
    for name in try names(in: folder) { try FileManager.default.removeItem(at: folder.appending(path: name)) }
    for name in try names(in: aside) {
      try Data(contentsOf: aside.appending(path: name)).write(to: folder.appending(path: name))
    }
  }
}
