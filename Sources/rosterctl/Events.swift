import ArgumentParser
import Glibc
import RosterJSON
import RosterModel
import RosterStatusClient
import RosterTerminal

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
