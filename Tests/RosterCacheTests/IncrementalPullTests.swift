import FoundationEssentials
import RosterCore
import RosterDecode
import Testing

@testable import RosterCache

struct IncrementalPullTests {
  let folder = Folder()
  static func resource(isText: Bool = false) -> Resource {
    var resource = Resource(
      name: "thing", path: "/things", records: at("results"), table: "things",
      conditions: [.init(at("gone"), .absent)], search: ["name"], removal: .twice, pages: .init(.link),
      columns: [.init("id", at: at("id"), isText ? .text : .integer), .init("name", at: at("name"))])
    resource.since = Since(
      at: at("at"), param: .query("since"), form: .number, overlap: .number(1), listing: resource.listing)
    return resource
  }

  static func thing(_ id: Int, mark: Int, name: String = "", isGone: Bool = false, isText: Bool = false) -> String {
    let gone = isGone ? #","gone":true"# : ""
    let id = isText ? "\"k\(id)\"" : "\(id)"
    return #"{"id":\#(id),"name":"\#(name)","at":\#(mark)\#(gone)}"#
  }

  /// The pages of an incremental pull; nil if upstream reports no change.
  static func pull(_ resource: Resource, pages: [[String]?], in cache: Cache) async throws -> SyncRecord {
    let record = try await cache.begin(at: noon)
    await cache.pullIncrementally(resource.name, when: true)
    for (index, records) in pages.enumerated() {
      let address = "since /things?page=\(index + 1)"
      if let records {
        let body = answer(records)
        var decoder = RecordDecoder(try RecordPlan(resource, isIncremental: true))
        let page = PageBody(
          resource: resource.name, number: index + 1, address: address, validator: Validator(etag: "\"s\""),
          receivedAt: noon, body: body, digest: try await cache.digest(body), scan: try decoder.scan(page: body))
        try await cache.append([page])
      } else {
        let known = try #require(try await cache.known(resource.name, addresses: [address])[address])
        try await cache.confirm(resource.name, pages: [ConfirmedPage(number: index + 1, page: known)])
      }
    }
    _ = try await cache.compare()
    return record
  }

  static func publish(_ record: SyncRecord, mark: String?, in cache: Cache) async throws -> SyncRecord {
    var end = RemovalDecision(.asDefined, proof: .since)
    end.mark = mark.flatMap { Mark($0, form: .number) }.map(Since.MarkMove.moves) ?? .stays
    return try await cache.publish(record, decisions: ["thing": end])
  }

  /// A whole pull of two pages, whose mark is 4.
  static func whole(_ resource: Resource, pages: [[String]?], mark: String?, in cache: Cache) async throws
    -> SyncRecord
  {
    let record = try await cache.pull(resource, pages: pages)
    return try await publish(record, mark: mark, in: cache)
  }

  /// An incremental pull and its publication.
  static func incremental(
    _ resource: Resource, pages: [[String]?], mark: String?, in cache: Cache
  ) async throws -> SyncRecord {
    try await publish(pull(resource, pages: pages, in: cache), mark: mark, in: cache)
  }

  private static let first = [[thing(1, mark: 1), thing(2, mark: 2)], [thing(3, mark: 3), thing(4, mark: 4)]]

  /// A resource after its first whole pull, up to the mark 4.
  private func pulledWhole() async throws -> (Resource, Cache) {
    let resource = Self.resource()
    let cache = try await folder.define([resource])
    _ = try await Self.whole(resource, pages: Self.first, mark: "4", in: cache)
    return (resource, cache)
  }

  @Test("1, 15, 17: an incremental pull writes what it received, removes what where skips, and no more")
  func published() async throws {
    let (resource, cache) = try await pulledWhole()
    let record = try await Self.incremental(
      resource,
      pages: [
        [
          Self.thing(1, mark: 5, name: "new"), Self.thing(2, mark: 6, isGone: true), Self.thing(9, mark: 7),
          Self.thing(4, mark: 4),
        ]
      ],
      mark: "7", in: cache)
    #expect(record.added == 1 && record.changed == 1 && record.removed == 1 && record.records == 4)
    #expect(try folder.ask("SELECT id || name FROM things ORDER BY id") == ["1new", "3", "4", "9"])
    #expect(try folder.ask("SELECT pages || proof FROM resources") == ["2since"])
    #expect(try folder.ask("SELECT mark FROM resource_lists") == ["7"])
    #expect(try await cache.sinceHistory(of: "thing").mark == "7")
    await cache.close()
  }

