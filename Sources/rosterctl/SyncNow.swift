import ArgumentParser
import FoundationEssentials
import Glibc
import RosterCore
import RosterStatusClient
import RosterTerminal

struct SyncNow: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "sync", abstract: "Asks for a sync now.")

  private struct Progress: Decodable {
    var done: Int
    /// Number of all pages; nil if no answer has it.
    var total: Int?

    enum CodingKeys: String, CodingKey {
      case done = "pages_done"
      case total = "pages_total"
    }
  }

  /// A shell's exit code for a program that Ctrl-C ended; the sync goes on.
  private static let interrupted: Int32 = 130

  @OptionGroup var place: Places
  @Flag(help: "Follow the sync and exit as it ends.") var wait = false
  @Flag(help: "Let it remove more than sync.max_removal permits.") var allowRemoval = false
  @Flag(help: "Try the stored token of an ended session once more.") var retrySession = false
  @Flag(help: "Ask for a new access token first.") var newToken = false
  @Flag(help: "Transfer everything again. If a sync runs that reuses pages, wait for its end first.") var fresh = false
  @Flag(help: "Print JSON: what the daemon answers, or with --wait the finished sync.") var json = false

  func run() async throws {
    let client = try await place.client()
    let (answer, accepted) = try await ask(client)
    if !wait {
      return json
        ? try Output.standard.write(json: answer.body) : try Output.standard.write("\(accepted.text)\n")
    }
    signal(SIGINT) { _ in _exit(Self.interrupted) }
    let report = try await reportOfEnd(of: accepted.sync, client)
    // The exit code is that of the sync, even if the output has no reader.
    do { try show(report) } catch is Output.Unread {}
    throw ExitCode(report.exit ?? Failure.Kind.cancelled.exitCode)
  }

  /// Asks until the daemon accepts: a fresh request waits for the end of a sync that is not fresh.
  private func ask(_ client: StatusClient) async throws -> (Response, SyncRequest.Accepted) {
    let request = SyncRequest(
      allowRemoval: allowRemoval, retrySession: retrySession, wantsNewToken: newToken, isFresh: fresh)
    while true {
      let answer = try await request.post(to: client)
      guard fresh, answer.status == Self.conflict else { return (answer, try request.accepted(answer, client: client)) }
      if let running = try await client.status().sync.current?.id {
        _ = try await reportOfEnd(of: running, client)
      } else {
        try await Task.sleep(for: Self.pause)
      }
    }
  }

  private static let conflict = 409
  /// A sync that is about to begin or end is not in the status.
  private static let pause = Duration.milliseconds(100)

  private func show(_ report: SyncRecord) throws {
    if json {
      try Output.standard.write(asJSON: report)
    } else {
      try Output.standard.write(SyncText.line(report) + "\n")
    }
  }

  private func reportOfEnd(of sync: Int64, _ client: StatusClient) async throws -> SyncRecord {
    do {
      repeat {
        if let report = try await end(of: sync, client) { return report }
        // The sync may have ended unseen: before another one, or after the daemon closed the stream of a slow reader.
        if let report = try await recorded(sync, client: client) { return report }
      } while try await isRunning(sync, client: client)
    } catch let failure as Failure where failure.kind == .noDaemon {
      // The daemon answered a moment ago, so it has ended. The same failure as for the end of its stream follows.
    }
    throw Failure(
      .cancelled, step: "follow sync \(sync)", subject: "the daemon", cause: "it went away before the sync ended",
      hint: "see its log; rosterctl history shows how the sync ended, once the daemon runs again")
  }

  private func recorded(_ sync: Int64, client: StatusClient) async throws -> SyncRecord? {
    try await client.syncs(1000).first { $0.id == sync && $0.outcome != .running }
  }

  private func isRunning(_ sync: Int64, client: StatusClient) async throws -> Bool {
    let status = try await client.status()
    return status.state != .stopping && status.sync.current?.id == sync
  }

  /// The record of the ended sync; nil if the stream ended before the sync, or if another sync has ended since.
  private func end(of sync: Int64, _ client: StatusClient) async throws -> SyncRecord? {
    var report: SyncRecord?
    var drawn = ContinuousClock.now
    try await client.follow(
      opened: {
        // It may have ended before the stream began.
        guard let last = try await client.status().sync.last, last.id >= sync else { return true }
        if last.id == sync { report = last }
        return false
      },
      each: { event in
        let data = Data(event.data.utf8)
        if let ended = try? JSONDecoder().decode(SyncRecord.self, from: data), ended.id == sync { report = ended }
        if report == nil, let progress = try? JSONDecoder().decode(Progress.self, from: data) {
          if progress.total != nil { draw(ProgressBar(done: progress.done, total: progress.total ?? 0)) }
          // An event has no number of lists.
          if progress.total == nil, drawn.duration(to: .now) > Self.pause, Output.error.terminal.isInteractive {
            if let current = try? await client.status().sync.current { draw(ProgressBar(current)) }
            drawn = .now
          }
        }
        return report == nil
      })
    if Output.error.terminal.isInteractive { Output.error.redraw("") }
    return report
  }

  /// Draws the progress in the current width of the terminal.
  private func draw(_ bar: ProgressBar) {
    let terminal = Output.error.terminal
    guard terminal.isInteractive else { return }
    // One column less, because clearing the rest of a full line clears its last cell.
    Output.error.redraw(bar.text(width: terminal.columns - 1, colour: terminal.colour))
  }
}

extension SyncRequest.Accepted {
  var text: String { "sync \(sync) " + (joined ? "is already running, and this request shares it" : "started") }
}

extension SyncRequest {
  func post(to client: StatusClient) async throws -> Response {
    try await client.send("POST", target: "/v1/sync", body: Array(try JSONEncoder().encode(self)), within: .seconds(10))
  }

  /// Throws a Failure, 77 if the daemon refuses this user.
  func accepted(_ answer: Response, client: StatusClient) throws -> Accepted {
    do {
      return try answer.decoded(Accepted.self, of: "ask for a sync")
    } catch let failure as Failure {
      throw failure.withOwner(of: client, for: "sync")
    }
  }
}

struct Cancel: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Cancels the running sync.",
    discussion: "Pulled pages are kept for the next sync.")

  private struct Cancelled: Decodable { var sync: Int64 }

  @OptionGroup var place: Places

  func run() async throws {
    let client = try await place.client()
    let answer = try await client.send("POST", target: "/v1/cancel")
    do {
      let sync = try answer.decoded(Cancelled.self, of: "cancel the sync").sync
      try Output.standard.write("sync \(sync) is cancelled; what it pulled is kept for the next\n")
    } catch let failure as Failure {
      throw failure.withOwner(of: client, for: "cancel")
    }
  }
}

extension Failure {
  /// Names the user who may run the command in the hint, if the request was not permitted.
  func withOwner(of client: StatusClient, for command: String) -> Failure {
    guard kind == .refused else { return self }
    let owner = client.owner.flatMap { $0 == "root" ? nil : $0 }
    var failure = self
    failure.hint = "try `sudo rosterctl \(command)`" + (owner.map { ", or as \($0)" } ?? "")
    return failure
  }
}
