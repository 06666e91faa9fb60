import FoundationEssentials

/// The description of a program that argument-parser prints.
struct CommandTree: Decodable {
  struct Command: Decodable {
    var commandName: String
    var arguments: [Argument]?
    var subcommands: [Command]?
  }

  struct Argument: Decodable {
    struct Name: Decodable {
      var kind: String
      var name: String
    }

    var names: [Name]?
  }

  private var command: Command

  /// All commands of the program but `help`.
  static func commands(of program: String) async throws -> [Command] {
    let dump = try await Program.run(try Program.built(program), arguments: ["--experimental-dump-help"]).output
    let tree = try JSONDecoder().decode(Self.self, from: Data(dump.utf8))
    return (tree.command.subcommands ?? []).filter { $0.commandName != "help" }
  }
}
