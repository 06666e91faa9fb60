import ArgumentParser
import FoundationEssentials
import Glibc
import RosterCache
import RosterCore
import RosterDaemon
import RosterDefinition
import RosterSystemd
import RosterTerminal

struct SyncCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync", abstract: "Syncs once, then exits; for cron and timers.")

  @OptionGroup var options: ConfigurationOption
  @Flag(help: "Print the finished sync as JSON; with --dry-run, what would change.")
  var json = false
  @Flag(help: "Let this sync remove more than sync.max_removal percent.")
  var allowRemoval = false
  @Flag(help: "Transfer everything again: use no validator and no kept page.")
  var fresh = false
  @Flag(help: "Publish nothing, and print what would change; the next sync transfers no page again.")
  var dryRun = false

  func run() async throws {
    let configuration = try options.load()
    try await exiting(configuration.log.format) {
      let bar = LiveBar()
      let request = SyncRequest(allowRemoval: allowRemoval, isDryRun: dryRun, isFresh: fresh)
      let report: SyncRecord
      do {
        report = try await OneSync.run(
          configuration, request: request, logger: rosterLog(configuration.logSettings), watch: bar.follow)
      } catch var failure as Failure where failure.trouble == .missingCredential {
        failure.hint = configuration.serviceCredentialHint() ?? failure.hint
        throw failure
      }
      if dryRun {
        try tell(try OneSync.pending(configuration), of: report)
      } else if json {
        try answer(asJSON: report)
      }
      if let exit = report.exit, exit != 0 { throw ExitCode(exit) }
    }
  }

  /// If this sync did not pull everything, the pending changes may be those of an earlier sync, so they are not
  /// printed.
  private func tell(_ pending: PendingChanges, of report: SyncRecord) throws {
    if json { return try pending.writeJSON(answer(json:)) }
    guard pending.pull.isWhole, pending.pull.sync == report.id else { return }
    let terminal = Terminal.of(STDOUT_FILENO, environment: ProcessInfo.processInfo.environment)
    let text = PendingText(pending.pull, width: terminal.limit, colour: terminal.colour)
    try answer(text.summary)
    try pending.each { try answer(text.text(of: $0, $1)) }
    try pending.eachAbsent { try answer(text.text(of: $0, $1)) }
  }
}

/// A progress bar on stderr, redrawn while a sync runs. It draws nothing if stderr is not a terminal.
struct LiveBar: Sendable {
  /// Read for each frame, because the user may resize the terminal.
  private var terminal: Terminal { .of(STDERR_FILENO, environment: ProcessInfo.processInfo.environment) }

  /// Fast enough for a smooth bar, slow enough to cost nothing.
  private static let frame = Duration.milliseconds(100)

  /// Returns when its task is cancelled.
  @Sendable func follow(_ status: @Sendable () -> DaemonStatus) async {
    guard terminal.isInteractive else { return }
    repeat { draw(status()) } while (try? await Task.sleep(for: Self.frame)) != nil
    draw(status())
    say("\n")
  }

  private func draw(_ status: DaemonStatus) {
    if let current = status.sync.current { draw(ProgressBar(current)) }
  }

  func draw(_ bar: ProgressBar) {
    let terminal = terminal
    guard terminal.isInteractive else { return }
    let line = bar.text(width: terminal.columns - 1, colour: terminal.colour)
    say("\r\u{1B}[K\(line)")
  }
}
