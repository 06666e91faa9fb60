import FoundationEssentials
import Testing

@Suite("Section 1: rosterd(8) and rosterctl(1), and completions")
struct ManPageTests {
  /// What argument-parser tells of a program.
  private struct Description: Decodable {
    struct Command: Decodable {
      var commandName: String
      var shouldDisplay: Bool?
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

    var command: Command
  }

  @Test(
    "The man page has every command of the program, each with its options in the synopsis or among those of all",
    arguments: [("rosterd", "8"), ("rosterctl", "1")])
  func page(program: String, section: String) async throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../man/\(program).\(section)")
    let page = try String(contentsOfFile: path.path, encoding: .utf8)
    let dump = try await Program.run(try Program.built(program), ["--experimental-dump-help"]).output
    let command = try JSONDecoder().decode(Description.self, from: Data(dump.utf8)).command
    let commands = (command.subcommands ?? []).filter { $0.commandName != "help" }
    #expect(!commands.isEmpty)
    for command in commands {
      #expect(page.contains("\n.It Cm \(command.commandName)"), "\(command.commandName) is missing")
      for name in command.arguments?.flatMap({ $0.names ?? [] }) ?? [] where name.kind == "long" {
        #expect(page.contains("\n.It Fl -\(name.name)"), "--\(name.name) of \(command.commandName) is missing")
      }
    }
  }

  @Test(
    "Completions are there for bash, zsh and fish",
    arguments: ["rosterd", "rosterctl"], [("bash", "complete -"), ("zsh", "#compdef"), ("fish", "complete -c")])
  func completions(program: String, shell: (name: String, mark: String)) async throws {
    let script = try await Program.run(try Program.built(program), ["--generate-completion-script", shell.name])
    #expect(script.exit == 0)
    #expect(script.output.contains(shell.mark))
    #expect(script.output.contains(program))
  }
}
