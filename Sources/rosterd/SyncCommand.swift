import ArgumentParser
import FoundationEssentials
import Glibc
import RosterConfiguration
import RosterDaemon
import RosterModel
import RosterSystemd
import RosterTerminal

struct SyncCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync", abstract: "Syncs once, then exits; for cron and timers.")

  @OptionGroup var options: ConfigurationOption
  @Flag(help: "Print the finished sync as JSON.")
  var json = false
  @Flag(help: "Let this sync remove more than sync.max_removal percent.")
  var allowRemoval = false

  func run() async throws {
    let configuration = try options.load()
    try await exiting(configuration.log.format) {
      let bar = LiveBar()
      let report = try await OneSync.run(
        configuration, allowRemoval: allowRemoval, logger: rosterLog(configuration.logSettings), watch: bar.follow)
      if json { try answer(try jsonLine(report)) }
      if let exit = report.exit, exit != 0 { throw ExitCode(exit) }
    }
  }
}
