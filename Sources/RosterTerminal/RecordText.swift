package import RosterCore

/// One record and its history for people.
package struct RecordText: Sendable {
  private let resource: String
  private let telling: [Resource.Column]
  private let columns: Set<String>
  private let members: [(name: String, value: String)]
  private let changes: [RecordChange]
  private let at: String?
  private let width: Int
  private let colour: Bool

  /// - Parameters:
  ///   - record: The JSON of `rosterctl show`.
  ///   - resource: The resource's name.
  ///   - columns: All columns, which distinguish lists from columns with a list as value.
  ///   - telling: The columns that identify a record for people, the key first.
  ///   - changes: The oldest first.
  ///   - at: The time of the shown state, RFC 3339; nil for now.
  ///   - width: nil to break no line, because the output is not a terminal.
  package init(
    _ record: String, of resource: String, columns: [Resource.Column], telling: [Resource.Column],
    changes: [RecordChange],
    at: String? = nil, width: Int?, colour: Bool = false
  ) {
    self.resource = resource
    self.telling = telling
    self.columns = Set(columns.map(\.name))
    members = JSONMembers.of(record)
    self.changes = changes
    self.at = at
    self.width = width ?? .max / 2
    self.colour = colour
  }

  /// The record, then its changes with the latest first; each line with its end.
  package var text: String {
    let (head, told) = heading
    let rows = members.filter { !told.contains($0.name) }.map { row($0.name, $0.value) }.joined()
    return head.oneLine.wrapped(width).map { $0.toned(.strong, colour: colour) + "\n" }.joined() + then + rows + history
  }

  private var then: String { at.map { "as it was at \($0)".wrapped(width).map { $0 + "\n" }.joined() } ?? "" }

  /// The heading `character 1: Rick Sanchez`, and the columns that it shows.
  private var heading: (text: String, told: Set<String>) {
    let values = JSONMembers.texts(members)
    guard let key = telling.first else { return (resource, []) }
    let head = "\(resource) \(values[key.name] ?? "")"
    let title = telling.title(values)
    if title.isEmpty { return (head, [key.name]) }
    return ("\(head): \(title)", Set(telling.prefix(2).map(\.name)))
  }

  private var rows: Rows {
    let longest = members.map(\.name.cells).max() ?? 0
    return Rows(width: width, colour: colour, labels: max(Rows.labels, min(longest, Self.maxLabel) + 1))
  }

  /// Longer names move their values to the right.
  private static let maxLabel = 20

  private func row(_ name: String, _ value: String) -> String {
    switch name {
    case "extra": rows.row(name, lines: extra(value))
    case "first_sync": rows.row("first seen", "sync \(value)")
    case "changed_sync": rows.row("changed", "sync \(value)")
    default:
      // The column of the parent is not in the definition.
      if columns.contains(name) || !value.hasPrefix("[") {
        rows.row(name.printable, lines: lines(JSONMembers.shown(value)))
      } else {
        rows.row(name.printable, lines: elements(value))
      }
    }
  }

  /// The lines of a text, further broken to the width; none for an empty text.
  private func lines(_ text: String) -> [String] {
    if text.isEmpty { return [] }
    return text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .flatMap { String($0).printable.wrapped(width - rows.indent) }
  }

  private func elements(_ list: String) -> [String] {
    let texts = RecordDiff.elements(list).map(\.printable)
    if texts.isEmpty { return ["none"] }
    guard let (folder, ranges) = Self.numbered(texts) else { return texts }
    return "\(texts.count): \(folder)\(ranges)".wrapped(width - rows.indent)
  }

  /// `https://…/episode/` and `1–3, 7`, if the addresses differ only by ascending numbers at their ends.
  private static func numbered(_ addresses: [String]) -> (folder: String, ranges: String)? {
    let parts = addresses.map { address in
      let slash = address.lastIndex(of: "/").map(address.index(after:)) ?? address.startIndex
      return (folder: address[..<slash], name: address[slash...])
    }
    let numbers = parts.compactMap { part in Int(part.name).flatMap { String($0) == part.name ? $0 : nil } }
    guard numbers.count == addresses.count, Set(parts.map(\.folder)).count == 1,
      zip(numbers, numbers.dropFirst()).allSatisfy(<)
    else { return nil }
    return (String(parts[0].folder), HumanFormat.ranges(numbers))
  }

  private func extra(_ object: String) -> [String] {
    RecordDiff.extra(object, below: "extra").flatMap { name, value in
      "\(name.dropFirst("extra.".count)): \(value)".printable.wrapped(width - rows.indent)
    }
  }

  // MARK: History

  private var history: String {
    let until = at.map { _ in " until then" } ?? ""
    if changes.isEmpty { return "\nNo change is recorded\(until).\n" }
    return "\nHistory\(until), the latest change first\n" + changes.reversed().map(entry).joined()
  }

  private func entry(_ change: RecordChange) -> String {
    let kind = change.kind.rawValue
    let by = " by sync \(change.sync)"
    let gap = change.at.cells + 2 + kind.cells + by.cells <= width ? "  " : "\n  "
    let head = change.at + gap + kind.toned(change.kind.tone, colour: colour) + by + "\n"
    guard let before = change.before, let after = change.after else { return head }
    let diff = RecordDiff(before: before, after: after)
    return head + (diff.fields.map(\.line) + diff.lists.flatMap(\.lines)).flatMap(indented).map { $0 + "\n" }.joined()
  }

  private func indented(_ text: String) -> [String] {
    text.printable.wrapped(width - 4).enumerated().map { ($0 == 0 ? "  " : "    ") + $1 }
  }
}

extension RejectedRecord {
  /// The reason, and below it the record, cut to `width` cells; nil to cut nothing, because the output is not a
  /// terminal. Each line has its end.
  package func text(width: Int?, colour: Bool = false) -> String {
    let (width, indent) = (width ?? .max / 2, "    ")
    let record = key.map { "record \($0)" } ?? "a record without a page"
    let place = isAnswer ? self.place : page == 0 ? record : "page \(page), position \(position)"
    let owner = parent.map { " of \($0)" } ?? ""
    let head = "\(resource)\(owner), \(place): \(reason)".printable.wrapped(width)
    let sent = document.printable.cut(to: width - indent.count).toned(.faint, colour: colour)
    return (head + [indent + sent]).map { $0 + "\n" }.joined()
  }
}