  @Test(
    "9: pages that list a record which an incremental pull wrote or removed are transferred by the next whole pull")
  func expired() async throws {
    let (resource, cache) = try await pulledWhole()
    _ = try await Self.incremental(
      resource, pages: [[Self.thing(2, mark: 6, isGone: true), Self.thing(9, mark: 7)]], mark: "7", in: cache)
    _ = try await cache.begin(at: noon)
    let known = try await cache.known("thing", addresses: [address(1), address(2)])
    #expect(known[address(1)] == nil && known[address(2)] != nil)
    // 3 was changed below the mark minus the overlap; 1 at it.
    let record = try await Self.whole(
      resource,
      pages: [
        [Self.thing(1, mark: 6, name: "new")], [Self.thing(3, mark: 3, name: "missed"), Self.thing(4, mark: 4)],
        [Self.thing(9, mark: 7)],
      ], mark: "7",
      in: cache)
    #expect(record.changed == 2 && record.removed == 0)
    #expect(try folder.ask("SELECT missed FROM resource_lists") == ["1"])
    #expect(try folder.ask("SELECT count(*) FROM cache_overlaid") == ["0"])
    #expect(try folder.ask("SELECT count(*) FROM cache_pages WHERE kind = 1") == ["0"])
    try await folder.expectSound([resource], closing: cache)
  }

  @Test("21: the cost of an incremental pull does not depend on the number of records in the cache")
  func cost() async throws {
    let (few, many) = (try await steps(of: 100), try await steps(of: 4000))
    #expect(few > 0 && Double(many) < 1.5 * Double(few), "\(few) steps of 100 records, and \(many) of 4,000")
  }

  /// Steps of SQLite for an incremental pull of three changed records, after a whole one.
  private func steps(of count: Int) async throws -> Int {
    let folder = Folder()
    let resource = Self.resource()
    let cache = try await folder.define([resource])
    _ = try await Self.whole(
      resource, pages: [(1...count).map { Self.thing($0, mark: $0, name: "old") }], mark: "\(count)", in: cache)
    // The first incremental pull prepares its tables.
    _ = try await Self.incremental(
      resource, pages: [[Self.thing(1, mark: count + 1, name: "new")]], mark: nil, in: cache)
    let steps = Steps()
    await cache.count(steps)
    let changed = [1, count / 2, count].map { Self.thing($0, mark: count + 2, name: "newer") }
    let record = try await Self.incremental(
      resource, pages: [changed + [Self.thing(count + 1, mark: count + 2)]], mark: "\(count + 2)", in: cache)
    #expect(record.changed == 3 && record.added == 1)
    let counted = steps.count
    await cache.close()
    return counted
  }

  @Test("21: of several records of a key the one with the highest value at since.at wins, and of equal ones the last")
  func winners() async throws {
    let (resource, cache) = try await pulledWhole()
    _ = try await Self.incremental(
      resource,
      pages: [
        [
          Self.thing(1, mark: 9, name: "high"), Self.thing(2, mark: 5, name: "first"),
          Self.thing(3, mark: 8, isGone: true),
        ],
        [
          Self.thing(1, mark: 6, name: "low"), Self.thing(2, mark: 5, name: "last"),
          Self.thing(3, mark: 7, name: "older"),
        ],
      ], mark: nil, in: cache)
    #expect(try folder.ask("SELECT id || name FROM things ORDER BY id") == ["1high", "2last", "4"])
    #expect(try folder.ask("SELECT mark FROM resource_lists") == ["4"])
    await cache.close()
  }

