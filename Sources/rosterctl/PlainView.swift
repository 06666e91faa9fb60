import FoundationEssentials
import RosterModel
import RosterStatus
import RosterTerminal

/// `rosterctl watch` for a pipe or a file: lines, each of what has just happened.
struct PlainView {
  let feed: WatchFeed

  /// Enough to see how long a sync usually takes.
  private static let latest = 5

  func run() async throws {
    Output.standard.endWhenUnread()
    for report in try await feed.syncs(Self.latest).reversed() where report.finishedAt != nil {
      try print(WatchLine.line(report))
    }
    try print(try await feed.status())
    var line = WatchLine()
    var isGone = false
    let start = ContinuousClock.now
    try await feed.follow(
      opened: {
        if isGone { try print(try await feed.status()) }
        isGone = false
      },
      gone: { failure in
        if !isGone { try print("\(Date().rfc3339)  the daemon is gone, waiting for it: \(failure.cause)") }
        isGone = true
      },
      each: { event in
        let text = line.line(name: event.name, data: event.data, seconds: (ContinuousClock.now - start).seconds)
        if let text { try print(text) }
      })
  }

  private func print(_ status: DaemonStatus) throws {
    try print("\(Date().rfc3339)  rosterd \(status.version), pid \(status.pid): \(status.message)")
  }

  private func print(_ line: String) throws { try Output.standard.write(line + "\n") }
}
