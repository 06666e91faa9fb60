internal import RosterCore
internal import RosterDecode

/// A list whose records are one template with different numbers.
package struct TemplateList: Sendable {
  /// JSON of a record with places for numbers. `<n>` is the id of the record, `<v>` the version, and `<n+v+1>` a sum.
  /// `<n|a|b>` is one of the texts after the bars, by the remainder of the sum.
  package var record = RecordTemplate("{\"id\":<n>}")
  /// Ids of the records in the order of the list.
  package var ids: [Int] = []
  /// JSON of single records instead of the template, by the id that would be sent.
  package var replaced: [Int: String] = [:]
  /// Number of records on a page.
  package var pageSize = PageEndpoint.pageSize
  /// Version of all records.
  package var version = 0
  /// True if each request for the first page makes the next version.
  package var moves = false
  /// True if the version is added to each id: the next version removes the first record and adds another one.
  package var shifts = false

  /// An empty list.
  package init() {}

  mutating func page(_ page: Int, of name: String) -> Response {
    if moves, page == 1 { version += 1 }
    return PageEndpoint.list(name, page: page, count: ids.count, size: pageSize, writing: write)
  }

  func records(_ keys: String) -> Response {
    let offset = shifts ? version : 0
    return PageEndpoint.records(
      keys, of: "Record", find: { key in ids.firstIndex { $0 + offset == key } }, writing: write)
  }

  private func write(_ json: inout JSONWriter, index: Int) {
    let id = ids[index] + (shifts ? version : 0)
    json.raw((replaced[id] ?? record.text(n: id, v: version)).utf8)
  }
}

/// A text with places for numbers, as `TemplateList.record` says.
package struct RecordTemplate: Sendable {
  private enum Part {
    case text(Substring)
    case place(addends: [Substring], choices: ArraySlice<Substring>)
  }

  private var parts: [Part] = []

  /// A place that is not closed, or contains something else than `n`, `v` and numbers, is text.
  package init(_ template: String) {
    var rest = template[...]
    while let match = rest.firstMatch(of: /<((?:n|v|[0-9]+)(?:\+(?:n|v|[0-9]+))*)((?:\|[^|>]*)*)>/) {
      parts.append(.text(rest[..<match.range.lowerBound]))
      let choices = match.2.split(separator: "|", omittingEmptySubsequences: false)
      parts.append(.place(addends: match.1.split(separator: "+"), choices: choices.dropFirst()))
      rest = rest[match.range.upperBound...]
    }
    parts.append(.text(rest))
  }

  func text(n: Int, v: Int) -> String {
    var text = ""
    for part in parts {
      switch part {
      case .text(let constant): text += constant
      case .place(let addends, let choices):
        let sum = addends.reduce(0) { $0 + ($1 == "n" ? n : $1 == "v" ? v : Int($1) ?? 0) }
        text += choices.isEmpty ? "\(sum)" : String(choices[choices.startIndex + sum % choices.count])
      }
    }
    return text
  }
}
