import FoundationEssentials
import Glibc
import RosterCache
import RosterCore
import RosterSimulator
import RosterSync
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterDaemon

/// The report of a sync, from its beginning to its end.
@Suite struct RuntimeSyncsTests {
  @Test("1, 28: readers see a published sync while it can still be joined and is listed as running")
  func stillJoined() async throws {
    try await withBench { bench in
      try await bench.with { runtime in
        let seen = Mutex<[[SyncRecord]]>([])
        let look: @Sendable (SyncRecord) async -> Date? = { _ in
          let rows = (try? CacheReader(path: bench.cachePath).recent(limit: 9)) ?? []
          let list = (try? await runtime.recent(SyncsRequest(limit: 9))) ?? []
          seen.withLock { $0 = [rows, list] }
          return nil
        }
        let report = await runtime.sync(SyncRequest(), ended: look).run()
        let (rows, list) = seen.withLock { ($0[0], $0[1]) }
        #expect(rows == [report] && report.outcome == .published)
        #expect(list.map(\.outcome) == [.running] && list[0].finishedAt == nil && list[0].pages == 7)
        let after = try await runtime.recent(SyncsRequest(limit: 9))
        #expect(after == [report])
      }
    }
  }

  @Test("A sync that finds an unusable folder of the token store (73) has a row and an id")
  func tokenFolder() async throws {
    let scenario = Scenario(characters: sevenPages, tokens: .init(flow: .oauth2Refresh))
    let workspace = Workspace()
    let store = workspace.path("tokens/token.json")
    try await withBench(scenario, environment: ["ROSTERD_AUTH_TOKEN_STORE": store]) { bench in
      try await bench.with { runtime in
        #expect(await runtime.sync(SyncRequest()).run().exit == 0)
        try FileManager.default.removeItem(atPath: workspace.path("tokens"))
        try workspace.write("", to: "tokens")
        var report = await runtime.sync(SyncRequest()).run()
        #expect(report.id == 2 && report.exit == 73 && report.error?.contains(store) == true)
        // The row has the sentence; the items concerned are in a file beside the cache.
        #expect(report.trouble != nil)
        report.trouble = nil
        #expect(try await runtime.recent(SyncsRequest(limit: 1)) == [report])
      }
    }
  }
}
