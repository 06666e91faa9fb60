import ArgumentParser
import FoundationEssentials
import RosterCache
import RosterCore
import RosterTerminal

struct ShowRecord: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Prints one record of the cache and its changes.")

  @OptionGroup var options: ShowOptions
  @Argument(help: "The resource of the record.", completion: .resources) var resource: String
  @Argument(help: "The key of the record; a key of several parts is several arguments.") var key: [String]
  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("The parent of a child, outermost key first.", valueName: "key"))
  var of: [String] = []

  func run() async throws {
    let reader = try await options.place.reader()
    try options.tell(
      try options.find(resource, key: key, of: of, in: reader), key: key.joined(separator: " "), in: reader)
  }
}

/// The short form for the resource that rosterd knows without a configuration.
struct ShowCharacter: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "character",
    abstract: "Short for 'show character'.",
    // Hidden, as `characters` is.
    shouldDisplay: false)

  @OptionGroup var options: ShowOptions
  @Argument(help: "The key of the character.") var id: String

  func run() async throws {
    let found: CacheReader.RecordHistory
    let reader: CacheReader
    do {
      reader = try await options.place.reader()
      found = try options.find(Resource.character.name, key: [id], in: reader)
    } catch let failure as Failure
      where failure.kind == .cannotWrite && Int64(id) == nil
    {
      // Only a cache can say that its characters have other keys than numbers.
      throw ValidationError("The value '\(id)' is no whole number")
    }
    try options.tell(found, key: id, in: reader)
  }
}

/// Options of one record: its time and its format.
struct ShowOptions: ParsableArguments {
  @OptionGroup var place: Places
  @Option(
    help: ArgumentHelp(
      "The record at an earlier time: 2026-11-21T05:19:03Z, 2026-11-21 (its first moment, UTC), or 2h for two hours ago.",
      valueName: "time"))
  var at: String?
  @Flag(help: "Print JSON.") var json = false

  func validate() throws { _ = try moment() }

  /// The time of `--at`; nil without it. Throws if it cannot be read, or is in the future.
  private func moment() throws -> Date? {
    guard let at else { return nil }
    let now = Date()
    guard let moment = Date(pointInTime: at, now: now) else {
      throw ValidationError(
        "--at is \(at); it must be a time such as 2026-11-21T05:19:03Z, a date, or how long ago: 2h, 90d")
    }
    guard moment <= now else { throw ValidationError("--at is \(at), which is yet to come") }
    return moment
  }

  func find(
    _ resource: String, key: [String], of parents: [String] = [], in reader: CacheReader
  ) throws -> CacheReader.RecordHistory {
    let moment = try moment()
    return try moment.map { try reader.show(resource, key: key, of: parents, at: $0) }
      ?? reader.show(resource, key: key, of: parents)
  }

  func tell(_ found: CacheReader.RecordHistory, key: String, in reader: CacheReader) throws {
    guard let record = found.record else { throw Self.absence(key, found: found, in: reader.path) }
    if json { return try Output.standard.write(json: found.json + "\n") }
    let terminal = Output.standard.terminal
    let text = RecordText(
      record, of: found.resource, columns: found.columns, telling: found.telling, changes: found.changes, at: found.at,
      width: terminal.limit, colour: terminal.colour)
    try Output.standard.write(text.text)
  }

  private static func absence(_ key: String, found: CacheReader.RecordHistory, in cache: String) -> Failure {
    let cause =
      if let removal = found.removal {
        "it was removed by sync \(removal.sync) at \(removal.at)"
      } else if let at = found.at {
        found.hasSnapshot
          ? "there was no \(found.resource) with that key at \(at)"
          : "the cache held no snapshot of \(found.resource) at \(at)"
      } else if found.hasSnapshot {
        "there is no \(found.resource) with that key"
      } else {
        noSnapshot(in: cache)
      }
    return Failure(.cancelled, step: "show the \(found.resource)", subject: key, cause: cause)
  }
}
