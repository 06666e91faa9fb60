import ArgumentParser
import RosterModel
import RosterStatus
import RosterTerminal

struct Status: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Shows what the daemon does and how old its data is.")

  @OptionGroup var daemon: DaemonOptions
  @Flag(help: "Print /v1/status unchanged.") var json = false

  func run() async throws {
    let answer = try await daemon.client().send("GET", "/v1/status")
    if json { return try Output.standard.write(try answer.json(of: "ask for the status")) }
    let status = try answer.decoded(DaemonStatus.self, of: "ask for the status")
    let terminal = Output.standard.terminal
    try Output.standard.write(StatusText(status, width: terminal.columns, colour: terminal.colour).text)
  }
}
