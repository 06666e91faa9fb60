import FoundationEssentials
import Glibc
package import Logging
import RosterCache
package import RosterModel
import RosterStatus
import RosterSync
package import RosterSystemd
import ServiceLifecycle
import Synchronization
import UnixSignals

/// `rosterd run`: the loop, the status socket, what systemd is told; from start to the last thing it does.
package struct Daemon: Service {
  let instance: Instance
  let loop: SyncLoop
  private let server: StatusServer
  let notify: Notify
  let schedule: LiveSchedule
  let level: LogLevel
  let reread: Reread?
  private let pulse = Pulse()

  /// P13 leaves 5 s; systemd's own limit is longer.
  private static let longestStop = Duration.milliseconds(4800)

  /// Reads the configuration again, with its warnings; throws ConfigurationFaults.
  package typealias Reread = @Sendable () throws -> (configuration: Configuration, warnings: [String])

  /// Runs until SIGTERM or SIGINT. Throws the Failure that kept it from starting.
  /// - Parameters:
  ///   - reread: what SIGHUP does; nil: it is ignored.
  ///   - watching: is told everything that happens.
  package static func run(
    _ configuration: Configuration, clock: WallClock = .system, logger: Logger, level: LogLevel = LogLevel(.info),
    reread: Reread? = nil, watching: @escaping Report = { _ in }
  ) async throws {
    let notify = Notify()
    do {
      let instance = try await Instance.open(configuration, clock: clock, logger: logger, watching: watching)
      let daemon = try Daemon(instance, notify: notify, level: level, reread: reread)
      try await daemon.server.start()
      let group = ServiceGroup(
        configuration: .init(services: [daemon], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
      try await group.run()
    } catch let failure as Failure {
      notify.failed(exitStatus: failure.exit.rawValue)
      throw failure
    }
  }

  private init(_ instance: Instance, notify: Notify, level: LogLevel, reread: Reread?) throws {
    self.instance = instance
    self.notify = notify
    self.level = level
    self.reread = reread
    let schedule = LiveSchedule(Schedule(.init(instance.live.configuration)))
    self.schedule = schedule
    loop = SyncLoop(clock: instance.clock) { wish, loop in
      instance.syncer(wish, begun: { await loop.begun($0) }) { report in
        let next = schedule.next(after: report.outcome, at: instance.clock.now(), hold: instance.heldUntil)
        await loop.ended(report, next: next)
        releaseIdleMemory()
        return next
      }
    }
    let (loop, cache, pulse, clock) = (loop, instance.cache, pulse, instance.clock)
    let routes = StatusRoutes(
      board: instance.board, alive: { pulse.isFresh(clock.now()) },
      history: { try await cache.recent(limit: $0) },
      sync: { request in
        let asked = try await loop.ask(
          SyncWish(allowRemoval: request.allowRemoval, retrySession: request.retrySession))
        return .init(sync: asked.id, joined: asked.joined)
      })
    server = StatusServer(at: try Self.place(instance.live.configuration), routes: routes)
  }

  private static func place(_ configuration: Configuration) throws -> StatusServer.Place {
    if let passed = try Listen.passedSocket() { return .passed(passed) }
    return .path(configuration.status.socket, mode: configuration.status.socketMode)
  }

  package func run() async throws {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.endInTime() }
      await self.work()
      await self.stop()
      group.cancelAll()
    }
  }

  private func work() async {
    let board = instance.board
    // Before READY: from there on a SIGHUP may come.
    let hangups = await UnixSignalsSequence(trapping: .sighup)
    notify.ready(status: board.message, now: instance.clock.now())
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
        notify.stopping()
        instance.cache.interruptPublish()
        instance.reporter.report(Event(.daemonStopping))
      }
      group.cancelAll()
    }
  }

  /// In the order in which the parts depend on each other.
  private func stop() async {
    await server.stop()
    await instance.close(waitingForToken: Instance.longestDrain)
  }

  /// P13: counted from the signal, whatever hangs ends with the process.
  private func endInTime() async {
    do {
      try await gracefulShutdown()
      try await instance.clock.sleep(Self.longestStop)
    } catch { return }
    instance.logger.critical("the stop takes too long; what is not stored is pulled again")
    _exit(0)
  }
}

// MARK: What systemd is told

extension Daemon {
  private func tellStatus() async {
    for await _ in instance.board.changes {
      var wait = notify.status(instance.board.message, now: instance.clock.now())
      while let delay = wait {
        guard (try? await instance.clock.sleep(delay)) != nil else { return }
        wait = notify.flush(now: instance.clock.now())
      }
    }
  }

  /// The watchdog and `/healthz` live on the loop's own answer (S4).
  private func beat() async {
    let interval = min(Notify.watchdogInterval ?? Pulse.interval, Pulse.interval)
    repeat {
      await loop.beat()
      pulse.note(instance.clock.now())
      notify.watchdog()
    } while (try? await instance.clock.sleep(interval)) != nil
  }
}

/// When the loop last gave a sign of life.
private final class Pulse: Sendable {
  /// At most; half of a shorter watchdog's. A beat wakes about seven threads of Dispatch's pool: half a wakeup a second.
  static let interval = Duration.seconds(15)
  /// Three beats missed.
  private static let longestSilence = 45.0

  private let last = Mutex(Date.distantFuture)

  func note(_ date: Date) { last.withLock { $0 = date } }

  func isFresh(_ now: Date) -> Bool { now.timeIntervalSince(last.withLock { $0 }) < Self.longestSilence }
}
