import FoundationEssentials
import RosterAuth
import RosterCache
import RosterCore
import RosterDecode
import RosterFetch
import RosterSync

/// One sync after the other into one cache.
struct BenchSync: SyncHost {
  let resources: [Resource]
  let baseURL: String
  let send: Send
  /// nil if `send` never waits for a network.
  var transport: HTTPTransport?
  let cache: Cache
  let folder: Folder

  func run(_ request: SyncRequest = SyncRequest(), expecting outcome: SyncRecord.Outcome) async throws {
    let ended = try await sync(request).run()
    guard ended.outcome == outcome else { throw NotMeasured(what: ended.error ?? "no \(outcome)") }
  }

  private func sync(_ request: SyncRequest) throws -> Sync {
    let clock = WallClock.system
    let tally = Tally(resources: resources.map(\.name))
    let gate = RetryAfterGate()
    let links = [Interceptor.redirects, .resend, .measure(tally, clock: clock) { _, _, _ in }]
    return Sync(
      request, of: try resources.map { try RecordPlan($0) }, from: baseURL, into: cache, tokens: tokens(clock),
      gate: gate,
      send: Interceptor.chain(links, to: send),
      retry: Retry(table: RetryTable(RetryDelays()), gate: gate, clock: clock), tally: tally, host: self, clock: clock,
      logger: .silent)
  }

  private func tokens(_ clock: WallClock) -> TokenKeeper {
    TokenKeeper(
      settings: TokenSettings(flow: .none, baseOrigin: baseURL, storePath: "\(folder.path)/token.json"),
      credentials: { _ in Credentials() }, send: send, clock: clock, report: { _ in }, onStatus: { _ in },
      logger: .silent)
  }

  // MARK: SyncHost

  var settings: SyncSettings {
    SyncSettings(
      concurrency: 8, maxPages: 100_000, maxRemoval: 50, history: .seconds(86_400), maxRetryAfter: .seconds(1))
  }

  func onTransport<Value: Sendable>(
    _ work: nonisolated(nonsending) @Sendable () async throws -> Value
  ) async throws -> Value {
    if let transport { return try await transport.run(work) }
    return try await work()
  }

  var pausedUntil: Date? { nil }

  func permits(requests: Int) -> Bool { true }
  func renewCacheLock() {}
  func renewTokenStoreLock() {}
  func began(_ record: SyncRecord, tally: Tally, isFresh: Bool) async {}
  func entered(_ phase: DaemonStatus.Current.Phase) {}
  func tell(_ event: Event) {}
  func ended(_ record: SyncRecord) async {}
}
