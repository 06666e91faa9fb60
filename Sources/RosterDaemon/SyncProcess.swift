import FoundationEssentials
import RosterConfiguration
import RosterDecode
import RosterFetch
import RosterModel
import RosterStatus
import RosterSync

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