  @Test(
    "21: of equal records on one page the last wins, also if where skips the other or it cannot be stored",
    arguments: [true, false])
  func winnersOfPage(hasMark: Bool) async throws {
    var resource = Self.resource()
    if !hasMark {
      resource.since = Since(token: .body(at("token")), param: .query("token"), listing: resource.listing)
    }
    let cache = try await folder.define([resource])
    _ = try await Self.whole(resource, pages: Self.first, mark: nil, in: cache)
    func bad(_ id: Int) -> String { #"{"id":\#(id),"name":7,"at":5}"# }
    _ = try await Self.incremental(
      resource,
      pages: [
        [
          Self.thing(1, mark: 5, isGone: true), Self.thing(1, mark: 5, name: "live"), bad(2),
          Self.thing(2, mark: 5, name: "good"), Self.thing(3, mark: 5, name: "old"), bad(3),
          Self.thing(4, mark: 5, isGone: true), bad(4), Self.thing(9, mark: 5), bad(8),
          Self.thing(9, mark: 5, name: "late"), bad(9), Self.thing(9, mark: 5, isGone: true),
        ]
      ], mark: nil, in: cache)
    #expect(try folder.ask("SELECT id || name FROM things ORDER BY id") == ["1live", "2good", "3", "4"])
    await cache.close()
  }

  @Test("14, 15: beside a reject of unknown key an incremental pull removes no record, and the mark waits for it")
  func heldBack() async throws {
    let (resource, cache) = try await pulledWhole()
    let changes = [Self.thing(2, mark: 6, isGone: true), Self.thing(1, mark: 7, name: "new")]
    let keyless = #"{"name":"x","at":6}"#
    let pulled = try await Self.pull(resource, pages: [changes + [keyless]], in: cache)
    let tried = try await cache.tried(
      pulled, decisions: ["thing": RemovalDecision(.asDefined, proof: .since)], at: noon, history: ninetyDays)
    #expect(tried.removed == 0 && tried.changed == 1)
    let held = try await Self.incremental(resource, pages: [changes + [keyless]], mark: "7", in: cache)
    #expect(held.removed == 0 && held.changed == 1 && held.rejected == 1)
    #expect(try folder.ask("SELECT mark FROM resource_lists") == ["4"])
    #expect(try folder.ask("SELECT count(*) FROM cache_pages WHERE kind = 1") == ["0"])
    let next = try await Self.incremental(resource, pages: [changes], mark: "7", in: cache)
    #expect(next.removed == 1 && next.changed == 0)
    #expect(try folder.ask("SELECT id || name FROM things ORDER BY id") == ["1new", "3", "4"])
    #expect(try folder.ask("SELECT mark FROM resource_lists") == ["7"])
    // There is no record to remove, so that the mark moves.
    _ = try await Self.incremental(resource, pages: [[keyless]], mark: "8", in: cache)
    #expect(try folder.ask("SELECT mark FROM resource_lists") == ["8"])
    await cache.close()
  }

  @Test("21: a key on an unchanged page and on a changed one is found, also of a rejected or skipped record")
  func keysOfUnchangedPage() async throws {
    let (resource, cache) = try await pulledWhole()
    let rejected = #"{"id":3,"name":7,"at":5}"#
    let records = [Self.thing(1, mark: 5, name: "new"), Self.thing(2, mark: 6, isGone: true), rejected]
    _ = try await Self.incremental(resource, pages: [[Self.thing(9, mark: 5)], records], mark: nil, in: cache)
    for (key, repeats) in [(1, 1), (2, 1), (3, 1), (4, 0)] {
      _ = try await Self.pull(resource, pages: [[Self.thing(key, mark: 4, name: "old")], nil], in: cache)
      #expect(try await cache.compare().map(\.keptRepeats) == [repeats], "\(key)")
    }
    await cache.close()
  }

  @Test("9: an incremental pull of which every page is unchanged writes nothing")
  func unchanged() async throws {
    let (resource, cache) = try await pulledWhole()
    for page in [[Self.thing(4, mark: 4)], nil] {
      let record = try await Self.incremental(resource, pages: [page], mark: nil, in: cache)
      #expect(record.outcome == .unchanged && record.records == 4)
    }
    #expect(try folder.ask("SELECT count(*) FROM cache_pages WHERE kind = 1") == ["1"])
    await cache.close()
  }

  @Test("5: rejects of an unchanged page follow it in a whole pull, also to the number of an incremental reject")
  func movedRejects() async throws {
    let resource = Self.resource()
    let cache = try await folder.define([resource])
    let rejected = #"{"id":7,"name":7,"at":3}"#
    _ = try await Self.whole(resource, pages: [[Self.thing(1, mark: 1)], [rejected]], mark: "4", in: cache)
    let later = #"{"id":7,"name":8,"at":4}"#
    _ = try await Self.incremental(resource, pages: [[Self.thing(1, mark: 5)], [], [later]], mark: nil, in: cache)
    #expect(try folder.ask("SELECT page FROM rejects ORDER BY page") == ["0", "2"])
    let record = try await cache.begin(at: noon)
    let known = try await cache.known(resource.name, addresses: [address(2)])
    try await cache.confirm(resource.name, pages: [ConfirmedPage(number: 3, page: try #require(known[address(2)]))])
    _ = try await cache.compare()
    _ = try await cache.publish(record, decisions: ["thing": RemovalDecision(.keepsAll)])
    #expect(try folder.ask("SELECT page FROM rejects ORDER BY page") == ["3"])
    await cache.close()
  }

  @Test(
    "5: rejects of an incremental pull stay while no other record of their key comes",
    arguments: [[3], [3, 2], [2, 3]])
  func movedIncrementalRejects(order: [Int]) async throws {
    let resource = Self.resource()
    let cache = try await folder.define([resource])
    _ = try await Self.whole(resource, pages: Self.first, mark: "4", in: cache)
    let rejected = (8...9).map { [#"{"id":7,"name":\#($0),"at":5}"#] }
    _ = try await Self.incremental(resource, pages: [[Self.thing(1, mark: 5)]] + rejected, mark: nil, in: cache)
    let record = try await Self.pull(resource, pages: [nil], in: cache)
    for (number, page) in zip(2..., order) {
      let address = "since /things?page=\(page)"
      let known = try #require(try await cache.known(resource.name, addresses: [address])[address])
      try await cache.confirm(resource.name, pages: [ConfirmedPage(number: number, page: known)])
    }
    _ = try await cache.compare()
    let published = try await Self.publish(record, mark: nil, in: cache)
    #expect(published.outcome == .unchanged)
    let rows = "SELECT page || ' ' || (document ->> 'name') FROM rejects ORDER BY position"
    #expect(try folder.ask(rows) == ["0 8", "0 9"])
    _ = try await Self.incremental(resource, pages: [[Self.thing(7, mark: 6)]], mark: nil, in: cache)
    #expect(try folder.ask(rows) == [])
    await cache.close()
  }

  @Test("5: a record that a whole pull rejected has one row if an incremental pull rejects it again unchanged")
  func rejectedAgain() async throws {
    let resource = Self.resource()
    let cache = try await folder.define([resource])
    let (rejected, later) = (#"{"id":7,"name":7,"at":4}"#, #"{"id":7,"name":8,"at":5}"#)
    _ = try await Self.whole(resource, pages: [[Self.thing(1, mark: 1), rejected]], mark: "4", in: cache)
    let rows = "SELECT sync_id || ' ' || page || ' ' || document FROM rejects ORDER BY page"
    let first = "1 1 \(rejected)"
    for pages in [[[rejected]], [[rejected, Self.thing(2, mark: 4)]], [nil]] {
      let record = try await Self.incremental(resource, pages: pages, mark: nil, in: cache)
      #expect(record.rejected == 1)
      #expect(try folder.ask(rows) == [first])
    }
    _ = try await Self.incremental(resource, pages: [[later]], mark: nil, in: cache)
    #expect(try folder.ask(rows) == ["5 0 \(later)", first])
    await cache.close()
  }

  @Test("15, 51: what an incremental pull would change is pending, and absence is not")
  func pending() async throws {
    let (resource, cache) = try await pulledWhole()
    let pulled = try await Self.pull(
      resource, pages: [[Self.thing(2, mark: 6, isGone: true), Self.thing(9, mark: 7)]], in: cache)
    let tried = try await cache.tried(
      pulled, decisions: ["thing": RemovalDecision(.asDefined, proof: .since)], at: noon, history: ninetyDays)
    #expect(tried.added == 1 && tried.removed == 1 && tried.changed == 0)
    let pending = try CacheReader(path: folder.cache).pending()
    #expect(pending.pull.resources.map(\.removed) == [1] && pending.pull.resources.map(\.added) == [1])
    #expect(pending.pull.resources.map(\.absent) == [0])
    await cache.close()
  }

  @Test("21, 56: another since keeps the feed and the cache, and its first pull knows no page")
  func anotherQuestion() async throws {
    var resource = Self.resource()
    resource.since = nil
    let cache = try await folder.define([resource])
    _ = try await Self.whole(resource, pages: Self.first, mark: nil, in: cache)
    await cache.close()
    let feed = try folder.ask("SELECT feed FROM cache_info")
    let next = try await folder.define([Self.resource()])
    _ = try await next.begin(at: noon)
    #expect(try await next.known("thing", addresses: [address(1)]).isEmpty)
    #expect(try await next.sinceHistory(of: "thing").isSameQuestion == false)
    _ = try await Self.whole(Self.resource(), pages: Self.first, mark: "4", in: next)
    #expect(try await next.sinceHistory(of: "thing").mark == "4")
    #expect(try folder.ask("SELECT feed FROM cache_info") == feed)
    await next.close()
  }
}
