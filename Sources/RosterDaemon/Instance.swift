import FoundationEssentials
import Glibc
import Logging
import RosterAuth
import RosterCache
import RosterConfiguration
import RosterFetch
import RosterFiles
import RosterModel
import RosterStatus
import RosterSync

/// What one rosterd owns and works with, opened in order and closed in reverse: the one place where the adapters meet.
struct Instance: Sendable {
  let live: Live
  let cache: Cache
  let keeper: TokenKeeper
  let reporter: Reporter
  let pulse: Pulse
  let clock: WallClock
  let logger: Logger

  private let locks: Locks
  private let hold: Hold
  private let syncEnds = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

  var board: StatusBoard { reporter.board }
  var signsOfLife: SignsOfLife.Verdict { pulse.verdict(limit: live.configuration.longestSilenceOfSync) }
  /// Upstream wants no request before.
  var heldUntil: Date? { hold.until(clock) }

  /// Throws a Failure: 73 for what cannot be opened, 75 for what another rosterd owns, 78 for a credential that is missing or a bad ca_file.
  static func open(
    _ configuration: Configuration, clock: WallClock, logger: Logger, watching: @escaping Report = { _ in }
  ) async throws -> Instance {
    let settings = try HTTPTransport.Settings(configuration)
    let path = try CacheFile.resolve(configuration.cache.path)
    let hadLock = CacheFile.hasLock(path)
    // A file of somebody else's gets no lock beside it.
    _ = try CacheFile.inspect(path, hadLock: hadLock)
    try makeFolder(of: path, mode: cacheFolderMode)
    let locks = Locks(try Ownership(of: path))
    try locks.ownTokenStore(configuration)
    warnOfNetwork(path, logger)
    let pulse = Pulse()
    let cache = try await Cache.open(
      path: path, upstream: configuration.upstream.baseURL, hadLock: hadLock, now: clock.now(), logger: logger,
      tick: pulse.moved)
    let live = Live(configuration, settings)
    do {
      let board = board(configuration, path, clock, try await cache.facts())
      let reporter = Reporter(board: board, logger: logger, moved: pulse.moved, watching: watching)
      let keeper = TokenKeeper(
        settings: TokenSettings(configuration), credentials: { try Credentials(folder: $0) },
        send: { request in try await live.use { try await $0.transport.send(request) } }, clock: clock,
        report: reporter.report, onStatus: board.token,
        logger: logger)
      try await keeper.open()
      let hold = Hold(try await cache.retryAfterHold(), clock: clock) { hold in
        do { try await cache.keep(hold) } catch {
          logger.warning("Retry-After will not outlive this process: \(error)")
        }
      }
      return Instance(
        live: live, cache: cache, keeper: keeper, reporter: reporter, pulse: pulse, clock: clock, logger: logger,
        locks: locks, hold: hold)
    } catch {
      await cache.close()
      await live.close()
      throw error
    }
  }

  /// Others need to pass through to read the cache (section 5).
  private static let cacheFolderMode: mode_t = 0o755

  private static func warnOfNetwork(_ path: String, _ logger: Logger) {
    guard let type = NetworkFileSystem.type(of: path) else { return }
    logger.warning(
      "the cache is on a network file system (\(type)), where SQLite's log cannot be shared: a reader on another machine may see damage; name a cache.path on a local disk",
      metadata: ["path": "\(path)"])
  }

  private static func board(
    _ configuration: Configuration, _ path: String, _ clock: WallClock, _ facts: RosterCache.CacheFacts
  ) -> StatusBoard {
    StatusBoard(
      pid: getpid(), startedAt: clock.now(), baseURL: configuration.upstream.baseURL,
      cachePath: path,
      config: .init(path: configuration.path, loadedAt: clock.now().rfc3339), flow: configuration.auth.flow.rawValue,
      clock: clock, cache: .init(facts), last: facts.last)
  }

  /// The session for other settings, as `TokenKeeper.reload`; a flow that needs the token store owns it first (P14).
  func reload(_ configuration: Configuration) async throws {
    try locks.ownTokenStore(configuration)
    try await keeper.reload(TokenSettings(configuration))
  }

  /// After an unclean stop: reads the whole cache, and makes it anew where it is damaged.
  func checkCache() async {
    guard await cache.opened.wasUnclean else { return }
    do {
      if try await !cache.check() {
        _ = try await cache.recover(at: clock.now())
        board.cache(.init(try await cache.facts()))
      }
    } catch is CancellationError {
      return
    } catch {
      logger.error("the cache could not be checked: \(error)")
    }
  }

  /// Until it is cancelled: after a sync that met a reader's open transaction, writes the log back once the reader has let go.
  func shortenLog() async {
    for await _ in syncEnds.stream {
      var isTold = false
      while await cache.isLogHeld, (try? await clock.sleep(Self.logLook)) != nil {
        await cache.shortenLog()
        if await cache.isLogHeld, !isTold {
          isTold = true
          logger.warning("a reader keeps a transaction open: the cache's -wal cannot shrink until it ends")
        }
        if let facts = try? await cache.facts() { board.cache(.init(facts)) }
      }
    }
  }

  /// Often enough for a person who looks at the file.
  private static let logLook = Duration.seconds(5)

  /// T7: how long a stop waits for the answer to a token request that was sent; P13 leaves 5 s for all.
  private static let longestDrain = Duration.seconds(4)

  /// A request to retry the session joins the sync that runs.
  @Sendable func retrySession() async { await keeper.retrySession() }

  /// No token request begins any more (P13); what is under way goes on.
  func stopTokenRequests() { keeper.stop() }

