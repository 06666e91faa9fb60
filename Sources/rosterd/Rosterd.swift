import ArgumentParser
import Glibc
import RosterFiles
import RosterModel
import RosterSystemd
import RosterTerminal

@main
struct Rosterd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rosterd",
    abstract: "Keeps a SQLite cache of a paginated REST API up to date.",
    version: rosterdVersion,
    subcommands: [
      RunCommand.self, SyncCommand.self, CheckCommand.self, InferCommand.self, LoginCommand.self, DemoCommand.self,
    ],
    defaultSubcommand: RunCommand.self)

  static func main() async {
    occupyStandardStreams()
    // Who reads the log, or an answer, and goes away takes no daemon along, and is no fault.
    signal(SIGPIPE, SIG_IGN)
    do throws(Failure) { try expectProcessFolder() } catch {
      complain("\(error)")
      exit(withError: ExitCode(error.kind.exitCode))
    }
    let commands = configuration.subcommands.map { $0._commandName } + ["help"]
    // To ArgumentParser it would be an argument of `run`.
    if let word = CommandLine.arguments.dropFirst().first, !word.hasPrefix("-"), !commands.contains(word) {
      let nearest = NearestWord.to(word, among: commands).map { "; did you mean '\($0)'?" } ?? ""
      refuse(ValidationError("There is no command '\(word)'\(nearest)"))
    }
    do {
      var command = try parseAsRoot()
      do {
        if var asynchronous = command as? any AsyncParsableCommand {
          try await asynchronous.run()
        } else {
          try command.run()
        }
      } catch {
        exit(withError: error)
      }
    } catch {
      refuse(error)
    }
  }

  /// Ends with what the command line asks for instead of a command, or with what is wrong with it, of which systemd is
  /// told (S4).
  private static func refuse(_ error: any Error) -> Never {
    let code = exitCode(for: error)
    if !code.isSuccess { Notify().failed(exitStatus: code.rawValue, message(for: error)) }
    exit(withError: error)
  }
}
