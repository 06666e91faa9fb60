import ArgumentParser
import FoundationEssentials
import Glibc
import RosterModel
import RosterStatus
import RosterTerminal

struct Sync: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Asks for a sync now.")

  private struct Progress: Decodable {
    var done: Int
    var total: Int

    enum CodingKeys: String, CodingKey {
      case done = "pages_done"
      case total = "pages_total"
    }
  }

  /// A shell's exit code for a program that Ctrl-C ended; the sync goes on.
  private static let interrupted: Int32 = 130

  @OptionGroup var daemon: DaemonOptions
  @Flag(help: "Follow the sync and exit as it ends.") var wait = false
  @Flag(help: "Let it remove more than sync.max_removal permits.") var allowRemoval = false
  @Flag(help: "Try the stored token of an ended session once more.") var retrySession = false
  @Flag(help: "Print JSON: what the daemon answers, or with --wait the finished sync.") var json = false

  func run() async throws {
    let wanted = ["allow_removal": allowRemoval, "retry_session": retrySession]
    let client = daemon.client()
    let answer = try await client.send("POST", "/v1/sync", body: Array(try JSONEncoder().encode(wanted)))
    let accepted = try answer.decoded(StatusRoutes.Accepted.self, of: "ask for a sync")
    if !wait {
      return json
        ? Output.standard.write(answer.body)
        : Output.standard.write("sync \(accepted.sync) " + (accepted.joined ? "runs already, joined\n" : "started\n"))
    }
    signal(SIGINT) { _ in _exit(Self.interrupted) }
    let report = try await end(of: accepted.sync, client)
    if json {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      Output.standard.write(Array(try encoder.encode(report)) + Array("\n".utf8))
    } else {
      Output.standard.write(SyncText.line(report) + "\n")
    }
    throw ExitCode(report.exit ?? Failure.Exit.cancelled.rawValue)
  }

  private func end(of sync: Int64, _ client: StatusClient) async throws -> SyncReport {
    let drawing = Output.error.terminal
    var report: SyncReport?
    try await client.follow(
      opened: {
        // It may have ended before the stream began.
        let status = try await client.send("GET", "/v1/status").decoded(
          DaemonStatus.self, of: "ask for the status")
        if let last = status.sync.last, last.id == sync { report = last }
        return report == nil
      },
      each: { event in
        let data = Data(event.data.utf8)
        if let ended = try? JSONDecoder().decode(SyncReport.self, from: data), ended.id == sync { report = ended }
        if drawing.isInteractive, let progress = try? JSONDecoder().decode(Progress.self, from: data) {
          let bar = ProgressBar(done: progress.done, total: progress.total)
          Output.error.redraw(report == nil ? bar.text(width: drawing.columns, colour: drawing.colour) : "")
        }
        return report == nil
      })
    if drawing.isInteractive { Output.error.redraw("") }
    if let report { return report }
    throw Failure(.cancelled, step: "follow sync \(sync)", subject: "the daemon", cause: "it stopped")
  }
}
