import ArgumentParser
import RosterDaemon

struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Runs the daemon in the foreground, until SIGTERM or SIGINT.")

  @OptionGroup var options: ConfigurationOption

  func run() async throws {
    let configuration = try options.load()
    try await exiting { try await Daemon.run(configuration, logger: configuration.logger()) }
  }
}
