import ArgumentParser
import RosterModel
import RosterStatus
import RosterTerminal

struct History: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Lists the latest syncs, the newest first.")

  private struct Syncs: Decodable { var syncs: [SyncReport] }

  @OptionGroup var daemon: DaemonOptions
  @Option(help: "How many, 1 to 1000.") var limit = 20
  @Flag(help: "Print /v1/syncs unchanged.") var json = false

  func validate() throws {
    guard (1...1000).contains(limit) else { throw ValidationError("--limit must be from 1 to 1000") }
  }

  func run() async throws {
    let answer = try await daemon.client.send("GET", "/v1/syncs?limit=\(limit)")
    if json { return Output.standard.write(try answer.body(of: "ask for the syncs")) }
    for report in try answer.decoded(Syncs.self, of: "ask for the syncs").syncs {
      Output.standard.write("\(report.startedAt)  \(SyncText.line(report))\n")
    }
  }
}
