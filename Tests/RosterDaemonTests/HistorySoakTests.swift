import FoundationEssentials
import Logging
import RosterCore
import RosterSimulator
import RosterSync
import RosterTestSupport
import Testing

@testable import RosterCache
@testable import RosterDaemon

/// A cache that changes constantly for months.
@Suite struct HistorySoakTests {
  /// `make soak`: 10,000, which is twenty weeks.
  private static let syncs = ProcessInfo.processInfo.environment["ROSTER_SYNCS"].flatMap(Int.init) ?? 320
  private static let interval = Duration.seconds(20 * 60)
  /// Number of days: half of the time that the smallest number of syncs takes.
  private static let history = 2
  /// Maximum size in bytes: a log of 4,000 pages before it is written back, and the pages of sixty characters.
  private static let staging: Int64 = 17 << 20

  @Test("9: history expires syncs and changes, and no file grows with the number of syncs")
  func bounded() async throws {
    let environment = ["ROSTERD_CACHE_HISTORY": "\(Self.history)d", "ROSTERD_SYNC_MAX_REMOVAL": "100"]
    let scenario = Scenario(characters: Array(sevenPages.prefix(60)))
    try await withBench(scenario, concurrency: 4, environment: environment) { bench in
      let clock = ManualClock()
      let runtime = try await Runtime.open(
        bench.configuration, clock: clock.wallClock, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      do {
        try await run(bench, runtime: runtime, clock: clock)
        await runtime.close()
      } catch {
        await runtime.close()
        throw error
      }
      let writer = try Database(path: bench.cachePath, access: .writer)
      #expect(try writer.rows("PRAGMA integrity_check") { $0.text(0) } == ["ok"])
      try writer.execute("INSERT INTO characters_fts(characters_fts, rank) VALUES ('integrity-check', 1)")
      #expect(try bench.cached() == bench.expected)
    }
  }

  private func run(_ bench: Bench, runtime: Runtime, clock: ManualClock) async throws {
    let reader = try Database(path: bench.cachePath, access: .readOnly)
    reader.wait(milliseconds: 5_000)
    // The second half must not need more than the first half.
    var most: [Extent] = [Extent(), Extent()]
    for number in 0..<Self.syncs {
      clock.advance(by: Self.interval)
      change(bench.upstream, number: number)
      let report = await runtime.sync(SyncRequest()).run()
      #expect(report.outcome == Self.outcome(of: number), "\(number): \(report.error ?? "")")
      bench.upstream.forgetRequests()
      let ended = clock.now.addingTimeInterval(Double(-Self.history) * 86_400)
      let extent = try Extent(of: bench.cachePath, reader, before: ended)
      #expect(extent.isPruned, "\(number): \(extent)")
      most[number < Self.syncs / 2 ? 0 : 1].grow(to: extent)
    }
    // The splits and merges of pages are random: a tenth and a few pages are tolerated.
    #expect(most[1].pages <= most[0].pages * 11 / 10 + 8, "\(most)")
    #expect(most[1].changes <= most[0].changes * 11 / 10 && most[1].syncs <= most[0].syncs, "\(most)")
    #expect(most[1].wal <= Cache.longLog && most[1].staging <= Self.staging, "\(most)")
  }

  // MARK: What happens in it

  /// One sync of seven finds no change, and one fails.
  private static func outcome(of number: Int) -> SyncRecord.Outcome {
    switch number % 7 {
    case 3: .unchanged
    case 5: .failed
    default: .published
    }
  }

  private func change(_ upstream: Simulator, number: Int) {
    let fails = Self.outcome(of: number) == .failed
    upstream.configure { $0.rules = fails ? [.on(.page(2), .status(400))] : [] }
    guard Self.outcome(of: number) != .unchanged else { return }
    upstream.update { characters in
      // Each record changes from time to time, and one record is replaced by a new one.
      for index in [number % 60, number * 7 % 60] { characters[index] = characters[index].marked(number) }
      var newcomer = characters.remove(at: number * 11 % 60)
      newcomer.id = Int64(1_000 + number)
      characters.append(newcomer)
    }
  }
}

/// The size of a cache.
private struct Extent {
  var pages = 0
  /// Size in bytes, with its log.
  var staging: Int64 = 0
  var wal: Int64 = 0
  var syncs = 0
  var changes = 0
  /// True if no data remains that `history` has ended, except what is always kept.
  var isPruned = true

  init() {}

  init(of path: String, _ reader: Database, before end: Date) throws {
    let found = try reader.first(
      """
      SELECT (SELECT count(*) FROM syncs), (SELECT count(*) FROM changes),
        NOT EXISTS (SELECT 1 FROM syncs, cache_info WHERE started_at < ?1 AND id <> snapshot AND coalesce(syncs.verified_at, finished_at) <> cache_info.verified_at)
        AND NOT EXISTS (SELECT 1 FROM changes WHERE at < ?1 AND id <> (SELECT max(id) FROM changes)),
        (SELECT page_count FROM pragma_page_count)
      """, .text(end.rfc3339)
    ) { (syncs: $0.int(0), changes: $0.int(1), isPruned: $0.int(2) != 0, pages: $0.int(3)) }
    guard let found else { return }
    (syncs, changes, isPruned, pages) = found
    wal = fileSize(path + "-wal")
    let beside = path.replacing("roster.db", with: "roster.staging.db")
    staging = fileSize(beside) + fileSize(beside + "-wal")
  }

  mutating func grow(to other: Extent) {
    pages = max(pages, other.pages)
    staging = max(staging, other.staging)
    wal = max(wal, other.wal)
    syncs = max(syncs, other.syncs)
    changes = max(changes, other.changes)
  }
}
