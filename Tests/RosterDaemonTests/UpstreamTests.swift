import FoundationEssentials
import Logging
import RosterModel
import RosterSimulator
import Synchronization
import Testing

@testable import RosterDaemon

/// A clock whose sleeps are over at once, and remembered.
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
  @Test(
    "P11: a Retry-After beyond max_retry_after fails the next sync too, without a request; near its end a sync waits for it"
  )
  func holdOutlivesTheProcess() async throws {
    let upstream = try await Simulator.start(
      Scenario(rules: [.on(.page(1), times: 1, .status(429, retryAfter: "3600"))]))
    let workspace = try Workspace()
    let configuration = try workspace.load(
      """
      [upstream]
      base_url = "\(upstream.baseURL)"
      [cache]
      path = "\(workspace.path("roster.db"))"
      [status]
      socket = "\(workspace.path("status.sock"))"
      """)
    let naps = Naps()
    // Each run opens and closes all files, as a process does.
    func sync() async throws -> SyncReport {
      try await OneSync.run(
        configuration, allowRemoval: false, clock: naps.clock,
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
    let refused = try await sync()
    #expect(refused.exit == 69)
    let held = try await sync()
    #expect(held.exit == 69 && held.requests == 0)
    #expect(held.error?.contains("upstream wants no request before") == true)
    #expect(upstream.counts.pageRequests.count == 1 && naps.delays.isEmpty)
    naps.advance(by: 3600 - 90)
    let waited = try await sync()
    #expect(waited.outcome == .published, "\(waited.error ?? "")")
    #expect(naps.delays.map { $0.rounded() } == [90])
    await upstream.stop()
  }
}
