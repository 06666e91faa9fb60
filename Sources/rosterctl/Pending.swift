import ArgumentParser
import RosterCache
import RosterModel
import RosterTerminal

struct Pending: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints what a sync has pulled and not published.")

  @OptionGroup var place: Places
  @Flag(help: "Print JSON.") var json = false

  func run() async throws {
    let pending = try await place.reader().pending()
    if json { return try pending.writeJSON { try Output.standard.write(json: $0) } }
    let terminal = Output.standard.terminal
    let text = PendingText(await settled(pending.pull), width: terminal.limit, colour: terminal.colour)
    try Output.standard.write(text.summary)
    try pending.each { try Output.standard.write(text.text(of: $0, $1)) }
    try pending.eachAbsent { try Output.standard.write(text.text(of: $0, $1)) }
  }

  /// Replaces the report of a sync that seems to run by its end as the daemon knows it.
  private func settled(_ pull: PendingPull) async -> PendingPull {
    guard pull.report?.outcome == .running, let client = try? await place.client(),
      let status = try? await client.status(within: .seconds(2))
    else { return pull }
    return pull.settled(by: status.sync)
  }
}
