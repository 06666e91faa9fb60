/// The end of a systemd service that should be running.
package struct ServiceFailure: Sendable, Equatable {
  /// The unit, without `.service`.
  package var unit: String
  /// Time at which its main process ended, RFC 3339; nil if systemd does not know it.
  package var at: String?
  /// `Result=` of the unit: `exit-code`, `watchdog`, `oom-kill`.
  package var result: String
  /// Exit status of its main process; nil if a signal ended it.
  package var exitStatus: Int32?
  /// The last `STATUS=` that it sent; empty if it sent none.
  package var status: String

  /// Makes the value from the facts that systemd reports.
  package init(unit: String, at: String?, result: String, exitStatus: Int32?, status: String) {
    self.unit = unit
    self.at = at
    self.result = result
    self.exitStatus = exitStatus
    self.status = status
  }

  /// A clause that says how the service ended.
  package var text: String {
    let head = "\(unit).service has failed" + (at.map { " at \($0)" } ?? "")
    guard let exitStatus else { return "\(head) (\(result))" }
    if exitStatus == Self.credentials { return "\(head): systemd could not load its credentials (exit \(exitStatus))" }
    let isOwn = Failure.Kind(rawValue: exitStatus) != nil && !status.isEmpty
    return isOwn ? "\(head) (exit \(exitStatus)): \(status)" : "\(head) (exit \(exitStatus))"
  }

  /// The remedy as an imperative; nil if the text of the failure is enough.
  package var hint: String? {
    guard exitStatus == Self.credentials else { return nil }
    return "see which credentials the unit loads: systemctl cat \(unit); a plain file in /etc/credstore.encrypted, or "
      + "at a path of LoadCredentialEncrypted=, must be encrypted with systemd-creds, or moved to /etc/credstore"
  }

  /// EXIT_CREDENTIALS of systemd itself (systemd.exec(5)).
  private static let credentials: Int32 = 243
}
