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
