import ArgumentParser
import Glibc
import RosterModel

@main
struct Rosterctl: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rosterctl",
    abstract: "Asks a running rosterd how it is, and tells it what to do.",
    version: rosterdVersion,
    subcommands: [Status.self, Wait.self, Sync.self, Events.self, History.self])

  /// One place turns what went wrong into a sentence and an exit code.
  static func main() async {
    do {
      let command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        var command = command
        try command.run()
      }
    } catch let failure as Failure {
      Output.error.write("rosterctl: \(failure)\n")
      Glibc.exit(failure.exit.rawValue)
    } catch {
      exit(withError: error)
    }
  }
}
