package import RosterModel

/// What `rosterctl watch` shows: the status, and how long the latest syncs took.
package struct WatchText: Sendable {
  /// nil: no daemon answers any more.
  package var status: DaemonStatus?
  /// The latest first.
  package var syncs: [SyncReport]
  /// Why no daemon answers, where none does.
  package var silence: String?

  package init(status: DaemonStatus?, syncs: [SyncReport], silence: String? = nil) {
    self.status = status
    self.syncs = syncs
    self.silence = silence
  }

  /// At most `rows` lines of at most `width` cells, as far as words permit.
  package func lines(width: Int, rows: Int, colour: Bool) -> [String] {
    let why = silence.map {
      ["○ " + Self.gone.toned(.bad, colour)] + ($0.printable + Self.below).wrapped(width - 2).map { "  " + $0 } + [""]
    }
    let head = why ?? []
    let text = status.map { StatusText($0, width: width, colour: colour).text } ?? ""
    let body = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    let table = syncs.isEmpty ? "" : "\n" + SyncTable(syncs).text(width: width, colour: colour)
    let latest = table.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    return Array((head + body + latest).prefix(rows))
  }

  private static let gone = "the daemon is gone, waiting for it"
  private static let below = "; below, how it was"
}
