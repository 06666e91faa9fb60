import FoundationEssentials
import RosterModel
import RosterStatus

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
