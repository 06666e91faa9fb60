import Glibc
package import Logging
package import RosterCache
package import RosterConfiguration
import RosterFiles
package import RosterModel
import RosterStatus
import RosterSync
import ServiceLifecycle
import UnixSignals

/// `rosterd sync`: one sync without a daemon.
package enum OneSync {
  /// SIGTERM, SIGINT and a terminal hangup cancel the sync; pulled pages are kept for the next one. Throws a Failure if
  /// the sync cannot start. The record says how the sync ended.
  /// - Parameters:
  ///   - request: The options of the sync.
  ///   - watch: Runs beside the sync with access to its status, and is cancelled when the sync ends.
  package static func run(
    _ configuration: Configuration, request: SyncRequest, clock: WallClock = .system, logger: Logger,
    watch: @escaping @Sendable (@escaping @Sendable () -> DaemonStatus) async -> Void = { _ in }
  ) async throws -> SyncRecord {
    let lifetime = ProcessLifetime(exit: Failure.Kind.cancelled.exitCode, clock: clock, logger: logger) { opened in
      let runtime = try await Runtime.open(configuration, isDryRun: request.isDryRun, clock: clock, logger: logger)
      opened(runtime)
      if let postponement = await runtime.postponement() {
        await runtime.close()
        throw postponement.failure
      }
      let report = await withTaskGroup(of: Void.self) { group in
        group.addTask { await watch { runtime.board.status() } }
        defer { group.cancelAll() }
        let sync = runtime.sync(request)
        return await withGracefulShutdownHandler {
          await cancelWhenGracefulShutdown { await sync.run() }
        } onGracefulShutdown: {
          runtime.stopTokenRequests()
        }
      }
      await runtime.drain()
      await runtime.close()
      return report
    }
    // After nohup(1) the sync continues.
    return try await lifetime.run(
      until: isIgnored(signal: SIGHUP) ? [.sigterm, .sigint] : [.sigterm, .sigint, .sighup])
  }

  /// The changes that a sync has pulled and not published. Call it after the sync has ended.
  package static func pending(_ configuration: Configuration) throws -> PendingChanges {
    try CacheReader(writtenFor: configuration.cache.path).pending()
  }
}
