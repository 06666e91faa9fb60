package import RosterCore

/// The unpublished changes of a sync for people: first a summary as `git diff --stat`, then each record.
package struct PendingText: Sendable {
  private let pull: PendingPull
  private let width: Int?
  private let colour: Bool

  /// - Parameter width: nil to cut nothing, because the output is not a terminal.
  package init(_ pull: PendingPull, width: Int?, colour: Bool = false) {
    self.pull = pull
    self.width = width
    self.colour = colour
  }

  /// The state of the sync, a line for each resource, and the sum; each line with its end.
  package var summary: String {
    let hasRecords = pull.resources.contains { $0.differences + $0.absent > 0 }
    let lines =
      head.printable.wrapped(width ?? .max / 2) + (pull.differences == 0 ? [] : stat) + (hasRecords ? [""] : [])
    return lines.map { $0 + "\n" }.joined()
  }

  private var head: String {
    guard let sync = pull.sync else { return "nothing is pulled that is not published" }
    let what =
      switch pull.differences {
      case 0: "nothing"
      case 1: "1 record"
      default: "\(HumanFormat.grouped(pull.differences)) records"
      }
    let why = pull.report?.error.map { "; \($0)" } ?? ""
    guard pull.isWhole else {
      return
        "sync \(sync) \(state): what it has pulled so far would change \(what); which records it would remove is not known yet\(why)"
    }
    let absent = pull.resources.reduce(0) { $0 + $1.absent }
    let missed = absent == 0 ? "" : ", and \(absent.counted(as: "record")) would be absent for the first time"
    return "sync \(sync) has published nothing: it would change \(what)\(missed)\(why)"
  }

  /// The state of a sync that has not pulled everything.
  private var state: String {
    switch pull.report?.outcome {
    case .running: "runs"
    case .failed: "failed"
    case .cancelled: "was cancelled"
    case .interrupted: "was interrupted"
    case .published, .unchanged, .tried, nil: "did not get to its end"
    }
  }

  private var stat: [String] {
    let shown = pull.resources.filter { $0.differences > 0 }
    let names = shown.map(\.name.cells).max() ?? 0
    let counts = shown.map { HumanFormat.grouped($0.differences).cells }.max() ?? 0
    let room = max(Self.minBar, min(Self.widestBar, (width ?? Self.usual) - names - counts - 5))
    let most = shown.map(\.differences).max() ?? 1
    let lines = shown.map { resource in
      let name = resource.name + String(repeating: " ", count: names - resource.name.cells)
      let count = HumanFormat.grouped(resource.differences).padded(left: counts)
      return " \(name) | \(count) \(bar(resource, scale: most > room ? Double(room) / Double(most) : 1))"
    }
    let sums = [(\PendingResource.added, "added"), (\.changed, "changed"), (\.removed, "removed")].map { part, word in
      (shown.reduce(0) { $0 + $1[keyPath: part] }, word)
    }
    return lines + [
      " "
        + ([shown.count.counted(as: "resource")] + sums.filter { $0.0 > 0 }.map { "\(HumanFormat.grouped($0)) \($1)" })
        .joined(separator: ", ")
    ]
  }

  /// A bar with the sign of each kind of change that occurs.
  private func bar(_ resource: PendingResource, scale: Double) -> String {
    ChangeKind.allCases.map { kind in
      let count = resource[keyPath: kind.count]
      let cells = count == 0 ? 0 : max(1, Int(Double(count) * scale))
      return String(repeating: kind.sign, count: cells).toned(kind.tone, colour: colour)
    }.joined()
  }

  private static let (minBar, widestBar, usual) = (5, 60, 80)

  // MARK: A record

  /// `~ character 1  Rick Sanchez`, and one line for each field with its old and new value; each line with its end.
  package func text(of record: PendingRecord, _ resource: PendingResource) -> String {
    let who = name(record.key, of: record.of, record: record.after ?? record.before ?? "", resource: resource)
    let head =
      record.kind.sign.toned(record.kind.tone, colour: colour) + " " + (width.map { who.cut(to: $0 - 2) } ?? who)
    return ([head] + rows(record)).map { $0 + "\n" }.joined()
  }

  /// `? character 1  Rick Sanchez` with a line end, for a record that is missing from the pull for the first time.
  package func text(of record: AbsentRecord, _ resource: PendingResource) -> String {
    let who = name(record.key, of: record.of, record: record.record, resource: resource)
    return "?".toned(.faint, colour: colour) + " " + (width.map { who.cut(to: $0 - 2) } ?? who) + "\n"
  }

  /// - Parameter ancestors: JSON list of their keys; nil without a parent.
  private func name(_ key: String, of ancestors: String?, record: String, resource: PendingResource) -> String {
    let parts = JSONMembers.parts(ofKey: key)
    let title = resource.telling.dropFirst(resource.isDetail ? 0 : parts.count - 1).title(JSONMembers.texts(record))
    let keys = ancestors.map { JSONMembers.list($0).map(Self.words).joined(separator: ", ") }
    let owner = keys.flatMap { keys in resource.parent.map { " of \($0) \(keys)" } } ?? ""
    let name = "\(resource.name) \(Self.words(key))\(owner)"
    return (title.isEmpty ? name : "\(name)  \(title)").oneLine
  }

  private static func words(_ key: String) -> String { JSONMembers.parts(ofKey: key).joined(separator: " ") }

  private func rows(_ record: PendingRecord) -> [String] {
    guard let before = record.before, let after = record.after else { return [] }
    let diff = RecordDiff(before: before, after: after)
    let labels = min(Self.maxLabel, record.fields.map(\.printable.cells).max() ?? 0)
    return record.fields.flatMap { name -> [String] in
      let label = name.printable.cut(to: Self.maxLabel)
      let start = "    " + label + String(repeating: " ", count: max(0, labels - label.cells)) + "  "
      let room = width.map { max(Self.minValue, $0 - start.cells) }
      let lines = lines(of: name, diff, room: room)
      return lines.enumerated().map { index, line in
        (index == 0 ? start.toned(.faint, colour: colour) : String(repeating: " ", count: start.cells)) + line
      }
    }
  }

  private func lines(of name: String, _ diff: RecordDiff, room: Int?) -> [String] {
    if let field = diff.fields.first(where: { $0.name == name }) {
      return [step(field.earlier, after: field.later, room: room)]
    }
    guard let list = diff.lists.first(where: { $0.name == name }) else { return ["changed"] }
    if list.isReordered { return ["in another order"] }
    let elements =
      list.added.map { (ChangeKind.added, $0) } + list.removed.map { (ChangeKind.removed, $0) }
    let shown = room == nil ? elements[...] : elements.prefix(Self.maxElements)
    return shown.map { kind, text in
      let text = text.printable
      return "\(kind.sign) ".toned(kind.tone, colour: colour) + (room.map { text.cut(to: $0 - 2) } ?? text)
    } + (shown.count < elements.count ? ["and \(elements.count - shown.count) more"] : [])
  }

  /// `Alive → Dead`. If both values do not fit, their common beginning is left out first.
  private func step(_ before: String, after: String, room: Int?) -> String {
    var (before, after) = (before.printable, after.printable)
    let arrow = " → "
    if let room, before.cells + after.cells + arrow.cells > room {
      let alike = zip(before, after).prefix { $0 == $1 }.count - Self.context
      if alike > 1 { (before, after) = ("…" + before.dropFirst(alike), "…" + after.dropFirst(alike)) }
      let both = room - arrow.cells
      let half = both / 2
      before = before.cut(to: max(half, both - after.cells))
      after = after.cut(to: max(half, both - before.cells))
    }
    return before.toned(.bad, colour: colour) + arrow + after.toned(.good, colour: colour)
  }

  /// Longer names are cut, because the values are more important.
  private static let maxLabel = 24
  /// Minimum width of a value. A narrower terminal breaks the lines itself.
  private static let minValue = 20
  /// Maximum number of list elements on a terminal.
  private static let maxElements = 10
  /// Number of equal characters kept before the first difference, for orientation.
  private static let context = 8
}

extension ChangeKind {
  fileprivate var sign: String {
    switch self {
    case .added: "+"
    case .changed: "~"
    case .removed: "−"
    }
  }

  fileprivate var count: KeyPath<PendingResource, Int> {
    switch self {
    case .added: \.added
    case .changed: \.changed
    case .removed: \.removed
    }
  }
}
