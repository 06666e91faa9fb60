import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterSync
import RosterTestSupport
import Testing

@testable import RosterDaemon

/// Changes to the cache's file that rosterd does not see, while upstream's validators stay valid.
@Suite struct RuntimeCacheTests {
  private static let parts = ["", "-wal", "-shm"]

  private func remove(_ path: String) {
    for part in Self.parts { unlink(path + part) }
  }

  /// Expects a sync that transfers everything, because the cache is empty.
  private func expectAnew(_ bench: Bench, sentence: Comment) async throws {
    let before = bench.upstream.counts.pageRequests.count
    let report = try await bench.sync()
    let asked = bench.requests(after: before)
    #expect(report.outcome == .published && report.notModified == 0 && report.resumed == 0, sentence)
    #expect(asked.compactMap(\.page) == Array(1...7) && asked.allSatisfy { $0.status == 200 }, sentence)
    #expect(try bench.cached() == bench.expected, sentence)
  }

  @Test("9: no validator outlives the cache that was removed")
  func removed() async throws {
    try await withBench { bench in
      try await bench.sync()
      remove(bench.cachePath)
      try await expectAnew(bench, sentence: "removed")
    }
  }

  @Test("9, 43: no validator outlives a damaged cache: it is moved aside, and everything is pulled again")
  func damaged() async throws {
    try await withBench { bench in
      try await bench.sync()
      remove(bench.cachePath)
      try Data(repeating: 0x5A, count: 100_000).write(to: URL(filePath: bench.cachePath))
      try await expectAnew(bench, sentence: "damaged")
      let names = try FileManager.default.contentsOfDirectory(atPath: bench.workspace.path("state"))
      #expect(names.contains { $0.hasPrefix("roster.db.damaged-") })
    }
  }

  @Test("9: a cache restored from an old copy receives the missing records", arguments: [true, false])
  func restored(brokenOffAfter: Bool) async throws {
    try await withBench { bench in
      try await bench.sync()
      let copy = bench.workspace.path("copy.db")
      try FileManager.default.copyItem(atPath: bench.cachePath, toPath: copy)
      if FileManager.default.fileExists(atPath: bench.cachePath + "-wal") {
        try FileManager.default.copyItem(atPath: bench.cachePath + "-wal", toPath: copy + "-wal")
      }
      bench.upstream.update { for index in $0.indices { $0[index] = $0[index].marked(2) } }
      try await bench.sync()
      #expect(try bench.cached() == bench.expected)
      if brokenOffAfter {
        bench.upstream.update { for index in $0.indices { $0[index] = $0[index].marked(3) } }
        bench.upstream.configure { $0.rules = [.on(.page(4), times: 1, .status(400))] }
        try await bench.sync()
      }
      remove(bench.cachePath)
      for part in ["", "-wal"] where FileManager.default.fileExists(atPath: copy + part) {
        try FileManager.default.moveItem(atPath: copy + part, toPath: bench.cachePath + part)
      }
      #expect(try bench.cached() != bench.expected)
      try await expectAnew(bench, sentence: "restored")
      #expect(try await bench.sync().outcome == .unchanged)
    }
  }

  @Test(
    "2, 9: pulled pages that were lost or damaged cost a pull, and no published page",
    arguments: [true, false])
  func pulledPagesLost(isDamaged: Bool) async throws {
    try await withBench { bench in
      try await bench.sync()
      let pulled = bench.cachePath + ".next"
      if isDamaged {
        let file = open(pulled, O_WRONLY)
        #expect(pwrite(file, [UInt8](repeating: 0x5A, count: 100), 100, 100) == 100)
        close(file)
      } else {
        remove(pulled)
      }
      let report = try await bench.sync()
      #expect(report.outcome == .unchanged && report.notModified == 7 && report.exit == 0)
    }
  }

  @Test("43: after damage in a running rosterd the sync fails with 73, and the next one pulls everything again")
  func damagedWhileRunning() async throws {
    try await withBench { bench in
      try await bench.sync()
      try await bench.with { runtime in
        // All pages except the header's, so that the open file still looks like a database.
        let file = open(bench.cachePath, O_WRONLY)
        let garbage = [UInt8](repeating: 0x5A, count: 200_000)
        #expect(pwrite(file, garbage, garbage.count, 4096) == garbage.count)
        close(file)
        bench.upstream.update { $0[0] = $0[0].marked(2) }
        let met = await runtime.sync(SyncRequest()).run()
        #expect(met.outcome == .failed && met.exit == 73)
        let after = await runtime.sync(SyncRequest()).run()
        #expect(after.outcome == .published && after.notModified == 0)
      }
      #expect(try bench.cached() == bench.expected)
      let names = try FileManager.default.contentsOfDirectory(atPath: bench.workspace.path("state"))
      #expect(names.contains { $0.hasPrefix("roster.db.damaged-") })
    }
  }
}
