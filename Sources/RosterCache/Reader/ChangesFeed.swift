package import RosterCore
internal import RosterDecode

/// The position of a follower in `changes`.
package struct FeedPosition: Sendable, Equatable {
  /// The feed to which `seen` belongs; nil accepts any feed.
  package var feed: String?
  /// The largest id that the follower has seen; nil begins with the oldest change that is kept.
  package var seen: Int64?

  /// Begins with the oldest change of any feed, unless arguments say otherwise.
  package init(feed: String? = nil, seen: Int64? = nil) {
    self.feed = feed
    self.seen = seen
  }

  /// Why the follower must read everything again (docs/CACHE.md), as a clause; nil if no change is
  /// missing.
  /// - Parameters:
  ///   - first: the smallest id of `changes`; nil if there are no changes yet.
  ///   - last: the largest id; 0 if there are no changes yet.
  func refusal(feed current: String, first: Int64?, last: Int64) -> String? {
    if let feed, feed != current { return "the feed is another one: \(current)" }
    guard let seen else { return nil }
    // `seen + 1` could overflow.
    if let first, first - 1 > seen { return "the changes after \(seen) have expired: the oldest is \(first)" }
    return last < seen ? "it ends with change \(last), before \(seen)" : nil
  }
}

extension CacheReader {
  /// Changes of a feed, in its order.
  package struct FeedPage: Sendable, Equatable {
    /// `cache_info.feed`
    package var feed: String
    /// Oldest first.
    package var changes: [RecordChange]
    /// The id to continue with: all changes up to it have been read.
    package var last: Int64
    /// True if no change followed these when they were read.
    package var isWhole: Bool

    /// The documented JSON of `/v1/changes`.
    package var json: [UInt8] {
      JSONWriter.object { json in
        json.member("feed", feed)
        json.name("changes")
        json.list { json in for change in changes { change.write(to: &json) } }
        json.member("last", last)
      }.bytes
    }
  }

  /// The changes after a position, or the reason why they are not known.
  package enum FeedReading: Sendable, Equatable {
    case page(FeedPage)
    /// The follower must read everything again; a clause says why.
    case readAnew(String)
  }

  /// The changes after a position: at most `limit`, fewer if they are long, and at least one if any exist. Throws
  /// `Failure` (1) for a resource that the cache does not know.
  /// - Parameter bytes: approximate limit for the documents.
  package func feed(
    _ position: FeedPosition, resource: String? = nil, limit: Int, bytes: Int = maxPage
  ) throws -> FeedReading {
    try read {
      let feed = try database.first("SELECT feed FROM main.cache_info") { $0.text(0) } ?? ""
      let (first, last) = try database.changeIDs()
      if let why = position.refusal(feed: feed, first: first, last: last ?? 0) { return .readAnew(why) }
      // This check comes second: a removed resource means another feed to its followers.
      if let resource { try expect(resource) }
      let (changes, isWhole) = try changes(
        after: position.seen ?? (first ?? 1) - 1, resource, limit: limit, maxBytes: bytes)
      let end = isWhole ? last : changes.last?.id ?? last
      return .page(FeedPage(feed: feed, changes: changes, last: end ?? 0, isWhole: isWhole))
    }
  }

  /// Approximate number of bytes of documents in an answer: some thousand changes of the usual size. A record may have
  /// 8 MiB.
  package static let maxPage = 2 << 20

  private func changes(
    after seen: Int64, _ resource: String?, limit: Int, maxBytes: Int
  ) throws -> (changes: [RecordChange], isWhole: Bool) {
    let select = RecordChange.select(try Schema(of: database).tables)
    let statement = try database.statement(
      "\(select) WHERE id > ?1 AND (?2 IS NULL OR resource = ?2) ORDER BY id")
    defer { statement.reset() }
    statement.bind(1, Value.integer(seen))
    statement.bind(2, Value(resource))
    var changes: [RecordChange] = []
    var bytes = 0
    while changes.count < limit, bytes < maxBytes {
      guard try statement.step() else { return (changes, true) }
      let change = RecordChange(statement.row)
      bytes += (change.before?.utf8.count ?? 0) + (change.after?.utf8.count ?? 0)
      changes.append(change)
    }
    return (changes, try !statement.step())
  }

  /// A misspelt name would wait for ever. A resource that is not pulled any more may still have changes.
  private func expect(_ resource: String) throws {
    let isKnown =
      try database.count("SELECT EXISTS (SELECT 1 FROM main.changes WHERE resource = ?1)", .text(resource)) == 1
    if !isKnown { _ = try tables(resource) }
  }
}

