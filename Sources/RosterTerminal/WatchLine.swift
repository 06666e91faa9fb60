internal import FoundationEssentials
package import RosterModel

/// What `rosterctl watch` prints where nothing can be drawn again: a line for what happens, now and then one for the
/// pages.
package struct WatchLine: Sendable {
  private var lastPage: Double?

  /// Before anything has happened.
  package init() {}

  /// Seconds between two lines that tell of pages.
  private static let interval = 1.0

  /// Of an event, its data as JSON; nil: not worth a line. `seconds` is any clock that goes on.
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

  /// Of one sync: `2026-01-01T12:00:00.400Z  sync 17 published in 0.4 s: …`.
  package static func line(_ report: SyncRecord) -> String {
    "\(report.finishedAt ?? report.startedAt)  \(SyncText.line(report))"
  }

  private static func ended(_ data: String) -> String? {
    (try? JSONDecoder().decode(SyncRecord.self, from: Data(data.utf8))).map(line)
  }
}
