import RosterCore

extension String {
  /// The letters and digits of a name in lower case. So `next_page`, `nextPage` and `page[next]` are equal, which mean
  /// the same in different APIs.
  var word: String {
    String(String.UnicodeScalarView(unicodeScalars.filter { $0.isPlain && $0 != "_" })).lowercased()
  }

  /// The text as an identifier `[a-z][a-z0-9_]*`: `createdAt` becomes `created_at`, `+1` becomes `field_1`.
  var identifier: String {
    var parts: [String] = []
    for piece in unicodeScalars.split(whereSeparator: { !$0.isPlain || $0 == "_" }) {
      parts += Self.humps(of: Array(piece)).map { $0.lowercased() }
    }
    let name = parts.joined(separator: "_")
    guard let first = name.unicodeScalars.first else { return "field" }
    let plain = first.isDigit ? "field_\(name)" : name
    return String(plain.prefix(Self.maxIdentifier))
  }

  /// A length that people can still read; SQLite has no limit.
  private static let maxIdentifier = 60

  /// Splits at capital letters: `htmlURL` into html and URL, `HTMLText` into HTML and Text.
  private static func humps(of piece: [Unicode.Scalar]) -> [String] {
    var humps: [String] = []
    for (index, scalar) in piece.enumerated() {
      let follows = index > 0 && !piece[index - 1].isUpper
      let leads = index > 0 && index + 1 < piece.count && piece[index + 1].isLower
      if index == 0 || scalar.isUpper && (follows || leads) { humps.append("") }
      humps[humps.count - 1].unicodeScalars.append(scalar)
    }
    return humps
  }
}

extension Unicode.Scalar {
  fileprivate var isDigit: Bool { ("0"..."9").contains(self) }
  fileprivate var isLower: Bool { ("a"..."z").contains(self) }
  fileprivate var isUpper: Bool { ("A"..."Z").contains(self) }
  fileprivate var isPlain: Bool { isDigit || isLower || isUpper || self == "_" }
}

/// Returns each name once, and never one of rosterd's own. Identifiers are in lower case, so two names never differ by
/// case alone.
struct UniqueNames {
  private var taken: Set<String>
  /// The next number to append, for each name, because many fields may ask for the same name.
  private var numbers: [String: Int] = [:]

  init(reserved: Set<String>) { taken = reserved }

  /// Names of columns. SQLite reserves two for a row's id (sqlite.org/lang_createtable.html#rowid).
  init(ofColumnsBeside reserved: [String]) { taken = Set(reserved).union(["rowid", "oid"]) }

  mutating func take(_ wanted: String) -> String {
    var name = wanted
    while !taken.insert(name).inserted {
      let number = numbers[wanted, default: 2]
      name = "\(wanted)_\(number)"
      numbers[wanted] = number + 1
    }
    return name
  }
}

/// Singular and plural of English nouns, as far as APIs use them for lists.
enum Noun {
  /// The singular of an identifier, whose last word decides.
  static func singular(_ name: String) -> String { changing(name, change: singularWord) }

  static func plural(_ name: String) -> String { changing(name, change: pluralWord) }

  private static func changing(_ name: String, change: (String) -> String) -> String {
    guard let mark = name.lastIndex(of: "_") else { return change(name) }
    return name[...mark] + change(String(name[name.index(after: mark)...]))
  }

  private static func singularWord(_ word: String) -> String {
    if let known = irregular[word] { return known }
    let isOwnSingular = ["ss", "us", "is"].contains { word.hasSuffix($0) } || word.count < 4
    if isOwnSingular { return word }
    if word.hasSuffix("ies") { return word.dropLast(3) + "y" }
    if ["sses", "xes", "ches", "shes"].contains(where: { word.hasSuffix($0) }) { return String(word.dropLast(2)) }
    return word.hasSuffix("s") ? String(word.dropLast()) : word
  }

