import FoundationEssentials
import Logging
import RosterModel
import RosterSync
import Synchronization
import Testing

@testable import RosterDaemon

@Suite(.timeLimit(.minutes(1))) struct SyncLoopTests {
  private struct World {
    var now = Date(timeIntervalSince1970: 1_700_000_000)
    var syncs = 0
  }

  /// Each ends as it begins.
  private static func syncer(_ clock: WallClock, ended: @escaping @Sendable (SyncReport) async -> Void) -> Syncer {
    Syncer(
      upstream: "http://localhost", maxRemoval: 20, allowRemoval: false,
      steps: Syncer.Steps(
        begin: { _ throws(NotBegun) in throw NotBegun(id: 1, cause: CancellationError()) }, begun: { _, _ in },
        phase: { _ in }, prepare: { _ in },
        discover: { _, _ in (0, 0) }, pull: { _, _, _ in nil }, discard: { _ in },
        compare: { _ in throw CancellationError() }, ask: { _, _ in 0 },
        publish: { report, _, _ in report }, end: { _ in }, ended: ended),
      clock: clock, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  @Test("A clock that is set back does not put off the next sync")
  func setBack() async {
    let world = Mutex(World())
    let (naps, napped) = AsyncStream<Int>.makeStream()
    let clock = WallClock(
      now: { world.withLock { $0.now } },
      sleep: { _ in
        let syncs = world.withLock { world in
          world.now -= 7200
          return world.syncs
        }
        napped.yield(syncs)
        // The second one lasts until the loop is cancelled.
        if syncs == 2 { for await _ in AsyncStream<Never>.makeStream().stream {} }
        try Task.checkCancellation()
      })
    let loop = SyncLoop(clock: clock) { _, loop in
      Self.syncer(clock) { report in
        let next = world.withLock { world in
          world.syncs += 1
          return world.now + 900
        }
        await loop.ended(report, next: next)
      }
    }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await loop.run() }
      #expect(await naps.first { _ in true } == 1)
      #expect(await naps.first { _ in true } == 2)
      group.cancelAll()
    }
  }
}
