package import FoundationEssentials
package import RosterCore
import RosterDecode

/// The facts of a list that one page contains: enough to continue the list without the page's body.
package struct ListFacts: Sendable, Equatable {
  /// A cursor, an address, or a value of the last record.
  package enum Value: Sendable, Equatable {
    case text(String)
    case integer(Int)
    /// A number of any other form, with the digits that upstream wrote.
    case number(String)
    /// Scalars by the names of the parameters that carry them, in the order of their names.
    case members([JSONValue.Member])
    /// A list or an object that is sent in a body: the values by which Elasticsearch sorts, or DynamoDB's last key.
    case whole(JSONValue)
  }

  /// Number of elements on the page, including rejected and skipped ones.
  package var records: Int
  /// Number of elements that `where` skips; the smallest one if several resources read the page.
  package var skipped = 0
  /// Number of records of the whole list.
  package var count: Int?
  /// The highest total that the answer names, if no key of the definition names one.
  package var unnamedTotal: Int?
  /// True if the answer calls its total a lower bound: the list may have more records.
  package var isTotalLowerBound = false
  /// Number of pages of the whole list. With `first = 0` the last page has the number below it.
  package var last: Int?
  /// True if `more` or `done` says that more pages follow. Without such a key it is true if another member or a header
  /// does (`takesUnnamedMore`, or a list of one page), and otherwise nil.
  package var more: Bool?
  /// The next position. A missing, null or empty value is nil and ends the list.
  package var next: Value?
  /// The highest value at `since.at`; nil if no record has one.
  package var highest: Mark?
  /// True if the answer of a transferred page lacks records that upstream has.
  package var isLacking = false
  /// True if a record of a transferred page has no readable value at `since.at`, and not null either.
  package var hasOtherMark = false
  /// The lowest value at `since.at` of an incremental page; nil if no record has one.
  package var lowest: Int64?
  /// The value at `since.token`; nil if the page has none.
  package var token: String?
  /// `Date` of the answer, or the local time if it has none; nil without `since`.
  package var answered: Date?

  /// A page with this number of records. Values that are nil were not in the answer.
  package init(records: Int, count: Int? = nil, last: Int? = nil, more: Bool? = nil, next: Value? = nil) {
    self.records = records
    self.count = count
    self.last = last
    self.more = more
    self.next = next
  }

  /// True if the page announces another list than the first page did. Only the first page must have totals, and an
  /// empty page after all records may have none.
  /// - Parameter before: number of records on the pages before it.
  package func contradicts(_ first: ListFacts, before: Int) -> Bool {
    let isCounted = count != nil && !isUncounted && !(count == 0 && before > 0 && before == first.count)
    return isCounted && count != first.count || last != nil && last != first.last
  }

  /// True if the total is 0 beside records. Some servers count the list for its first page only.
  var isUncounted: Bool { count == 0 && records > 0 }

  /// The announced size of the list, for people.
  package var extent: String {
    let records = count.map { "\($0) records" }
    let pages = last.map { "\($0) pages" }
    return [records, pages].compactMap(\.self).joined(separator: " on ")
  }
}

extension ListFacts.Value {
  var queryText: String {
    switch self {
    case .text(let text), .number(let text): text
    case .integer(let number): "\(number)"
    case .members, .whole: JSONWriter(json).text
    }
  }

  var json: JSONValue {
    switch self {
    case .text(let text): .text(text)
    case .integer(let number): .integer(number)
    case .number(let digits): .number(digits)
    case .members(let members): .object(members)
    case .whole(let json): json
    }
  }

  /// True for 0 and -1, which some servers send after the last page. With others it is a cursor like any other.
  var isOfStart: Bool {
    switch self {
    case .text(let text), .number(let text): text == "0" || text == "-1"
    case .integer(let number): number == 0 || number == -1
    case .members, .whole: false
    }
  }

  /// All texts of the value that a request would repeat.
  var texts: [String] {
    switch self {
    case .text, .integer, .number: [queryText]
    case .members(let members): members.flatMap { [$0.name, $0.value.queryText] }
    case .whole(let json): json.scalars
    }
  }
}

extension JSONValue {
  /// The names of members and the scalars in a value.
  fileprivate var scalars: [String] {
    switch self {
    case .list(let elements): elements.flatMap(\.scalars)
    case .object(let members): members.flatMap { [$0.name] + $0.value.scalars }
    case .null, .boolean, .number, .text: [queryText]
    }
  }
}

/// The position where the list continues, as a text that is stored with the page.
extension ListFacts {
  /// nil if the page has neither a next value nor `more` or `done`, and its total is exact.
  package var continuation: String? {
    let way: String? =
      switch more {
      case false?: Self.over + (position.map { ":" + $0 } ?? "")
      case true?: Self.onward + (position ?? "")
      case nil: position
      }
    return isTotalLowerBound ? Self.lowerBound + (way ?? "") : way
  }

  private var position: String? {
    switch next {
    case .text(let text)?: "text:\(text)"
    case .integer(let number)?: "integer:\(number)"
    case .number(let digits)?: "number:\(digits)"
    case .members?: next.map { "members:\(JSONWriter($0.json).text)" }
    case .whole?: next.map { "whole:\(JSONWriter($0.json).text)" }
    case nil: nil
    }
  }

  /// Restores facts that were stored with a `continuation`.
  package init(records: Int, count: Int?, last: Int?, continuation: String?) {
    self.init(records: records, count: count, last: last)
    var position = continuation
    if let text = position?.utf8, text.starts(with: Self.lowerBound.utf8) {
      isTotalLowerBound = true
      position = String(text.dropFirst(Self.lowerBound.utf8.count))
    }
    if let text = position?.utf8, text.starts(with: Self.over.utf8) {
      more = false
      position = String(text.dropFirst(Self.over.utf8.count + 1))
    }
    if let text = position?.utf8, text.starts(with: Self.onward.utf8) {
      more = true
      position = String(text.dropFirst(Self.onward.utf8.count))
    }
    guard let (kind, value) = position.flatMap(Self.parts) else { return }
    switch kind {
    case "text": next = .text(value)
    case "integer": next = Int(value).map(Value.integer)
    case "number": next = .number(value)
    case "members":
      if case .object(let members)? = try? JSONValue(json: value.utf8) { next = .members(members) }
    case "whole": next = (try? JSONValue(json: value.utf8)).map(Value.whole)
    default: break
    }
  }

  /// Precedes the position after a page that says that no page follows. A total may say that one does.
  private static let over = "over"
  /// Precedes the position after a page that says that more pages follow.
  private static let onward = "more:"
  /// Precedes all of that after a page whose total is a lower bound.
  private static let lowerBound = "least:"

  private static func parts(_ text: String) -> (kind: Substring, value: String)? {
    // The search uses bytes: an accent at the value's beginning would combine with the colon.
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    return (text[..<colon], String(text[text.utf8.index(after: colon)...]))
  }
}
