internal import RosterJSON
internal import RosterModel

/// How far somebody has followed `changes`.
package struct FeedPosition: Sendable, Equatable {
  /// The feed that `seen` is of; nil: whichever is there.
  package var feed: String?
  /// The largest id that was seen; nil: begin with the oldest change that there is.
  package var seen: Int64?

  /// Nothing is seen yet, unless said.
  package init(feed: String? = nil, seen: Int64? = nil) {
    self.feed = feed
    self.seen = seen
  }

  /// Why everything is to be read anew (section 5 of docs/CONTRACT.md), a clause; nil: all that follows is there.
  /// - Parameters:
  ///   - first: the smallest id of `changes`; nil: there is none yet.
  ///   - last: the largest one; 0: there is none yet.
  func refusal(feed current: String, first: Int64?, last: Int64) -> String? {
    if let feed, feed != current { return "the feed is another one: \(current)" }
    guard let seen else { return nil }
    // Not seen + 1, which may be more than 64 bits hold.
    if let first, first - 1 > seen { return "history has ended what follows change \(seen): the oldest is \(first)" }
    return last < seen ? "it ends with change \(last), before \(seen)" : nil
  }
}

extension CacheReader {
  /// Changes of a feed, in its order.
  package struct FeedPage: Sendable, Equatable {
    /// `cache_info.feed`
    package var feed: String
    /// Oldest first.
    package var changes: [Change]
    /// The id to go on with: nothing up to it is missed.
    package var last: Int64
    /// Nothing followed them when they were read.
    package var isWhole: Bool

    /// The contract's JSON of `/v1/changes`.
    package var json: [UInt8] {
      var json = JSONWriter()
      json.object { json in
        json.member("feed", feed)
        json.name("changes")
        json.list { json in for change in changes { change.write(to: &json) } }
        json.member("last", last)
      }
      return json.bytes
    }
  }

  /// What follows a position.
  package enum FeedReading: Sendable, Equatable {
    case page(FeedPage)
    /// Nobody can go on from there: a clause that says why.
    case readAnew(String)
  }

  /// The changes that follow a position, at most `limit`, and fewer where they are long; at least one, if there are
  /// some. Throws `Failure`: 1 for a resource that the cache does not know.
  /// - Parameter bytes: of documents, about.
  package func feed(
    _ position: FeedPosition, resource: String? = nil, limit: Int, bytes: Int = longestPage
  ) throws -> FeedReading {
    try read { try follow(position, resource, limit, bytes) }
  }

  /// The same within a transaction.
  func follow(
    _ position: FeedPosition, _ resource: String?, _ limit: Int, _ bytes: Int = longestPage
  ) throws -> FeedReading {
    let feed = try database.first("SELECT feed FROM cache_info") { $0.text(0) } ?? ""
    let ends = try database.first("SELECT (SELECT min(id) FROM changes), (SELECT max(id) FROM changes)") {
      (first: $0.optionalInteger(0), last: $0.optionalInteger(1))
    }
    let (first, last) = (ends?.first, ends?.last ?? 0)
    if let why = position.refusal(feed: feed, first: first, last: last) { return .readAnew(why) }
    // Only then: one that went is another feed to who has followed it.
    if let resource { try expect(resource) }
    let (changes, isWhole) = try changes(after: position.seen ?? (first ?? 1) - 1, resource, limit, bytes)
    let end = isWhole ? last : changes.last?.id ?? last
    return .page(FeedPage(feed: feed, changes: changes, last: end, isWhole: isWhole))
  }

  /// Bytes of documents in an answer, about: some thousand changes of the usual size. A record may have 8 MiB.
  package static let longestPage = 2 << 20

  private func changes(
    after seen: Int64, _ resource: String?, _ limit: Int, _ mostBytes: Int
  ) throws -> (changes: [Change], isWhole: Bool) {
    let select = Change.select(try Schema(of: database).tables)
    let statement = try database.statement(
      "\(select) WHERE id > ?1 AND (?2 IS NULL OR resource = ?2) ORDER BY id")
    defer { statement.reset() }
    statement.bind(1, Value.integer(seen))
    statement.bind(2, Value(resource))
    var changes: [Change] = []
    var bytes = 0
    while changes.count < limit, bytes < mostBytes {
      guard try statement.step() else { return (changes, true) }
      let change = Change(statement.row)
      bytes += (change.before?.utf8.count ?? 0) + (change.after?.utf8.count ?? 0)
      changes.append(change)
    }
    return (changes, try !statement.step())
  }

  /// A misspelt name would wait for ever. One that is not pulled any more may still have changes.
  private func expect(_ resource: String) throws {
    let isKnown = try database.first(
      "SELECT EXISTS (SELECT 1 FROM changes WHERE resource = ?1)", .text(resource)
    ) { $0.int(0) != 0 }
    if isKnown != true { _ = try tables(resource) }
  }
}
