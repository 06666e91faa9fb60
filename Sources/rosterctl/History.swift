import ArgumentParser
import RosterCache
import RosterModel
import RosterStatusClient
import RosterTerminal

struct History: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "The latest syncs, the newest first.",
    discussion: "If no daemon answers, it lists the syncs in the cache and exits with 3.")

  @OptionGroup var place: Places
  @Option(help: "Number of syncs, 1 to 1000.") var limit = 20
  @Flag(help: "Print /v1/syncs unchanged.") var json = false

  func validate() throws {
    guard (1...1000).contains(limit) else { throw ValidationError("--limit must be from 1 to 1000") }
  }

  func run() async throws {
    do {
      let answer = try await place.clientOrSilence().send(
        "GET", target: "/v1/syncs?limit=\(limit)", within: Self.patience)
      if json { return try Output.standard.write(json: try answer.json(of: SyncList.step)) }
      try show(try answer.decoded(SyncList.self, of: SyncList.step).syncs)
    } catch let silence as Failure where silence.kind == .noDaemon {
      let alone = try await CacheAlone(place, after: silence)
      let syncs = try alone.read { try $0.recent(limit: limit) }
      Output.error.tell(alone.note)
      try Output.ifRead {
        if json { try Output.standard.write(asJSON: SyncList(syncs: syncs)) } else { try show(syncs) }
      }
      throw ExitCode(silence.kind.exitCode)
    }
  }

  /// A person need not wait longer.
  private static let patience = Duration.seconds(5)

  private func show(_ syncs: [SyncRecord]) throws {
    if syncs.isEmpty { return Output.error.say("no sync has begun yet\n") }
    let terminal = Output.standard.terminal
    try Output.standard.write(SyncTable(syncs).text(width: terminal.limit, colour: terminal.colour))
  }
}
