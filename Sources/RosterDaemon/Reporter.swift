import FoundationEssentials
import Logging
import RosterModel
import RosterStatus
import RosterSync
import Synchronization

/// Everything that happens comes through here, and is told to whom it concerns: status, metrics, events, the log, the
/// running sync's counts.
final class Reporter: Sendable {
  let board: StatusBoard
  private let logger: Logger
  private let moved: @Sendable () -> Void
  private let watching: EventSink
  /// The sync that runs: what happens on its behalf is told with its id and counted in its tally.
  private let current = Mutex<(id: Int64, tally: Tally)?>(nil)
  private let repeats = Mutex(RepeatFilters())

  /// - Parameter moved: Told first whenever something happens.
  init(
    board: StatusBoard, logger: Logger, moved: @escaping @Sendable () -> Void = {}, watching: @escaping EventSink
  ) {
    self.board = board
    self.logger = logger
    self.moved = moved
    self.watching = watching
  }

  func report(_ event: Event) {
    moved()
    var event = event
    if let (id, tally) = current.withLock({ $0 }) {
      event.sync = event.sync ?? id
      if event.name == .tokenRefreshed { tally.update { $0.refreshes += 1 } }
    }
    board.report(event)
    logger.tell(event, repeats.withLock { $0.telling(of: event, at: board.clock.now()) })
    watching(event)
  }

  func began(_ report: SyncRecord, _ tally: Tally, isFresh: Bool) {
    current.withLock { $0 = (report.id, tally) }
    board.syncBegan(report, tally: tally, isFresh: isFresh)
    var event = Event(.syncStarted)
    event.isFresh = isFresh
    self.report(event)
  }

  /// A sync was not started.
  @Sendable func postponed(_ postponement: Postponement, next: Date) {
    logger.notice("\(postponement.failure)")
    board.nextSync(at: next, isPostponed: true)
  }

  /// Called once readers can see what the sync published (P2).
  /// - Parameter cache: nil where it could not be asked.
  func ended(_ report: SyncRecord, cache: CacheFacts?, next: Date?) {
    current.withLock { $0 = nil }
    board.syncEnded(report, cache: cache)
    board.nextSync(at: next)
    self.report(Event(report))
  }
}

extension Event {
  /// What ends a sync.
  fileprivate init(_ report: SyncRecord) {
    let name: Name =
      switch report.outcome {
      case .published: .syncPublished
      case .unchanged: .syncUnchanged
      case .tried: .syncTried
      case .cancelled, .interrupted: .syncCancelled
      case .failed, .running: .syncFailed
      }
    self.init(name, sync: report.id, error: report.error, exit: report.exit, report: report)
  }
}
