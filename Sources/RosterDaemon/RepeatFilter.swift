import FoundationEssentials
import RosterModel
import RosterStatus

/// How loud trouble is told that comes again and again, such as an upstream that is down for days: the first time, then
/// at growing distance. Pure.
struct RepeatFilter {
  enum Telling: Equatable {
    case first
    /// Told before; a reminder is due.
    case again(times: Int, since: Date)
    case known
    /// It does not happen any more.
    case over(times: Int, since: Date)
  }

  private var since = Date.distantPast
  private var times = 0
  private var told = Date.distantPast
  private var gap = shortest
  /// What was told of it; more kinds than that are one.
  private var sentences: Set<String> = []

  private static let shortest: TimeInterval = 3600
  private static let longest: TimeInterval = 24 * 3600
  private static let mostSentences = 8

  mutating func happened(_ sentence: String, at now: Date) -> Telling {
    if times == 0 { since = now }
    times += 1
    // Counts, pages and times differ each time.
    let isNew = sentences.count < Self.mostSentences && sentences.insert(sentence.filter { !$0.isNumber }).inserted
    if isNew {
      told = now
      return .first
    }
    // A clock that was set back must not put the reminder off.
    guard !(0..<gap).contains(now.timeIntervalSince(told)) else { return .known }
    told = now
    gap = min(gap * 2, Self.longest)
    return .again(times: times, since: since)
  }

  /// nil: it did not happen, or only once, which is no story.
  mutating func ended() -> Telling? {
    defer { self = RepeatFilter() }
    return times > 1 ? .over(times: times, since: since) : nil
  }
}

/// What may recur: syncs that end badly, and token requests that fail for good.
struct RepeatFilters {
  private var syncs = RepeatFilter()
  private var tokens = RepeatFilter()

  /// nil: nothing that recurs.
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
