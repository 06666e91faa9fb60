package import RosterModel

/// A sync in words.
package enum SyncText {
  /// `sync 17 published in 0.4 s: 42 pages, 826 records, 2 added; 43 requests, 1 refresh`, without what steers a
  /// terminal.
  package static func line(_ report: SyncRecord) -> String {
    let head = head(report) + took(report)
    if let error = report.error, report.outcome == .failed { return "\(head): \(error)".printable }
    let error = report.error.map { "; \($0)" } ?? ""
    return head + ": " + contents(report).joined(separator: ", ") + "; " + work(report).joined(separator: ", ")
      + error.printable
  }

  /// `sync 17 published`.
  static func head(_ report: SyncRecord) -> String { "sync \(report.id) \(report.outcome.rawValue)" }

  /// ` in 0.4 s`; nothing while it runs.
  static func took(_ report: SyncRecord) -> String { report.seconds.map { " in \(Words.took($0))" } ?? "" }

  /// What it saw, and what changed by it.
  static func contents(_ report: SyncRecord) -> [String] {
    let changes = [
      (report.added, "added"), (report.changed, "changed"), (report.removed, "removed"), (report.rejected, "rejected"),
    ]
    return [Words.count(report.pages, "page"), Words.count(report.records, "record")]
      + changes.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
  }

  /// What it cost.
  static func work(_ report: SyncRecord) -> [String] {
    var parts = [Words.count(report.requests, "request")]
    if report.notModified > 0 { parts.append("\(report.notModified) not modified") }
    if report.resumed > 0 { parts.append("\(report.resumed) resumed") }
    if report.retries > 0 { parts.append(Words.count(report.retries, "retry")) }
    if report.refreshes > 0 { parts.append(Words.count(report.refreshes, "refresh")) }
    return parts
  }
}
