import ArgumentParser
import Dispatch
import Glibc
import RosterCore
import RosterSystemd
import RosterTerminal

@main
struct RosterdPostgres: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rosterd-postgres",
    abstract: "Copies each snapshot of rosterd's cache to PostgreSQL, whole and in one transaction.",
    version: rosterdVersion,
    subcommands: [FollowCommand.self, CatchUpCommand.self, StatusCommand.self, DropCommand.self])

  static func main() {
    StopSignal.hold()
    preventCoreFiles()
    prepareProcess()
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch let failure as Failure {
      tell("\(failure)")
      Notify().failed(exitStatus: failure.kind.exitCode, "\(failure)")
      Glibc.exit(failure.kind.exitCode)
    } catch {
      exit(withError: error)
    }
  }
}
