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
      if json { try answer(asJSON: demo.summary) } else { try answer(demo.story(terminal)) }
    }
  }

  private var terminal: Terminal { .of(STDOUT_FILENO, environment: ProcessInfo.processInfo.environment) }
}
