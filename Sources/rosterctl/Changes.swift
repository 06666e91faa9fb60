import ArgumentParser
import Glibc
import RosterCache
import RosterCore
import RosterDecode
import RosterStatusClient
import RosterTerminal

struct Changes: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints the changes of syncs, one line each.")

  @OptionGroup var place: Places
  @Option(help: ArgumentHelp("Only changes after this one; default: all changes.", valueName: "id"))
  var since: Int64?
  @Option(help: ArgumentHelp("The feed that the id belongs to (cache_info.feed).", valueName: "name")) var feed: String?
  @Option(help: ArgumentHelp("Only changes of this resource.", valueName: "name"), completion: .resources)
  var resource: String?
  @Flag(help: "Wait for more, until Ctrl-C.") var follow = false
  @Flag(help: "Print JSON, an object a line.") var json = false

  func validate() throws {
    if let since, since < 0 { throw ValidationError("--since must be the id of a change, or 0") }
  }

  func run() async throws {
    let start = FeedPosition(feed: feed, seen: since)
    var follower = FeedFollower(path: try await place.cachePath(), from: start, resource: resource)
    if follow { return try await followOn(&follower) }
    var isEmpty = true
    while case let changes = try follower.next(), !changes.isEmpty {
      isEmpty = false
      try write(changes, follower: follower)
    }
    if isEmpty, !json { try sayNothing(follower) }
  }

  /// Soon enough for a user; each check costs some microseconds.
  private static let interval = Duration.milliseconds(500)
  /// A restart takes less.
  private static let patience = Duration.seconds(5)

  private func followOn(_ follower: inout FeedFollower) async throws {
    signal(SIGINT) { _ in _exit(0) }
    Output.standard.endWhenUnread()
    // A wrong path fails at once. A cache that was found may become unreadable for a while.
    try write(try follower.next(), follower: follower)
    var silence = SilencePolicy(toldAfter: Self.patience, givenUpAfter: nil)
    var last = ContinuousClock.now
    while true {
      var changes: [RecordChange] = []
      do {
        changes = try follower.next()
        silence.answered()
        last = .now
      } catch let failure as Failure where failure.kind == .cannotWrite {
        if silence.failed(after: .now - last) == .tell { Output.error.tell("note: \(failure); waiting for it") }
      }
      try write(changes, follower: follower)
      if changes.isEmpty { try await Task.sleep(for: Self.interval) }
    }
  }

  private func write(_ changes: [RecordChange], follower: FeedFollower) throws {
    if changes.isEmpty { return }
    if json { return try Output.standard.write(json: changes.map { $0.json + "\n" }.joined()) }
    let terminal = Output.standard.terminal
    let names = Set(changes.map(\.resource))
    let telling = Dictionary(uniqueKeysWithValues: names.map { ($0, follower.telling($0)) })
    let parents = follower.parents(of: changes)
    let lines = changes.map { change in
      ChangeLine(change, parent: parents[change.id], telling: telling[change.resource] ?? [])
        .text(width: terminal.limit, colour: terminal.colour) + "\n"
    }
    try Output.standard.write(lines.joined())
  }

  private func sayNothing(_ follower: FeedFollower) throws {
    let what =
      if try !follower.hasSnapshot() {
        noSnapshot(in: follower.path)
      } else if let since {
        "nothing has changed since change \(since)"
      } else {
        "nothing has changed since the first snapshot"
      }
    Output.error.say(what + "\n")
  }
}

struct Events: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Follows what happens, a line each, until Ctrl-C.",
    discussion: "If no daemon answers for 60 seconds, it exits with 3.")

  /// A start takes seconds, one that recovers a long log longer.
  private static let policy = SilencePolicy(toldAfter: .seconds(5), givenUpAfter: .seconds(60))

  @OptionGroup var place: Places
  @Flag(help: "Print JSON, an object a line.") var json = false

  func run() async throws {
    signal(SIGINT) { _ in _exit(0) }
    Output.standard.endWhenUnread()
    try await EventFollower(client: try await place.client(), policy: Self.policy).follow(
      silent: { Output.error.tell("note: \($0); waiting for it") },
      each: { [json] event in
        json
          ? try Output.standard.write(json: Self.object(event) + "\n")
          : try Output.standard.write(EventText.line(name: event.name, data: event.data) + "\n")
      })
  }

  private static func object(_ event: StreamedEvent) -> String {
    JSONWriter.object { json in
      json.member("id", json: event.id)
      json.member("event", event.name)
      json.member("data", json: event.data)
    }.text
  }
}
