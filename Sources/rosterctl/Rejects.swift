import ArgumentParser
import RosterCache
import RosterTerminal

struct Rejects: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "The records that could not be stored, and why.")

  @OptionGroup(visibility: .hidden) var unused: SocketOption
  @OptionGroup var place: CacheOption
  @Flag(help: "Print JSON.") var json = false

  func run() async throws {
    let found = try place.reader().rejects()
    if json { return try Output.standard.write(json: found.json + "\n") }
    guard !found.records.isEmpty else {
      return Output.error.say((found.hasSnapshot ? "all records could be stored" : noSnapshot) + "\n")
    }
    let terminal = Output.standard.terminal
    for reject in found.records {
      let text = RejectText(
        resource: reject.resource, page: reject.page, position: reject.position, reason: reject.reason,
        document: reject.document)
      try Output.standard.write(text.text(width: terminal.limit, colour: terminal.colour))
    }
  }
}
