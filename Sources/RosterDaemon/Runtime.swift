import FoundationEssentials
import Glibc
import Logging
import RosterAuth
import RosterCache
package import RosterCore
import RosterDecode
import RosterDefinition
import RosterFetch
import RosterStatus
import RosterSync
import Synchronization

/// The resources of one rosterd, opened in order and closed in reverse. This is the only place where the adapters meet.
struct Runtime: Sendable {
  let live: LiveConfiguration
  let cache: Cache
  /// Serves the readers on the socket.
  let reader: SideReader
  let keeper: TokenKeeper
  let limits: Limits
  let reporter: Reporter
  let pulse: Pulse
  let clock: WallClock
  let logger: Logger

  private let locks: Locks
  let gate: RetryAfterGate
  let plans: [RecordPlan]
  private let troubles: Troubles
  private let syncEnds = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

  var board: StatusBoard { reporter.board }
  var signsOfLife: SignsOfLife.Verdict { pulse.verdict(limit: live.configuration.maxSilenceOfSync) }

  /// The time before which upstream wants no request.
  var heldUntil: Date? { gate.until(clock) }

  /// The start of a sync that is due: later if `limit.budget` does not suffice for it by then.
  func start(ofSyncDue due: Date) async -> Date { max(due, await postponement()?.until ?? due) }

  /// nil if `limit.budget` suffices for a sync now.
  @Sendable func postponement() async -> Postponement? {
    // If the cache cannot be read, the sync itself will report that.
    guard limits.ledger.usage != nil, let facts = try? await cache.facts() else { return nil }
    return Postponement(
      limits.ledger, requests: facts.requests, baseURL: live.configuration.upstream.baseURL, clock: clock)
  }

  /// Throws a Failure: 73 for a file that cannot be opened, 75 for a file that another rosterd owns, 78 for a missing
  /// credential or an invalid ca_file.
  static func open(
    _ configuration: Configuration, renewsTokens: Bool = false, isDryRun: Bool = false, clock: WallClock,
    logger: Logger,
    watching: @escaping EventSink = { _ in }
  ) async throws -> Runtime {
    let settings = try HTTPTransport.Settings(configuration)
    let path = try CacheFile.resolve(configuration.cache.path)
    let hadLock = CacheFile.hasLock(path)
    // No lock file is created beside a file that is not a cache of rosterd.
    _ = try CacheFile.inspect(path, hadLock: hadLock)
    try makeFolder(of: path, mode: cacheFolderMode)
    let locks = Locks(try Ownership(of: path))
    try locks.ownTokenStore(configuration)
    warnOfNetwork(path, logger: logger)
    let pulse = Pulse()
    let resources = configuration.resources
    let cache = try await Cache.open(
      path: path, upstream: configuration.upstream.baseURL, resources: resources, hadLock: hadLock,
      wasReleased: locks.wasCacheReleased, now: clock.now(), logger: logger, tick: pulse.moved)
    let live = LiveConfiguration(configuration, settings: settings)
    do {
      let gate = RetryAfterGate(try await cache.retryAfterHold(), clock: clock) { hold in
        do { try await cache.keep(hold) } catch {
          logger.warning("cannot store Retry-After, so a restart will forget it: \(error)")
        }
      }
      let troubles = Troubles(beside: path, last: try await cache.lastTrouble())
      let limits = try Limits(configuration, cachePath: path, clock: clock, logger: logger)
      var facts = try await cache.facts()
      facts.conclusive?.trouble = troubles.last
      if facts.last?.id == facts.conclusive?.id { facts.last = facts.conclusive }
      let board = board(configuration, path: path, clock: clock, facts: facts) {
        var now = StatusBoard.Limits()
        (now.interval, now.heldUntil) = (live.configuration.sync.interval, gate.until(clock))
        (now.budget, now.certificateEnd) = (limits.ledger.usage, live.certificateEnd)
        now.secrets = live.configuration.secretPlaces
        return now
      }
      let reporter = Reporter(board: board, logger: logger, moved: pulse.moved, watching: watching)
      let keeper = TokenKeeper(
        settings: TokenSettings(configuration), renewsBetweenSyncs: renewsTokens, isDryRun: isDryRun,
        credentials: { try Credentials(folder: $0) },
        send: { request in try await live.use { try await limits.sendToken(request, by: $0) } }, clock: clock,
        report: reporter.report, onStatus: board.token,
        logger: logger)
      try await keeper.open()
      return Runtime(
        live: live, cache: cache, reader: SideReader(beside: cache), keeper: keeper, limits: limits, reporter: reporter,
        pulse: pulse, clock: clock, logger: logger, locks: locks, gate: gate,
        plans: try resources.map { try RecordPlan($0) }, troubles: troubles)
    } catch {
      await cache.close()
      locks.release(isCacheSound: await !cache.needsCheck)
      await live.close()
      throw error
    }
  }

  /// Other users pass through the folder to read the cache.
  private static let cacheFolderMode: mode_t = 0o755

