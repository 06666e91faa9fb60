import ArgumentParser
import RosterConfiguration
import RosterDaemon
import RosterSystemd

struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Runs the daemon in the foreground, until SIGTERM or SIGINT.")

  @OptionGroup var options: ConfigurationOption

  func run() async throws {
    let configuration = try options.load(telling: Notify())
    let log = configuration.logSettings
    try await exiting(log.format) {
      try await Daemon.run(
        configuration, logger: rosterLog(log), log: log, reread: options.read(again:))
    }
  }
}
