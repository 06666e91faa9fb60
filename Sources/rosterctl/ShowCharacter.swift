import ArgumentParser
import RosterCache
import RosterModel
import RosterTerminal

struct ShowCharacter: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "character",
    abstract: "One character of the cache and how it changed.")

  @OptionGroup(visibility: .hidden) var unused: SocketOption
  @OptionGroup var place: CacheOption
  @Argument(help: "The character's number.") var id: Int64
  @Flag(help: "Print JSON.") var json = false

  func run() async throws {
    let reader = try place.reader()
    guard let found = try reader.character(id: id) else { throw try absence(reader) }
    if json { return try Output.standard.write(json: found.json + "\n") }
    let changes = found.changes.map {
      CharacterText.Change(sync: $0.sync, kind: $0.kind.rawValue, at: $0.at, before: $0.before, after: $0.after)
    }
    let terminal = Output.standard.terminal
    let text = CharacterText(
      found.character.json, changes: changes, width: terminal.limit, colour: terminal.colour)
    try Output.standard.write(text.text)
  }

  private func absence(_ reader: CacheReader) throws -> Failure {
    let cause =
      if let removal = try reader.removal(of: id) {
        "it was removed by sync \(removal.sync) at \(removal.at)"
      } else if try reader.hasSnapshot() {
        "there is none of that number"
      } else {
        "the cache holds no snapshot yet: no sync has been published"
      }
    return Failure(.cancelled, step: "show the character", subject: String(id), cause: cause)
  }
}
