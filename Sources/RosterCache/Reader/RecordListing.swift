package import RosterCore
internal import RosterDecode

extension CacheReader {
  /// The resources of a cache, in the order in which they were added.
  package struct Resources: Sendable, Equatable {
    /// One of them.
    package struct Entry: Sendable, Equatable {
      /// The resource's name in the configuration.
      package var name: String
      /// The table with its records.
      package var table: String
      /// Number of records in the snapshot.
      package var records: Int
    }

    /// The resources, in the order above.
    package var entries: [Entry]

    /// The documented JSON of `rosterctl list`.
    package var json: String {
      JSONWriter.object { json in
        json.name("resources")
        json.list { json in
          for entry in entries {
            json.object { json in
              json.member("name", entry.name)
              json.member("table", entry.table)
              json.member("records", entry.records)
            }
          }
        }
      }.text
    }
  }

  /// One page of a resource or of a search in it.
  package struct Listing: Sendable, Equatable {
    /// Records on a page.
    package static let pageSize = 20

    /// Its name.
    package var resource: String
    /// Columns that distinguish one record from another, the key first.
    package var telling: [Resource.Column]
    /// All of its columns, as the definition orders them.
    package var columns: [Resource.Column]
    /// Number of the page, from 1. A page after the last one is empty.
    package var page: Int
    /// Number of all pages.
    package var pages: Int
    /// Number of records on all pages.
    package var total: Int
    /// JSON objects of columns and lists.
    package var records: [String]
    /// True if a snapshot was published.
    package var hasSnapshot: Bool
    /// Number of rejected records of unknown key on the pages of the last whole pull: no record counts as absent then.
    package var unknown = 0

    /// The documented JSON of `rosterctl list RESOURCE`.
    package var json: String {
      JSONWriter.object { json in
        json.member("resource", resource)
        json.member("page", page)
        json.member("pages", pages)
        json.member("total", total)
        json.name("records")
        json.list { json in for record in records { json.raw(record.utf8) } }
      }.text
    }
  }

  /// The content of `rosterctl list`.
  package func resources() throws -> Resources {
    try read {
      Resources(
        entries: try database.rows("SELECT name, \"table\", records FROM main.resources ORDER BY rowid") {
          Resources.Entry(name: $0.text(0), table: $0.text(1), records: $0.int(2))
        })
    }
  }

  /// The records of a resource by record id. `search` chooses those in which each word occurs, as a word or its
  /// beginning. A blank text chooses all, and another one without a word chooses none. Throws `Failure`: 1 for an
  /// unknown resource, 64 for a search in one whose definition has no `search`.
  /// - Parameters:
  ///   - parents: keys of the ancestors, whose children are listed; empty for all. Not with another choice.
  ///   - isAbsent: chooses those that the last whole pull missed; not with `search`.
  ///   - page: The page, from 1; nil for the records of all pages.
  package func list(
    _ resource: String, of parents: [String] = [], search: String? = nil, isAbsent: Bool = false, page: Int? = 1
  ) throws -> Listing {
    try read {
      let tables = try tables(resource)
      let parent = parents.isEmpty ? nil : try parentID(of: tables, keys: parents)
      let choice =
        if let parent { RecordChoice.children(parent) } else if isAbsent { RecordChoice.absent } else {
          try search.flatMap { try tables.choice($0) } ?? .all
        }
      let total = try count(tables, choice: choice)
      let pages = (total + Listing.pageSize - 1) / Listing.pageSize
      // SQLite treats a negative limit as no limit.
      let limit = page == nil ? -1 : Listing.pageSize
      let skipped = (max(1, min(page ?? 1, pages + 1)) - 1) * Listing.pageSize
      let records = try database.rows(
        tables.page(choice), choice.value(of: resource), Value(limit), Value(skipped)
      ) { $0.text(0) }
      var listing = Listing(
        resource: resource, telling: tables.telling, columns: tables.shownColumns, page: page ?? 1, pages: pages,
        total: total, records: records, hasSnapshot: try hasSnapshot())
      if isAbsent { listing.unknown = try unknownKeys(resource) }
      return listing
    }
  }

  private func unknownKeys(_ resource: String) throws -> Int {
    try database.count(
      """
      SELECT coalesce(sum(l.unknown), 0) FROM main.cache_resources c CROSS JOIN main.cache_lists l ON l.resource_id = c.id
      WHERE c.name = ?1
      """, .text(resource))
  }

  /// The number of all records is stored: SQLite would read the whole table to count its rows.
  private func count(_ tables: ResourceTables, choice: RecordChoice) throws -> Int {
    let name = tables.resource.name
    if case .all = choice {
      return try database.count("SELECT records FROM main.resources WHERE name = ?", .text(name))
    }
    return try database.count(tables.count(choice), choice.value(of: name))
  }
}

/// Selects the records of a resource that are listed.
private enum RecordChoice {
  case all, absent
  /// Children of the record with that id.
  case children(Int64)
  /// Records that match a query of the index.
  case matching(String)
  case none

  /// The value of parameter ?1.
  func value(of resource: String) -> Value {
    switch self {
    case .all, .none: .null
    case .absent: .text(resource)
    case .children(let id): .integer(id)
    case .matching(let query): .text(query)
    }
  }
}

