import FoundationEssentials
import RosterCore
import Testing

@Suite("rosterd(8) and rosterctl(1), and completions")
struct ManPageTests {
  @Test(
    "The man page has every command of the program, with its options in the synopsis or among the common ones",
    arguments: [("rosterd", "8"), ("rosterctl", "1")])
  func page(program: String, section: String) async throws {
    let page = try text("man/\(program).\(section)")
    let commands = try await CommandTree.commands(of: program)
    #expect(!commands.isEmpty)
    for command in commands {
      #expect(page.contains("\n.It Cm \(command.commandName)"), "\(command.commandName) is missing")
      for name in command.arguments?.flatMap({ $0.names ?? [] }) ?? [] where name.kind == "long" {
        #expect(page.contains("\n.It Fl -\(name.name)"), "--\(name.name) of \(command.commandName) is missing")
      }
    }
  }

  private func text(_ path: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    return try String(contentsOfFile: root.appending(path: path).path, encoding: .utf8)
  }

  @Test("TERMS of rosterctl(1) explains every state, every outcome of a sync and every proof")
  func terms() throws {
    let section = try text("man/rosterctl.1").split(separator: "\n.Sh ").first { $0.hasPrefix("TERMS") }
    let explained = try #require(section).split(separator: "\n").filter { $0.hasPrefix(".Ql ") }
    let words = DaemonStatus.State.allCases.map(\.rawValue) + SyncRecord.Outcome.allCases.map(\.rawValue)
    for word in words + ["count", "end", "weak"] {
      #expect(explained.contains { $0 == ".Ql \(word) :" }, "\(word) is missing")
    }
  }

  @Test(
    "The man page has every exit status of the program",
    arguments: [
      ("rosterd.8", Set([0, 1, 64, 65, 69, 70, 73, 75, 77, 78, 243])),
      ("rosterctl.1", Set([0, 1, 3, 64, 65, 69, 70, 73, 75, 77, 78, 130])),
    ])
  func exits(page: String, expected: Set<Int32>) throws {
    let section = try text("man/\(page)").split(separator: "\n.Sh ").first { $0.hasPrefix("EXIT STATUS") }
    let named = try #require(section).split(separator: "\n").compactMap { $0.wholeMatch(of: /\.It (\d+)/) }
    #expect(Set(named.compactMap { Int32($0.1) }) == expected)
    // Only rosterctl has this code: no daemon answers.
    let own = Set(Failure.Kind.allCases.map(\.exitCode)).subtracting(page == "rosterd.8" ? [3] : [])
    #expect(own.isSubset(of: expected))
  }

  @Test(
    "The man page has every environment variable that the program reads",
    arguments: [
      ("rosterctl.1", ["rosterctl", "RosterTerminal", "RosterDefinition/Configuration"]),
      ("rosterd.8", ["rosterd", "RosterTerminal", "RosterDefinition/Configuration", "RosterDaemon", "RosterSystemd"]),
    ])
  func variables(page: String, sources: [String]) throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources")
    let page = try text("man/\(page)")
    var found: Set<Substring> = []
    for source in sources {
      let place = root.appending(path: source).path
      for file in try FileManager.default.subpathsOfDirectory(atPath: place) where file.hasSuffix(".swift") {
        let code = try String(contentsOfFile: "\(place)/\(file)", encoding: .utf8)
        found.formUnion(code.matches(of: /(?:environment\[|getenv\(|service\(|folder\()"([A-Z_]+)"/).map(\.1))
      }
    }
    #expect(found.contains("NO_COLOR") && found.contains("STATE_DIRECTORY"))
    let named = page.split(separator: "\n").filter { $0.hasPrefix(".It Ev ") }.flatMap { $0.split(separator: " ") }
    for variable in found where !variable.hasPrefix("ROSTERD_") {
      #expect(named.contains(variable), "\(variable) is missing")
    }
  }

  @Test(
    "Completions are there for bash, zsh and fish",
    arguments: ["rosterd", "rosterctl"], [("bash", "complete -"), ("zsh", "#compdef"), ("fish", "complete -c")])
  func completions(program: String, shell: (name: String, mark: String)) async throws {
    let script = try await Program.run(
      try Program.built(program), arguments: ["--generate-completion-script", shell.name])
    #expect(script.exit == 0)
    #expect(script.output.contains(shell.mark))
    #expect(script.output.contains(program))
  }
}
