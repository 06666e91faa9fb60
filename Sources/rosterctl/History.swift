import ArgumentParser
import RosterCache
import RosterCore
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

struct Rejects: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "The records that could not be stored, and why.")

  @OptionGroup var place: Places
  @Flag(help: "Print JSON.") var json = false

  func run() async throws {
    let reader = try await place.reader()
    let found = try reader.rejects()
    if json { return try Output.standard.write(json: found.json + "\n") }
    if let failed = found.failed { Output.error.tell("note: \(SyncText.line(failed))") }
    if found.records.isEmpty {
      return Output.error.say((found.hasSnapshot ? Self.nothing(found) : noSnapshot(in: reader.path)) + "\n")
    }
    let terminal = Output.standard.terminal
    for reject in found.records {
      try Output.standard.write(reject.text(width: terminal.limit, colour: terminal.colour))
    }
  }

  private static func nothing(_ found: CacheReader.Rejects) -> String {
    "all records" + (found.failed == nil ? "" : " of the snapshot") + " could be stored"
  }
}

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
