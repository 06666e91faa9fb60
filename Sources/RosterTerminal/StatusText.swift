internal import FoundationEssentials
package import RosterModel

/// The daemon's status for people: the state first, then how old the data is, what runs, the token, the syncs.
package struct StatusText: Sendable {
  private let status: DaemonStatus
  private let width: Int
  private let colour: Bool
  private let now: Date?

  package init(_ status: DaemonStatus, width: Int, colour: Bool = false) {
    self.status = status
    self.width = width
    self.colour = colour
    now = Date(rfc3339: status.startedAt)?.addingTimeInterval(status.uptimeSeconds)
  }

  /// Lines of at most `width` characters, as far as words permit, each with its end.
  package var text: String {
    let rows: [(name: String, value: String?)] = [
      ("data", data), ("progress", progress), ("token", token), ("last sync", last), ("next sync", next),
      ("config", config), ("upstream", status.upstream.baseURL), ("cache", cache), ("daemon", daemon),
    ]
    return head + rows.map { row($0.name, $0.value) }.joined()
  }

  private var head: String {
    let lines = status.message.wrapped(width - 2)
    let marked = zip(lines, [tone.mark.toned(tone.tone, colour) + " "] + lines.dropFirst().map { _ in "  " })
    return marked.map { $1 + $0.toned($1 == "  " ? .plain : .strong, colour) + "\n" }.joined()
  }

  private var tone: (mark: String, tone: Tone) {
    switch status.state {
    case .idle: ("●", .good)
    case .syncing, .starting: ("◐", .busy)
    case .stopping: ("○", .faint)
    case .degraded: ("▲", .busy)
    case .unauthorized: ("✗", .bad)
    }
  }

  private func row(_ name: String, _ value: String?) -> String {
    guard let value else { return "" }
    let label = name.padded(left: Self.labels).toned(.faint, colour) + "  "
    let indent = String(repeating: " ", count: Self.labels + 2)
    let bar = name == "progress"  // has its width already, and colours that no line break may part
    let lines = bar ? [value] : value.wrapped(width - indent.count)
    return lines.enumerated().map { ($0 == 0 ? label : indent) + $1 + "\n" }.joined()
  }

  /// As wide as `last sync`, and two spaces before it.
  private static let labels = 11

  // MARK: Rows

  private var data: String {
    guard let age = status.cache.ageSeconds else { return "no snapshot yet" }
    let (characters, pages) = (status.cache.characters, status.cache.pages)
    return Words.count(characters, "character") + " in " + Words.count(pages, "page")
      + ", verified \(Words.span(age)) ago" + (ago(status.cache.publishedAt).map { ", published \($0)" } ?? "")
  }

  private var progress: String? {
    guard let current = status.sync.current else { return nil }
    return ProgressBar(current).text(width: width - Self.labels - 2, colour: colour)
  }

  private var token: String? {
    let token = status.token
    if token.flow == "none" { return "none needed" }
    var parts = ["\(token.state.rawValue) (\(token.flow))" + (ahead(token.expiresAt).map { ", expires \($0)" } ?? "")]
    if token.refreshes > 0 {
      parts.append(
        Words.count(token.refreshes, "refresh") + (ago(token.lastRefreshAt).map { ", the last \($0)" } ?? ""))
    }
    if token.joined > 0 { parts.append("\(token.joined) joined") }
    if token.avoided > 0 { parts.append("\(token.avoided) avoided") }
    if token.state != .unauthorized, let error = token.lastError { parts.append("last error: \(error)") }
    return parts.joined(separator: "; ")
  }

  private var last: String? {
    guard let last = status.sync.last else { return nil }
    return SyncText.line(last, ago: ago(last.finishedAt))
  }

  private var next: String? { ahead(status.sync.nextAt) }

  private var config: String? {
    let file = status.config.path ?? "no file, the defaults hold"
    return status.config.lastError.map { "\(file); refused: \($0)" } ?? file
  }

  private var cache: String {
    let wal = status.cache.walBytes > 0 ? " + \(Words.bytes(status.cache.walBytes)) WAL" : ""
    return "\(status.cache.path) (\(Words.bytes(status.cache.sizeBytes))\(wal))"
  }

  private var daemon: String {
    "rosterd \(status.version), pid \(status.pid), up \(Words.span(status.uptimeSeconds))"
  }

  // MARK: Times, by the daemon's own clock

  private func ago(_ time: String?) -> String? {
    guard let now, let date = time.flatMap(Date.init(rfc3339:)) else { return nil }
    return Words.span(now.timeIntervalSince(date)) + " ago"
  }

  private func ahead(_ time: String?) -> String? {
    guard let now, let date = time.flatMap(Date.init(rfc3339:)) else { return nil }
    let seconds = date.timeIntervalSince(now)
    return seconds > 0 ? "in \(Words.span(seconds))" : Words.span(-seconds) + " ago"
  }
}