  /// Starts no further token request, and waits for the one under way.
  func drain() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await keeper.drain() }
      group.addTask { try? await sleepFromStop(Self.longestDrain, clock) }
      await group.next()
      group.cancelAll()
    }
  }

  /// The latest syncs, newest first: one that may still be joined as it runs (P12), though its row may have its end
  /// already.
  func recent(limit: Int) async throws -> [SyncReport] {
    board.recent(try await cache.recent(limit: limit))
  }

  /// Makes what is on disk whole and gives it free, for the next rosterd. May be called again.
  func closeFiles() async {
    await cache.close()
    locks.release()
  }

  /// After `drain`. Files first: connections may take their time to close, and nothing is lost with them.
  func close() async {
    await closeFiles()
    await live.close()
  }

  /// One sync, ready to run. `begun` and `ended` tell whoever watches it.
  func syncer(
    _ wish: SyncWish, begun: @escaping @Sendable (Int64) async -> Void = { _ in },
    ended: @escaping @Sendable (SyncReport) async -> Date? = { _ in nil }
  ) -> Syncer {
    let upstream = Upstream(
      live: live, keeper: keeper, hold: hold, board: board, pulse: pulse, clock: clock, logger: logger)
    return Syncer(
      upstream: live.configuration.upstream.baseURL, maxRemoval: live.configuration.sync.maxRemoval,
      allowRemoval: wish.allowRemoval, retrySession: wish.retrySession,
      steps: steps(upstream, begun: begun, ended: ended), clock: clock, logger: logger)
  }
}

// MARK: The steps of a sync

extension Instance {
  private func steps(
    _ upstream: Upstream, begun: @escaping @Sendable (Int64) async -> Void,
    ended: @escaping @Sendable (SyncReport) async -> Date?
  ) -> Syncer.Steps {
    let (cache, live) = (cache, live)
    return Syncer.Steps(
      begin: { date throws(NotBegun) in
        try await cache.begin(at: date) {
          // Somebody may have removed the folder: whoever makes it again must find the lock in it.
          try makeFolder(of: cache.path, mode: Self.cacheFolderMode)
          try self.locks.renewCache()
        }
      },
      begun: { report, tally in
        self.reporter.began(report, tally)
        await begun(report.id)
      },
      phase: {
        self.pulse.moved()
        self.board.phase($0)
      },
      prepare: { retrySession in
        try self.locks.renewTokenStore()
        try await self.keeper.syncBegins(retrySession: retrySession)
        try upstream.refuseLongHold()
      },
      discover: { report, tally in
        let announced = try await self.pull(upstream, tally).discover(sync: report.id, tally: tally)
        return (announced.count, announced.pages)
      },
      pull: { announced, report, tally in
        let pages = Pull.Announced(count: announced.count, pages: announced.pages)
        let outcome = try await live.use { line in
          try await line.transport.run {
            try await self.pull(upstream, tally).run(pages, sync: report.id, tally: tally)
          }
        }
        switch outcome {
        case .complete: return nil
        case .drifted(let why): return why
        }
      },
      discard: { try await cache.discard(validators: $0) },
      compare: { try await cache.compare(pages: $0) },
      ask: { try await self.askForMissing(upstream, $0, $1) },
      publish: { report, pages, removal in
        try await withTaskCancellationHandler {
          try await cache.publish(
            report, pages: pages, removing: removal, at: self.clock.now(), history: live.configuration.cache.history)
        } onCancel: {
          cache.interruptPublish()
        }
      },
      end: { try await cache.end($0, at: self.clock.now(), history: live.configuration.cache.history) },
      ended: { report in
        await self.finish(report, next: await ended(report))
        self.syncEnds.continuation.yield()
      })
  }

  private func pull(_ upstream: Upstream, _ tally: Tally) -> Pull {
    let (cache, live) = (cache, live)
    return Pull(
      fetcher: upstream.fetcher(tally, report: reporter.report),
      ends: .init(held: { try await cache.held(pages: $0) }, stage: { try await cache.stage($0) }),
      concurrency: live.configuration.sync.concurrency, clock: clock, report: reporter.report)
  }

  /// P8: what upstream still has stays and is updated. Returns how many records could not be stored.
  private func askForMissing(_ upstream: Upstream, _ report: SyncReport, _ tally: Tally) async throws -> Int {
    let fetcher = upstream.fetcher(tally, report: reporter.report)
    var last: Int64 = 0
    var (rejected, unknown) = (0, 0)
    while case let ids = try await cache.missing(after: last, limit: Self.mostIDs), let highest = ids.last {
      last = highest
      let answer = try await fetcher.fetch(characters: ids, sync: report.id, tally: tally)
      let asked = Set(ids)
      let rejects = answer.rejects.filter { $0.id.map(asked.contains) ?? true }
      try await cache.keep(answer.characters.filter { asked.contains($0.id) }, rejects: rejects)
      rejected += rejects.count
      unknown += answer.rejects.count { $0.id == nil }
    }
    // P9: it may be any of them.
    guard unknown == 0 else {
      throw Failure(
        .badAnswer, step: "ask for characters", subject: live.configuration.upstream.baseURL,
        cause: "upstream's answer holds a record that does not say whose it is", hint: "see the table rejects")
    }
    return rejected
  }

  /// Ids in one request (P8).
  private static let mostIDs = 50

  private func finish(_ report: SyncReport, next: Date?) async {
    // What cannot be read now is still there for whoever can: the status keeps what it knows.
    var facts: RosterStatus.CacheFacts?
    do { facts = .init(try await cache.facts()) } catch { logger.error("cannot read the cache: \(error)") }
    reporter.ended(report, cache: facts, next: next)
  }
}
