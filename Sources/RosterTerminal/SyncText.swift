package import RosterModel

/// A sync in words.
package enum SyncText {
  /// `sync 17 published in 0.4 s: 42 pages, 826 records, 2 added; 43 requests, 1 refresh`, without characters that
  /// control a terminal.
  package static func line(_ report: SyncRecord) -> String {
    let head = head(report) + took(report)
    if let error = report.error, report.outcome == .failed { return "\(head): \(error)".printable }
    if report.outcome == .interrupted { return "\(head): \(kept)" }
    let error = report.error.map { "; \($0)" } ?? ""
    return head + ": " + contents(report).joined(separator: ", ") + "; " + work(report).joined(separator: ", ")
      + error.printable
  }

  /// The text for an interrupted sync, whose row was written at its start and has no counts.
  static let kept = "what it pulled is kept for the next"

  /// `sync 17 published`.
  static func head(_ report: SyncRecord) -> String { "sync \(report.id) \(report.outcome.rawValue)" }

  /// The duration, ` in 0.4 s`; empty while the sync runs.
  static func took(_ report: SyncRecord) -> String { report.seconds.map { " in \(HumanFormat.took($0))" } ?? "" }

  /// The pages and records, and the changes.
  static func contents(_ report: SyncRecord) -> [String] {
    let changes = [
      (report.added, "added"), (report.changed, "changed"), (report.removed, "removed"), (report.rejected, "rejected"),
    ]
    return [report.pages.counted(as: "page"), report.records.counted(as: "record")]
      + changes.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
  }

  /// The requests and other costs.
  static func work(_ report: SyncRecord) -> [String] {
    var parts = [report.requests.counted(as: "request")]
    if report.notModified > 0 { parts.append("\(report.notModified) not modified") }
    if report.resumed > 0 { parts.append("\(report.resumed) resumed") }
    if report.retries > 0 { parts.append(report.retries.counted(as: "retry")) }
    if report.refreshes > 0 { parts.append(report.refreshes.counted(as: "refresh")) }
    return parts
  }
}
