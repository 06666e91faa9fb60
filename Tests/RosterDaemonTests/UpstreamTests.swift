import FoundationEssentials
import Logging
import RosterCore
import RosterDefinition
import RosterSimulator
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterDaemon

/// A clock whose sleeps end at once and are recorded.
private final class Naps: Sendable {
  private let state = Mutex((now: Date(), delays: [Double]()))

  var delays: [Double] { state.withLock { $0.delays } }

  func advance(by seconds: Double) { state.withLock { $0.now += seconds } }

  var clock: WallClock {
    WallClock(
      now: { self.state.withLock { $0.now } },
      sleep: { delay in
        self.state.withLock { state in
          state.now += delay.seconds
          state.delays.append(delay.seconds)
        }
      })
  }
}

@Suite struct UpstreamTests {
  /// Each sync opens and closes all files, as a process does.
  private func withSyncs(
    retryAfter: String, _ body: (Simulator, Naps, () async throws -> SyncRecord) async throws -> Void
  ) async throws {
    let upstream = try await Simulator.start(
      Scenario(rules: [.on(.page(1), times: 1, .status(429, retryAfter: retryAfter))]))
    let workspace = Workspace()
    let file = try workspace.write(
      """
      [upstream]
      base_url = "\(upstream.baseURL)"
      [cache]
      path = "\(workspace.path("roster.db"))"
      [status]
      socket = "\(workspace.path("status.sock"))"
      """)
    let configuration = try Configuration.load(file: file, environment: [:], isRoot: true).configuration
    let naps = Naps()
    try await body(upstream, naps) {
      try await OneSync.run(
        configuration, request: SyncRequest(), clock: naps.clock,
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
    await upstream.stop()
  }

  @Test("25: a Retry-After in seconds since 1970 is a day at most, restarts included; the error has its end")
  func maxHold() async throws {
    // 2100-01-01.
    try await withSyncs(retryAfter: "4102444800") { _, naps, sync in
      _ = try await sync()
      let end = naps.clock.now() + 86400
      let held = try await sync()
      #expect(held.error?.contains("wants no request before \(end.rfc3339)") == true, "\(held.error ?? "")")
      naps.advance(by: 86400 - 60)
      let next = try await sync()
      #expect(next.outcome == .published)
    }
  }

  @Test("25: a Retry-After from the future, stored by a wrong clock, is dropped")
  func wrongClock() async throws {
    try await withSyncs(retryAfter: "3600") { _, naps, sync in
      let refused = try await sync()
      naps.advance(by: -1000)
      let next = try await sync()
      #expect(refused.exit == 69 && next.outcome == .published)
    }
  }

  @Test(
    "25: a long Retry-After fails the next sync without a request; near its end a sync waits for it"
  )
  func holdOutlivesTheProcess() async throws {
    try await withSyncs(retryAfter: "3600") { upstream, naps, sync in
      let refused = try await sync()
      #expect(refused.exit == 69)
      let held = try await sync()
      #expect(held.exit == 69 && held.requests == 0)
      #expect(held.error?.contains("upstream wants no request before") == true)
      #expect(held.error?.contains("UPDATE cache_identity SET held_until = NULL") == true)
      #expect(upstream.counts.pageRequests.count == 1 && naps.delays.isEmpty)
      naps.advance(by: 3600 - 90)
      let waited = try await sync()
      #expect(waited.outcome == .published, "\(waited.error ?? "")")
      // Pages are collected for a tenth of a second before they are stored together.
      #expect(naps.delays.map { $0.rounded() }.filter { $0 > 0 } == [90])
    }
  }
}
