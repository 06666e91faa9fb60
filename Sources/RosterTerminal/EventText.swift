internal import FoundationEssentials
package import RosterCore

/// An event of the stream in words, without characters that control a terminal.
package enum EventText {
  /// A key of an ancestor, or the parts of a composite one.
  private struct Key: Decodable {
    var text: String

    init(from decoder: any Decoder) throws {
      if let parts = try? [Key](from: decoder) {
        text = parts.map(\.text).joined(separator: " ")
      } else if let number = try? Int64(from: decoder) {
        text = "\(number)"
      } else {
        text = try String(from: decoder)
      }
    }
  }

  private struct Fields: Decodable {
    var at: String
    var sync: Int64?
    var resource: String?
    var of: [Key]?
    var page: Int?
    var fresh: Bool?
    var pagesDone: Int?
    var pagesTotal: Int?
    var attempt: Int?
    var reason: String?
    var delaySeconds: Double?
    var error: String?

    enum CodingKeys: String, CodingKey {
      case at, sync, resource, of, page, fresh, attempt, reason, error
      case pagesDone = "pages_done"
      case pagesTotal = "pages_total"
      case delaySeconds = "delay_seconds"
    }
  }

  /// A line such as `2026-01-01T12:00:00.000Z  page.fetched      sync 18, page 17 (17/42)`. Data that is not the JSON
  /// of an event is shown unchanged.
  package static func line(name: String, data: String) -> String {
    guard let fields = fields(of: data) else { return "\(name)  \(data)".printable }
    let words = words(name, fields: fields, data: data)
    let gap = String(repeating: " ", count: max(0, names - name.count))
    return "\(fields.at)  \(name)\(words.isEmpty ? "" : "\(gap)  \(words)")".printable
  }

  /// The event for a screen of `width` cells: the time of day (UTC), and the words on as many lines as they need.
  static func lines(name: String, data: String, width: Int) -> [String] {
    guard let fields = fields(of: data) else { return "\(name)  \(data)".printable.wrapped(width) }
    let head = "\(timeOfDay(fields.at)) \(name) ".printable
    let rest = words(name, fields: fields, data: data).printable.wrapped(width - indent.count)
    if let first = rest.first, rest.count == 1, head.cells + 1 + first.cells <= width { return [head + " " + first] }
    return [head] + rest.filter { !$0.isEmpty }.map { indent + $0 }
  }

  /// Width of `token.refreshing`.
  private static let names = 16
  private static let indent = "  "

  private static func fields(of data: String) -> Fields? {
    try? JSONDecoder().decode(Fields.self, from: Data(data.utf8))
  }

  private static func words(_ name: String, fields: Fields, data: String) -> String {
    if name.hasPrefix("sync."), let report = try? JSONDecoder().decode(SyncRecord.self, from: Data(data.utf8)) {
      return SyncText.line(report)
    }
    var parts: [String] = []
    if let sync = fields.sync { parts.append("sync \(sync)") }
    if let page = fields.page {
      parts.append("page \(page)" + (fields.resource.map { " of \($0)" } ?? "") + progress(fields))
    }
    if fields.page == nil, let resource = fields.resource {
      let keys = fields.of.map { " of " + $0.map(\.text).joined(separator: " ") } ?? ""
      parts.append(resource + keys)
    }
    if fields.fresh == true { parts.append("fresh") }
    if let attempt = fields.attempt { parts.append("attempt \(attempt)") }
    if let reason = fields.reason { parts.append(reason) }
    if let delay = fields.delaySeconds { parts.append("again in \(HumanFormat.span(delay))") }
    if let error = fields.error { parts.append(error) }
    return parts.joined(separator: ", ")
  }

  private static func progress(_ fields: Fields) -> String {
    guard let done = fields.pagesDone, let total = fields.pagesTotal else { return "" }
    return " (\(done)/\(total))"
  }

  /// `12:00:00` of `2026-01-01T12:00:00.000Z`.
  private static func timeOfDay(_ time: String) -> Substring {
    time.split(separator: "T").last?.prefix { $0 != "." } ?? time[...]
  }
}

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
