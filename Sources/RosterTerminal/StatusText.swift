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
    let layout = Rows(width: width, colour: colour)
    return head
      + rows.map { name, value in
        // The bar has its width already, and colours that no line break may part.
        name == "progress" ? layout.row(name, lines: value.map { [$0] } ?? []) : layout.row(name, value)
      }.joined()
  }

  private var head: String {
    let lines = message.printable.wrapped(width - 2)
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

  // MARK: Rows

  private var data: String {
    guard let age = status.cache.ageSeconds else { return "no snapshot yet" }
    let (characters, pages) = (status.cache.characters, status.cache.pages)
    return Words.count(characters, "character") + " in " + Words.count(pages, "page")
      + ", verified \(Words.span(age)) ago" + (ago(status.cache.publishedAt).map { ", published \($0)" } ?? "")
  }

  private var progress: String? {
    guard let current = status.sync.current else { return nil }
    return ProgressBar(current).text(width: width - Rows.indent, colour: colour)
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
    guard var last = status.sync.last else { return nil }
    // What stands at the top already is not told again.
    if let error = last.error, status.message.contains(error) { last.error = nil }
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

  /// The daemon's sentence, its times as people say them: `verified 3.2 s ago; next sync in 14 min`.
  private var message: String {
    status.message.replacing(/\ at (\d{4}-\d\d-\d\dT[\d:.]+Z)/) { found in
      let time = String(found.1)
      return Date(rfc3339: time) == nil ? String(found.0) : ahead(time).map { " \($0)" } ?? String(found.0)
    }
  }

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
