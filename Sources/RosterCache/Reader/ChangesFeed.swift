internal import RosterJSON
package import RosterModel

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

  /// Why the follower must read everything again (section 5 of docs/CONTRACT.md), as a clause; nil if no change is
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

    /// The contract's JSON of `/v1/changes`.
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