  private static func warnOfNetwork(_ path: String, logger: Logger) {
    guard let type = NetworkFileSystem.type(of: path) else { return }
    logger.warning(
      "the cache is on a network file system (\(type)), which cannot share SQLite's log: readers on other machines may see damage; set cache.path to a local disk",
      metadata: ["path": "\(path)"])
  }

  private static func board(
    _ configuration: Configuration, path: String, clock: WallClock, facts: CacheFacts,
    limits: @escaping @Sendable () -> StatusBoard.Limits
  ) -> StatusBoard {
    let board = StatusBoard(
      pid: getpid(), startedAt: clock.now(), baseURL: configuration.upstream.baseURL,
      cachePath: path,
      config: .init(path: configuration.path, loadedAt: clock.now().rfc3339), flow: configuration.auth.flow.rawValue,
      clock: clock, cache: facts, last: facts.last, limits: limits)
    if let unit = configuration.path.flatMap({ Defaults.system.unit(ofFile: $0) }) {
      board.runs(as: unit)
    } else if ProcessInfo.processInfo.environment["MANAGERPID"] != nil {
      // A user's own service manager sets it for its services (systemd.exec(5)).
      board.runs(as: "rosterd", isOfUser: true)
    }
    return board
  }

  /// Applies other settings to the session, as `TokenKeeper.reload`. A flow with a token store locks the store first.
  func reload(_ configuration: Configuration) async throws {
    try locks.ownTokenStore(configuration)
    try limits.change(configuration)
    do { try await keeper.reload(TokenSettings(configuration)) } catch {
      try limits.change(live.configuration)
      throw error
    }
  }

  /// Before a sync: takes another client certificate or key; a bad pair changes nothing.
  func renewClientCertificate() async {
    do {
      let line = live.line
      await live.renew(try line.configuration.clientIdentity(), of: line)
      board.refusesCertificate(by: nil)
    } catch {
      board.refusesCertificate(by: error.failure)
      reporter.report(Event(.configRefused, error: "\(error.failure)"))
    }
  }

  /// After an unclean stop: reads the whole cache, and rebuilds it if it is damaged.
  func checkCache() async {
    guard await cache.opened.wasUnclean else { return }
    do {
      if try await !cache.check() {
        _ = try await cache.recover(at: clock.now())
        board.cache(try await cache.facts())
      }
    } catch is CancellationError {
      return
    } catch {
      logger.error("the cache could not be checked: \(error)")
    }
  }

  /// Runs until it is cancelled. If a reader's open transaction blocked the checkpoint after a sync, the log is written
  /// back as soon as that transaction has ended.
  func shortenLog() async {
    for await _ in syncEnds.stream {
      var isTold = false
      while await cache.isWALPinned, (try? await clock.sleep(Self.logLook)) != nil {
        await cache.shortenLog()
        if await cache.isWALPinned, !isTold {
          isTold = true
          logger.warning("a reader keeps a transaction open: the cache's -wal cannot shrink until it ends")
        }
        if let facts = try? await cache.facts() { board.cache(facts) }
      }
    }
  }

  /// Short enough for a person who watches the file.
  private static let logLook = Duration.seconds(5)

  /// Maximum time that a stop waits for the answer to a token request that was sent. Everything has 5 s.
  private static let maxDrain = Duration.seconds(4)

  /// A request to retry the session during a sync joins that sync.
  @Sendable func retrySession() async { await keeper.retrySession() }

  /// A request for a new token during a sync joins that sync.
  @Sendable func requestNewToken() async { await keeper.requestNewToken() }

  /// Prevents new token requests; a running one continues.
  func stopTokenRequests() {
    keeper.stop()
    limits.pacer.stop()
  }

  /// Prevents new token requests and waits for the running one.
  func drain() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await keeper.drain() }
      group.addTask { try? await sleepFromStop(Self.maxDrain, clock: clock) }
      await group.next()
      group.cancelAll()
    }
  }

  /// The latest syncs, newest first. A sync that can still be joined is listed as running, even if its row
  /// already has an end.
  func recent(_ request: SyncsRequest) async throws -> [SyncRecord] {
    board.recent(try await reader.recent(request))
  }

  /// Completes the files and releases the locks for the next rosterd. May be called again.
  func closeFiles() async {
    await reader.close()
    await cache.close()
    locks.release(isCacheSound: await !cache.needsCheck)
  }

  /// Call it after `drain`. Files are closed first: connections may take their time, and no data depends on them.
  func close() async {
    await closeFiles()
    await live.close()
  }

  /// If the folder was removed, the lock must be in the new one, before another process creates and locks it.
  func renewCacheLock() throws {
    try makeFolder(of: cache.path, mode: Self.cacheFolderMode)
    try locks.renewCache()
  }

  /// Does the same for the token store's lock.
  func renewTokenStoreLock() throws { try locks.renewTokenStore() }

  /// The record with a warning if the session ends before the next sync.
  private func notingSessionEnd(_ record: SyncRecord) async -> SyncRecord {
    guard record.trouble == nil, record.exit == 0 else { return record }
    let next = clock.now() + live.configuration.sync.interval.seconds
    guard let end = await keeper.sessionEnd(before: next) else { return record }
    var record = record
    let trouble = Diagnosis.expiringSession(at: end.rfc3339, next: next.rfc3339)
    record.trouble = trouble
    logger.warning("\(trouble.what)")
    return record
  }

  /// Reports the end of a sync to all observers.
  func finish(_ record: SyncRecord, next: Date?) async {
    // If the cache cannot be read now, other readers may still be able to. So the status keeps the facts that it has.
    var facts: CacheFacts?
    do { facts = try await cache.facts() } catch { logger.error("cannot read the cache: \(error)") }
    reporter.ended(troubles.noted(await notingSessionEnd(record)), cache: facts, next: next)
    syncEnds.continuation.yield()
  }
}

