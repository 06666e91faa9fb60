import RosterCore
import Testing

@testable import RosterCache

/// A tool that keeps a copy of the characters by the documented rules for `changes` alone.
struct Follower {
  enum Reason: Hashable { case first, otherFeed, ended, below }

  /// The reasons for starting from scratch, with their numbers.
  private(set) var readings: [Reason: Int] = [:]
  /// Number of changes that were applied.
  private(set) var followed = 0

  private var feed: String?
  private var seen: Int64 = 0
  private var copy: [Int64: String] = [:]

  /// Updates the copy in one transaction, and compares it with the characters of the same snapshot.
  mutating func look(at path: String, _ when: Comment) throws {
    let cache = try Database(path: path, access: .readOnly)
    cache.wait(milliseconds: 5_000)
    try cache.transaction("BEGIN") {
      let current = try #require(try cache.first("SELECT feed FROM cache_info") { $0.text(0) })
      let ids = try #require(
        try cache.first("SELECT min(id), max(id) FROM changes") { ($0.optionalInteger(0), $0.optionalInteger(1)) })
      let last = ids.1 ?? 0
      if let reason = reason(feed: current, first: ids.0, last: last) {
        readings[reason, default: 0] += 1
        copy = try Self.characters(cache)
      } else {
        try follow(cache, when: when)
      }
      feed = current
      seen = last
      #expect(copy == (try Self.characters(cache)), when)
    }
  }

  /// The reason to start from scratch; nil if there is no reason.
  private func reason(feed current: String, first: Int64?, last: Int64) -> Reason? {
    guard let feed else { return .first }
    if feed != current { return .otherFeed }
    if let first, first > seen + 1 { return .ended }
    return last < seen ? .below : nil
  }

  private mutating func follow(_ cache: Database, when: Comment) throws {
    let changes = try cache.rows(
      """
      SELECT id, kind, record_id, \(Self.text("before")), \(Self.text("after")), sync_id
      FROM changes WHERE id > \(seen) ORDER BY id
      """
    ) {
      (
        id: $0.integer(0), kind: $0.text(1), character: $0.integer(2), before: $0.optionalText(3),
        after: $0.optionalText(4), sync: $0.integer(5)
      )
    }
    #expect(changes.map(\.sync) == changes.map(\.sync).sorted(), when)
    for change in changes {
      #expect(change.before == copy[change.character], when)
      let kind = change.before == nil ? "added" : change.after == nil ? "removed" : "changed"
      #expect(change.kind == kind && change.before != change.after, when)
      copy[change.character] = change.after
      followed += 1
    }
  }

  private static let texts = [
    "name", "status", "species", "type", "gender", "origin_name", "origin_url", "location_name", "location_url",
    "image", "url", "created",
  ]

  /// A column of `changes` in the form of `characters`.
  private static func text(_ column: String) -> String {
    let values = texts.map { "\(column) ->> '$.\($0)'" }.joined(separator: ", ")
    return "json_array(\(values), json(\(column) -> '$.extra')) || json(\(column) -> '$.episodes')"
  }

  private static func characters(_ cache: Database) throws -> [Int64: String] {
    let rows = try cache.rows(
      """
      SELECT id, json_array(\(texts.joined(separator: ", ")), json(coalesce(extra, 'null'))) || (
        SELECT json_group_array(url) FROM
          (SELECT url FROM character_episodes WHERE character_id = characters.id ORDER BY position))
      FROM characters
      """
    ) { ($0.integer(0), $0.text(1)) }
    return Dictionary(uniqueKeysWithValues: rows)
  }
}
