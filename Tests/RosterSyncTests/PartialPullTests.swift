import FoundationEssentials
import RosterCore
import Synchronization
import Testing

@testable import RosterSync

/// Pulls that lack records: by what an answer says, by a list of a child that fails, or by the end of a chain.
struct PartialPullTests {
  private static let columns: [Resource.Column] = [.init("id", at: at("id"), .integer), .init("name", at: at("name"))]

  private static func item(hasToken: Bool) -> Resource {
    var resource = Resource(
      name: "item", path: "/items", records: at("results"), table: "items", removal: .twice,
      pages: .init(hasToken ? .next(at: .body(at("next"))) : .one), columns: columns)
    resource.maxRemoval = 100
    resource.since =
      hasToken
      ? Since(token: .body(at("token")), param: .query("since"), listing: resource.listing)
      : Since(at: at("at"), param: .query("since"), form: .number, overlap: .number(0), listing: resource.listing)
    return resource
  }

  /// An answer with records by id and time, and with a token.
  private static func page(_ records: [(Int, Int)], name: String = "", _ sign: String = "", token: String = "t")
    -> String
  {
    let records = records.map { #"{"id":\#($0.0),"at":\#($0.1),"name":"\#(name)"}"# }
    return #"{"results":[\#(records.joined(separator: ","))],"token":"\#(token)"\#(sign)}"#
  }

  private static let signs = [#","unreachable":["eu"]"#, #","resultTruncated":true"#, #","warningMessages":["down"]"#]

  @Test(
    "14, 21: an incremental answer that lacks records moves neither mark nor token", arguments: [false, true], signs)
  func incremental(hasToken: Bool, sign: String) async throws {
    let resource = Self.item(hasToken: hasToken)
    let start = hasToken ? "/items?since=t" : "/items?since=9"
    let bench = try await SyncBench.synced([resource], answers: ["/items": Self.page([(1, 5), (2, 9)])])
    bench.serve([start: Self.page([(2, 20)], name: "b", sign, token: "lost")])
    #expect(try await bench.sync([resource], after: 60).isDegraded)
    #expect(try bench.ask("SELECT name FROM items WHERE id = 2") == ["b"])
    bench.serve([start: Self.page([(1, 12), (2, 20)], name: "b", token: "u")])
    #expect(try await bench.sync([resource], after: 120).exit == 0)
    #expect(try bench.ask("SELECT name FROM items ORDER BY id") == ["b", "b"])
  }

  @Test("14, 21: a whole pull that lacks records is followed by another one", arguments: [false, true], signs)
  func whole(hasToken: Bool, sign: String) async throws {
    let resource = Self.item(hasToken: hasToken)
    let bench = try await SyncBench.synced([resource], answers: ["/items": Self.page([(2, 9)], sign)])
    bench.serve(["/items": Self.page([(1, 5), (2, 9)])])
    let next = try await bench.sync([resource], after: 60)
    #expect(next.added == 1 && !next.isDegraded)
    #expect(bench.asked() == ["/items"])
  }

  @Test("14, 20: a page that lacks records keeps no validator")
  func validator() async throws {
    var resource = Self.item(hasToken: false)
    resource.since = nil
    let bench = try SyncBench([:])
    bench.serve(["/items": Self.page([(1, 1)], #","unreachable":["eu"]"#)], tag: "\"a\"")
    #expect(try await bench.sync([resource]).isDegraded)
    bench.serve(["/items": Self.page([(1, 1), (2, 1)])], tag: "\"a\"")
    let next = try await bench.sync([resource], after: 60)
    #expect(next.added == 1 && !next.isDegraded)
  }

  private static func children(changed: Bool = true) -> [Resource] {
    let parent = Resource(
      name: "shop", path: "/shops", records: at("results"), table: "shops", pages: .init(.one),
      columns: [.init("id", at: at("id"), .integer), .init("at", at: at("at"), .integer)])
    var child = item(hasToken: false)
    (child.since, child.path) = (nil, "/shops/{shop.id}/items")
    child.each = Each(of: "shop", changed: ["at"], wholeEvery: .every(.seconds(86_400)))
    return [parent, child]
  }

  @Test(
    "14, 22: a list of a child that lacks records is requested again, although its parent has not changed",
    arguments: signs + [#","total":5"#, #","has_more":true"#])
  func child(sign: String) async throws {
    let resources = Self.children()
    let shops = Self.page([(1, 1), (2, 1)])
    let bench = try await SyncBench.synced(
      resources,
      answers: ["/shops": shops, "/shops/1/items": Self.page([(1, 1)]), "/shops/2/items": Self.page([(1, 1)], sign)])
    bench.serve(["/shops": shops, "/shops/2/items": Self.page([(1, 1), (2, 1)])])
    let next = try await bench.sync(resources, after: 600)
    #expect(next.added == 1 && !next.isDegraded)
    #expect(bench.asked().sorted() == ["/shops", "/shops/2/items"])
    #expect(try await bench.sync(resources, after: 1200).exit == 0)
    #expect(bench.asked() == ["/shops"])
  }

  @Test("48: one list that always answers 500 stops no other", arguments: [500, 502])
  func poisoned(status: Int) async throws {
    let resources = Self.children()
    let shops = (1...3).map { ($0, 1) }
    let lists = Dictionary(uniqueKeysWithValues: (1...3).map { ("/shops/\($0)/items", Self.page([(1, 1)])) })
    let bench = try SyncBench(
      answers: lists.merging(["/shops": Self.page(shops), "/shops/2/items": "\(status)"]) { $1 })
    for round in 0...2 {
      let record = try await bench.sync(resources, after: Double(600 * round))
      #expect(record.exit == 0 && record.isDegraded && record.error?.contains("of item failed") == true, "\(record)")
      bench.serve(["/shops": Self.page(shops, name: "\(round)"), "/shops/2/items": "\(status)"])
    }
    #expect(try bench.ask("SELECT count(*) FROM items") == ["2"])
  }

  @Test(
    "16: a chain that ends by beyond after a full page removes nothing, and after a short one it does",
    arguments: [WrittenList.Kind.cursor, .next, .link])
  func fullEnd(kind: WrittenList.Kind) async throws {
    var list = WrittenList(kind: kind, pages: [[1, 2], [3, 4], [5]], isLastLinked: true)
    list.beyond = { _ in Response(status: 400) }
    var resource = list.resource
    (resource.pages.beyond, resource.maxRemoval) = ([400], 100)
    let bench = try SyncBench([:])
    list.serve(bench)
    #expect(try await bench.sync([resource]).added == 5)
    #expect(try bench.ask("SELECT proof FROM resources") == ["end"])
    list.pages = [[1, 2], [3, 4]]
    list.serve(bench)
    for round in 1...3 {
      let record = try await bench.sync([resource], allowRemoval: true, after: Double(round))
      #expect(record.exit == 0 && record.isDegraded && record.removed == 0, "\(record)")
    }
    #expect(try bench.ask("SELECT proof FROM resources") == ["weak"])
    list.pages = [[1, 2], [3]]
    list.serve(bench)
    for round in 4...5 { _ = try await bench.sync([resource], allowRemoval: true, after: Double(round)) }
    #expect(try bench.ask("SELECT id FROM items ORDER BY id") == ["1", "2", "3"])
  }

  @Test("16: by_key settles such an end: what it does not find is removed, and the rest stays")
  func askedEnd() async throws {
    var list = WrittenList(kind: .cursor, pages: [[1, 2], [3, 4], [5, 6]], isLastLinked: true)
    list.beyond = { _ in Response(status: 400) }
    var resource = list.resource
    (resource.pages.beyond, resource.maxRemoval) = ([400], 100)
    (resource.removal, resource.byKey) = (.ask, "/ask/{key}")
    let bench = try SyncBench([:])
    list.serve(bench)
    #expect(try await bench.sync([resource]).added == 6)
    list.pages.removeLast()
    bench.shelf.answer { [list] _, target in
      if !target.hasPrefix("/ask/") { return list.answer(target) }
      return target == "/ask/6" ? Response(status: 404) : Response(json: "{\"id\":\(target.dropFirst(5))}")
    }
    for round in 1...2 { #expect(try await bench.sync([resource], after: Double(round)).exit == 0) }
    #expect(try bench.ask("SELECT id FROM items ORDER BY id") == ["1", "2", "3", "4", "5"])
  }

  @Test(
    "5, 21: a record that an incremental pull rejects keeps the state degraded until upstream sends it again",
    arguments: [false, true])
  func standingReject(hasToken: Bool) async throws {
    let resource = Self.item(hasToken: hasToken)
    let bench = try await SyncBench.synced([resource], answers: ["/items": Self.page([(1, 5), (2, 9)])])
    func serve(_ records: String, at seconds: Double) async throws -> SyncRecord {
      bench.shelf.answer { _, _ in Response(json: #"{"results":[\#(records)],"token":"t"}"#, headers: [Shelf.date]) }
      return try await bench.sync([resource], after: seconds)
    }
    #expect(try await serve(#"{"id":1,"at":10,"name":7}"#, at: 60).rejected == 1)
    // Sent again, it is no change.
    #expect(try await serve(#"{"id":1,"at":10,"name":7}"#, at: 120).outcome == .unchanged)
    let nothing = try await serve("", at: 180)
    #expect(nothing.isDegraded && nothing.rejected == 0, "\(nothing)")
    #expect(nothing.error == "1 record of earlier pulls could not be stored; rosterctl rejects shows why")
    #expect(nothing.trouble?.kind == .rejects)
    #expect(try await serve(#"{"id":3,"at":11,"name":8}"#, at: 240).rejected == 1)
    let rejects = "SELECT page || ' ' || position || ' ' || key || ' ' || sync_id FROM rejects ORDER BY position"
    #expect(try bench.ask(rejects) == ["0 0 1 2", "0 1 3 5"])
    let repaired = try await serve(#"{"id":1,"at":12,"name":"b"}"#, at: 300)
    #expect(repaired.changed == 1 && repaired.isDegraded)
    #expect(try bench.ask("SELECT key FROM rejects") == ["3"])
    let whole = try await serve(#"{"id":1,"at":12,"name":"b"},{"id":2,"at":9,"name":""}"#, at: 86_500)
    #expect(!whole.isDegraded, "\(whole)")
    #expect(try bench.ask("SELECT count(*) FROM rejects") == ["0"])
  }

  @Test("5, 22: a list of a child with a rejected record keeps the state degraded while it is not due")
  func standingRejectOfChild() async throws {
    let parents = Resource(
      name: "shop", path: "/shops", records: at("results"), table: "shops", pages: .init(.one), columns: Self.columns)
    var child = Self.item(hasToken: false)
    (child.since, child.path) = (nil, "/shops/{shop.id}/items")
    child.each = Each(of: "shop", changed: ["name"])
    let bench = try await SyncBench.synced(
      [parents, child],
      answers: [
        "/shops": Self.page([(1, 1)]), "/shops/1/items": #"{"results":[{"id":1,"name":7},{"id":2,"name":"b"}]}"#,
      ])
    let quiet = try await bench.sync([parents, child], after: 60)
    #expect(bench.asked() == ["/shops"] && quiet.isDegraded && quiet.trouble?.kind == .rejects, "\(quiet)")
    bench.serve(["/shops": Self.page([(1, 1)], name: "c"), "/shops/1/items": Self.page([(1, 1), (2, 1)])])
    #expect(try await !bench.sync([parents, child], after: 120).isDegraded)
  }

  @Test("21: a delta token that is refused with another status is forgotten too", arguments: [403, 405, 416])
  func forgottenToken(status: Int) async throws {
    let resource = Self.item(hasToken: true)
    let bench = try await SyncBench.synced([resource], answers: ["/items": Self.page([(1, 5)])])
    bench.serve(["/items": Self.page([(1, 5), (2, 6)]), "/items?since=t": "\(status)"])
    #expect(try await bench.sync([resource], after: 60).added == 1)
  }

  @Test("52: a cursor in a header is sent in a header, also in Range", arguments: ["X-Continuation", "Range"])
  func headerCursor(sent: String) async throws {
    let bench = try SyncBench([:])
    let received = sent == "Range" ? "Next-Range" : sent
    bench.shelf.answer { request, _ in
      let page = request.headers.first { $0.isNamed(sent) }.flatMap { Int($0.value) } ?? 0
      var answer = Response(json: #"{"data":[{"id":\#(page + 1)}]}"#, headers: [Shelf.date])
      if page < 2 { answer.headers.append(.init(received, "\(page + 1)")) }
      if page < 2, sent == "Range" { answer.status = 206 }
      return answer
    }
    var resource = WrittenList(kind: .cursor, pages: []).resource
    resource.pages.style = .cursor(param: .header(sent), at: .header(received))
    #expect(try await bench.sync([resource]).added == 3)
    #expect(bench.asked() == ["/items", "/items", "/items"])
    #expect(try await bench.sync([resource], after: 1).outcome == .unchanged)
  }

  @Test("52: a 206 with Content-Range that no key of the pages reads names that key", arguments: [true, false])
  func partialContent(hasRange: Bool) async throws {
    let bench = try SyncBench([:])
    bench.shelf.answer { _, _ in
      let range = hasRange ? [Request.Header("Content-Range", "items 0-0/2")] : []
      return Response(status: 206, headers: [Shelf.date] + range, body: Array(#"{"data":[{"id":1}]}"#.utf8))
    }
    let record = try await bench.sync([WrittenList(kind: .number, pages: []).resource])
    #expect(record.exit == 65, "\(record)")
    #expect(record.error?.contains("set count = \"header:Content-Range\"") == hasRange, "\(record)")
  }

  @Test("52: a relative next link may name only the end of its page's path")
  func relativeLink() async throws {
    var resource = WrittenList(kind: .next, pages: []).resource
    resource.path = "/odata/Sites(1)/items"
    let bench = try SyncBench(answers: [
      "/odata/Sites(1)/items": #"{"data":[{"id":1}],"next":"Sites(1)/items?skip=1"}"#,
      "/odata/Sites(1)/items?skip=1": #"{"data":[{"id":2}],"next":"items?skip=2"}"#,
      "/odata/Sites(1)/items?skip=2": #"{"data":[{"id":3}],"next":"?skip=3"}"#,
      "/odata/Sites(1)/items?skip=3": #"{"data":[{"id":4}],"next":"/other?skip=4"}"#,
      "/other?skip=4": #"{"data":[{"id":5}]}"#,
    ])
    #expect(try await bench.sync([resource]).added == 5)
  }

  @Test("11: null is how by_key says that a record is gone")
  func nullByKey() async throws {
    var resource = Self.item(hasToken: false)
    (resource.since, resource.byKey, resource.removal) = (nil, "/items/{key}", .ask)
    let bench = try await SyncBench.synced([resource], answers: ["/items": Self.page([(1, 1), (2, 1)])])
    bench.serve(["/items": Self.page([(1, 1)]), "/items/2": "null", "/items/1": #"{"id":1,"name":""}"#])
    let record = try await bench.sync([resource], after: 1)
    #expect(record.removed == 1 && !record.isDegraded, "\(record)")
  }
}
