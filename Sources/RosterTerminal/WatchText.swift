package import FoundationEssentials
package import RosterModel

/// The content of `rosterctl watch`: the status, and the durations of the latest syncs.
package struct WatchText: Sendable {
  /// The status when a daemon last answered.
  package var status: DaemonStatus
  /// The time of that answer; nil if unknown.
  package var now: Date?
  /// The latest first.
  package var syncs: [SyncRecord]
  /// The reason why no daemon answers; nil if one does.
  package var silence: String?

  /// - Parameters:
  ///   - now: the time of the status; nil if unknown.
  ///   - syncs: the latest first.
  package init(status: DaemonStatus, now: Date? = nil, syncs: [SyncRecord], silence: String? = nil) {
    self.status = status
    self.now = now
    self.syncs = syncs
    self.silence = silence
  }

  /// Lines of at most `width` cells, or as long as a single word. If there are many resources, only as many are shown
  /// as leave room for the rest.
  /// - Parameter room: number of lines on the screen.
  func lines(width: Int, room: Int, colour: Bool) -> [String] {
    let gone = silence.map {
      ["○ " + Self.gone.toned(.bad, colour: colour)] + ($0.printable + Self.below).wrapped(width - 2).map { "  " + $0 }
        + [""]
    }
    let text = StatusText(status, now: now, width: width, colour: colour, maxResources: max(1, room / 2)).text
    let table = syncs.isEmpty ? "" : "\n" + SyncTable(syncs).text(width: width, colour: colour)
    let lines = (text + table).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    return (gone ?? []) + lines.map(String.init)
  }

  private static let gone = "the daemon is gone, waiting for it"
  private static let below = "; below, how it was"
}
