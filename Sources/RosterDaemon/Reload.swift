import FoundationEssentials
import Glibc
import Logging
import RosterAuth
import RosterCore
import RosterDefinition
import RosterFetch
import RosterStatus
import RosterSync
import RosterSystemd
import UnixSignals

extension Daemon {
  /// SIGHUP: a valid configuration takes effect at once. An invalid one, or one that cannot be applied completely,
  /// changes nothing and is reported.
  func reload(on hangups: UnixSignalsSequence) async {
    if EarlyHangup.take() { await reload() }
    for await _ in hangups { await reload() }
  }

  private func reload() async {
    notify.reloading()
    await readAgain()
    notify.ready(status: runtime.board.message, now: runtime.clock.now())
  }

  private func readAgain() async {
    guard let reread else { return }
    do {
      let running = runtime.live.configuration
      // A missing file is not a wish for the default configuration.
      let (read, warnings) = try reread(running.path)
      for warning in warnings { runtime.logger.warning("\(warning)") }
      let next = try read.replacing(running)
      let settings = try HTTPTransport.Settings(next)
      // A static token has no token requests: upstream refuses the page requests instead.
      let before = runtime.board.status()
      let hadEnded = before.state == .unauthorized || before.token.state == .unauthorized
      try await runtime.reload(next)
      await apply(next, settings: settings, instead: running)
      // After the user has repaired the credential, a sync starts at once to show whether the repair worked.
      if hadEnded, runtime.board.status().token.state != .unauthorized { await syncNow() }
      let kept = read.changes(from: running).needRestart
      let note = kept.isEmpty ? nil : "a restart is needed for \(kept.joined(separator: ", "))"
      runtime.reporter.report(Event(.configReloaded, reason: note))
    } catch let faults as ConfigurationFaults {
      refuse(faults.faults.map { "\($0)" }.joined(separator: "; "))
    } catch {
      refuse("\(error)", failure: error as? Failure)
    }
  }

  private func apply(
    _ next: Configuration, settings: HTTPTransport.Settings, instead running: Configuration
  ) async {
    await runtime.live.replace(next, settings: settings)
    runtime.board.configured(by: next.path)
    log.level = next.log.level
    log.format = next.log.format
    if next.status.socketMode != running.status.socketMode, !server.setMode(next.status.socketMode) {
      runtime.logger.warning(
        "the status socket keeps its mode: \(SystemError.last.text)", metadata: ["path": "\(next.status.socket)"])
    }
    _ = metrics?.setMode(next.status.socketMode)
    guard Schedule.Settings(next) != Schedule.Settings(running) || next.limit != running.limit else { return }
    // The first sync may not have started yet.
    guard let due = schedule.replace(.init(next)) ?? (next.limit == running.limit ? nil : runtime.clock.now()) else {
      return
    }
    let start = await runtime.start(ofSyncDue: due)
    await loop.reschedule(to: start)
    runtime.board.nextSync(at: start)
  }

  private func syncNow() async {
    let now = runtime.clock.now()
    await loop.reschedule(to: now)
    runtime.board.nextSync(at: now)
  }

  /// - Parameter failure: The failure, if it does not concern the configuration file.
  private func refuse(_ why: String, failure: Failure? = nil) {
    runtime.board.refuses(by: failure?.trouble == .missingCredential ? failure : nil)
    runtime.reporter.report(Event(.configRefused, error: why))
  }
}
