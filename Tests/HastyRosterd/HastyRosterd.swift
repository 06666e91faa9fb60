import FoundationEssentials
import Glibc
import RosterCore
import RosterDaemon
import RosterDefinition
import RosterSystemd

/// `rosterd run` with a `HastyClock`, whose file `HASTY_CLOCK` names.
@main
struct HastyRosterd {
  static func main() async throws {
    signal(SIGPIPE, SIG_IGN)
    let environment = ProcessInfo.processInfo.environment
    let clock = try HastyClock(file: environment["HASTY_CLOCK"] ?? "")
    let configuration = try Configuration.loadChecked(file: nil, environment: environment).configuration
    let log = configuration.logSettings
    try await Daemon.run(configuration, clock: clock.wallClock, logger: rosterLog(log), log: log)
  }
}
