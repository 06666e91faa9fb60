import RosterTestSupport

/// A list of a random API, and its definition for rosterd.
struct RandomDefinition: Sendable {
  enum Style: String, CaseIterable, Sendable { case number, offset, cursor, next, link, after, one }
  enum Totals: CaseIterable, Sendable { case none, body, header }
  /// The part that a validator covers. If headers contain the next page, a 304 repeats them.
  enum Validators: CaseIterable, Sendable { case none, whole, body }

  let path: String
  let style: Style
  let isPost: Bool
  /// True if the answer itself is the list, so that all other facts are in headers.
  let isBare: Bool
  let hasTextKeys: Bool
  let pageSize: Int
  let sendsSize: Bool
  let totals: Totals
  let tellsPages: Bool
  /// True for a boolean that says whether pages follow, and, with `cursor`, a cursor that is also present on the last
  /// page.
  let tellsMore: Bool
  let isShort: Bool
  /// True if a page after the end is 404, false if it is an empty page.
  let endsIn404: Bool
  let first: Int
  let isDescending: Bool
  /// True if an empty page precedes each page but the first one.
  let hasGaps: Bool
  /// True if the total is at most the number of records on two pages.
  let capsTotal: Bool
  let validators: Validators
  let isAbsolute: Bool
  let tables: [Table]

  /// A resource of the list. Two resources may share a list, with different `where`.
  struct Table: Sendable {
    enum Removal: String, CaseIterable, Sendable { case ask, twice, never }

    var name: String
    /// The state of the accepted records; nil for all.
    var state: String?
    var removal: Removal
    var asksMany: Bool
    /// The record's members with a column, in the table's order.
    var columns: [RandomRecord.Column]
    var hasTags: Bool
    var hasParts: Bool
    var isSearched: Bool
  }

  init(_ number: Int, using dice: inout SeededDice) {
    path = "/r\(number)"
    let style = Style.allCases[Int.random(in: 0..<Style.allCases.count, using: &dice)]
    self.style = style
    isPost = ![.next, .link].contains(style) && dice.happens(0.2)
    let isBare = dice.happens(0.3)
    self.isBare = isBare
    hasTextKeys = dice.happens(0.4)
    pageSize = Int.random(in: 2...5, using: &dice)
    sendsSize = dice.happens(0.5)
    let totals = Totals.allCases[Int.random(in: 0..<Totals.allCases.count, using: &dice)]
    self.totals = isBare && totals == .body ? .header : totals
    tellsPages = style == .number && dice.happens(0.5)
    tellsMore = style != .one && dice.happens(0.3)
    isShort = dice.happens(0.3)
    endsIn404 = [.number, .offset].contains(style) && dice.happens(0.5)
    first = style == .number ? Int.random(in: 0...1, using: &dice) : 0
    isDescending = dice.happens(0.3)
    validators = Validators.allCases[Int.random(in: 0..<Validators.allCases.count, using: &dice)]
    isAbsolute = dice.happens(0.5)
    hasGaps = [.cursor, .next, .link].contains(style) && dice.happens(0.4)
    capsTotal = self.totals != .none && style != .one && !tellsPages && dice.happens(0.4)
    let states: [String?] = dice.happens(0.3) ? (dice.happens(0.5) ? ["open"] : ["open", "closed"]) : [nil]
    tables = states.enumerated().map { Table("t\(number)\($0)", state: $1, using: &dice) }
  }

  /// The values that `resources.proof` may have. A capped total proves only lists that are not longer. A single
  /// full page that only lacks a next value may not be the whole list.
  var proofs: [String] {
    if totals == .none, [.one, .cursor, .next].contains(style), !tellsMore { return ["end", "weak"] }
    let other = [.number, .offset].contains(style) ? "weak" : "end"
    return totals == .none ? [other] : capsTotal ? ["count", other] : ["count"]
  }

  /// True if nothing shows that a record moved during the pull.
  var isWeak: Bool { [.number, .offset].contains(style) && (totals == .none || capsTotal) }

  /// True if pages are selected by position, in an order in which records may move.
  var isPositional: Bool { [.number, .offset].contains(style) }
}

extension SeededDice {
  mutating func happens(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &self) < share }
}

extension RandomDefinition.Table {
  fileprivate init(_ name: String, state: String?, using dice: inout SeededDice) {
    self.name = name
    self.state = state
    let removals = Removal.allCases
    removal = removals[Int.random(in: 0..<removals.count, using: &dice)]
    asksMany = dice.happens(0.5)
    columns = RandomRecord.Column.allCases.filter { $0 != .id && dice.happens(0.6) }.shuffled(using: &dice)
    columns.insert(.id, at: Int.random(in: 0...columns.count, using: &dice))
    hasTags = dice.happens(0.5)
    hasParts = dice.happens(0.4)
    isSearched = columns.contains(.name) && dice.happens(0.5)
  }
}

// MARK: As TOML

extension RandomDefinition {
  var toml: String { tables.map(toml).joined() }

  private func toml(_ table: Table) -> String {
    let ask = table.removal == .ask ? "by_key = \"\(path)/of/{\(table.asksMany ? "keys" : "key")}\"\n" : ""
    let lists =
      (table.hasTags ? "[resource.\(table.name).lists.\(table.name)_tags]\nat = \"/tags\"\ncolumns.tag = \"\"\n" : "")
      + (table.hasParts
        ? "[resource.\(table.name).lists.\(table.name)_parts]\nat = \"/parts\"\ncolumns = { a = \"/a\" }\n" : "")
    return """
      [resource.\(table.name)]
      path = "\(path)"
      method = "\(isPost ? "POST" : "GET")"
      records = "\(isBare ? "" : "/data/items")"
      where = {\(table.state.map { " \"/state\" = \"\($0)\" " } ?? "")}
      search = [\(table.isSearched ? "\"name\"" : "")]
      removal = "\(table.removal.rawValue)"
      \(ask)[resource.\(table.name).pages]
      \(pages)
      [resource.\(table.name).columns]
      \(table.columns.map { $0.toml(hasTextKeys: hasTextKeys) }.joined(separator: "\n"))
      \(lists)
      """
  }

  private var pages: String {
    let param = "param = \"\(isPost ? "/at/" : "")at\""
    var lines = ["style = \"\(style.rawValue)\"", "short = \(isShort)"]
    if sendsSize || isShort { lines.append("size = \(pageSize)") }
    if sendsSize { lines.append("size_param = \"\(isPost ? "/" : "")size\"") }
    if totals != .none { lines.append("count = \"\(place("count", isInHeader: totals == .header))\"") }
    if tellsPages { lines.append("last = \"\(place("pages"))\"") }
    if tellsMore { lines.append("more = \"\(place("more"))\"") }
    if endsIn404 { lines.append("beyond = [404]") }
    switch style {
    case .number, .offset: lines += [param, "first = \(first)"]
    case .cursor: lines += [param, "at = \"\(place("next"))\""]
    case .next: lines.append("at = \"\(place("next"))\"")
    case .after: lines.append(param)
    case .link, .one: break
    }
    return lines.joined(separator: "\n")
  }

  private func place(_ name: String, isInHeader: Bool = false) -> String {
    isBare || isInHeader ? "header:X-\(name)" : "/meta/\(name)"
  }
}
