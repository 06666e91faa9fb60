import Glibc
package import Logging
package import RosterModel
import RosterStatus
import RosterSync
import UnixSignals

/// `rosterd sync`: one sync without a daemon.
package enum OneSync {
  private enum Part: Sendable {
    case sync(SyncReport)
    case signal
    case watch
  }

  /// SIGTERM, SIGINT and a terminal that hangs up cancel the sync: what was pulled is kept for the next one.
  /// Throws the Failure that kept it from starting; how the sync ended is in the report.
  /// - Parameter watch: runs beside the sync, with a look at its progress, and is cancelled at its end.
  package static func run(
    _ configuration: Configuration, allowRemoval: Bool, clock: WallClock = .system, logger: Logger,
    watch: @escaping @Sendable (@escaping @Sendable () -> DaemonStatus) async -> Void = { _ in }
  ) async throws -> SyncReport {
    let signals = await UnixSignalsSequence(
      trapping: isHangupIgnored ? [.sigterm, .sigint] : [.sigterm, .sigint, .sighup])
    let instance = try await Instance.open(configuration, clock: clock, logger: logger)
    let syncer = instance.syncer(SyncWish(allowRemoval: allowRemoval))
    let report = await withTaskGroup(of: Part.self) { group -> SyncReport? in
      group.addTask { .sync(await syncer.run()) }
      group.addTask {
        await watch { instance.board.status() }
        return .watch
      }
      group.addTask {
        for await _ in signals { return .signal }
        return .watch
      }
      var report: SyncReport?
      for await part in group {
        if case .sync(let ended) = part { report = ended }
        if case .watch = part { continue }
        if case .signal = part { instance.stopTokenRequests() }
        group.cancelAll()
      }
      return report
    }
    await instance.drain(waitingForToken: report?.outcome == .cancelled ? Instance.longestDrain : nil)
    await instance.close()
    guard let report else { throw CancellationError() }
    return report
  }

  /// Under nohup(1) it goes on.
  private static var isHangupIgnored: Bool {
    var action = sigaction()
    sigaction(SIGHUP, nil, &action)
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
