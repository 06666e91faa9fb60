import ArgumentParser
import RosterFiles
import RosterModel
import RosterTerminal

@main
struct Rosterd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rosterd",
    abstract: "Keeps a SQLite cache of a paginated REST API up to date.",
    version: rosterdVersion,
    subcommands: [
      RunCommand.self, SyncCommand.self, CheckCommand.self, InferCommand.self, DemoCommand.self,
    ],
    defaultSubcommand: RunCommand.self)

  static func main() async {
    do throws(Failure) { try expectProcessFolder() } catch {
      complain("\(error)")
      exit(withError: ExitCode(error.kind.exitCode))
    }
    let commands = configuration.subcommands.map { $0._commandName } + ["help"]
    // To ArgumentParser it would be an argument of `run`.
    if let word = CommandLine.arguments.dropFirst().first, !word.hasPrefix("-"), !commands.contains(word) {
      let nearest = NearestWord.to(word, among: commands).map { "; did you mean '\($0)'?" } ?? ""
      exit(withError: ValidationError("There is no command '\(word)'\(nearest)"))
    }
    await main(nil)
  }
}
