import FoundationEssentials
import Glibc
package import Logging
import RosterCache
package import RosterCore
package import RosterDefinition
import RosterStatus
import RosterSync
package import RosterSystemd
import ServiceLifecycle
import UnixSignals

/// `rosterd run`: the loop, the status sockets and the notifications to systemd, from start to end.
package struct Daemon: Sendable {
  let runtime: Runtime
  let loop: SyncLoop
  let server: StatusServer
  /// The socket without records, to which the port of `rosterd-metrics.socket` leads.
  let metrics: StatusServer?
  let notify: Notify
  let schedule: LiveSchedule
  let log: LogSettings
  let reread: Reread?

  /// Reads the configuration again and returns it with its warnings; throws ConfigurationFaults. Its argument is the
  /// file that must exist; nil for the default file, if it exists.
  package typealias Reread = @Sendable (String?) throws -> (configuration: Configuration, warnings: [String])

  /// Runs until SIGTERM or SIGINT. Throws a Failure if the daemon cannot start.
  /// - Parameters:
  ///   - reread: reads the configuration on SIGHUP; nil to ignore SIGHUP.
  ///   - watching: receives every event.
  package static func run(
    _ configuration: Configuration, clock: WallClock = .system, logger: Logger,
    log: LogSettings = LogSettings(level: .info),
    reread: Reread? = nil, watching: @escaping EventSink = { _ in }
  ) async throws {
    let notify = Notify()
    // The service group traps the signals before it runs this closure. So a signal that arrives while the cache is
    // being opened causes a normal stop.
    let lifetime = ProcessLifetime(exit: 0, clock: clock, logger: logger) { opened in
      let hangups = await UnixSignalsSequence(trapping: .sighup)
      let runtime = try await StartTimeout(clock: clock, extend: notify.extendTimeout).extended {
        try await Runtime.open(configuration, renewsTokens: true, clock: clock, logger: logger, watching: watching)
      }
      opened(runtime)
      do {
        let daemon = try Daemon(runtime, notify: notify, log: log, reread: reread)
        try await daemon.server.start()
        await daemon.work(hangups, servesMetrics: await daemon.startMetrics())
        await daemon.stop()
      } catch {
        await runtime.close()
        throw error
      }
    }
    do { try await lifetime.run(until: [.sigterm, .sigint]) } catch let failure as Failure {
      notify.failed(exitStatus: failure.kind.exitCode, "\(failure)")
      throw failure
    }
  }

  private init(_ runtime: Runtime, notify: Notify, log: LogSettings, reread: Reread?) throws {
    self.runtime = runtime
    self.notify = notify
    self.log = log
    self.reread = reread
    let schedule = LiveSchedule(
      .init(runtime.live.configuration), damagedAt: runtime.cache.damagedAt, clock: runtime.clock)
    self.schedule = schedule
    loop = SyncLoop(
      clock: runtime.clock, pulse: runtime.pulse, retrySession: runtime.retrySession,
      requestNewToken: runtime.requestNewToken,
      postponement: runtime.postponement, postponed: runtime.reporter.postponed
    ) { request, loop in
      runtime.sync(request, begun: { await loop.begun($0) }) { report in
        let room = await runtime.postponement()?.until
        let now = runtime.clock.now()
        let due = schedule.next(
          after: report.outcome, damagedAt: runtime.cache.damagedAt, at: now, hold: runtime.heldUntil)
        let next = max(due, room ?? due)
        await loop.ended(report, wait: .seconds(next.timeIntervalSince(now)))
        returnFreeMemory()
        return next
      }
    }
    let loop = loop
    let routes = StatusRoutes(
      board: runtime.board, alive: { runtime.signsOfLife == .alive },
      history: { try await runtime.recent($0) },
      sync: { request in
        let asked = try await loop.ask(request)
        return .init(sync: asked.id, joined: asked.joined)
      },
      feed: { try await runtime.reader.changes($0) }, cancel: { await loop.cancel() },
      rejected: { try await runtime.reader.rejected() })
    let place = try Self.place(runtime.live.configuration)
    server = StatusServer(at: place, routes: routes, limits: .ofThisProcess, logger: runtime.logger)
    let server = server
    metrics = place.ofMetrics.map {
      StatusServer(
        at: $0, routes: routes.ofMonitors, limits: .ofMetricsSocket, logger: runtime.logger, on: server)
    }
  }

  /// Syncs and readers need only the status socket, so a failure here is a warning. Returns false after a failure.
  private func startMetrics() async -> Bool {
    do { try await metrics?.start() } catch {
      runtime.logger.warning("cannot serve rosterd-metrics.socket: \(error)")
      return false
    }
    return true
  }

  /// Tries again until the metrics socket answers.
  private func restartMetrics() async {
    while (try? await runtime.clock.sleep(Self.fileCheck)) != nil {
      guard (try? await metrics?.start()) != nil else { continue }
      return runtime.logger.notice("rosterd-metrics.socket is served now")
    }
  }

  private static func place(_ configuration: Configuration) throws -> StatusServer.Place {
    if let passed = try Listen.passedSocket() { return .passed(passed) }
    return .path(configuration.status.socket, mode: configuration.status.socketMode)
  }

  private func work(_ hangups: UnixSignalsSequence, servesMetrics: Bool) async {
    notify.ready(status: runtime.board.message, now: runtime.clock.now())
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.tellStatus() }
      group.addTask { await self.beat() }
      group.addTask { await self.lookAtMovedCaches() }
      group.addTask { await self.reload(on: hangups) }
      if !servesMetrics { group.addTask { await self.restartMetrics() } }
      group.addTask {
        await self.runtime.checkCache()
        await self.runtime.shortenLog()
      }
      await withGracefulShutdownHandler {
        await cancelWhenGracefulShutdown { await self.loop.run() }
      } onGracefulShutdown: {
        runtime.stopTokenRequests()
        runtime.reporter.report(Event(.daemonStopping))
        notify.stopping()
        runtime.cache.interruptPublish()
      }
      group.cancelAll()
    }
  }

  /// Stops the parts in the order of their dependencies. The socket answers with `stopping` until there is nothing left
  /// to wait for.
  private func stop() async {
    await runtime.drain()
    await metrics?.stop()
    await server.stop()
    await runtime.close()
  }
}

