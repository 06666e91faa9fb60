internal import FoundationEssentials
package import RosterModel

/// The output of `rosterctl watch` if lines cannot be redrawn: one line for each event, and for pages at most one per
/// second.
package struct WatchLine: Sendable {
  private var lastPage: Double?

  /// Starts before the first event.
  package init() {}

  /// Minimum number of seconds between two lines about pages.
  private static let interval = 1.0

  /// The line for an event with JSON data; nil if it gets none. `seconds` is the time of any monotonic clock.
  package mutating func line(name: String, data: String, seconds: Double) -> String? {
    switch Event.Name(rawValue: name) {
    case .pageFetched:
      if let lastPage, seconds - lastPage < Self.interval { return nil }
      lastPage = seconds
    case .tokenJoined, .tokenRefused: return nil
    case .syncStarted: lastPage = seconds
    case .syncPublished, .syncUnchanged, .syncFailed, .syncCancelled:
      if let line = Self.ended(data) { return line }
    default: break
    }
    return EventText.line(name: name, data: data)
  }

  /// The line for one sync: `2026-01-01T12:00:00.400Z  sync 17 published in 0.4 s: …`.
  package static func line(_ report: SyncRecord) -> String {
    "\(report.finishedAt ?? report.startedAt)  \(SyncText.line(report))"
  }

  private static func ended(_ data: String) -> String? {
    (try? JSONDecoder().decode(SyncRecord.self, from: Data(data.utf8))).map(line)
  }
}
