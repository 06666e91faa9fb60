import ArgumentParser
import Glibc
import RosterModel
import RosterStatus
import RosterTerminal

struct Events: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Follows what happens, a line each, until Ctrl-C.")

  @OptionGroup var daemon: DaemonOptions
  @Flag(help: "Print JSON, an object a line.") var json = false

  func run() async throws {
    signal(SIGINT) { _ in _exit(0) }
    Output.standard.endWhenUnread()
    try await daemon.client().follow { event in
      try Output.standard.write((json ? Self.json(event) : EventText.line(name: event.name, data: event.data)) + "\n")
      return true
    }
    throw Failure(.noDaemon, step: "follow the events", subject: "the daemon", cause: "it ended the stream")
  }

  private static func json(_ event: StreamedEvent) -> String {
    #"{"id":\#(event.id ?? "null"),"event":"\#(event.name)","data":\#(event.data)}"#
  }
}
