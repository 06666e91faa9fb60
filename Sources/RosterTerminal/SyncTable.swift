internal import FoundationEssentials
package import RosterCore

/// The latest syncs for people: time, result, duration, and counts.
package struct SyncTable: Sendable {
  private let reports: [SyncRecord]

  /// - Parameter reports: the latest first.
  package init(_ reports: [SyncRecord]) {
    self.reports = reports
  }

  /// Lines of at most `width` cells, each with its end; nil to cut nothing, because the output is not a terminal. A
  /// sync with an error has the reason below its line.
  package func text(width: Int?, colour: Bool = false) -> String {
    let lines = table.lines(width: width, colour: colour)
    return zip(lines, [[]] + reports.map { Self.reason($0, width: width) })
      .map { ([$0] + $1).map { $0 + "\n" }.joined() }.joined()
  }

  private static func reason(_ report: SyncRecord, width: Int?) -> [String] {
    guard let error = report.error else { return [] }
    return error.printable.wrapped((width ?? .max / 2) - indent.count).map { indent + $0 }
  }

  private static let indent = "    "
  private static let maxBar = 20

  private var table: Table {
    let longest = reports.compactMap(\.seconds).max() ?? 0
    return Table(
      columns: [
        Table.Column(name: "SYNC", isNumber: true), Table.Column(name: "OUTCOME"),
        Table.Column(name: "TOOK", isNumber: true), Table.Column(name: "STARTED (UTC)"),
        Table.Column(name: "CHANGES"),
        Table.Column(name: "RECORDS", isNumber: true), Table.Column(name: "REQUESTS", isNumber: true),
        Table.Column(name: "DURATION"),
      ],
      rows: reports.map { Self.row($0, longest: longest) })
  }

  private static func row(_ report: SyncRecord, longest: Double) -> [Table.Cell] {
    let share = longest > 0 ? (report.seconds ?? 0) / longest : 0
    return [
      Table.Cell(text: String(report.id)), Table.Cell(text: report.outcome.rawValue, tone: tone(report)),
      Table.Cell(text: report.seconds.map(HumanFormat.took) ?? ""),
      Table.Cell(text: HumanFormat.second(report.startedAt)),
      Table.Cell(text: changes(report)),
      Table.Cell(text: counted(report.records, report: report)),
      Table.Cell(text: counted(report.requests, report: report)),
      Table.Cell(text: String(repeating: "▪", count: Int((share * Double(maxBar)).rounded(.up))), tone: .faint),
    ]
  }

  /// The row of an interrupted sync was written at its start, so it has no counts.
  private static func counted(_ number: Int, report: SyncRecord) -> String {
    report.outcome == .interrupted ? "" : String(number)
  }

  private static func tone(_ report: SyncRecord) -> Tone {
    switch report.outcome {
    case .published, .unchanged, .tried: report.error == nil ? .good : .busy
    case .failed: .bad
    case .running: .busy
    case .cancelled, .interrupted: .plain
    }
  }

  private static func changes(_ report: SyncRecord) -> String {
    [
      ("+", report.added, ""), ("~", report.changed, ""), ("−", report.removed, ""), ("", report.rejected, " rejected"),
    ].filter { $0.1 > 0 }.map { "\($0.0)\($0.1)\($0.2)" }.joined(separator: " ")
  }
}

extension SyncRecord {
  /// nil while the sync runs.
  var seconds: Double? {
    guard let start = Date(rfc3339: startedAt), let end = finishedAt.flatMap(Date.init(rfc3339:)) else { return nil }
    return max(0, end.timeIntervalSince(start))
  }
}

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
