import ArgumentParser
import FoundationEssentials
import Glibc
import RosterTerminal

struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Shows the whole main job on this machine alone.")

  @Flag(help: "Print a summary as JSON and nothing else.")
  var json = false

  func run() async throws {
    try await exiting {
      let demo = try await Demo.run(isShown: !json)
      try answer(json ? try demo.json() : demo.story(terminal))
    }
  }

  private var terminal: Terminal { .of(STDOUT_FILENO, environment: ProcessInfo.processInfo.environment) }
}