  private static func pluralWord(_ word: String) -> String {
    if let known = irregular.first(where: { $0.value == word }) { return known.key }
    if singularWord(word) != word { return word }
    let isVowelY = word.count > 1 && "aeiou".contains(word.dropLast().last ?? " ")
    if word.hasSuffix("y"), !isVowelY { return word.dropLast() + "ies" }
    return word + (["s", "x", "ch", "sh"].contains { word.hasSuffix($0) } ? "es" : "s")
  }

  private static let irregular = [
    "people": "person", "children": "child", "movies": "movie", "cookies": "cookie", "statuses": "status",
    "series": "series", "species": "species", "news": "news", "data": "data", "metadata": "metadata",
    "media": "media",
  ]
}

/// The names of a resource and of its table.
struct ResourceName {
  let resource: String
  let table: String

  /// The documented limit: `[a-z][a-z0-9_]{0,39}`.
  private static let longest = 40

  /// - Parameters:
  ///   - parent: the resource of `each.of`; nil for a resource without a parent.
  ///   - tail: the last segment of the address, if it is a word.
  ///   - isAddressGiven: true if a column of the parent has the whole address, whose segments may be values.
  init(noun: String?, _ list: RecordList, parent: String?, tail: String? = nil, isAddressGiven: Bool) {
    let isDetail = list.detail != nil
    let listed = list.at.segments.last { !Vocabulary.vagueNouns.contains($0.word) }
    let kinds = Set(list.records.map { $0["object"]?.text ?? "" })
    let word = noun ?? listed ?? (kinds.count == 1 ? kinds.first : nil) ?? ""
    let isUnknown = isAddressGiven || word.isEmpty
    let plain = Self.name(of: word)
    resource = String(
      Self.unlike(parent, plain, tail: tail, isDetail: isDetail, isUnknown: isUnknown).prefix(Self.longest))
    table = Self.table(of: resource)
  }

  /// The table of a resource.
  static func table(of resource: String) -> String {
    let plural = Noun.plural(String(resource.prefix(longest)))
    return ReservedNames.tables.contains(plural) ? "\(plural)_list" : plural
  }

  /// The name of one record of that kind.
  static func name(of word: String) -> String {
    let named = word.isEmpty ? "record" : Noun.singular(word.identifier)
    // The tables of its lists begin with the same name.
    let isReserved = ["sqlite_", ReservedNames.setAside].contains { "\(named)_".hasPrefix($0) }
    return isReserved ? "record_\(named)" : named
  }

  /// A child has another name than its parent: `order_item` for `/orders/5/items`.
  private static func unlike(
    _ parent: String?, _ name: String, tail: String?, isDetail: Bool, isUnknown: Bool
  ) -> String {
    guard let parent, name == parent || (isDetail && isUnknown) else { return name }
    if isDetail { return "\(parent)_detail" }
    let own = tail.map(Self.name) ?? parent
    return own == parent ? "child_\(name)" : "\(parent)_\(own)"
  }

  /// Names that its lists must not use: its own table, and those of the full-text index.
  var otherTables: UniqueNames {
    // In `changes`, the name of a list is its table's name without the resource's.
    let shown = ["first_sync", "changed_sync"].map { "\(resource)_\($0)" }
    return UniqueNames(
      reserved: ReservedNames.tables.union(ReservedNames.wordTables(of: table)).union(shown).union([table]))
  }

  /// The last segment, if it is a word: `items` of `/orders/{order.id}/items`.
  static func tail(ofPath path: String) -> String? {
    path.split(separator: "/").last.map { String($0.prefix { $0 != "." }) }.flatMap { isWord($0) ? $0 : nil }
  }

  /// The last segment that names a kind of record: `issues` of `/repos/octocat/hello/issues`. nil if no segment does.
  static func noun(ofPath path: String) -> String? {
    let segments = (path.splitPage?.path.split(separator: "/").dropLast() ?? path.split(separator: "/")).map {
      String($0.prefix { $0 != "." })
    }
    return segments.last { isWord($0) && !Vocabulary.vagueNouns.contains($0.word) }
  }

  private static func isWord(_ segment: String) -> Bool {
    (2...40).contains(segment.count) && !segment.contains { $0.isASCIIDigit || $0 == "%" || $0 == "{" }
  }
}
