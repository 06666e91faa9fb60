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
      let command = try parseAsRoot(Self.commandFirst(CommandLine.arguments.dropFirst()))
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

  /// `rosterctl --socket PATH status` means `rosterctl status --socket PATH`: the options belong to the commands, people write them first.
  static func commandFirst(_ arguments: ArraySlice<String>) -> [String] {
    let shared = ["--socket", "--cache"]
    var rest = arguments
    var options: [String] = []
    while let first = rest.first, shared.contains(where: { first == $0 || first.hasPrefix("\($0)=") }) {
      let words = rest.prefix(shared.contains(first) ? 2 : 1)
      options += words
      rest = rest.dropFirst(words.count)
    }
    return rest.prefix(1) + options + rest.dropFirst(1)
  }
}
