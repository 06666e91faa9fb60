import ArgumentParser
import Glibc
import RosterStatusClient
import RosterTerminal

struct Watch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the status live, with bars and the latest syncs.")

  @OptionGroup var place: Places

  func run() async throws {
    signal(SIGINT) { _ in _exit(0) }
    let feed = WatchFeed(client: try await place.client())
    if Output.standard.terminal.isInteractive {
      try await LiveView.run(feed)
    } else {
      try await PlainView(feed: feed).run()
    }
  }
}
