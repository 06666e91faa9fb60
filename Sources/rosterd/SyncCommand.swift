import ArgumentParser
import FoundationEssentials
import Glibc
import RosterCache
import RosterConfiguration
import RosterDaemon
import RosterModel
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
