package import RosterModel

/// One change of the feed as one line for people.
package struct ChangeLine: Sendable {
  private let id: Int64
  private let at: String
  private let kind: ChangeKind
  private let who: String
  private let title: String
  private let what: String

  /// - Parameters:
  ///   - parent: The parent of a child with its keys, such as `item 2`; nil without a parent.
  ///   - telling: Columns that identify a record for people, the key first; empty if the resource is unknown.
  package init(_ change: RecordChange, parent: String? = nil, telling: [Resource.Column]) {
    id = change.id
    at = HumanFormat.second(change.at)
    kind = change.kind
    let values = JSONMembers.texts(change.after ?? change.before ?? "")
    let parts = change.key.map(JSONMembers.parts(ofKey:)) ?? []
    // The key of a detail is that of its parent, and no column has it.
    let isComposite = parts.count > 1 && telling.prefix(parts.count).compactMap { values[$0.name] } == parts
    let key = isComposite ? parts.joined(separator: " ") : telling.first.flatMap { values[$0.name] }
    title = telling.dropFirst(isComposite ? parts.count - 1 : 0).title(values)
    who = "\(change.resource) \(key ?? String(change.record))" + (parent.map { " of \($0)" } ?? "")
    what = change.before.flatMap { before in change.after.map { Self.differences(before, after: $0) } } ?? ""
  }

  /// A line of at most `width` cells; nil to cut nothing, because the output is not a terminal.
  package func text(width: Int?, colour: Bool = false) -> String {
    let (kind, tone) = (kind.rawValue, kind.tone)
    let isNarrow = (width ?? .max) < Self.wide
    // A narrow terminal gets no year.
    let head = "\(id)  \(isNarrow ? String(at.dropFirst(5)) : at)  "
    let gap = String(repeating: " ", count: max(0, Self.kinds - kind.cells) + 2)
    let name = title.oneLine.cut(to: isNarrow ? Self.shortTitle : Self.longTitle)
    let whose = name.isEmpty ? who : "\(who) \(name)"
    let rest = (gap + whose + (what.isEmpty ? "" : "  \(what)")).printable
    guard let width else { return head.toned(.faint, colour: colour) + kind.toned(tone, colour: colour) + rest }
    let room = width - head.cells - kind.cells
    if room < 1 { return (head + kind).cut(to: width) }
    return head.toned(.faint, colour: colour) + kind.toned(tone, colour: colour) + rest.cut(to: room)
  }

  /// A terminal with fewer columns is narrow.
  private static let wide = 100
  /// Longer titles would leave no room for the differences.
  private static let (shortTitle, longTitle) = (14, 24)
  /// Width of the word `changed`.
  private static let kinds = 7
  /// The differences as text: `status: Alive → Dead, episodes +1 −2`.
  private static func differences(_ before: String, after: String) -> String {
    let diff = RecordDiff(before: before, after: after)
    return (diff.fields.map(\.line) + diff.lists.map(\.sum)).joined(separator: ", ")
  }
}
