import FoundationEssentials
import RosterCore
import Testing

@testable import RosterCache

/// Whole syncs after a change of the configuration of children.
struct EachChangedTests {
  /// The lists that were requested since the last look.
  private static func lists(_ bench: SyncBench) -> [String] {
    bench.asked().filter { $0.hasSuffix("/items") }.sorted()
  }

  private static let all = (1...3).map { "/docs/\($0)/items" }

  private static func resources(_ each: Each) -> [Resource] { [Forest.document(removal: .twice), Forest.item(each)] }

  @Test("22: the empty of two children may differ only in Unicode normalization")
  func normalizedEmpty() async throws {
    let bench = try SyncBench([:])
    bench.shelf.answer { request, _ in
      let record = request.url.hasSuffix("/tags") ? #"{"id":1,"name":"\#u{e9}"}"# : #"{"id":1}"#
      return Response(json: "[\(record)]")
    }
    let id = Resource.Column("id", at: at("id"), .integer)
    func child(_ name: String, empty text: String) -> Resource {
      Resource(
        name: name, path: "/\(name)/{tag.id}", removal: .twice, pages: .init(.one), columns: [id],
        each: Each(of: "tag", changed: ["name"], empty: [.init("name", .equal(.text(text)))]))
    }
    let tag = Resource(
      name: "tag", path: "/tags", removal: .twice, pages: .init(.one), columns: [id, .init("name", at: at("name"))])
    #expect(try await bench.sync([tag, child("a", empty: "\u{e9}"), child("b", empty: "e\u{301}")]).exit == 0)
    #expect(bench.asked() == ["/tags", "/b/1"])
    #expect(
      try bench.ask("SELECT substr(l.asked, 1, 7) = '\"empty\"' FROM cache_lists l WHERE parent_id = 1 ORDER BY id")
        == ["1", "0"])
  }

  @Test("22, 56: each list of a child is requested by another definition, and a failed one keeps its records")
  func otherColumns() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(3))
    #expect(try await bench.sync([Forest.document(), Forest.item()]).exit == 0)
    let (rows, feed) = (
      try bench.ask("SELECT doc_id || ' ' || id || ' ' || rev FROM items"), "SELECT feed FROM cache_info"
    )
    let before = try bench.ask(feed)
    _ = bench.asked()
    var item = Forest.item()
    item.columns[1].name = "revision"
    forest.update { $0.statuses["/docs/2/items"] = 500 }
    let record = try await bench.sync([Forest.document(), item], after: 60)
    #expect(record.outcome == .published && record.isDegraded)
    #expect(Set(Self.lists(bench)) == Set(Self.all))
    let renamed = "SELECT doc_id || ' ' || id || ' ' || revision FROM items"
    #expect(try bench.ask(renamed).sorted() == rows.sorted() && bench.ask(feed) == before)
    forest.update {
      $0.statuses = [:]
      $0.documents[2]?.items[2]?.revision = 7
    }
    #expect(try await bench.sync([Forest.document(), item], after: 120).exit == 0)
    #expect(Self.lists(bench) == ["/docs/2/items"])
    #expect(try bench.ask("SELECT revision FROM items WHERE doc_id = 2 AND id = 2") == ["7"])
  }

  @Test(
    "22, 56: records of a failed list that lack a value by another definition are no parents until they are pulled")
  func unpulledParents() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(3))
    forest.update { state in
      for document in 1...3 {
        for item in (state.documents[document]?.items ?? [:]).keys {
          state.documents[document]?.items[item]?.revision = item
        }
      }
    }
    var (item, part) = (Forest.item(), Forest.part)
    item.columns[1] = .init("code", at: at("id"), .integer)
    part.path = "/docs/{doc.id}/items/{item.code}/parts"
    (part.byKey, part.removal, part.each) = (nil, .twice, Each(of: "item"))
    #expect(try await bench.sync([Forest.document(), item, part]).exit == 0)
    let parts = "SELECT i.doc_id || ' ' || i.id || ' ' || p.name FROM parts p JOIN items i ON i.record_id = p.item_id"
    let before = try bench.ask(parts).sorted()
    #expect(before.contains { $0.hasPrefix("2 ") })
    item.columns[1].at = at("rev")
    forest.update { $0.statuses["/docs/2/items"] = 404 }
    for time in [60.0, 120, 180] {
      #expect(try await bench.sync([Forest.document(), item, part], after: time).exit == 0)
      #expect(try bench.ask(parts).sorted() == before)
    }
    forest.update { $0.statuses = [:] }
    #expect(try await bench.sync([Forest.document(), item, part], after: 100_000).exit == 0)
    #expect(try bench.ask(parts).sorted() == before)
    #expect(try bench.ask("SELECT count(*) FROM items WHERE code IS NULL") == ["0"])
  }

  @Test("56: a resource above grandchildren may get another name")
  func renamedAncestor() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(3))
    var (paper, item, part) = (Forest.document(), Forest.item(Each(of: "paper")), Forest.part)
    (paper.name, paper.table) = ("paper", "papers")
    (item.path, item.byKey) = ("/docs/{paper.id}/items", "/docs/{paper.id}/items/{key}")
    (part.path, part.byKey) = ("/docs/{paper.id}/items/{item.id}/parts", "/docs/{paper.id}/items/{item.id}/parts/{key}")
    #expect(try await bench.sync([paper, item, part]).added == 12)
    let record = try await bench.sync(Forest.all, after: 60)
    #expect(record.exit == 0 && record.error == nil, "\(record.error ?? "")")
    #expect(try Forest.lines(in: bench) == forest.lines)
  }

  @Test("56: a parent of children may become the child of a new resource")
  func insertedAncestor() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(3))
    var (item, part) = (Forest.item(), Forest.part)
    (item.each, item.path, item.byKey) = (nil, "/docs/1/items", "/docs/1/items/{key}")
    (part.path, part.byKey) = ("/docs/1/items/{item.id}/parts", "/docs/1/items/{item.id}/parts/{key}")
    #expect(try await bench.sync([item, part]).added == 3)
    let record = try await bench.sync(Forest.all, after: 60)
    #expect(record.exit == 0 && record.error == nil, "\(record.error ?? "")")
    #expect(try Forest.lines(in: bench) == forest.lines)
  }

  @Test(
    "8, 56: a child may become a resource without a parent, and the cache keeps all others",
    arguments: [true, false])
  func removedAncestor(keepsParent: Bool) async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(3))
    #expect(try await bench.sync(Forest.all).exit == 0)
    let feed = try bench.ask("SELECT feed FROM cache_info")
    var (item, part, detail) = (Forest.item(), Forest.part, Forest.detail)
    (item.each, item.path, item.byKey) = (nil, "/docs/1/items", "/docs/1/items/{key}")
    (part.path, part.byKey) = ("/docs/1/items/{item.id}/parts", "/docs/1/items/{item.id}/parts/{key}")
    (detail.each, detail.path, detail.pages, detail.key) = (nil, "/docs/1/items", .init(.one), at("id"))
    detail.records = at("list")
    detail.columns.append(.init("id", at: at("id"), .integer))
    let others = keepsParent ? [Forest.document()] : []
    let record = try await bench.sync([part, item, detail] + others, after: 60)
    #expect(record.exit == 0 && record.error == nil, "\(record.error ?? "")")
    #expect(try bench.ask("SELECT id FROM items ORDER BY 1") == ["1", "2"])
    #expect(try bench.ask("SELECT i.id || p.name FROM parts p JOIN items i ON i.id = p.item_id") == ["1a"])
    #expect(try bench.ask("SELECT id FROM details ORDER BY 1") == ["1", "2"])
    #expect(
      try bench.ask("SELECT resource || parent_id FROM resource_lists WHERE resource IN ('item', 'detail') ORDER BY 1")
        == ["detail0", "item0"])
    // A cache that was taken for a damaged one would begin with sync 1 again.
    #expect(try bench.ask("SELECT id FROM syncs ORDER BY 1") == ["1", "2"])
    #expect(try bench.ask("SELECT feed FROM cache_info") != feed)
    if keepsParent { #expect(try bench.ask("SELECT DISTINCT first_sync FROM docs") == ["1"]) }
    #expect(forest.documents.count == 3)
    #expect(try await bench.sync([part, item, detail] + others, after: 120).outcome == .unchanged)
  }

  @Test("56: readers see parents by the old key, and their children, until a sync has published the new one")
  func orphans() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(3))
    forest.update { state in for id in 1...3 { state.documents[id]?.revision = 10 - id } }
    #expect(try await bench.sync(Forest.all).exit == 0)
    var byRevision = Forest.document(removal: .twice)
    byRevision.key = at("rev")
    forest.update { $0.statuses["/docs?page=1"] = 500 }
    #expect(try await bench.sync([byRevision], after: 60).exit == 69)
    #expect(try Forest.lines(in: bench) == forest.lines)
    forest.update { $0.statuses = [:] }
    #expect(try await bench.sync([byRevision], after: 90).exit == 0)
    #expect(try bench.ask("SELECT name FROM resources") == ["doc"])
    #expect(try bench.ask("SELECT name FROM sqlite_schema WHERE name IN ('items', 'parts', 'details')") == [])
    #expect(try bench.ask("SELECT records FROM cache_info") == ["3"])
    #expect(try await bench.sync(Forest.all, after: 120).exit == 0)
    #expect(try Forest.lines(in: bench) == forest.lines)
  }

  @Test("8: rejected records of a list are removed with the list if its parents get other record ids")
  func rejects() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(3))
    forest.update { state in
      for id in 1...3 { state.documents[id]?.revision = 10 - id }
      state.bodies["/docs/1/items"] = #"{"count":2,"list":[{"id":1,"rev":1},{"id":2,"rev":"x"}]}"#
    }
    let rejects = "SELECT r.resource || ' ' || d.id FROM rejects r LEFT JOIN docs d ON d.id = r.parent_id"
    var (document, item) = (Forest.document(removal: .twice), Forest.item())
    document.key = at("rev")
    #expect(try await bench.sync([document, item]).rejected == 1)
    document.key = at("id")
    #expect(try await bench.sync([document, item], after: 60).rejected == 1)
    #expect(try bench.ask(rejects) == ["item 1"])
    forest.update { $0.bodies = [:] }
    item.each = nil
    (item.path, item.byKey) = ("/docs/1/items", "/docs/1/items/{key}")
    #expect(try await bench.sync([document, item], after: 120).rejected == 0)
    #expect(try bench.ask("SELECT count(*) FROM rejects") == ["0"])
  }

  private static let day = Each.Whole.every(.seconds(86_400))

  @Test(
    "22, 56: each list is requested once when the rules of its requests change",
    arguments: [
      (Each(of: "doc"), Each(of: "doc", changed: ["rev"])), (Each(of: "doc"), Each(of: "doc", wholeEvery: day)),
      (Each(of: "doc", changed: ["rev"], wholeEvery: .never), Each(of: "doc", changed: ["rev"], wholeEvery: day)),
      (Each(of: "doc", changed: ["rev"]), Each(of: "doc", changed: ["rev"], wholeEvery: day)),
      (Each(of: "doc", changed: ["rev"]), Each(of: "doc", changed: ["rev", "size"])),
      (
        Each(of: "doc", changed: ["rev"], empty: [.init("rev", .equal(.integer(1)))]), Each(of: "doc", changed: ["rev"])
      ),
    ])
  func rules(before: Each, after: Each) async throws {
    let (bench, _) = try await Forest.synced(Forest.documents(3), with: Self.resources(before))
    #expect(try await bench.sync(Self.resources(after), after: 60).exit == 0)
    #expect(Self.lists(bench) == Self.all)
    #expect(try await bench.sync(Self.resources(after), after: 120).exit == 0)
    #expect(Self.lists(bench) == [])
    #expect(try bench.ask("SELECT count(*) FROM items") == ["6"])
  }

  @Test("22: texts of a parent that differ after a NUL are different")
  func textsWithNUL() async throws {
    let (made, forest) = try Forest.bench(Forest.documents(3))
    var bench = made
    bench.maxRemoval = 100
    func serve(_ states: [String]) {
      let records = zip(1..., states).map { #"{"id":\#($0),"rev":1,"size":0,"state":"\#($1)"}"# }
      let body = #"{"count":3,"pages":1,"list":[\#(records.joined(separator: ","))]}"#
      forest.update { $0.bodies["/docs?page=1"] = body }
    }
    var document = Forest.document(removal: .twice)
    document.columns.append(Resource.Column("state", at: at("state")))
    let empty = ["a", "x'\u{301}\0y"].map { Each.ParentCondition("state", .equal(.text($0))) }
    for (condition, states, requested) in [
      (empty[0], [#"a\u0000b"#, "a", #"\u0000"#], [1, 3]), (empty[0], [#"a\u0000c"#, "a", #"\u0000"#], [1]),
      (empty[1], [#"x'\u0301\u0000y"#, "a", #"x\u0000z"#], [2, 3]),
      (empty[1], [#"x\u0000z"#, "a", #"x'\u0301\u0000y"#], [1]),
    ] {
      serve(states)
      let resources = [document, Forest.item(Each(of: "doc", changed: ["state"], empty: [condition]))]
      let record = try await bench.sync(resources, after: 60)
      #expect(record.exit == 0, "\(record.error ?? "")")
      #expect(Self.lists(bench) == requested.map { "/docs/\($0)/items" }, "\(states)")
    }
  }

  @Test("22: a real of a parent that differs in its last digits is a change")
  func exactReals() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(3))
    var document = Forest.document(removal: .twice)
    document.columns.append(Resource.Column("weight", at: at("weight"), .real))
    let resources = [document, Forest.item(Each(of: "doc", changed: ["weight"]))]
    for (weights, requested) in [
      (["1700000000.1234567", "0.30000000000000004", "null"], [1, 2, 3]),
      (["1700000000.1234569", "0.3", "null"], [1, 2]),
      (["1700000000.1234569", "0.3", "2"], [3]), (["1700000000.1234569", "0.30", "2.0"], []),
    ] {
      let records = zip(1..., weights).map { #"{"id":\#($0),"rev":1,"size":2,"weight":\#($1)}"# }
      let body = #"{"count":3,"pages":1,"list":[\#(records.joined(separator: ","))]}"#
      forest.update { $0.bodies["/docs?page=1"] = body }
      #expect(try await bench.sync(resources, after: 60).error == nil)
      #expect(Self.lists(bench) == requested.map { "/docs/\($0)/items" }, "\(weights)")
    }
  }

  @Test("22: a list is due by the rules of its last request")
  func due() async throws {
    let (bench, _) = try await Forest.synced(Forest.documents(3), with: Self.resources(Each(of: "doc")))
    let each = Each(of: "doc", wholeEvery: .every(.seconds(1000)))
    _ = try await bench.sync(Self.resources(each), after: 60)
    _ = Self.lists(bench)
    _ = try await bench.sync(Self.resources(each), after: 500)
    #expect(Self.lists(bench) == [])
    _ = try await bench.sync(Self.resources(each), after: 1061)
    #expect(Self.lists(bench) == Self.all)
  }

  @Test("22, 23, 40: lists that were not pulled after a change of the rules stay due")
  func interrupted() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(3), with: Self.resources(Each(of: "doc")))
    let resources = Self.resources(Each(of: "doc", changed: ["rev"]))
    // Only the list of document 1 is pulled, if it is requested before the sync fails.
    forest.update { $0.statuses = ["/docs/2/items": 429, "/docs/3/items": 429] }
    #expect(try await bench.sync(resources, after: 60).outcome == .failed)
    #expect(!Self.lists(bench).isEmpty)
    forest.update {
      $0.statuses = ["/docs/2/items": 403]
      $0.documents[3] = nil
    }
    // The list of a missed parent is not requested.
    #expect(try await bench.sync(resources, after: 120).listsFailed == 1)
    #expect(Self.lists(bench).contains("/docs/2/items"))
    forest.update {
      $0.statuses = [:]
      $0.documents[3] = .init(items: [1: .init(), 2: .init()])
    }
    #expect(try await bench.sync(resources, after: 180).exit == 0)
    #expect(Self.lists(bench) == ["/docs/2/items", "/docs/3/items"])
    _ = try await bench.sync(resources, after: 240)
    #expect(Self.lists(bench) == [])
  }

  @Test("40: kept pages of a list are not used if its parent changed since", arguments: [true, false])
  func keptChain(_ isFinished: Bool) async throws {
    func column(_ name: String) -> Resource.Column { .init(name, at: at(name), .integer) }
    let resources = [
      Resource(
        name: "doc", path: "/docs", records: at("list"), table: "docs", removal: .twice, pages: .init(.one),
        columns: [column("id"), column("rev")]),
      Resource(
        name: "item", path: "/docs/{doc.id}/items", records: at("list"), table: "items", removal: .twice,
        pages: .init(.next(at: .body(at("next")))), columns: [column("id"), column("rev")],
        each: Each(of: "doc", changed: ["rev"])),
    ]
    let bench = try SyncBench([:])
    func serve(_ revision: Int, last: Int = 200) {
      let record = { (id: Int) in #"[{"id":\#(id),"rev":\#(revision)}]"# }
      let answers = [
        "/docs": #"{"list":\#(record(1))}"#,
        "/docs/1/items": #"{"list":\#(record(1)),"next":"/docs/1/items?p=2"}"#,
        "/docs/1/items?p=2": #"{"list":\#(record(2))}"#,
      ]
      bench.shelf.answer { _, target in
        return Response(status: target.hasSuffix("p=2") ? last : 200, body: Array((answers[target] ?? "").utf8))
      }
    }
    serve(1, last: isFinished ? 200 : 503)
    #expect(try await bench.sync(resources, isDryRun: isFinished).outcome == (isFinished ? .tried : .failed))
    serve(2)
    #expect(try await bench.sync(resources, after: 60).error == nil)
    #expect(try bench.ask("SELECT rev FROM items") == ["2", "2"])
  }
}
