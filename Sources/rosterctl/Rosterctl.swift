import ArgumentParser
import Glibc
import RosterCore
import RosterTerminal

@main
struct Rosterctl: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rosterctl",
    abstract: "Shows and controls a rosterd, and reads its cache.",
    usage: "",
    version: rosterdVersion,
    subcommands: [
      Status.self, Explain.self, Watch.self, Wait.self, SyncNow.self, Cancel.self, Events.self, Rejects.self,
      History.self,
      ListRecords.self, ShowRecord.self, ListCharacters.self, ShowCharacter.self, Changes.self,
      Pending.self, Web.self,
    ])

  /// Turns each error into a sentence and an exit code.
  static func main() async {
    prepareProcess()
    do {
      try expectProcessFolder()
      let arguments = commandFirst(CommandLine.arguments.dropFirst())
      try nameCommand(arguments)
      let command = try parseAsRoot(arguments)
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        var command = command
        try command.run()
      }
    } catch let failure as Failure {
      fail(failure)
    } catch is Output.Unread {
      Glibc.exit(0)
    } catch {
      end(with: error)
    }
  }

  private static func fail(_ failure: Failure) -> Never {
    Output.error.tell("\(failure)")
    if let doubt = doubt(about: failure) { Output.error.tell("note: \(doubt)") }
    Glibc.exit(failure.kind.exitCode)
  }

  /// ArgumentParser has help, version and completions thrown, and would not see that they cannot be written.
  private static func end(with error: any Error) -> Never {
    let text = fullMessage(for: error)
    guard exitCode(for: error).isSuccess, !text.isEmpty else { exit(withError: error) }
    do { try Output.standard.write(text + "\n") } catch let failure as Failure { fail(failure) } catch {}
    Glibc.exit(0)
  }

  /// ArgumentParser says of a mistyped command only that it did not expect it.
  private static func nameCommand(_ arguments: [String]) throws {
    let commands = configuration.subcommands.map { $0._commandName } + ["help"]
    guard let word = arguments.first, !word.hasPrefix("-"), !commands.contains(word) else { return }
    let nearest = NearestWord.to(word, among: commands).map { "; did you mean '\($0)'?" } ?? ""
    throw ValidationError("There is no command '\(word)'\(nearest)")
  }

  /// `rosterctl --socket PATH status` means `rosterctl status --socket PATH`: the options belong to the commands,
  /// people write them first.
  static func commandFirst(_ arguments: ArraySlice<String>) -> [String] {
    let shared = ["--socket", "--cache", "--instance", "--config"]
    var rest = arguments
    var options: [String] = []
    while let first = rest.first, shared.contains(where: { first == $0 || first.hasPrefix("\($0)=") }) {
      let words = rest.prefix(shared.contains(first) ? 2 : 1)
      options += words
      rest = rest.dropFirst(words.count)
    }
    let own = options + withWords(Array(rest.dropFirst(1)))
    return rest.prefix(1) + (["show", "list"].contains(rest.first) ? withNegativeKeys(own) : own)
  }

  /// A part of a key may be a negative number, which ArgumentParser takes for an option.
  private static func withNegativeKeys(_ arguments: [String]) -> [String] {
    func isNegative(_ argument: String) -> Bool { argument.hasPrefix("-") && Int64(argument) != nil }
    guard arguments.contains(where: isNegative), !arguments.contains("--") else { return arguments }
    let flags = ["--json", "--absent", "--version", "--help", "-h"]
    var (options, keys): ([String], [String]) = ([], [])
    // The option that the next argument belongs to. `--of` takes all arguments up to the next option.
    var open: String?
    for argument in arguments {
      if argument.hasPrefix("-"), !isNegative(argument) {
        open = flags.contains(argument) || argument.contains("=") ? nil : argument
        if open != "--of" { options.append(argument) }
      } else if open == "--of" {
        options.append("--of=\(argument)")
      } else if open == nil {
        keys.append(argument)
      } else {
        options.append(argument)
        open = nil
      }
    }
    return options + ["--"] + keys
  }

  /// The text of a search is never an option, not even `--`.
  private static func withWords(_ arguments: [String]) -> [String] {
    guard let search = arguments.firstIndex(of: "--search"), search + 1 < arguments.count,
      arguments[search + 1].hasPrefix("-")
    else { return arguments }
    return arguments[..<search] + ["--search=\(arguments[search + 1])"] + arguments[(search + 2)...]
  }
}
