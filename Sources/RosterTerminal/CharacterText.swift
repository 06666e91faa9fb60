internal import RosterModel

/// One character and its history, for people.
package struct CharacterText: Sendable {
  /// A row of `changes`.
  package struct Change: Sendable {
    /// By which sync.
    package var sync: Int64
    /// `added`, `changed`, `removed`.
    package var kind: String
    /// RFC 3339.
    package var at: String
    /// A JSON object; nil where it was not there before.
    package var before: String?
    /// Likewise, afterwards.
    package var after: String?

    /// The columns of `changes`.
    package init(sync: Int64, kind: String, at: String, before: String?, after: String?) {
      self.sync = sync
      self.kind = kind
      self.at = at
      self.before = before
      self.after = after
    }
  }

  private let character: JSONValue
  private let changes: [Change]
  private let width: Int
  private let colour: Bool

  /// - Parameters:
  ///   - character: the JSON of `rosterctl character`.
  ///   - changes: oldest first.
  ///   - width: nil: nobody's terminal, so no line is broken.
  package init(_ character: String, changes: [Change], width: Int?, colour: Bool = false) {
    self.character = JSONValue(shown: character)
    self.changes = changes
    self.width = width ?? .max / 2
    self.colour = colour
  }

  /// The record first, then what changed, the latest first; each line with its end.
  package var text: String {
    let rows = Rows(width: width, colour: colour)
    let head = "\(value("name").printable) (\(number("id")))".wrapped(width)
    return head.map { $0.toned(.strong, colour) + "\n" }.joined()
      + ["status", "species", "type", "gender"].map { rows.row($0, filled(value($0))) }.joined()
      + rows.row("origin", place("origin")) + rows.row("location", place("location"))
      + ["image", "url", "created"].map { rows.row($0, filled(value($0))) }.joined()
      + rows.row("episodes", lines: episodes) + extra(rows)
      + rows.row("first seen", "sync \(number("first_sync"))")
      + rows.row("changed", "sync \(number("changed_sync"))") + history
  }

  private func value(_ column: String) -> String { character[column]?.text ?? "" }

  private func number(_ column: String) -> String { character[column]?.json ?? "" }

  private func filled(_ text: String) -> String? { text.isEmpty ? nil : text }

  private func place(_ name: String) -> String? {
    filled([value("\(name)_name"), value("\(name)_url")].filter { !$0.isEmpty }.joined(separator: "  "))
  }

  private var episodes: [String] {
    let urls = CharacterDiff.episodes(of: character).map(\.printable)
    if urls.isEmpty { return ["none"] }
    guard let (folder, ranges) = Self.numbered(urls) else { return urls }
    return "\(urls.count): \(folder)\(ranges)".wrapped(width - Rows.indent)
  }

  /// `https://…/episode/` and `1–3, 7`, where they are numbered upwards below one folder.
  private static func numbered(_ urls: [String]) -> (folder: String, ranges: String)? {
    let parts = urls.map { url in
      let slash = url.lastIndex(of: "/").map(url.index(after:)) ?? url.startIndex
      return (folder: url[..<slash], name: url[slash...])
    }
    let numbers = parts.compactMap { part in Int(part.name).flatMap { String($0) == part.name ? $0 : nil } }
    guard numbers.count == urls.count, Set(parts.map(\.folder)).count == 1,
      zip(numbers, numbers.dropFirst()).allSatisfy(<)
    else { return nil }
    return (String(parts[0].folder), Words.ranges(numbers))
  }

  private func extra(_ rows: Rows) -> String {
    let fields = CharacterDiff.extra(character["extra"] ?? .null, below: "extra")
    let lines = fields.flatMap { name, value in
      "\(name.dropFirst("extra.".count)): \(value)".printable.wrapped(width - Rows.indent)
    }
    return lines.isEmpty ? "" : rows.row("extra", lines: lines)
  }

  // MARK: History

  private var history: String {
    if changes.isEmpty { return "\nNo change is recorded.\n" }
    return "\nHistory, the latest change first\n" + changes.reversed().map(entry).joined()
  }

  private func entry(_ change: Change) -> String {
    let tone: Tone = change.kind == "removed" ? .bad : change.kind == "added" ? .good : .busy
    let by = " by sync \(change.sync)"
    let gap = change.at.cells + 2 + change.kind.cells + by.cells <= width ? "  " : "\n  "
    let head = change.at + gap + change.kind.toned(tone, colour) + by + "\n"
    guard let before = change.before, let after = change.after else { return head }
    let diff = CharacterDiff(before: JSONValue(shown: before), after: JSONValue(shown: after))
    let fields = diff.fields.map { "\($0.name): \($0.before ?? "(none)") → \($0.after ?? "(none)")" }
    let episodes =
      diff.addedEpisodes.map { "+ episode \($0)" } + diff.removedEpisodes.map { "− episode \($0)" }
      + (diff.isReordered ? ["episodes: in another order"] : [])
    return head + (fields + episodes).flatMap(indented).map { $0 + "\n" }.joined()
  }

  private func indented(_ text: String) -> [String] {
    text.printable.wrapped(width - 4).enumerated().map { ($0 == 0 ? "  " : "    ") + $1 }
  }
}
