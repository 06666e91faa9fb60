package import FoundationEssentials
package import Logging
package import RosterModel
import Synchronization

/// Drives one sync from its row in `syncs` to its end: performs what the machine decides.
package actor Syncer {
  /// The parts that a sync is made of; the daemon fills them.
  package struct Steps: Sendable {
    package typealias Announced = (count: Int, pages: Int)

    /// Writes the row.
    package var begin: @Sendable (Date) async throws(NotBegun) -> SyncReport
    /// Told when the row is written; from here on the sync can be watched and joined.
    package var begun: @Sendable (SyncReport, Tally) async -> Void
    package var phase: @Sendable (DaemonStatus.Current.Phase) -> Void
    /// Sees to it that requests can be made: the session, the time that upstream wants to be left alone.
    package var prepare: @Sendable (_ retrySession: Bool) async throws -> Void
    /// Pulls page 1.
    package var discover: @Sendable (SyncReport, Tally) async throws -> Announced
    /// Pulls the others; tells what does not fit together, if anything.
    package var pull: @Sendable (Announced, SyncReport, Tally) async throws -> String?
    /// Drops what was pulled (P8); `validators`: with those of published pages too, so that all are pulled whole (P7).
    package var discard: @Sendable (_ validators: Bool) async throws -> Void
    package var compare: @Sendable (_ pages: Int) async throws -> Comparison
    /// Asks for every missing id and stages what upstream still has (P8); returns how many records could not be stored.
    package var ask: @Sendable (SyncReport, Tally) async throws -> Int
    /// Publishes with the row's end in the same transaction.
    package var publish: @Sendable (SyncReport, _ pages: Int, Removal) async throws -> SyncReport
    /// Writes the row's end where nothing is published; also of a sync whose row could not be begun.
    package var end: @Sendable (SyncReport) async throws -> Void
    /// Told last, with what the sync ended with.
    package var ended: @Sendable (SyncReport) async -> Void

    package init(
      begin: @escaping @Sendable (Date) async throws(NotBegun) -> SyncReport,
      begun: @escaping @Sendable (SyncReport, Tally) async -> Void,
      phase: @escaping @Sendable (DaemonStatus.Current.Phase) -> Void,
      prepare: @escaping @Sendable (_ retrySession: Bool) async throws -> Void,
      discover: @escaping @Sendable (SyncReport, Tally) async throws -> Announced,
      pull: @escaping @Sendable (Announced, SyncReport, Tally) async throws -> String?,
      discard: @escaping @Sendable (_ validators: Bool) async throws -> Void,
      compare: @escaping @Sendable (_ pages: Int) async throws -> Comparison,
      ask: @escaping @Sendable (SyncReport, Tally) async throws -> Int,
      publish: @escaping @Sendable (SyncReport, _ pages: Int, Removal) async throws -> SyncReport,
      end: @escaping @Sendable (SyncReport) async throws -> Void,
      ended: @escaping @Sendable (SyncReport) async -> Void
    ) {
      self.begin = begin
      self.begun = begun
      self.phase = phase
      self.prepare = prepare
      self.discover = discover
      self.pull = pull
      self.discard = discard
      self.compare = compare
      self.ask = ask
      self.publish = publish
      self.end = end
      self.ended = ended
    }
  }

  private let steps: Steps
  private let clock: WallClock
  private let logger: Logger
  private let maxRemoval: @Sendable () -> Int
  private let allowRemoval: Mutex<Bool>
  /// Asked for, and not done yet.
  private let retrySession: Mutex<Bool>
  private var machine: SyncMachine

  /// - Parameter maxRemoval: Read when it counts: a reload may have changed it.
  package init(
    upstream: String, maxRemoval: @autoclosure @escaping @Sendable () -> Int, allowRemoval: Bool,
    retrySession: Bool = false, steps: Steps, clock: WallClock, logger: Logger
  ) {
    self.steps = steps
    self.clock = clock
    self.logger = logger
    self.maxRemoval = maxRemoval
    self.allowRemoval = Mutex(allowRemoval)
    self.retrySession = Mutex(retrySession)
    machine = SyncMachine(upstream: upstream)
  }

  /// A request that joins may allow what the first one did not (P12).
  nonisolated package func joined(allowRemoval: Bool, retrySession: Bool = false) {
    if allowRemoval { self.allowRemoval.withLock { $0 = true } }
    if retrySession { self.retrySession.withLock { $0 = true } }
  }

  /// One sync. Never throws: how it ended is in the report.
  package func run() async -> SyncReport {
    let tally = Tally()
    let startedAt = clock.now()
    var report: SyncReport
    do {
      report = try await steps.begin(startedAt)
    } catch {
      return await finish(SyncReport(id: error.id, startedAt: startedAt.rfc3339), tally, error.cause)
    }
    await steps.begun(report, tally)
    do {
      report = try await sync(report, tally)
      machine.ended()
      await steps.ended(report)
      return report
    } catch {
      return await finish(report, tally, error)
    }
  }

  /// An ended session is tried once more for whoever asks for that, also where the sync that they join has met its end
  /// (T6).
  private func sync(_ report: SyncReport, _ tally: Tally) async throws -> SyncReport {
    while true {
      do {
        try await steps.prepare(takeRetry())
        return try await pullAndPublish(report, tally)
      } catch let failure as Failure where failure.exit == .refused && retrySession.withLock({ $0 }) {
        logger.notice("the session is tried once more: \(failure)", metadata: ["sync": "\(report.id)"])
      }
    }
  }

  private func takeRetry() -> Bool {
    retrySession.withLock { retry in
      defer { retry = false }
      return retry
    }
  }

  private func pullAndPublish(_ report: SyncReport, _ tally: Tally) async throws -> SyncReport {
    while true {
      let announced = try await pullAll(report, tally)
      steps.phase(.verifying)
      let found = try await steps.compare(announced.pages)
      switch machine.compared(
        found, count: announced.count, maxRemoval: maxRemoval(), allowRemoval: allowRemoval.withLock { $0 })
      {
      case .publish(let removal): return try await publish(report, tally, announced.pages, removal)
      case .ask: return try await publish(report, tally, announced.pages, try await ask(report, tally))
      case .again(let reason): try await again(reason, report)
      case .fail(let failure): throw failure
      }
    }
  }

  /// Pulls until the pages fit together.
  private func pullAll(_ report: SyncReport, _ tally: Tally) async throws -> Steps.Announced {
    while true {
      tally.update {
        $0.pagesDone = 0
        $0.characters = 0
      }
      steps.phase(.discovering)
      let announced = try await steps.discover(report, tally)
      steps.phase(.pulling)
      let drift = try await steps.pull(announced, report, tally)
      switch machine.pulled(drift: drift) {
      case .compare: return announced
      case .again(let reason): try await again(reason, report)
      case .fail(let failure): throw failure
      }
    }
  }

  private func again(_ reason: String, _ report: SyncReport) async throws {
    logger.notice("pulling again: \(reason)", metadata: ["sync": "\(report.id)"])
    try await steps.discard(true)
  }

  private func ask(_ report: SyncReport, _ tally: Tally) async throws -> Removal {
    do {
      return machine.asked(.success(try await steps.ask(report, tally)))
    } catch let failure as Failure where ![.cannotWrite, .defect].contains(failure.exit) {
      return machine.asked(.failure(failure))
    }
  }

  private func publish(
    _ report: SyncReport, _ tally: Tally, _ pages: Int, _ removal: Removal
  ) async throws -> SyncReport {
    steps.phase(.publishing)
    var report = report
    report = report.counting(tally.now)
    report.finishedAt = clock.now().rfc3339
    report.exit = 0
    report.error = machine.shortcoming
    return try await steps.publish(report, pages, removal)
  }

  private func finish(
    _ report: SyncReport, _ tally: Tally, _ error: any Error
  ) async -> SyncReport {
    var report = report
    report = report.counting(tally.now)
    report.finishedAt = clock.now().rfc3339
    report.end(with: error)
    if machine.isGuarded || (error as? Failure)?.exit == .badAnswer && machine.state == .ended {
      // What a guarded sync found is whole: the validators of published pages still hold.
      await attempt("drop what was pulled") { try await steps.discard(!machine.isGuarded) }
    }
    await attempt("write the sync's end") { [report] in try await steps.end(report) }
    machine.ended()
    await steps.ended(report)
    return report
  }

  /// What fails here must not hide why the sync failed.
  private func attempt(_ what: String, _ work: () async throws -> Void) async {
    do { try await work() } catch { logger.error("cannot \(what): \(error)") }
  }
}

extension SyncReport {
  fileprivate mutating func end(with error: any Error) {
    switch error {
    case let failure as Failure:
      outcome = .failed
      exit = failure.exit.rawValue
      self.error = "\(failure)"
    case is CancellationError:
      outcome = .cancelled
      exit = Failure.Exit.cancelled.rawValue
      self.error = "the sync was cancelled; what was pulled is kept for the next one"
    default:
      outcome = .failed
      exit = Failure.Exit.defect.rawValue
      self.error = "a defect in rosterd: \(error)"
    }
  }
}
