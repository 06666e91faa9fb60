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

  @Option(
    help: ArgumentHelp(
      "Serve the demo's upstream on this port of 127.0.0.1 until Ctrl-C, and do nothing else. 0: a free port.",
      valueName: "port"))
  var serve: UInt16?

  func validate() throws {
    guard !json || serve == nil else { throw ValidationError("--serve has no summary: leave --json out") }
  }

  func run() async throws {
    if let serve { return try await exiting { try await Demo.serve(port: serve) } }
    try await exiting {
      let demo = try await Demo.run(isShown: !json)
      if json { try answer(asJSON: demo.summary) } else { try answer(demo.story(terminal)) }
    }
  }

  private var terminal: Terminal { .of(STDOUT_FILENO, environment: ProcessInfo.processInfo.environment) }
}
