import ArgumentParser
import RosterModel
import RosterStatusClient
import RosterTerminal

struct History: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "The latest syncs, the newest first.")

  @OptionGroup var daemon: SocketOption
  @OptionGroup(visibility: .hidden) var unused: CacheOption
  @Option(help: "How many, 1 to 1000.") var limit = 20
  @Flag(help: "Print /v1/syncs unchanged.") var json = false

  func validate() throws {
    guard (1...1000).contains(limit) else { throw ValidationError("--limit must be from 1 to 1000") }
  }

  func run() async throws {
    let answer = try await daemon.client().send("GET", "/v1/syncs?limit=\(limit)")
    if json { return try Output.standard.write(json: try answer.json(of: SyncList.step)) }
    let syncs = try answer.decoded(SyncList.self, of: SyncList.step).syncs
    if syncs.isEmpty { return Output.error.say("no sync has begun yet\n") }
    let terminal = Output.standard.terminal
    try Output.standard.write(SyncTable(syncs).text(width: terminal.limit, colour: terminal.colour))
  }
}
