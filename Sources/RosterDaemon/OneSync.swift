package import Logging
package import RosterModel
import RosterStatus
import RosterSync

/// `rosterd sync`: one sync without a daemon.
package enum OneSync {
  /// Throws the Failure that kept it from starting; how the sync ended is in the report.
  /// - Parameter watch: runs beside the sync, with a look at its progress, and is cancelled at its end.
  package static func run(
    _ configuration: Configuration, allowRemoval: Bool, clock: WallClock = .system, logger: Logger,
    watch: @escaping @Sendable (@escaping @Sendable () -> DaemonStatus) async -> Void = { _ in }
  ) async throws -> SyncReport {
    let instance = try await Instance.open(configuration, clock: clock, logger: logger)
    let syncer = instance.syncer(SyncWish(allowRemoval: allowRemoval))
    let report = await withTaskGroup(of: Void.self) { group in
      group.addTask { await watch { instance.board.status() } }
      let report = await syncer.run()
      group.cancelAll()
      return report
    }
    await instance.close()
    return report
  }
}
