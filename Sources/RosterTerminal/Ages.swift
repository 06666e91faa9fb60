import FoundationEssentials
import RosterModel

/// Times as seen at one moment. Without that moment, each is nil.
struct Ages {
  /// The moment; nil if it is unknown.
  let now: Date?

  /// The words for the times of a headline.
  var times: Headline.Times {
    let absolute = Headline.Times.absolute
    return Headline.Times(past: { ago($0) ?? absolute.past($0) }, next: { due($0) ?? absolute.next($0) })
  }

  /// The number of seconds from the moment to a time.
  func seconds(until time: String?) -> Double? {
    guard let now, let date = time.flatMap(Date.init(rfc3339:)) else { return nil }
    return date.timeIntervalSince(now)
  }

  /// `3.2 s ago`.
  func ago(_ time: String?) -> String? { seconds(until: time).map { HumanFormat.ago(-$0) } }

  /// The start of the next sync: `in 14 min`, `now`, `due since 11:56:40 UTC (3 min 20 s ago)`.
  func due(_ time: String) -> String? {
    guard let seconds = seconds(until: time) else { return nil }
    if seconds > 0 { return "in \(HumanFormat.span(seconds))" }
    if -seconds < Self.beginning { return "now" }
    let parts = time.split { $0 == "T" || $0 == "." }
    let clock = -seconds < Self.day ? "\(parts[1])" : "\(parts[0]) \(parts[1])"
    return "due since \(clock) UTC (\(HumanFormat.span(-seconds)) ago)"
  }

  /// `expires in 14 min`, `expired 3.2 s ago`.
  func end(of time: String?) -> String? {
    guard let seconds = seconds(until: time) else { return nil }
    return seconds > 0 ? "expires in \(HumanFormat.span(seconds))" : "expired \(HumanFormat.span(-seconds)) ago"
  }

  /// Number of seconds that a due sync may take to begin.
  private static let beginning = 1.0
  private static let day = 86_400.0
}
