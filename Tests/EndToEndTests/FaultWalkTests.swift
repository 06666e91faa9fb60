import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterTestSupport
import Testing

extension CacheTrials {
  /// A disk on which a single call on any file of the cache fails. `ROSTER_FAULTS_ALL` names a stage in which every
  /// call fails once, one after the other.
  @Suite(.timeLimit(.minutes(10))) struct FaultWalkTests {
    enum Stage: String, CaseIterable {
      /// The cache is created and filled.
      case first
      /// All characters change.
      case changing
      /// The cache was made by another definition.
      case redefined
    }

    /// The ends of the paths of all files of the cache.
    static let files =
      [
        "", ".lock", ".next", ".next-wal", ".next-shm", ".published",
        ".published.new", "-wal", "-shm", ".new", ".new-wal", ".new-shm",
      ].map { "state/roster.db\($0)" } + ["/state"]

    @Test(
      "1, 2: any file operation may fail once (73): readers see a whole snapshot, and the next sync works",
      arguments: Stage.allCases)
    func once(stage: Stage) async throws {
      try await withFaults { site, faults in
        _ = try await site.sync()
        var walk = Walk(site: site, faults: faults, stage: stage)
        // The file of pulled pages has few calls.
        let pulled = try await walk.calls(on: ["", "-wal", "-shm"].map { "state/roster.db.next\($0)" })
        try await walk.fail(Array(1...pulled))
        let calls = try await walk.calls(on: Self.files)
        #expect(pulled > 3 && calls > pulled + 40, "\(pulled) and \(calls)")
        try await walk.fail(numbers(calls, stage: stage))
        #expect(walk.failed.count > 2, "\(walk.failed)")
      }
    }

    private func numbers(_ calls: Int, stage: Stage) -> [Int] {
      if ProcessInfo.processInfo.environment["ROSTER_FAULTS_ALL"] == stage.rawValue { return Array(1...calls) }
      var dice = SeededDice(seed: UInt64(stage.rawValue.utf8.count))
      let step = max(1, calls / 10)
      return stride(from: 1, through: calls, by: step).map { min(calls, $0 + Int.random(in: 0..<step, using: &dice)) }
    }
  }
}

/// Syncs of one stage, each with another failing call.
private struct Walk {
  let site: Site
  let faults: DiskFaults
  let stage: CacheTrials.FaultWalkTests.Stage
  private(set) var failed: Set<String> = []
  private var version = 0
  private var files: [String] = []

  init(site: Site, faults: DiskFaults, stage: CacheTrials.FaultWalkTests.Stage) {
    self.site = site
    self.faults = faults
    self.stage = stage
  }

  /// Number of calls in a sync without a fault.
  mutating func calls(on files: [String]) async throws -> Int {
    self.files = files
    try await begin()
    try faults.failOnce(.max, with: EIO, on: files)
    _ = try await site.sync()
    return faults.calls
  }

  mutating func fail(_ numbers: [Int]) async throws {
    for number in numbers {
      try await begin()
      let code = number.isMultiple(of: 2) ? ENOSPC : EIO
      try faults.failOnce(number, with: code, on: files)
      let outcome = try await site.rosterd("sync")
      faults.end()
      guard let file = faults.failed else { continue }
      failed.insert(String(file.dropFirst(site.folder.utf8.count)))
      let what: Comment = "call \(number), errno \(code), on \(file): \(outcome.error)"
      #expect(outcome.exit == 0 || outcome.exit == 73 && outcome.error.contains("roster.db"), what)
      try await expectWhole(what)
      let next = try await site.rosterd("sync")
      #expect(next.exit == 0, "\(what), then \(next.error)")
      try await expectWell(what)
    }
  }

  private mutating func begin() async throws {
    version += 1
    site.next(version)
    try await prepare()
  }

  private func expectWell(_ what: Comment) async throws {
    try await site.expectWell()
    let names = try site.names()
    #expect(!names.contains { $0.contains("damaged") || $0.contains(".new") }, "\(names) \(what)")
    let told = FileManager.default.contents(atPath: "\(site.cache).published") ?? Data()
    let found = try await site.rows(
      "SELECT snapshot || ' ' || (SELECT coalesce(max(id), 0) FROM changes) || char(10) FROM cache_info")
    #expect(found == [[String(decoding: told, as: UTF8.self)]], what)
  }

  private func prepare() async throws {
    switch stage {
    case .first: for name in try site.names() { unlink("\(site.folder)/state/\(name)") }
    case .changing: break
    case .redefined:
      // The cache of an older definition without a column for the gender.
      let outcome = try await Program.run(
        try Program.tool("sqlite3"),
        arguments: [
          site.cache,
          """
          BEGIN; UPDATE characters SET extra = json_patch(coalesce(extra, '{}'), json_object('gender', gender));
          ALTER TABLE characters DROP COLUMN gender;
          UPDATE resources SET definition = json_remove(definition, '$.columns.gender'); COMMIT;
          """,
        ])
      try #require(outcome.exit == 0, "\(outcome.error)")
    }
  }

  /// Expects that all characters have the same version, the last or the previous one, and the same definition.
  private func expectWhole(_ what: Comment) async throws {
    guard FileManager.default.fileExists(atPath: site.cache) else { return }
    #expect(try await site.rows("PRAGMA integrity_check") == [["ok"]], what)
    let versions = try await site.rows("SELECT DISTINCT substr(name, instr(name, '·v') + 2) FROM characters")
    #expect(
      versions == [["\(version)"]] || versions == [["\(version - 1)"]] || stage == .first && versions.isEmpty, what)
    guard stage == .redefined else { return }
    let columns = try await site.rows("SELECT count(*) FROM pragma_table_info('characters') WHERE name = 'gender'")
    let defined = try await site.rows("SELECT definition ->> '$.columns.gender' IS NOT NULL FROM resources")
    #expect(columns == defined, what)
    let genders = columns == [["1"]] ? "gender" : "extra ->> '$.gender'"
    #expect(try await site.rows("SELECT count(*) FROM characters WHERE \(genders) <> ''") == [["60"]], what)
  }
}
