import RosterAuth
import RosterCache
import RosterDecode
import RosterFetch
import RosterModel
import RosterSimulator
import RosterSync

/// Two syncs of one list from the simulator, in nanoseconds a page; the simulator's own work, on loopback, is in it.
struct WholeSync {
  /// Every page is transferred.
  var first = 0.0
  /// Every page is answered 304.
  var again = 0.0

  static func timed(pages: Int) async throws -> WholeSync {
    let upstream = try await List.upstream(pages: pages)
    let transport = HTTPTransport(.init())
    do {
      let timed = try await Folder.with { folder in
        let cache = try await folder.cache([.character])
        let parts = Parts(upstream: upstream, transport: transport, cache: cache, folder: folder)
        var timed = WholeSync()
        timed.first = try await parts.spent(expecting: .published) / Double(pages)
        timed.again = try await parts.spent(expecting: .unchanged) / Double(pages)
        await cache.close()
        return timed
      }
      await transport.shutdown()
      await upstream.stop()
      return timed
    } catch {
      await transport.shutdown()
      await upstream.stop()
      throw error
    }
  }
}

/// What a sync is made of.
private struct Parts: SyncHost {
  let upstream: Simulator
  let transport: HTTPTransport
  let cache: Cache
  let folder: Folder

  func spent(expecting outcome: SyncRecord.Outcome) async throws -> Double {
    let sync = try sync()
    var record: SyncRecord?
    let spent = await CPUTime.spent { record = await sync.run() }
    guard record?.outcome == outcome else { throw NotMeasured(what: record?.error ?? "no \(outcome)") }
    return spent
  }

  private func sync() throws -> Sync {
    let clock = WallClock.system
    let tally = Tally(resources: [Resource.character.name])
    let gate = RetryAfterGate()
    let links = [Interceptor.redirects, .resend, .measure(tally, clock: clock) { _, _, _ in }]
    return Sync(
      SyncRequest(), of: [try RecordPlan(.character)], from: upstream.baseURL, into: cache, tokens: tokens(clock),
      gate: gate, send: Interceptor.chain(links, to: transport.send),
      retry: Retry(table: RetryTable(RetryDelays()), gate: gate, clock: clock), tally: tally, host: self, clock: clock,
      logger: .silent)
  }

  private func tokens(_ clock: WallClock) -> TokenKeeper {
    TokenKeeper(
      settings: TokenSettings(flow: .none, baseOrigin: upstream.origin, storePath: "\(folder.path)/token.json"),
      credentials: { _ in Credentials() }, send: transport.send, clock: clock, report: { _ in }, onStatus: { _ in },
      logger: .silent)
  }

  // MARK: SyncHost

  var settings: SyncSettings {
    SyncSettings(
      concurrency: 8, maxPages: 100_000, maxRemoval: 50, history: .seconds(86_400), maxRetryAfter: .seconds(1))
  }

  func onTransport<Value: Sendable>(_ work: @Sendable () async throws -> Value) async throws -> Value {
    try await transport.run(work)
  }

  func renewCacheLock() {}
  func renewTokenStoreLock() {}
  func began(_ record: SyncRecord, _ tally: Tally, isFresh: Bool) async {}
  func entered(_ phase: DaemonStatus.Current.Phase) {}
  func tell(_ event: Event) {}
  func ended(_ record: SyncRecord) async {}
}
