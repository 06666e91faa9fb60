import ArgumentParser
import RosterCache
import RosterModel
import RosterTerminal

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
