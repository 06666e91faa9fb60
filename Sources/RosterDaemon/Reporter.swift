import FoundationEssentials
import Logging
import RosterCore
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

  /// Called after readers can see what the sync published.
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

/// Decides how prominently a recurring failure is logged, such as an upstream that is down for days. The first failure
/// is logged at once, later ones at growing intervals. It is a pure value.
struct RepeatFilter {
  enum Telling: Equatable {
    case first
    /// Logged before; a reminder is due.
    case again(times: Int, since: Date)
    case known
    /// The failure has ended.
    case over(times: Int, since: Date)
  }

  private var since = Date.distantPast
  private var times = 0
  private var told = Date.distantPast
  private var gap = shortest
  /// The sentences logged so far. Beyond the limit, further sentences count as known.
  private var sentences: Set<String> = []

  private static let shortest: TimeInterval = 3600
  private static let longest: TimeInterval = 24 * 3600
  private static let maxSentences = 8

  mutating func happened(_ sentence: String, at now: Date) -> Telling {
    if times == 0 { since = now }
    times += 1
    // Digits are removed, because counts, pages and times differ each time.
    let isNew = sentences.count < Self.maxSentences && sentences.insert(sentence.filter { !$0.isNumber }).inserted
    if isNew {
      told = now
      return .first
    }
    // A clock that was set back must not delay the reminder.
    guard !(0..<gap).contains(now.timeIntervalSince(told)) else { return .known }
    told = now
    gap = min(gap * 2, Self.longest)
    return .again(times: times, since: since)
  }

  /// nil if the failure did not happen, or happened only once.
  mutating func ended() -> Telling? {
    defer { self = RepeatFilter() }
    return times > 1 ? .over(times: times, since: since) : nil
  }
}

/// The failures that may recur: syncs that fail, and token requests that fail for good.
struct RepeatFilters {
  private var syncs = RepeatFilter()
  private var tokens = RepeatFilter()

  /// nil for an event that is not about a recurring failure.
  mutating func telling(of event: Event, at now: @autoclosure () -> Date) -> RepeatFilter.Telling? {
    switch event.name {
    case .syncPublished, .syncUnchanged, .syncFailed:
      guard event.name == .syncFailed || event.report?.isDegraded == true else { return syncs.ended() }
      return syncs.happened(event.error ?? event.report?.error ?? "", at: now())
    case .tokenRefreshed:
      _ = tokens.ended()
      return nil
    case .tokenFailed where event.delaySeconds == nil: return tokens.happened(event.error ?? "", at: now())
    default: return nil
    }
  }
}

extension Logger {
  /// Writes the log line of an event. A good sync has one line at `info`. Faults are `warning` or `error`, and the
  /// steps of a sync are `debug` or `trace`.
  func tell(_ event: Event, telling: RepeatFilter.Telling?) {
    let level = event.level(telling)
    var isOver = false
    if case .over = telling { isOver = true }
    // A shortcut: most events are about pages, whose lines are usually not logged.
    guard logLevel <= level || isOver else { return }
    var metadata: Metadata = [:]
    if let sync = event.sync, sync != 0 { metadata["sync"] = "\(sync)" }
    if let resource = event.resource { metadata["resource"] = "\(resource)" }
    if let page = event.page { metadata["page"] = "\(page)" }
    if let attempt = event.attempt { metadata["attempt"] = "\(attempt)" }
    if case .over(let times, let since) = telling {
      notice("syncs end well again, after \(times) that did not since \(since.rfc3339)", metadata: metadata)
    }
    var line = event.line
    if case .again(let times, let since) = telling { line += " (\(times) times since \(since.rfc3339))" }
    log(level: level, "\(line)", metadata: metadata)
  }
}

extension Event {
  fileprivate func level(_ telling: RepeatFilter.Telling?) -> Logger.Level {
    switch name {
    case .syncPublished, .syncUnchanged, .syncTried: report?.isDegraded == true && telling != .known ? .warning : .info
    // A token request that is retried is only a step of the refresh, like `page.retried` for a page.
    case .tokenFailed: delaySeconds != nil || telling == .known ? .debug : .error
    case .syncFailed: telling == .known ? .debug : .error
    case .configRefused: .error
    case .validatorsDistrusted, .listReset, .listVanished: .warning
    // The line at the end of the sync has their number and the first reason.
    case .listFailed: .debug
    case .syncCancelled, .tokenRefreshed, .configReloaded, .daemonStopping: .info
    case .pageRetried: .debug
    case .syncStarted, .tokenRefused, .tokenJoined, .tokenRefreshing: .debug
    case .pageFetched, .eventsLost: .trace
    }
  }

  fileprivate var line: String {
    switch name {
    case .syncStarted: isFresh == true ? "fresh sync started" : "sync started"
    case .pageFetched:
      "page \(page ?? 0) of \(resource ?? "") fetched, \(pagesDone ?? 0)" + (pagesTotal.map { " of \($0)" } ?? "")
    case .pageRetried: "page is requested again in \(delaySeconds ?? 0) s: \(error ?? reason ?? "")"
    case .tokenRefused: "upstream refused the \(reason ?? "") token"
    case .tokenJoined: "a request waits for the running refresh"
    case .tokenRefreshing: "requesting a token (\(reason ?? ""))"
    case .tokenRefreshed: "upstream granted a new token"
    case .tokenFailed: "upstream granted no new token: \(error ?? reason ?? "")"
    case .syncPublished: ending("published")
    case .syncUnchanged: ending("nothing new")
    case .syncTried: ending("tried")
    case .syncFailed: "sync failed: \(error ?? "")"
    case .syncCancelled: "sync cancelled"
    case .validatorsDistrusted:
      "the validators of \(resource ?? "") lied (\(reason ?? "")): it is pulled whole, and synced without them from now on"
    case .listFailed: "the list of \(resource ?? "") for the parent \(of ?? "") failed: \(error ?? "")"
    case .listVanished: "the parent \(of ?? "") of a list of \(resource ?? "") disappeared: \(error ?? "")"
    case .listReset:
      "upstream \(reason == "token" ? "has forgotten the delta token" : "refused to continue an incremental pull") of "
        + "\(resource ?? ""): the list is pulled whole"
    case .configReloaded: "configuration reloaded\(reason.map { "; \($0)" } ?? "")"
    case .configRefused: "the new configuration is refused, the old one stays: \(error ?? "")"
    case .daemonStopping: "stopping"
    case .eventsLost: "events were lost"
    }
  }

  private func ending(_ what: String) -> String {
    guard let report else { return what }
    let counts =
      "\(what): \(report.records.counted(as: "record")) on \(report.pages.counted(as: "page"))"
      + " (\(report.added) added, \(report.changed) changed, \(report.removed) removed)"
    let rejected = report.rejected == 0 ? "" : "; \(report.rejected) rejected"
    return counts + rejected + (report.error.map { "; \($0)" } ?? "")
  }
}