extension Configuration {
  /// The places of the token and of other secrets in a request, for a person who repeats it.
  fileprivate var secretPlaces: [TokenPlace] { auth.flow.sendsToken ? TokenSettings(self).places : [] }
}

/// Number of requests that the lists of the last successful sync need, all together and of each resource; nil before
/// the first one. Throws a Failure if the cache exists and cannot be read. Never creates `-wal` or `-shm`.
package func requestsOfLastSync(cachePath path: String) throws -> (all: Int, costs: [String: PullCost])? {
  guard let reader = try reader(path), let requests = try reader.requests() else { return nil }
  return (requests, try reader.pullCosts())
}

private func reader(_ path: String) throws -> CacheReader? {
  guard access(path, F_OK) == 0 else { return nil }
  let isOpen = ["-wal", "-shm"].allSatisfy { access(path + $0, F_OK) == 0 }
  if isOpen { return try CacheReader(path: path) }
  // Without `-shm`, a user who may not create it cannot read a `-wal` that has content.
  guard fileSize("\(path)-wal") == 0 else {
    throw Failure(
      .cannotWrite, step: "read", subject: path, cause: "\(path)-wal has changes, and there is no \(path)-shm",
      hint: "start rosterd, which adds them to the cache")
  }
  return try CacheReader(closed: path)
}

/// The current `[limit]` settings: the pacer and the request counter for pages and tokens. Without a limit they have no
/// effect.
struct Limits: Sendable {
  let pacer: RequestPacer
  let ledger: BudgetLedger

  /// Throws a Failure (73) if the budget file cannot be written.
  init(_ configuration: Configuration, cachePath: String, clock: WallClock, logger: Logger) throws(Failure) {
    pacer = RequestPacer(rate: configuration.limit.rate, clock: clock)
    ledger = BudgetLedger(
      path: "\(cachePath).budget", upstream: configuration.upstream.baseURL, clock: clock, logger: logger)
    try ledger.change(configuration.limit.budget)
  }

  /// Applies the limits of a reload. Throws the same errors as `init`, and then nothing has changed.
  func change(_ configuration: Configuration) throws(Failure) {
    try ledger.change(configuration.limit.budget)
    pacer.change(rate: configuration.limit.rate)
  }

  /// Sends a token request within the limits.
  func sendToken(_ request: Request, by line: LiveConfiguration.Snapshot) async throws -> Response {
    let limit = line.configuration.limit
    let links = (limit.rate > 0 ? [Interceptor.pace(pacer)] : []) + counting(line.configuration)
    return try await Interceptor.chain(links, to: line.transport.send)(request)
  }

  /// The budget counter, which follows the interceptors that send a request several times; empty without a budget.
  func counting(_ configuration: Configuration) -> [Interceptor] {
    configuration.limit.budget == nil ? [] : [.budget(ledger)]
  }
}

/// Remembers since when syncs have had the same failure, across restarts.
final class Troubles: Sendable {
  private let file: TroubleFile
  private let latest: Mutex<Diagnosis?>

  /// - Parameter last: The failure of the last conclusive sync.
  init(beside cache: String, last: Diagnosis?) {
    file = TroubleFile(beside: cache)
    latest = Mutex(last)
  }

  /// The failure of the last sync that was not cancelled or interrupted; nil if that sync succeeded.
  var last: Diagnosis? { latest.withLock { $0 } }

  /// Returns the record with the start of its failure, and stores the failure for the next process.
  func noted(_ record: SyncRecord) -> SyncRecord {
    guard record.outcome.isConclusive else { return record }
    var record = record
    var trouble = record.diagnosis
    let isNews = latest.withLock { latest in
      let isSame = latest?.kind.family == trouble?.kind.family
      trouble?.since = isSame ? latest?.since ?? record.finishedAt : record.finishedAt
      defer { latest = trouble }
      return latest != nil || trouble != nil
    }
    record.trouble = trouble
    if isNews { file.write(record) }
    return record
  }
}
