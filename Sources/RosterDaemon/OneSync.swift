import FoundationEssentials
import Glibc
package import Logging
package import RosterCache
package import RosterCore
import RosterDecode
package import RosterDefinition
import RosterFetch
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

/// The view that a sync has of its rosterd.
struct SyncProcess: SyncHost {
  let runtime: Runtime
  /// Called with the sync's id as soon as its row is written.
  let begun: @Sendable (Int64) async -> Void
  /// Called with the record of the ended sync; returns the start of the next one.
  let ended: @Sendable (SyncRecord) async -> Date?

  var settings: SyncSettings {
    let line = runtime.live.line
    return SyncSettings(
      concurrency: line.configuration.sync.concurrency, maxPages: line.configuration.sync.maxPages,
      maxRemoval: line.configuration.sync.maxRemoval, history: line.configuration.cache.history,
      maxRetryAfter: line.configuration.retry.maxRetryAfter, links: line.configuration.upstream.links)
  }

  func onTransport<Value: Sendable>(_ work: @Sendable () async throws -> Value) async throws -> Value {
    try await runtime.live.use { line in try await line.transport.run(work) }
  }

  func permits(requests: Int) -> Bool { runtime.limits.ledger.wait(for: requests) == nil }

  var pausedUntil: Date? { runtime.limits.ledger.wait(for: nil).map { runtime.clock.now() + $0.seconds } }

  func renewCacheLock() throws { try runtime.renewCacheLock() }

  func renewTokenStoreLock() throws { try runtime.renewTokenStoreLock() }

  func began(_ record: SyncRecord, tally: Tally, isFresh: Bool) async {
    await runtime.renewClientCertificate()
    runtime.reporter.began(record, tally: tally, isFresh: isFresh)
    await begun(record.id)
  }

  func entered(_ phase: DaemonStatus.Current.Phase) {
    runtime.pulse.moved()
    runtime.board.phase(phase)
  }

  func tell(_ event: Event) { runtime.reporter.report(event) }

  func ended(_ record: SyncRecord) async {
    if [.published, .unchanged, .tried].contains(record.outcome) { runtime.limits.ledger.syncWentWell() }
    await runtime.finish(record, next: await ended(record))
  }
}

extension Runtime {
  /// Makes one sync, ready to run. `begun` and `ended` report its progress to an observer.
  func sync(
    _ request: SyncRequest, begun: @escaping @Sendable (Int64) async -> Void = { _ in },
    ended: @escaping @Sendable (SyncRecord) async -> Date? = { _ in nil }
  ) -> Sync {
    let tally = Tally(resources: plans.map(\.resource.name))
    let upstream = Upstream(self)
    return Sync(
      request, of: plans, from: live.configuration.upstream.baseURL, into: cache, tokens: keeper, gate: gate,
      send: upstream.send(tally), retry: upstream.retry, tally: tally,
      host: SyncProcess(runtime: self, begun: begun, ended: ended), clock: clock, logger: logger)
  }
}
