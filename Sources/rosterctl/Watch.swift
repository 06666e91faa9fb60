import ArgumentParser
import Glibc
import RosterStatusClient
import RosterTerminal

struct Watch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "The same, live, with bars and the latest syncs.")

  @OptionGroup var daemon: SocketOption
  @OptionGroup(visibility: .hidden) var unused: CacheOption

  func run() async throws {
    signal(SIGINT) { _ in _exit(0) }
    let feed = WatchFeed(client: daemon.client())
    if Output.standard.terminal.isInteractive {
      try await LiveView.run(feed)
    } else {
      try await PlainView(feed: feed).run()
    }
  }
}
