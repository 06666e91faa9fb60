import FoundationEssentials
import Glibc
package import Logging
import RosterCache
package import RosterConfiguration
package import RosterModel
import RosterStatus
import RosterSync
package import RosterSystemd
import ServiceLifecycle
import UnixSignals

/// `rosterd run`: the loop, the status socket, what systemd is told; from start to the last thing it does.
package struct Daemon: Sendable {
  let instance: Instance
  let loop: SyncLoop
  let server: StatusServer
  let notify: Notify
  let schedule: LiveSchedule
  let log: LogSettings
  let reread: Reread?

  /// Reads the configuration again, with its warnings; throws ConfigurationFaults. Its argument is the file that must
  /// be there; nil: the default one, if it is.
  package typealias Reread = @Sendable (String?) throws -> (configuration: Configuration, warnings: [String])

  /// Runs until SIGTERM or SIGINT. Throws the Failure that kept it from starting.
  /// - Parameters:
  ///   - reread: what SIGHUP does; nil: it is ignored.
  ///   - watching: is told everything that happens.
  package static func run(
    _ configuration: Configuration, clock: WallClock = .system, logger: Logger,
    log: LogSettings = LogSettings(level: .info),
    reread: Reread? = nil, watching: @escaping Report = { _ in }
  ) async throws {
    let notify = Notify()
    // The group catches the signals before it runs this: one that comes while the cache is opened is a stop like any other.
    let lifetime = ProcessLifetime(exit: 0, clock: clock, logger: logger) { opened in
      let hangups = await UnixSignalsSequence(trapping: .sighup)
      let instance = try await StartTimeout(clock: clock, extend: notify.extendTimeout).extended {
        try await Instance.open(configuration, clock: clock, logger: logger, watching: watching)
      }
      opened(instance)
      do {
        let daemon = try Daemon(instance, notify: notify, log: log, reread: reread)
        try await daemon.server.start()
        await daemon.work(hangups)
        await daemon.stop()
      } catch {
        await instance.close()
        throw error
      }
    }
    do { try await lifetime.run(until: [.sigterm, .sigint]) } catch let failure as Failure {
      notify.failed(exitStatus: failure.exit.rawValue)
      throw failure
    }
  }

  private init(_ instance: Instance, notify: Notify, log: LogSettings, reread: Reread?) throws {
    self.instance = instance
    self.notify = notify
    self.log = log
    self.reread = reread
    let schedule = LiveSchedule(Schedule(.init(instance.live.configuration)))
    self.schedule = schedule
    loop = SyncLoop(clock: instance.clock, pulse: instance.pulse, retrySession: instance.retrySession) {
      request, loop in
      instance.sync(request, begun: { await loop.begun($0) }) { report in
        let next = schedule.next(after: report.outcome, at: instance.clock.now(), hold: instance.heldUntil)
        await loop.ended(report, next: next)
        releaseIdleMemory()
        return next
      }
    }
    let loop = loop
    let routes = StatusRoutes(
      board: instance.board, alive: { instance.signsOfLife == .alive },
      history: { try await instance.recent(limit: $0) },
      sync: { request in
        let asked = try await loop.ask(request)
        return .init(sync: asked.id, joined: asked.joined)
      })
    server = StatusServer(
      at: try Self.place(instance.live.configuration), routes: routes, limits: .ofThisProcess,
      logger: instance.logger)
  }

  private static func place(_ configuration: Configuration) throws -> StatusServer.Place {
    if let passed = try Listen.passedSocket() { return .passed(passed) }
    return .path(configuration.status.socket, mode: configuration.status.socketMode)
  }

  private func work(_ hangups: UnixSignalsSequence) async {
    notify.ready(status: instance.board.message, now: instance.clock.now())
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.tellStatus() }
      group.addTask { await self.beat() }
      group.addTask { await self.reload(on: hangups) }
      group.addTask {
        await self.instance.checkCache()
        await self.instance.shortenLog()
      }
      await withGracefulShutdownHandler {
        await cancelWhenGracefulShutdown { await self.loop.run() }
      } onGracefulShutdown: {
        instance.stopTokenRequests()
        notify.stopping()
        instance.cache.interruptPublish()
        instance.reporter.report(Event(.daemonStopping))
      }
      group.cancelAll()
    }
  }

  /// In the order in which the parts depend on each other. The socket answers, with `stopping`, as long as there is something to wait for.
  private func stop() async {
    await instance.drain()
    await server.stop()
    await instance.close()
  }
}

// MARK: What systemd is told

extension Daemon {
  private func tellStatus() async {
    for await _ in instance.board.changes {
      instance.board.measure()
      while let delay = notify.status(instance.board.message, now: instance.clock.now()) {
        guard (try? await instance.clock.sleep(delay)) != nil else { return }
      }
    }
  }

  /// The watchdog and `/healthz` live on the loop's own answer, and on the signs of a sync that runs (S4).
  private func beat() async {
    let watchdog = Notify.watchdogInterval
    var isMoving = true
    repeat {
      await loop.beat()
      instance.pulse.loopAnswered()
      isMoving = tellSilence(wasMoving: isMoving)
      if isMoving, watchdog != nil { notify.watchdog() }
    } while (try? await instance.clock.sleep(min(watchdog ?? Pulse.interval, Pulse.interval))) != nil
  }

  /// Returns whether the sync moves, or none runs.
  private func tellSilence(wasMoving: Bool) -> Bool {
    guard case .syncIsSilent(let silence) = instance.signsOfLife else {
      if !wasMoving { instance.board.moves() }
      return true
    }
    if wasMoving {
      let since = instance.clock.now() - silence.seconds
      instance.board.stands(since: since)
      instance.logger.critical("nothing of the sync has moved since \(since.rfc3339); the watchdog is told no more")
    }
    return false
  }
}
