package import RosterModel

/// A sync in words.
package enum SyncText {
  /// `sync 17 published 3.0 s ago in 0.4 s: 42 pages, 826 characters, 2 added; 43 requests, 1 refresh`. `ago` says when.
  package static func line(_ report: SyncReport, ago: String? = nil) -> String {
    let head = "sync \(report.id) \(report.outcome.rawValue)" + (ago.map { " \($0)" } ?? "")
    let took = report.seconds.map { " in \(Words.took($0))" } ?? ""
    if let error = report.error, report.outcome == .failed { return head + took + ": " + error }
    let error = report.error.map { "; \($0)" } ?? ""
    return head + took + ": " + contents(report).joined(separator: ", ") + "; "
      + work(report).joined(separator: ", ") + error
  }

  private static func contents(_ report: SyncReport) -> [String] {
    let changes = [
      (report.added, "added"), (report.changed, "changed"), (report.removed, "removed"), (report.rejected, "rejected"),
    ]
    return [Words.count(report.pages, "page"), Words.count(report.characters, "character")]
      + changes.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
  }

  private static func work(_ report: SyncReport) -> [String] {
    var parts = [Words.count(report.requests, "request")]
    if report.notModified > 0 { parts.append("\(report.notModified) not modified") }
    if report.resumed > 0 { parts.append("\(report.resumed) resumed") }
    if report.retries > 0 { parts.append(report.retries == 1 ? "1 retry" : "\(report.retries) retries") }
    if report.refreshes > 0 { parts.append(Words.count(report.refreshes, "refresh")) }
    return parts
  }
}
