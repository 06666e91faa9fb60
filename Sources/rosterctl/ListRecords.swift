import ArgumentParser
import RosterCache
import RosterCore
import RosterTerminal

struct ListRecords: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists or searches a resource of the cache.")

  @OptionGroup var options: ListOptions
  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Only children of this record, outermost key first.", valueName: "key"))
  var of: [String] = []
  @Argument(help: "The resource to list; default: the names of the resources.", completion: .resources)
  var resource: String?

  func validate() throws {
    if !of.isEmpty, options.search != nil || options.absent {
      throw ValidationError("--of lists all children of a record; it cannot be combined with --search or --absent")
    }
    guard resource == nil, options.search != nil || (options.page ?? 1) > 1 || options.absent || !of.isEmpty else {
      return
    }
    throw ValidationError("--search, --page, --absent and --of need a RESOURCE")
  }

  func run() async throws {
    if let resource { return try await options.list(resource, of: of, search: options.search) }
    let found = try await options.place.reader().resources()
    if options.json { return try Output.standard.write(json: found.json + "\n") }
    let terminal = Output.standard.terminal
    let table = ResourceTable(found.entries.map { ($0.name, $0.table, $0.records) })
    try Output.standard.write(table.text(width: terminal.limit, colour: terminal.colour))
  }
}

/// The short form for the resource that rosterd knows without a configuration.
struct ListCharacters: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "characters",
    abstract: "Short for 'list character'.",
    // The list of commands is to fit a screen; man rosterctl(1) has it.
    shouldDisplay: false)

  @OptionGroup var options: ListOptions
  @Argument(help: "The words of --search; default: all records.") var words: [String] = []

  func run() async throws {
    let search = options.search.map { [$0] + words } ?? words
    if options.absent, !search.isEmpty { throw ListOptions.absentAlone }
    try await options.list(Resource.character.name, search: search.isEmpty ? nil : search.joined(separator: " "))
  }
}

/// Options of a list: the records on its page, and their format.
struct ListOptions: ParsableArguments {
  @OptionGroup var place: Places
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Words that must all occur, whole or as a beginning.", valueName: "words"))
  var search: String?
  @Option(help: ArgumentHelp("The page, from 1; in a pipe all records by default.", valueName: "n"))
  var page: Int?
  @Flag(help: "Only records that the last whole pull missed.") var absent = false
  @Flag(help: "Print JSON.") var json = false

  static let absentAlone = ValidationError("--absent lists all absent records; it cannot be combined with a search")

  func validate() throws {
    if let page, page < 1 { throw ValidationError("--page must be 1 or more") }
    if absent, search != nil { throw Self.absentAlone }
  }

  func list(_ resource: String, of parents: [String] = [], search: String?) async throws {
    let terminal = Output.standard.terminal
    let isTable = json || terminal.limit != nil
    let reader = try await place.reader()
    let listing = try reader.list(
      resource, of: parents, search: search, isAbsent: absent, page: isTable ? page ?? 1 : page)
    if json { return try Output.standard.write(json: listing.json + "\n") }
    let table = RecordTable(listing.telling, besides: listing.columns, records: listing.records)
    let isEmpty = listing.records.isEmpty
    if isEmpty {
      let isSearch = search?.contains { $0 != " " } == true
      Output.error.say(nothing(listing, in: reader.path, isSearch: isSearch) + "\n")
    }
    guard let width = terminal.limit else {
      // A page after the last one has nothing, not even names.
      let isNothing = isEmpty && (!listing.hasSnapshot || listing.total > 0)
      return isNothing ? () : try Output.standard.write(table.tabSeparated)
    }
    if isEmpty { return }
    try Output.standard.write(table.text(width: width, colour: terminal.colour))
    if listing.pages > 1 {
      let found = listing.total.counted(as: "record")
      try Output.standard.write("page \(listing.page) of \(listing.pages), \(found)\n")
    }
  }

  private func nothing(_ listing: CacheReader.Listing, in cache: String, isSearch: Bool) -> String {
    if listing.total > 0 {
      return listing.pages == 1 ? "there is only one page" : "there are only \(listing.pages) pages"
    }
    if !listing.hasSnapshot { return noSnapshot(in: cache) }
    if absent, listing.unknown > 0 {
      return
        "no \(listing.resource) counts as absent, and none is removed: "
        + "upstream sent \(listing.unknown.counted(as: "record")) whose key is unknown; see `rosterctl rejects`"
    }
    if absent { return "no \(listing.resource) is absent: the last whole pull had all of them" }
    return isSearch ? "no \(listing.resource) has all these words" : "upstream has no \(listing.resource)"
  }
}
