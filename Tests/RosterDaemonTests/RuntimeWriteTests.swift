import RosterCore
import RosterSimulator
import RosterSync
import RosterTestSupport
import Testing

@testable import RosterCache
@testable import RosterDaemon

/// The amount of data that a sync writes to the file.
@Suite struct RuntimeWriteTests {
  /// Enough rows in `syncs` that its tables are trees of several pages. The next row must not split a page.
  private static let earlierSyncs = 120

  /// The tables that change with a text outside the full-text index. The schema's table is page 1, which contains the
  /// file's size.
  private static let ofOneText: Set = [
    "characters", "cache_changes", "changes_by_record", "sqlite_sequence", "syncs", "syncs_by_outcome",
    "sync_resources",
    "cache_pages", "sqlite_schema",
  ]

  /// An idle cache after these syncs, a change and a reject.
  private func withOldCache(
    _ validators: Scenario.Validators, body: (Bench) async throws -> Void
  ) async throws {
    let reject = Rule.on(.page(2), .records([3: #"{"id":null,"name":"nobody"}"#]))
    var scenario = Scenario(characters: sevenPages, rules: [reject])
    scenario.validators = validators
    // HTTP's dates have seconds only, so each reading of the clock is one second later.
    let clock = ManualClock()
    let upstreamTime = { @Sendable in
      clock.advance(by: .seconds(1))
      return clock.now
    }
    try await withBench(scenario, upstreamTime: upstreamTime) { bench in
      try await bench.with { runtime in
        for number in 0..<Self.earlierSyncs {
          if number == 1 { bench.upstream.update { $0[7] = $0[7].marked(1) } }
          #expect(await runtime.sync(SyncRequest()).run().exit == 0)
        }
      }
      try await body(bench)
    }
  }

  @Test(
    "9: a sync that finds nothing new changes no page of the file except those of syncs",
    arguments: RuntimeResumeTests.validators)
  func nothingNew(validators: Scenario.Validators) async throws {
    try await withOldCache(validators) { bench in
      let before = try FileContent(of: bench.cachePath)
      let report = try await bench.sync()
      #expect(report.outcome == .unchanged && report.rejected == 1)
      #expect(report.notModified == (validators == .none ? 0 : 7))
      let after = try FileContent(of: bench.cachePath)
      let changed = after.pagesChanged(since: before)
      #expect(changed == ["syncs": 1, "syncs_by_outcome": changed["syncs_by_outcome"] ?? 0, "sync_resources": 1])
      #expect(after.rowsChanged(since: before) == ["syncs": [1, 0], "sync_resources": [1, 0]])

      try await bench.with { runtime in
        let written = try WrittenPages(of: bench.cachePath)
        #expect(await runtime.sync(SyncRequest()).run().outcome == .unchanged)
        let pages = try written.count()
        #expect(pages == ["syncs": 1, "syncs_by_outcome": pages["syncs_by_outcome"] ?? 0, "sync_resources": 1])
        // One commit for the running sync, and one for its end.
        #expect(try written.commits() == 2)
      }
    }
  }

  @Test("2, 9: a failed sync changes no page of the file except those of syncs")
  func failed() async throws {
    try await withOldCache(.etag) { bench in
      bench.upstream.update { $0[3] = $0[3].marked(2) }
      bench.upstream.configure { $0.rules.append(.on(.page(6), .status(400))) }
      let before = try FileContent(of: bench.cachePath)
      #expect(try await bench.sync().outcome == .failed)
      let after = try FileContent(of: bench.cachePath)
      #expect(Set(after.pagesChanged(since: before).keys).isSubset(of: ["syncs", "syncs_by_outcome"]))
      #expect(after.rowsChanged(since: before) == ["syncs": [1, 0]])
    }
  }

  @Test(
    "9: one changed character of one text writes one row, and one change with before and after",
    arguments: RuntimeResumeTests.validators)
  func oneCharacter(validators: Scenario.Validators) async throws {
    try await withOldCache(validators) { bench in
      let before = try FileContent(of: bench.cachePath)
      let was = bench.upstream.characters[100]
      bench.upstream.update { $0[100].status += "!" }
      let report = try await bench.sync()
      #expect([report.added, report.changed, report.removed] == [0, 1, 0])
      let after = try FileContent(of: bench.cachePath)
      var rows = after.rowsChanged(since: before)
      // Upstream may have sent the same bodies with new dates.
      let renewed = rows.removeValue(forKey: "cache_pages")
      #expect(renewed == [1, 1] || validators == .lastModified(age: .seconds(60)) && renewed == [7, 7])
      #expect(
        rows == [
          "characters": [1, 1], "cache_changes": [1, 0], "sqlite_sequence": [1, 1], "syncs": [1, 0],
          "sync_resources": [1, 0],
        ])
      var pages = after.pagesChanged(since: before)
      #expect(pages.removeValue(forKey: "characters") == 1)
      #expect(Set(pages.keys).isSubset(of: Self.ofOneText), "\(pages)")

      let written = try Database(path: bench.cachePath, access: .readOnly)
      #expect(
        try written.rows("SELECT id FROM characters WHERE changed_sync = \(report.id)") { $0.integer(0) } == [was.id])
      let change = try written.rows(
        """
        SELECT record_id, kind, before ->> 'status', after ->> 'status',
          json_remove(before, '$.status') = json_remove(after, '$.status') FROM changes WHERE sync_id = \(report.id)
        """
      ) { [$0.text(0), $0.text(1), $0.text(2), $0.text(3), $0.text(4)] }
      #expect(change == [["\(was.id)", "changed", was.status, was.status + "!", "1"]])

      try await bench.with { runtime in
        bench.upstream.update { $0[100].status += "!" }
        let written = try WrittenPages(of: bench.cachePath)
        #expect(await runtime.sync(SyncRequest()).run().changed == 1)
        let tables = Set(try written.count().keys)
        #expect(tables.contains("characters") && tables.isSubset(of: Self.ofOneText), "\(tables)")
      }
    }
  }

  @Test("9: a changed name is written once more in the index of words, and nowhere else")
  func oneName() async throws {
    try await withOldCache(.etag) { bench in
      let before = try FileContent(of: bench.cachePath)
      bench.upstream.update { $0[100].name += " Quince" }
      #expect(try await bench.sync().changed == 1)
      let changed = try FileContent(of: bench.cachePath).rowsChanged(since: before)
      #expect(changed["characters"] == [1, 1] && changed["cache_changes"] == [1, 0])
      #expect(
        Set(changed.keys).isSubset(of: [
          "characters", "cache_changes", "sqlite_sequence", "syncs", "characters_fts_data", "characters_fts_idx",
          "sync_resources", "cache_pages",
        ]), "\(changed)")
    }
  }

  @Test("9: one more episode is one more row in character_episodes")
  func oneEpisode() async throws {
    try await withOldCache(.etag) { bench in
      let before = try FileContent(of: bench.cachePath)
      bench.upstream.update { $0[100].episodes.append("https://roster.example/api/episode/99") }
      #expect(try await bench.sync().changed == 1)
      #expect(
        try FileContent(of: bench.cachePath).rowsChanged(since: before) == [
          "characters": [1, 1], "character_episodes": [1, 0], "cache_changes": [1, 0], "sqlite_sequence": [1, 1],
          "syncs": [1, 0], "sync_resources": [1, 0], "cache_pages": [1, 1],
        ])
    }
  }
}
