import ArgumentParser
import RosterCache
import RosterModel
import RosterTerminal

struct ListCharacters: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "characters",
    abstract: "Lists or searches the cache; needs no daemon.")

  @OptionGroup(visibility: .hidden) var unused: SocketOption
  @OptionGroup var place: CacheOption
  @Argument(
    help: "What each must occur, whole or as a beginning, in name, species, type, origin or location; without: all.")
  var words: [String] = []
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The same, also for words that begin with a dash.", valueName: "words"))
  var search = ""
  @Option(help: ArgumentHelp("Which page, from 1.", valueName: "n")) var page = 1
  @Flag(help: "Print JSON.") var json = false

  func validate() throws {
    guard page >= 1 else { throw ValidationError("--page must be 1 or more") }
  }

  func run() async throws {
    let words = ([search] + words).joined(separator: " ")
    let listing = try place.reader().characters(search: words, page: page)
    if json { return try Output.standard.write(json: listing.json + "\n") }
    guard !listing.characters.isEmpty else {
      return Output.error.say(Self.nothing(listing, isSearch: words.contains { $0 != " " }) + "\n")
    }
    let terminal = Output.standard.terminal
    let table = CharacterTable(listing.characters.map(\.character))
    try Output.standard.write(table.text(width: terminal.limit, colour: terminal.colour))
    let found = listing.total == 1 ? "1 character" : "\(listing.total) characters"
    if listing.pages > 1 { try Output.standard.write("page \(listing.page) of \(listing.pages), \(found)\n") }
  }

  private static func nothing(_ listing: CacheReader.Listing, isSearch: Bool) -> String {
    if listing.total > 0 {
      return listing.pages == 1 ? "there is only one page" : "there are only \(listing.pages) pages"
    }
    if !listing.hasSnapshot { return "the cache holds no snapshot yet: no sync has been published" }
    return isSearch ? "no character has all these words" : "upstream has no characters"
  }
}
