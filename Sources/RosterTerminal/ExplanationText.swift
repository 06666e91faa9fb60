package import FoundationEssentials
package import RosterCore

/// An explanation for people: the state and its beginning, then one paragraph for each part.
package struct ExplanationText: Sendable {
  private let explanation: Explanation
  private let now: Date
  private let cache: String?

  /// - Parameters:
  ///   - now: the reference for ages.
  ///   - cache: Path of the cache for the first line; nil for the default one.
  package init(_ explanation: Explanation, now: Date, cache: String? = nil) {
    self.explanation = explanation
    self.now = now
    self.cache = cache
  }

  /// Lines of at most `width` cells, or as long as a single word, each with its line end.
  package func text(width: Int, colour: Bool = false) -> String {
    let layout = Rows(width: width, colour: colour)
    let (mark, tone) = explanation.state.mark
    let since = explanation.since.map { " since \(clock($0))\(ago($0))" } ?? ""
    let concerned = explanation.concerned.lines.flatMap { $0.printable.wrapped(width - layout.indent) }
    let state = explanation.state.rawValue
    let head = (state + since).wrapped(width - 2).joined(separator: "\n  ").dropFirst(state.count)
    // The path is not broken, so that it can be copied.
    let place = cache.map { ", cache \($0.printable)" } ?? ""
    return mark.toned(tone, colour: colour) + " " + state.toned(.strong, colour: colour) + head + place + "\n"
      + layout.row("what", times(explanation.what)) + layout.row("readers", times(explanation.readers))
      + layout.row("concerned", lines: concerned) + layout.row("to do", times(explanation.todo))
      + layout.row("next sync", explanation.nextAt.map { clock($0) + ago($0) + explanation.state.limitOfNextSync })
  }

  /// The time of day, `08:02:13 UTC`; with its date if that is another day.
  private func clock(_ time: String) -> String {
    let parts = time.split { $0 == "T" || $0 == "." || $0 == "Z" }
    guard parts.count > 2 else { return time }
    return (now.rfc3339.hasPrefix(parts[0]) ? "" : "\(parts[0]) ") + "\(parts[1]) UTC"
  }

  /// ` (12 min ago)`, ` (in 14 min)`.
  private func ago(_ time: String) -> String {
    guard let seconds = Ages(now: now).seconds(until: time) else { return "" }
    return seconds > 0 ? " (in \(HumanFormat.span(seconds)))" : " (\(HumanFormat.span(-seconds)) ago)"
  }

  /// The sentence with all its times in the form for people.
  private func times(_ text: String) -> String {
    text.replacing(/\d{4}-\d\d-\d\dT[\d:.]+Z/) { found in
      let time = String(found.0)
      return clock(time) + ago(time)
    }
  }
}

extension DaemonStatus.State {
  /// A symbol and a colour that show the state at a glance.
  var mark: (String, Tone) {
    switch self {
    case .idle: ("●", .good)
    case .syncing, .starting: ("◐", .busy)
    case .stopping: ("○", .faint)
    case .degraded: ("▲", .busy)
    case .unauthorized: ("✗", .bad)
    }
  }
}

extension [AffectedItem] {
  /// One line for each item, and one for all records of a resource that have the same reason.
  fileprivate var lines: [String] {
    var lines: [String] = []
    var seen: Set<String> = []
    for item in self {
      guard item.kind == .record, item.page == nil, let reason = item.reason, let resource = item.resource else {
        lines.append(item.text)
        continue
      }
      guard seen.insert("\(resource) \(reason)").inserted else { continue }
      let names = filter { $0.kind == .record && $0.resource == resource && $0.reason == reason }.map(\.name)
      lines.append(names.count == 1 ? item.text : "\(resource) \(names.joined(separator: ", ")): \(reason)")
    }
    return lines
  }
}

extension AffectedItem {
  /// The item on one line: `page 17 of character: https://…`.
  fileprivate var text: String {
    let of = resource.map { " of \($0)" } ?? ""
    let place = page.map { ", page \($0)" + (position.map { ", position \($0)" } ?? "") } ?? ""
    let why = reason.map { ": \($0)" } ?? ""
    switch kind {
    case .page: return "page \(page ?? 1)\(of): \(name)\(why)"
    case .record:
      let owner = parent.map { " of \($0)" } ?? ""
      return (resource ?? "record") + (name.isEmpty ? "" : " \(name)") + owner + place + why
    case .resource: return "resource \(name)\(why)"
    case .header: return "header \(name)\(why)"
    case .setting: return "\(name) of the configuration\(why)"
    case .address, .file: return name + why
    }
  }
}

/// Finds the word that a user may have meant by an unknown word.
package enum NearestWord {
  /// The shortest word that begins with `word`, or the one with the fewest typing errors; nil if none is near.
  package static func to(_ word: String, among words: [String]) -> String? {
    if let whole = words.filter({ $0.hasPrefix(word) }).min(by: { $0.count < $1.count }), !word.isEmpty { return whole }
    let near = words.map { ($0, slips(Array(word.lowercased().utf8), Array($0.utf8))) }.min { $0.1 < $1.1 }
    return near.flatMap { $0.1 <= max(1, word.count / 3) ? $0.0 : nil }
  }

  /// Number of typing errors: wrong, missing, extra or swapped letters (Damerau's distance of optimal alignments).
  private static func slips(_ one: [UInt8], _ other: [UInt8]) -> Int {
    var rows = [Array(0...other.count)]
    for (i, byte) in one.enumerated() {
      var row = [i + 1]
      for (j, letter) in other.enumerated() {
        var least = min(rows[i][j] + (byte == letter ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
        if i > 0, j > 0, byte == other[j - 1], one[i - 1] == letter { least = min(least, rows[i - 1][j - 1] + 1) }
        row.append(least)
      }
      rows.append(row)
    }
    return rows[one.count][other.count]
  }
}
