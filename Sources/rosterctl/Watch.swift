import ArgumentParser
import Glibc
import RosterModel
import RosterStatus
import RosterTerminal

struct Watch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the daemon's status live, with progress bars and the durations of the latest syncs, until Ctrl-C.")

  @OptionGroup var daemon: DaemonOptions

  func run() async throws {
    signal(SIGINT) { _ in _exit(0) }
    let feed = WatchFeed(client: daemon.client())
    if Output.standard.terminal.isInteractive {
      try await LiveView(feed: feed).run()
    } else {
      try await PlainView(feed: feed).run()
    }
  }
}

/// What both views ask the daemon for.
struct WatchFeed: Sendable {
  let client: StatusClient

  /// Between two looks for a daemon that does not answer; nothing tells of one.
  static let interval = Duration.milliseconds(300)
  /// A daemon that stopped answering is told as gone before a person wonders.
  private static let patience = Duration.seconds(2)

  func status() async throws -> DaemonStatus {
    try await client.send("GET", "/v1/status", within: Self.patience).decoded(
      DaemonStatus.self, of: "ask for the status")
  }

  /// The latest first.
  func syncs(_ count: Int) async throws -> [SyncReport] {
    try await client.send("GET", "/v1/syncs?limit=\(count)", within: Self.patience).decoded(
      SyncList.self, of: "ask for the syncs"
    ).syncs
  }

  /// Follows the events of one daemon after the other; `gone` is told why there is none. Ends with its task.
  func follow(
    opened: () async throws -> Void, gone: (Failure) async throws -> Void,
    each: (StreamedEvent) async throws -> Void
  ) async throws {
    while true {
      do {
        try await client.follow(
          opened: {
            try await opened()
            return true
          },
          each: { event in
            try await each(event)
            return true
          })
        try Task.checkCancellation()
        try await gone(Failure(.noDaemon, step: "follow the events", subject: "the daemon", cause: "it stopped"))
      } catch let failure as Failure where failure.exit != .cannotWrite {
        try await gone(failure)
      }
      try await Task.sleep(for: Self.interval)
    }
  }
}
