import FoundationEssentials
import RosterModel
import RosterStatusClient
import RosterTerminal

/// `rosterctl watch` for a pipe or a file: lines, each of what has just happened.
actor PlainView {
  private let feed: WatchFeed
  private var line = WatchLine()
  private let start = ContinuousClock.now

  /// Enough to see how long a sync usually takes.
  private static let latest = 5

  init(feed: WatchFeed) {
    self.feed = feed
  }

  func run() async throws {
    Output.standard.endWhenUnread()
    for report in try await feed.syncs(Self.latest).reversed() where report.finishedAt != nil {
      try print(WatchLine.line(report))
    }
    try print(try await feed.status())
    try await feed.events.follow(
      opened: { again in if again { try await self.printStatus() } },
      silent: { failure in
        try await self.print("\(Date().rfc3339)  the daemon is gone, waiting for it: \(failure.cause)")
      },
      each: { event in try await self.happened(event) })
  }

  private func happened(_ event: StreamedEvent) throws {
    if let text = line.line(name: event.name, data: event.data, seconds: (ContinuousClock.now - start).seconds) {
      try print(text)
    }
  }

  private func printStatus() async throws { try print(try await feed.status()) }

  private func print(_ status: DaemonStatus) throws {
    try print("\(Date().rfc3339)  rosterd \(status.version), pid \(status.pid): \(status.message)")
  }

  private func print(_ line: String) throws { try Output.standard.write(line.printable + "\n") }
}
