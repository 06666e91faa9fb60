import FoundationEssentials
import RosterCore
import RosterSimulator
import RosterTestSupport
import Synchronization
import Testing

/// Upstreams that violate their own statements about a list: readers lose no data, and every sync ends.
@Suite(.serialized, .timeLimit(.minutes(3))) struct LyingUpstreamTests {
  @Test(
    "2, 18, 19: an upstream that contradicts itself ends the sync with 65, and readers keep the snapshot",
    arguments: Self.lies)
  fileprivate func end(_ lie: Lie) async throws {
    try await withLiar(lie, settings: ["ROSTERD_SYNC_MAX_PAGES": "20"]) { site, liar in
      let refused = try await Self.sync(site)
      #expect(refused.exit == 65, "\(refused.exit) \(refused.error)")
      #expect(liar.asked < 40, "it ends soon")
      #expect(try await site.rows("SELECT count(*), min(title), max(title) FROM item") == [["30", "true", "true"]])
      #expect(try await site.rows("SELECT outcome, exit FROM syncs ORDER BY id DESC LIMIT 1") == [["failed", "65"]])
    }
  }

  @Test("19: pages without end and without new records end the sync, even if they differ", arguments: Self.stale)
  fileprivate func nothingNew(_ lie: Lie) async throws {
    try await withLiar(lie) { site, liar in
      let refused = try await Self.sync(site)
      #expect(refused.exit == 65 && refused.error.contains("it has no new record, like most pages before it"))
      #expect(liar.asked < 150, "\(liar.asked)")
      #expect(try await site.rows("SELECT count(*) FROM item") == [["30"]])
    }
  }

  @Test("2, 27: a list without end is pulled up to sync.max_pages, with bounded memory and disk, and is not kept")
  func neverEnding() async throws {
    let most = 1500
    let lie = Lie("new records for ever", pages: Self.cursor) { _, n in
      let records = (1...10).map { #"{"id":\#(n * 10 + $0),"title":"\#(String(repeating: "lie", count: 1000))"}"# }
      return .page(records, members: ["\"next\":\"\(n + 1)\""])
    }
    try await withLiar(lie, settings: ["ROSTERD_SYNC_MAX_PAGES": "\(most)"]) { site, liar in
      liar.end()
      try await site.withDaemon(["run", "--config", "\(site.folder)/rosterd.toml"]) { daemon, _ in
        #expect(try await site.rosterctl("sync", "--wait").exit == 0)
        let before = try daemon.peakMemory()
        liar.begin()
        let refused = try await site.rosterctl("sync", "--wait")
        #expect(refused.exit == 65 && refused.output.contains("sync.max_pages (\(most))"), "\(refused.output)")
        #expect(liar.asked == most)
        // 45 MB were pulled.
        let grown = try daemon.peakMemory() - before
        #expect(grown < 24 << 20 || Sanitizer.isPresent, "it grew by \(grown)")
        #expect(try site.pulledBytes() < 1 << 20)
        #expect(try await site.rows("SELECT count(*) FROM item") == [["30"]])
        liar.end()
        #expect(try await site.rosterctl("sync", "--wait").exit == 0)
        #expect(try site.pulledBytes() < 1 << 20)
      }
    }
  }

  @Test("5, 6: records whose key has another type each are rejected, and the rest is published")
  func keys() async throws {
    let keys = [#""1""#, "1.5", "null", "true", "[1]", "{}", "0", "-1", "9223372036854775808", #""""#]
    let lie = Lie("keys", pages: Self.count) { page, _ in
      guard page < 4 else { return .page([], count: 30) }
      let records = (1...10).map {
        "{\"id\":\(page == 1 ? keys[$0 - 1] : "\((page - 1) * 10 + $0)"),\"title\":\"lie\"}"
      }
      return .page(records, count: 30)
    }
    try await withLiar(lie) { site, _ in
      let outcome = try await Self.sync(site)
      #expect(outcome.exit == 0, "\(outcome.error)")
      let rows = try await site.rows("SELECT title, count(*), min(id), max(id) FROM item GROUP BY title ORDER BY title")
      #expect(rows == [["lie", "23", "-1", "30"], ["true", "9", "2", "10"]])
      #expect(try await site.rows("SELECT count(*), max(page), max(position) FROM rejects") == [["7", "1", "9"]])
    }
  }

  /// The truth is published, then upstream begins to lie.
  private func withLiar(
    _ lie: Lie, settings: [String: String] = [:], body: (Site, Liar) async throws -> Void
  ) async throws {
    let liar = Liar(lie)
    var scenario = Scenario(characters: [])
    scenario.beside = { liar.answer($0) }
    try await withSite(scenario, settings: settings) { site in
      let definition = """
        [resource.item]
        path = "/items"
        records = "/items"
        columns = { id = { at = "/id", type = "integer" }, title = "/title" }
        removal = "twice"
        [resource.item.pages]
        \(lie.pages)

        """
      try Data(definition.utf8).write(to: URL(filePath: "\(site.folder)/rosterd.toml"))
      let first = try await Self.sync(site)
      try #require(first.exit == 0, "\(first.error)")
      #expect(try await site.rows("SELECT count(*) FROM item") == [["30"]])
      liar.begin()
      try await body(site, liar)
    }
  }

  private static func sync(_ site: Site) async throws -> Program.Outcome {
    try await site.rosterd("sync", "--config", "\(site.folder)/rosterd.toml")
  }

  private static let count = "style = \"number\"\ncount = \"/count\""
  private static let endless = "style = \"number\"\nlast = \"/pages\""
  private static let parallel = "style = \"number\"\nlast = \"/pages\"\ncount = \"/count\""
  private static let weak = "style = \"number\"\nparam = \"p\""
  private static let offset = "style = \"offset\"\nparam = \"from\"\ncount = \"/count\""
  private static let cursor = "style = \"cursor\"\nparam = \"cursor\"\nat = \"/next\""
  private static let more = cursor + "\nmore = \"/more\""
  private static let next = "style = \"next\"\nat = \"/next\""
  private static let link = "style = \"link\""
  private static let after = "style = \"after\"\nparam = \"after\"\nmore = \"/more\""

  private static let lies: [Lie] = [
    Lie("a total that no page reaches", pages: count) { page, _ in
      .page(page < 4 ? items(page) : [], count: 50)
    },
    Lie("a total that no page reaches, by offset", pages: offset) { page, _ in
      .page(page < 4 ? items(page) : [], count: 50)
    },
    Lie("a total that is another on each page", pages: count) { page, n in .page(items(page), count: 30 + n) },
    Lie("a total that is a word", pages: count) { page, _ in .page(items(page), members: [#""count":"thirty""#]) },
    Lie("a total that is gone", pages: count) { page, _ in .page(items(page)) },
    Lie("more pages than records", pages: parallel) { page, _ in
      .page(items(page), count: 30, members: [#""pages":31"#])
    },
    Lie("pages that are not there", pages: parallel) { page, _ in
      page < 4 ? .page(items(page), count: 50, members: [#""pages":5"#]) : Response(status: 404)
    },
    Lie("the same page, whatever was asked for", pages: weak) { _, _ in .page(items(1)) },
    Lie("the same page without a total that ends it", pages: count) { _, _ in .page(items(1), count: 1_000_000_000) },
    Lie("a cursor that turns in a circle", pages: cursor) { _, n in .page(items(1), members: ["\"next\":\"\(n % 3)\""])
    },
    Lie("a fresh cursor to the same page", pages: cursor) { _, n in
      .page(items(1), members: ["\"next\":\"fresh-\(n)\""])
    },
    Lie("a fresh cursor to pages that come again", pages: cursor) { _, n in
      .page(items(n % 3 + 1), members: ["\"next\":\"fresh-\(n)\""])
    },
    Lie("a cursor that is an object", pages: cursor) { page, _ in .page(items(page), members: [#""next":{"a":1}"#]) },
    Lie("`more` that is a word", pages: more) { page, _ in
      .page(items(page), members: [#""more":"maybe""#, "\"next\":\"\(page)\""])
    },
    Lie("a next page elsewhere", pages: next) { page, _ in
      .page(items(page), members: [#""next":"http://127.0.0.2:9/items?page=2""#])
    },
    Lie("a next page that is itself", pages: next) { page, _ in .page(items(page), members: [#""next":"/items""#]) },
    Lie("a next page that is a number", pages: next) { page, _ in .page(items(page), members: [#""next":2"#]) },
    Lie("a next page that is not an address", pages: next) { page, _ in
      .page(items(page), members: [#""next":"http://[""#])
    },
    Lie("a Link that leads back", pages: link) { _, n in
      .page(items(1), headers: [.init("Link", "</items?page=\(n % 2)>; rel=\"next\"")])
    },
    Lie("a Link elsewhere", pages: link) { _, _ in
      .page(items(1), headers: [.init("Link", "<https://example.com/items?page=2>; rel=next")])
    },
    Lie("more after the last record, endlessly", pages: after) { _, _ in .page(items(3), members: [#""more":true"#]) },
    Lie("a list that is an object", pages: count) { _, _ in .text(#"{"count":30,"items":{"1":{"id":1,"title":"lie"}}}"#)
    },
    Lie("a list that is null", pages: count) { _, _ in .text(#"{"count":30,"items":null}"#) },
    Lie("a list that is not there", pages: count) { _, _ in .text(#"{"count":30}"#) },
    Lie("an answer without end", pages: count) { _, _ in
      .text(#"{"count":30,"items":[{"id":1,"title":""# + String(repeating: "lie", count: 3_000_000) + #""}]}"#)
    },
    Lie("new records for ever, by a cursor", pages: cursor) { _, n in
      .page(items(n), members: ["\"next\":\"fresh-\(n)\""])
    },
    Lie("new records for ever, by number", pages: weak) { page, _ in .page(items(page)) },
    Lie("new records for ever, by addresses", pages: next) { _, n in .page(items(n), members: ["\"next\":\"?n=\(n)\""])
    },
    Lie("new records for ever, by Link", pages: link) { _, n in
      .page(items(n), headers: [.init("Link", "<?n=\(n)>; rel=next")])
    },
    Lie("new records after the last one, endlessly", pages: after) { _, n in .page(items(n), members: [#""more":true"#])
    },
    Lie("more pages than a pull can have", pages: endless) { page, _ in
      .page(items(page), members: ["\"pages\":\(Int.max)"])
    },
    Lie("a total above which there is no number", pages: offset) { page, _ in .page(items(page), count: .max) },
    Lie("a total above which there is no number, by pages", pages: parallel) { page, _ in
      .page(items(page), count: .max, members: ["\"pages\":\(Int.max)"])
    },
    Lie("no key is one", pages: count) { _, _ in
      .page((1...30).map { "{\"id\":\"x\($0)\",\"title\":\"lie\"}" }, count: 30)
    },
  ]

  private static let stale: [Lie] = [
    Lie("fresh cursors to records without a key", pages: cursor) { _, n in
      .page(["{\"title\":\"\(n)\"}"], members: ["\"next\":\"fresh-\(n)\""])
    },
    Lie("fresh cursors to the same records in another order", pages: cursor) { _, n in
      .page((1...7).map { items(($0 * n) % 3 + 1)[(n + $0) % 10] }, members: ["\"next\":\"fresh-\(n)\""])
    },
  ]

  /// Ten on each of three pages.
  private static func items(_ page: Int) -> [String] {
    (1...10).map { "{\"id\":\((page - 1) * 10 + $0),\"title\":\"lie\"}" }
  }
}

/// How the pages of `/items` are asked for, and what is answered in the end.
private struct Lie: Sendable, CustomTestStringConvertible {
  var testDescription: String
  var pages: String
  /// Answers a request for a page by its number, as far as the request contains it, and by the number of requests.
  var answer: @Sendable (_ page: Int, _ asked: Int) -> Response

  init(_ name: String, pages: String, answer: @escaping @Sendable (Int, Int) -> Response) {
    testDescription = name
    self.pages = pages
    self.answer = answer
  }
}

/// Tells the truth until it begins to lie: thirty items on three pages, by whatever style is used.
private final class Liar: Sendable {
  private let lie: Lie
  private let state = Mutex((isLying: false, asked: 0))

  init(_ lie: Lie) { self.lie = lie }

  /// Number of requests since the lie began.
  var asked: Int { state.withLock { $0.asked } }

  func begin() { state.withLock { $0 = (true, 0) } }

  func end() { state.withLock { $0.isLying = false } }

  func answer(_ request: Request) -> Response? {
    let (isLying, asked) = state.withLock { state in
      state.asked += 1
      return (state.isLying, state.asked)
    }
    let value = Int(String(request.url.reversed().prefix(while: \.isNumber).reversed()))
    let page: Int =
      switch value {
      case nil: 1
      case let value? where request.url.contains("from=") || request.url.contains("after="): value / 10 + 1
      case let value?: value
      }
    return isLying ? lie.answer(page, asked) : Self.truth(page)
  }

  private static func truth(_ page: Int) -> Response {
    let ids = page < 4 ? (1...10).map { (page - 1) * 10 + $0 } : []
    let next = page < 3 ? ["\"next\":\"/api/items?cursor=\(page + 1)\"", "\"more\":true"] : ["\"more\":false"]
    return .page(
      ids.map { "{\"id\":\($0),\"title\":\"true\"}" }, count: 30, members: ["\"pages\":3"] + next,
      headers: page < 3 ? [.init("Link", "</api/items?page=\(page + 1)>; rel=\"next\"")] : [])
  }
}

extension Response {
  /// `{"items": [records], …}`
  fileprivate static func page(
    _ records: [String], count: Int? = nil, members: [String] = [], headers: [Request.Header] = []
  ) -> Response {
    let all = (count.map { ["\"count\":\($0)"] } ?? []) + members + ["\"items\":[\(records.joined(separator: ","))]"]
    return Response(status: 200, headers: headers, body: Array("{\(all.joined(separator: ","))}".utf8))
  }

  fileprivate static func text(_ body: String) -> Response { Response(status: 200, body: Array(body.utf8)) }
}

extension Site {
  /// Size of the pages that wait for a publication or for the next sync.
  fileprivate func pulledBytes() throws -> Int {
    try ["", "-wal"].reduce(0) { sum, part in
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(cache).next\(part)")
      return sum + (try #require(attributes[.size] as? Int))
    }
  }
}