// MARK: Notifications to systemd

extension Daemon {
  private func tellStatus() async {
    for await _ in runtime.board.changes {
      runtime.board.measure()
      while let delay = notify.status(runtime.board.message, now: runtime.clock.now()) {
        guard (try? await runtime.clock.sleep(delay)) != nil else { return }
      }
    }
  }

  private func lookAtMovedCaches() async {
    while (try? await runtime.clock.sleep(Self.fileCheck)) != nil { runtime.board.lookAtMovedCaches() }
  }

  /// The pause between two checks of the files.
  private static let fileCheck = Duration.seconds(10)

  /// The watchdog and `/healthz` depend on the answer of the loop, and on the progress of a running sync.
  private func beat() async {
    let watchdog = Notify.watchdogInterval
    var isMoving = true
    repeat {
      await loop.beat()
      runtime.pulse.loopAnswered()
      isMoving = tellSilence(wasMoving: isMoving)
      if isMoving, watchdog != nil { notify.watchdog() }
      notify.sendWaiting()
    } while (try? await runtime.clock.sleep(min(watchdog ?? Pulse.interval, Pulse.interval))) != nil
  }

  /// Returns true if no sync runs or the running sync makes progress.
  private func tellSilence(wasMoving: Bool) -> Bool {
    guard case .syncIsSilent(let silence) = runtime.signsOfLife else {
      if !wasMoving { runtime.board.moves() }
      return true
    }
    if wasMoving {
      let since = runtime.clock.now() - silence.seconds
      runtime.board.stands(since: since)
      runtime.logger.critical(
        "nothing of the sync has moved since \(since.rfc3339); no longer notifying the systemd watchdog")
    }
    return false
  }
}