extension ResourceTables {
  /// nil if the text is blank.
  fileprivate func choice(_ words: String) throws -> RecordChoice? {
    guard index != nil else {
      throw Failure(
        .usage, step: "search", subject: resource.name, cause: "its definition names no columns to search",
        hint: "list it without words, or give it `search` in the configuration")
    }
    if let query = SearchWords.query(words) { return .matching(query) }
    return words.allSatisfy(\.isWhitespace) ? nil : RecordChoice.none
  }

  /// The ids of the records; `RecordChoice.value` is ?1.
  private func ids(_ choice: RecordChoice) -> String {
    switch choice {
    case .all: "SELECT \(id) AS id FROM main.\(table) WHERE ?1 IS NULL"
    case .absent:
      """
      SELECT u.record_id AS id FROM main.cache_resources c CROSS JOIN main.cache_lists l ON l.resource_id = c.id
      CROSS JOIN main.cache_unlisted u ON u.list_id = l.id WHERE c.name = ?1 AND u.absent > 0
      """
    case .children: "SELECT \(id) AS id FROM main.\(table) WHERE \(parentColumn ?? "NULL") = ?1"
    case .none: "SELECT 0 AS id WHERE ?1 IS NOT NULL"
    case .matching: index.map { "SELECT rowid AS id FROM main.\($0) WHERE \($0) MATCH ?1" } ?? ""
    }
  }

  fileprivate func count(_ choice: RecordChoice) -> String { "SELECT count(*) FROM (\(ids(choice)))" }

  /// Selects at most ?2 records, after the first ?3.
  fileprivate func page(_ choice: RecordChoice) -> String {
    """
    SELECT \(jsonText(isShown: true)) FROM main.\(table) r
    WHERE r.\(id) IN (\(ids(choice)) ORDER BY id LIMIT ?2 OFFSET ?3) ORDER BY r.\(id)
    """
  }

  /// The column of the parent, and those of the definition.
  fileprivate var shownColumns: [Resource.Column] {
    let parent = resource.parentColumn.map { Resource.Column($0, at: JSONPointer(segments: [$0]), .integer) }
    return (parent.map { [$0] } ?? []) + resource.columns
  }

  /// Columns that help people to recognise a record: the key, then the searched columns, else the texts, else all
  /// columns.
  var telling: [Resource.Column] {
    let searched = resource.search.compactMap { name in resource.columns.first { $0.name == name } }
    let texts = resource.columns.filter { $0.type.isText }
    let keys = keyParts.map { resource.columns[$0] }
    let others = [searched, texts, resource.columns].lazy.map { $0.filter { !keys.contains($0) } }
    return keys + (others.first { !$0.isEmpty } ?? []).prefix(Self.maxTelling)
  }

  /// More columns do not fit a line.
  private static let maxTelling = 6
}

/// Turns what a person types into a query of the index: words, never query syntax.
enum SearchWords {
  /// A query for records that contain every word, or a longer word with that beginning. nil if the text has no word.
  /// A word is what the index's tokenizer treats as one: letters, numbers and private use, with their marks
  /// (sqlite.org/fts5.html#unicode61_tokenizer).
  static func query(_ text: String) -> String? {
    let words = text.unicodeScalars.split { !isPartOfWord($0) }
      .filter { $0.contains { !isMark($0) } }
    guard !words.isEmpty else { return nil }
    // Each word occurs once in the query, because every phrase costs a walk through the index.
    return Set(words.map { condition(String($0)) }).sorted().joined(separator: " AND ")
  }

  private static func condition(_ word: String) -> String {
    let phrases = spellings(of: word).map { "\"\($0)\"*" }
    return phrases.count == 1 ? phrases[0] : "(\(phrases.joined(separator: " OR ")))"
  }

  /// The index ignores the diacritics of Latin letters only. A Greek or Cyrillic word is searched in three ways: as the
  /// user wrote it, without diacritics, and with those of one letter. Such a word rarely has more than one accent.
  private static func spellings(of word: String) -> [String] {
    let letters = word.lowercased().unicodeScalars.map { plain[$0] ?? $0 }
    guard letters.contains(where: { marked[$0] != nil }) else { return [word] }
    var spellings: Set<String> = [word.lowercased(), text(letters)]
    for (index, letter) in letters.enumerated() {
      for other in marked[letter] ?? [] {
        spellings.insert(text(letters[..<index] + [other] + letters[(index + 1)...]))
      }
    }
    return spellings.sorted()
  }

  private static func text(_ letters: some Sequence<Unicode.Scalar>) -> String {
    String(String.UnicodeScalarView(letters))
  }

  private static let marked: [Unicode.Scalar: [Unicode.Scalar]] = [
    "α": ["ά"], "ε": ["έ"], "η": ["ή"], "ι": ["ί", "ϊ", "ΐ"], "ο": ["ό"], "υ": ["ύ", "ϋ", "ΰ"], "ω": ["ώ"],
    "е": ["ё"], "и": ["й"], "і": ["ї"], "у": ["ў"],
  ]
  private static let plain = Dictionary(
    uniqueKeysWithValues: marked.flatMap { plain, marked in marked.map { ($0, plain) } })

  private static func isPartOfWord(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
      .decimalNumber, .letterNumber, .otherNumber, .privateUse:
      true
    default: isMark(scalar)
    }
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: true
    default: false
    }
  }
}
