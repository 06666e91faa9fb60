internal import RosterJSON
package import RosterModel

extension CacheReader {
  /// The resources that a cache has, in the order in which they came.
  package struct Resources: Sendable, Equatable {
    /// One of them.
    package struct Entry: Sendable, Equatable {
      /// As the configuration names it.
      package var name: String
      /// Where its records are.
      package var table: String
      /// How many the snapshot has.
      package var records: Int
    }

    /// In their order.
    package var entries: [Entry]

    /// The contract's JSON of `rosterctl list`.
    package var json: String {
      var json = JSONWriter()
      json.object { json in
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
      }
      return json.text
    }
  }

  /// One page of a resource or of a search in it.
  package struct Listing: Sendable, Equatable {
    /// Records on a page.
    package static let pageSize = 20

    /// Its name.
    package var resource: String
    /// Those that tell one record from another, the key first.
    package var telling: [Resource.Column]
    /// From 1; may be behind the last one, and is empty then.
    package var page: Int
    /// How many pages there are.
    package var pages: Int
    /// Records on all pages.
    package var total: Int
    /// JSON objects of columns and lists.
    package var records: [String]
    /// Whether anything was published yet.
    package var hasSnapshot: Bool

    /// The contract's JSON of `rosterctl list RESOURCE`.
    package var json: String {
      var json = JSONWriter()
      json.object { json in
        json.member("resource", resource)
        json.member("page", page)
        json.member("pages", pages)
        json.member("total", total)
        json.name("records")
        json.list { json in for record in records { json.raw(record.utf8) } }
      }
      return json.text
    }
  }

  /// What `list` knows.
  package func resources() throws -> Resources {
    try read {
      Resources(
        entries: try database.rows("SELECT name, \"table\", records FROM resources ORDER BY rowid") {
          Resources.Entry(name: $0.text(0), table: $0.text(1), records: $0.int(2))
        })
    }
  }

  /// All records of a resource by record id, or those in which each word of `search` occurs, as a word or its
  /// beginning; text without a word finds all. Throws `Failure`: 1 for an unknown resource, 64 for a search in one
  /// whose definition has no `search`.
  /// - Parameter page: from 1.
  package func list(_ resource: String, search: String? = nil, page: Int = 1) throws -> Listing {
    try read {
      let tables = try tables(resource)
      let query = try search.flatMap { try tables.query($0) }
      let total = try count(tables, query)
      let pages = (total + Listing.pageSize - 1) / Listing.pageSize
      let skipped = (max(1, min(page, pages + 1)) - 1) * Listing.pageSize
      let records = try database.rows(
        tables.page(isSearch: query != nil), Value(query), Value(Listing.pageSize), Value(skipped)
      ) { $0.text(0) }
      return Listing(
        resource: resource, telling: tables.telling, page: page, pages: pages, total: total, records: records,
        hasSnapshot: try snapshot())
    }
  }

  /// Without a search the number is stored: SQLite would read the whole table to count its rows.
  private func count(_ tables: ResourceTables, _ query: String?) throws -> Int {
    if let query { return try database.first(tables.countFound, .text(query)) { $0.int(0) } ?? 0 }
    let records = "SELECT records FROM resources WHERE name = ?"
    return try database.first(records, .text(tables.resource.name)) { $0.int(0) } ?? 0
  }
}

extension ResourceTables {
  /// nil: there is no word in it.
  fileprivate func query(_ words: String) throws -> String? {
    guard index != nil else {
      throw Failure(
        .usage, step: "search", subject: resource.name, cause: "its definition names no columns to search",
        hint: "list it without words, or give it `search` in the configuration")
    }
    return SearchWords.query(words)
  }

  private func found(_ isSearch: Bool) -> String? {
    index.flatMap { isSearch ? "SELECT rowid AS id FROM \($0) WHERE \($0) MATCH ?1" : nil }
  }

  /// Number of records that the query ?1 finds.
  fileprivate var countFound: String { "SELECT count(*) FROM (\(found(true) ?? ""))" }

  /// The query is ?1, how many records ?2, behind how many ?3.
  fileprivate func page(isSearch: Bool) -> String {
    let ids = found(isSearch) ?? "SELECT \(id) AS id FROM \(table)"
    return """
      SELECT \(jsonText(isShown: true)) FROM \(table) r
      WHERE r.\(id) IN (\(ids) ORDER BY id LIMIT ?2 OFFSET ?3) ORDER BY r.\(id)
      """
  }

  /// Columns that tell people one record from another: the key, then what is searched, else texts, else whatever there
  /// is.
  var telling: [Resource.Column] {
    let searched = resource.search.compactMap { name in resource.columns.first { $0.name == name } }
    let texts = resource.columns.filter { $0.type == .text }
    let others = [searched, texts, resource.columns].lazy.map { $0.filter { $0 != resource.columns[key] } }
    return [resource.columns[key]] + (others.first { !$0.isEmpty } ?? []).prefix(Self.mostTelling)
  }

  /// More do not fit a line.
  private static let mostTelling = 6
}