extension Database {
  /// The smallest and the largest id of `changes`.
  func changeIDs() throws -> (first: Int64?, last: Int64?) {
    try first("SELECT (SELECT min(id) FROM main.changes), (SELECT max(id) FROM main.changes)") {
      ($0.optionalInteger(0), $0.optionalInteger(1))
    } ?? (nil, nil)
  }
}

extension RecordChange {
  /// A row of `/v1/changes`.
  package var json: String {
    var json = JSONWriter()
    write(to: &json)
    return json.text
  }

  /// The columns that `init` reads. The keys of all other resources than these are nil.
  static func select(_ tables: [ResourceTables]) -> String {
    let document = "coalesce(c.after, c.before)"
    let keys = tables.map {
      "WHEN \(literal($0.resource.name)) THEN \(DocumentKey(of: $0, inDocument: document, among: tables).json)"
    }
    let key =
      keys.isEmpty
      ? "NULL" : "CASE WHEN json_valid(\(document)) THEN CASE c.resource \(keys.joined(separator: " ")) END END"
    return "SELECT id, sync_id, resource, record_id, kind, at, before, after, \(key) FROM main.changes c"
  }

  init(_ row: Row) {
    self.init(
      id: row.integer(0), sync: row.integer(1), resource: row.text(2), record: row.integer(3),
      kind: ChangeKind(rawValue: row.text(4)) ?? .changed, at: row.text(5), before: row.optionalText(6),
      after: row.optionalText(7))
    key = row.optionalText(8)
  }

  func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("id", id)
      json.member("sync_id", sync)
      json.member("resource", resource)
      json.member("record_id", record)
      json.member("key", json: key)
      json.member("kind", kind.rawValue)
      json.member("at", at)
      // Stored documents keep upstream's numbers as written.
      json.member("before", json: before)
      json.member("after", json: after)
    }
  }
}

/// Follows the feed of the cache at a path, across publishes, restarts of the daemon and replaced files. It never
/// waits: the caller decides how often to ask.
package struct FeedFollower {
  /// The position after the last change that was returned.
  package private(set) var position: FeedPosition

  /// Path of the cache.
  package let path: String
  private let resource: String?
  private var reader: CacheReader?
  private var files = FileIdentity.Parts()
  /// `PRAGMA data_version` before the last reading, if that reading reached the end; nil if there may be more changes.
  private var version: Int64?

  /// - Parameter resource: nil follows all resources.
  package init(path: String, from position: FeedPosition, resource: String?) {
    self.path = path
    self.position = position
    self.resource = resource
  }

  /// The next changes, at most `limit`; empty if there are no new ones. Throws `Failure`: 65 if everything must be read
  /// again, 1 for an unknown resource, 73 for a cache that cannot be read now.
  package mutating func next(limit: Int = 1000) throws -> [RecordChange] {
    let reader = try current()
    let now = try reader.dataVersion()
    if now == version { return [] }
    switch try reader.feed(position, resource: resource, limit: limit) {
    case .readAnew(let why):
      throw Failure(
        .badAnswer, step: "go on with the changes", subject: path, cause: why,
        hint: "read everything again, and follow from the largest id of changes")
    case .page(let page):
      position = FeedPosition(feed: page.feed, seen: page.last)
      version = page.isWhole ? now : nil
      return page.changes
    }
  }

  /// Columns that help people to recognise a record, the key first; empty if the resource is not pulled any more.
  package func telling(_ resource: String) -> [Resource.Column] { (try? reader?.telling(resource)) ?? [] }

  /// The parents of changed children, such as `item 2`, by the ids of the changes.
  package func parents(of changes: [RecordChange]) -> [Int64: String] {
    (try? reader?.parents(of: changes)) ?? [:]
  }

  /// True if a snapshot was published.
  package func hasSnapshot() throws -> Bool { try reader?.hasSnapshot() ?? false }

  /// The reader of the files that have the names now. If a file is missing, its writer is about to create it again.
  private mutating func current() throws -> CacheReader {
    let found = FileIdentity.Parts(path)
    if let reader, found == files || !found.isWhole { return reader }
    // The old reader is closed first: closing any other descriptor of a file releases SQLite's locks on it.
    reader = nil
    version = nil
    let opened = try CacheReader(path: path)
    (reader, files) = (opened, found)
    return opened
  }
}

extension CacheReader {
  /// A number that changes as soon as another connection has written (sqlite.org/pragma.html#pragma_data_version).
  package func dataVersion() throws -> Int64 {
    try read { try database.first("PRAGMA data_version") { $0.integer(0) } ?? 0 }
  }

  fileprivate func telling(_ resource: String) throws -> [Resource.Column] {
    try read { try tables(resource).telling }
  }
}
