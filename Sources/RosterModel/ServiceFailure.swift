/// How a systemd service ended that should run.
package struct ServiceFailure: Sendable, Equatable {
  /// The unit, without `.service`.
  package var unit: String
  /// When its main process ended, RFC 3339; nil if systemd does not know.
  package var at: String?
  /// As `Result=` of the unit has it: `exit-code`, `watchdog`, `oom-kill`.
  package var result: String
  /// With which status its main process exited; nil if a signal ended it.
  package var exitStatus: Int32?
  /// The last `STATUS=` that it sent; empty if it sent nothing.
  package var status: String

  /// Takes the facts that systemd reports.
  package init(unit: String, at: String?, result: String, exitStatus: Int32?, status: String) {
    self.unit = unit
    self.at = at
    self.result = result
    self.exitStatus = exitStatus
    self.status = status
  }

  /// A clause: what ended it.
  package var text: String {
    let head = "\(unit).service has failed" + (at.map { " at \($0)" } ?? "")
    guard let exitStatus else { return "\(head) (\(result))" }
    if exitStatus == Self.credentials { return "\(head): systemd could not load its credentials (exit \(exitStatus))" }
    let isOwn = Failure.Kind.allCases.contains { $0.exitCode == exitStatus } && !status.isEmpty
    return isOwn ? "\(head) (exit \(exitStatus)): \(status)" : "\(head) (exit \(exitStatus))"
  }

  /// Of systemd itself: EXIT_CREDENTIALS of systemd.exec(5).
  private static let credentials: Int32 = 243
}
