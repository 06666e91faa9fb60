import FoundationEssentials
import Logging
import RosterModel
import RosterStatus
import RosterSync
import Synchronization

/// Receives every event and passes it on to the status, the metrics, the event stream, the log and the counters of the
/// running sync.
final class Reporter: Sendable {
  let board: StatusBoard
  private let logger: Logger
  private let moved: @Sendable () -> Void
  private let watching: EventSink
  /// The running sync. Its events get its id and are counted in its tally.
  private let current = Mutex<(id: Int64, tally: Tally)?>(nil)
  private let repeats = Mutex(RepeatFilters())

  /// - Parameter moved: Called before all else for each event.
  init(
    board: StatusBoard, logger: Logger, moved: @escaping @Sendable () -> Void, watching: @escaping EventSink
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
    logger.tell(event, telling: repeats.withLock { $0.telling(of: event, at: board.clock.now()) })
    watching(event)
  }

  func began(_ report: SyncRecord, tally: Tally, isFresh: Bool) {
    current.withLock { $0 = (report.id, tally) }
    board.syncBegan(report, tally: tally, isFresh: isFresh)
    var event = Event(.syncStarted)
    event.isFresh = isFresh
    self.report(event)
  }

  /// Records that a sync was not started.
  @Sendable func postponed(_ postponement: Postponement, next: Date) {
    logger.notice("\(postponement.failure)")
    board.nextSync(at: next, isPostponed: true)
  }

  /// Called after readers can see what the sync published (P2).
  /// - Parameter cache: nil if the cache could not be read.
  func ended(_ report: SyncRecord, cache: CacheFacts?, next: Date?) {
    current.withLock { $0 = nil }
    board.syncEnded(report, cache: cache)
    board.nextSync(at: next)
    self.report(Event(report))
  }
}

extension Event {
  /// The event at the end of a sync.
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
