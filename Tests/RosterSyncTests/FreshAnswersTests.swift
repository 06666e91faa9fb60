import FoundationEssentials
import RosterCache
import RosterCore
import RosterSync
import Testing

/// Only the answers of this sync remove records, and only if one of them shows that `by_key` works.
struct FreshAnswersTests {
  private static let id = Resource.Column("id", at: at("id"), .integer)

  private static let shop = Resource(
    name: "shop", path: "/shops", records: at("list"), table: "shops", removal: .twice, pages: .init(.one),
    columns: [id, .init("rev", at: at("rev"), .integer)])

  /// The items of each shop, whose incremental lists have keys only.
  private static func item(changed: [String] = []) -> Resource {
    var item = Resource(
      name: "item", path: "/shops/{shop.id}/items", records: at("list"), table: "items",
      byKey: "/shops/{shop.id}/items/{key}", removal: .ask, pages: .init(.one), columns: [id],
      each: Each(of: "shop", changed: changed))
    var since = Since(
      at: at("at"), param: .query("since"), form: .number, overlap: .number(1), listing: item.listing)
    since.asks = true
    since.listing.path = "/shops/{shop.id}/changes"
    item.since = since
    return item
  }

  private static func list(_ records: [String]) -> String { #"{"list":[\#(records.joined(separator: ","))]}"# }
  private static func record(_ id: Int, at mark: Int = 10) -> String { #"{"id":\#(id),"at":\#(mark),"name":"n"}"# }

  private static func shops(_ count: Int, revision: Int = 1) -> String {
    list((1...count).map { #"{"id":\#($0),"rev":\#($0 == 1 ? revision : 1)}"# })
  }

  /// The answers after a first sync of shops with these numbers of items: the items of `changes` have changed by shop.
  private static func changed(_ sizes: [Int], _ changes: [Int: [Int]]) -> [String: String] {
    var answers = ["/shops": shops(sizes.count, revision: 2)]
    for shop in 1...sizes.count {
      answers["/shops/\(shop)/changes?since=9"] = list((changes[shop] ?? []).map { record($0, at: 20) })
    }
    return answers
  }

  private static func synced(_ sizes: [Int], _ resources: [Resource]) async throws -> SyncBench {
    var first = ["/shops": shops(sizes.count)]
    for (index, size) in sizes.enumerated() { first["/shops/\(index + 1)/items"] = list((1...size).map { record($0) }) }
    return try await SyncBench.synced(resources, answers: first)
  }

  @Test("13: a list without another record removes nothing by a by_key that finds nothing")
  func omitted() async throws {
    let resources = [Self.shop, Self.item()]
    let bench = try await Self.synced([1, 12], resources)
    let changed = Self.changed([1, 12], [1: [1], 2: [1]])
    bench.serve(changed)
    let wrong = try await bench.sync(resources, after: 60)
    #expect(wrong.exit == 0 && wrong.removed == 0 && wrong.isDegraded, "\(wrong.error ?? "")")
    bench.serve(changed, ["/shops/2/items/12": Self.record(12), "/shops/2/items/1": Self.record(1)])
    let right = try await bench.sync(resources, after: 120)
    #expect(right.removed == 1 && right.error == nil, "\(right.error ?? "")")
    #expect(try bench.ask("SELECT count(*) FROM items WHERE shop_id = 1") == ["0"])
  }

  @Test(
    "13: if all records of a list changed, the control question has a key of another list",
    arguments: [[], ["rev"]])
  func otherList(changed columns: [String]) async throws {
    let resources = [Self.shop, Self.item(changed: columns)]
    let sizes = [Int](repeating: 2, count: 10)
    let bench = try await Self.synced(sizes, resources)
    let changed = Self.changed(sizes, [1: [1, 2]])
    bench.serve(changed)
    let wrong = try await bench.sync(resources, after: 600)
    #expect(wrong.exit == 0 && wrong.removed == 0 && wrong.trouble?.kind == .unproven, "\(wrong.error ?? "")")
    #expect(bench.asked().filter { $0.contains("/items/") }.count == 3)
    bench.serve(changed, ["/shops/10/items/2": Self.record(2)])
    let right = try await bench.sync(resources, after: 1200)
    #expect(right.removed == 2 && right.error == nil, "\(right.error ?? "")")
  }

  @Test("13, 22: a list with a record that could not be asked for is requested again")
  func askedAgain() async throws {
    var item = Self.item(changed: ["rev"])
    item.since = nil
    let resources = [Self.shop, item]
    let bench = try await Self.synced([6, 1], resources)
    let changed = [
      "/shops": Self.shops(2, revision: 2), "/shops/1/items": Self.list((1...4).map { Self.record($0) }),
      "/shops/1/items/1": Self.record(1),
    ]
    bench.serve(changed, ["/shops/1/items/6": "500"])
    let first = try await bench.sync(resources, allowRemoval: true, after: 600)
    #expect(first.removed == 1 && first.trouble?.kind == .unasked, "\(first.error ?? "")")
    bench.serve(changed)
    let next = try await bench.sync(resources, allowRemoval: true, after: 1200)
    #expect(next.removed == 1 && next.error == nil, "\(next.error ?? "")")
  }

  @Test("13: if a list becomes empty and no other key is left, its records stay until --allow-removal")
  func unproven() async throws {
    var bench = try SyncBench(["/ask": records(1...10)])
    bench.maxRemoval = 100
    let resource = listed("ask", removal: .ask)
    _ = try await bench.sync([resource])
    bench.shelf.update { $0.lists["/ask"] = [] }
    for _ in 1...2 {
      let record = try await bench.sync([resource])
      #expect(record.removed == 0 && record.exit == 0 && record.trouble?.kind == .unproven, "\(record.error ?? "")")
      #expect(record.error?.contains("--allow-removal") == true)
    }
    #expect(try await bench.sync([resource], allowRemoval: true).removed == 10)
  }

  // MARK: Answers of earlier syncs

  private static let single: Resource = {
    var resource = listed("ask", removal: .ask)
    resource.byKey = "/ask/{key}"
    return resource
  }()

  private static let note = Resource(
    name: "note", path: "/notes/{ask.id}", records: at("results"), table: "notes", removal: .twice, pages: .init(.one),
    columns: [id], each: Each(of: "ask"))

  /// A bench after a sync that has not found record 5: a dry run, or one that failed after its questions.
  private static func interrupted(isDryRun: Bool) async throws -> (SyncBench, [Resource]) {
    let resources = [single, note]
    let bench = try SyncBench(["/ask": records(1...10)])
    bench.shelf.update { state in for key in 1...10 { state.lists["/notes/\(key)"] = [] } }
    _ = try await bench.sync(resources)
    bench.shelf.update {
      $0.lists["/ask"] = records([1, 2, 3, 4, 6, 7, 8, 9, 10])
      if !isDryRun { $0.failing = ["/notes/": 503] }
    }
    let record = try await bench.sync(resources, isDryRun: isDryRun, after: 1)
    #expect(record.exit == (isDryRun ? 0 : 69) && bench.asked().contains("/ask/5"))
    bench.shelf.update { $0.failing = [:] }
    return (bench, resources)
  }

  @Test("13, 40: an answer of an earlier sync is no control question", arguments: [true, false])
  func keptControl(isDryRun: Bool) async throws {
    let (bench, resources) = try await Self.interrupted(isDryRun: isDryRun)
    bench.shelf.update {
      $0.lists["/ask"] = records([1, 2, 3, 4, 7, 8, 9, 10])
      $0.failing = ["/ask/": 404]
    }
    let record = try await bench.sync(resources, after: 60)
    #expect(record.removed == 0 && record.trouble?.kind == .wrongByKey, "\(record.error ?? "")")
    #expect(try bench.list("ask").count == 10)
  }

  @Test("11, 40: a record that an earlier sync did not find is asked for again", arguments: [true, false])
  func keptAnswer(isDryRun: Bool) async throws {
    let (bench, resources) = try await Self.interrupted(isDryRun: isDryRun)
    // Upstream has restored the record, and its list lacks it for a moment.
    bench.shelf.update { $0.lists["hidden /ask"] = records([5]) }
    let record = try await bench.sync(resources, after: 60)
    #expect(record.removed == 0 && record.error == nil, "\(record.error ?? "")")
    #expect(bench.asked().filter { $0.hasPrefix("/ask/") } == ["/ask/5"])
  }

  @Test("51: a sync after a dry run publishes what upstream has then", arguments: [true, false])
  func afterDryRun(hasValidators: Bool) async throws {
    let bench = try SyncBench(["/ask": records(1...10), "/chain": records(1...4)])
    bench.shelf.update { $0.hasValidators = hasValidators }
    var chain = listed("chain", removal: .ask)
    chain.pages = .init(.cursor(param: .query("page"), at: .body(at("next"))))
    let resources = [listed("ask", removal: .ask), chain]
    _ = try await bench.sync(resources)
    bench.shelf.update {
      $0.lists["/ask"] = records([1, 2, 3, 4, 5, 6, 7, 8, 10])
      $0.lists["/chain"] = records(1...4, mark: "!")
    }
    let tried = try await bench.sync(resources, isDryRun: true, after: 10)
    #expect(tried.removed == 1 && tried.changed == 4, "\(tried.error ?? "")")
    // Upstream restores what it had.
    bench.shelf.update { $0.lists = ["/ask": records(1...10), "/chain": records(1...4)] }
    _ = bench.asked()
    let record = try await bench.sync(resources, after: 20)
    #expect(record.outcome == .unchanged && record.resumed == 0, "\(record.removed) \(record.changed)")
    #expect(bench.asked().count == 7)
    #expect(try bench.pending() == [])
  }

  @Test("40: a list that an interrupted sync pulled is used for at most whole_every, and at most a day")
  func keptLists() async throws {
    for (wholeEvery, age, isUsed) in [(Each.Whole.never, 86_000.0, true), (.never, 86_500, false)]
      + [(.every(.seconds(3600)), 3500, true), (.every(.seconds(3600)), 3700, false)]
    {
      let note = Resource(
        name: "note", path: "/shops/{shop.id}/notes", records: at("list"), table: "notes", removal: .twice,
        pages: .init(.one), columns: [Self.id], each: Each(of: "shop", changed: ["rev"], wholeEvery: wholeEvery))
      var bench = try SyncBench([:])
      bench.serve([
        "/shops": Self.shops(2), "/shops/1/notes": Self.list([Self.record(1)]), "/shops/2/notes": Self.list([]),
      ])
      // A minute passes without requests.
      bench.budget = RequestBudget(limit: 2, window: .seconds(60))
      #expect(try await bench.sync([Self.shop, note]).exit == 69)
      _ = bench.asked()
      bench.budget = nil
      #expect(try await bench.sync([Self.shop, note], after: age).exit == 0)
      #expect(bench.asked().contains("/shops/1/notes") != isUsed, "\(wholeEvery) after \(age) s")
      let oldest = bench.shelf.now.addingTimeInterval(isUsed ? 0 : age)
      #expect(try bench.ask("SELECT verified_at FROM cache_info") == [oldest.rfc3339])
    }
  }

  @Test("7: verified_at is the time of the oldest answer that the sync used", arguments: [true, false])
  func verified(hasValidators: Bool) async throws {
    let list = Resource(
      name: "item", path: "/items", records: at("list"), table: "items", removal: .twice,
      pages: .init(.number(last: .body(at("pages")))), columns: [Self.id])
    func page(_ number: Int) -> String { #"{"pages":3,"list":[\#(Self.record(number))]}"# }
    let bench = try SyncBench([:])
    let tag = hasValidators ? "\"1\"" : nil
    var answers = ["/items?page=1": page(1), "/items?page=2": page(2), "/items?page=3": "503"]
    bench.serve(answers, tag: tag)
    #expect(try await bench.sync([list]).exit == 69)
    answers["/items?page=3"] = page(3)
    bench.serve(answers, tag: tag)
    #expect(try await bench.sync([list], after: 600).resumed == (hasValidators ? 2 : 1))
    let oldest = bench.shelf.now.addingTimeInterval(hasValidators ? 600 : 0)
    #expect(try bench.ask("SELECT verified_at FROM cache_info") == [oldest.rfc3339])
    #expect(try bench.ask("SELECT verified_at FROM syncs ORDER BY id DESC LIMIT 1") == [oldest.rfc3339])
    #expect(try await bench.sync([list], after: 1200).outcome == .unchanged)
    #expect(try bench.ask("SELECT verified_at FROM cache_info") == [bench.shelf.now.addingTimeInterval(1200).rfc3339])
  }

  // MARK: Answers that say little

  /// A bench whose list has lost the keys after `kept`; `by_key` answers by this function.
  private static func bench(
    _ resource: Resource, of count: Int, kept: Int, byKey: @escaping @Sendable ([Int]) -> Response
  ) async throws -> SyncBench {
    let bench = try SyncBench(["/ask": records(1...count)])
    _ = try await bench.sync([resource])
    bench.shelf.update { $0.lists["/ask"] = records(1...kept) }
    bench.shelf.answer { _, target in
      target.hasPrefix("/ask/")
        ? byKey(target.dropFirst("/ask/".count).split(separator: ",").compactMap { Int($0) }) : nil
    }
    _ = bench.asked()
    return bench
  }

  private static func answer(_ keys: some Sequence<Int>, more: [String] = []) -> Response {
    Response(json: "[\((records(keys).map(\.record) + more).joined(separator: ","))]")
  }

  private static func one(_ key: Int) -> Response { Response(json: records([key])[0].record) }

  @Test(
    "11: an answer of fewer records than were asked for removes only keys that a question with a found one lacks",
    arguments: [1, 3, 20, 100])
  func limited(limit: Int) async throws {
    let resource = listed("ask", removal: .ask)
    let gone: Set<Int> = [13, 40, 77]
    let bench = try await Self.bench(resource, of: 80, kept: 10) { keys in
      let found = keys.filter { !gone.contains($0) }
      if keys.count == 1 { return found.first.map(Self.one) ?? Response(status: 404) }
      return Self.answer(found.prefix(limit))
    }
    let record = try await bench.sync([resource], allowRemoval: true)
    #expect(record.removed == 3 && record.error == nil, "\(record.error ?? "")")
    #expect(try bench.list("ask").count == 20 && bench.ask("SELECT count(*) FROM asks") == ["77"])
    let asked = bench.asked().filter { $0.hasPrefix("/ask/") }
    #expect(asked.allSatisfy { $0.split(separator: ",").count <= 50 })
    if limit == 100 { #expect(asked.count == 4) }
  }

  @Test("13, 14: a record without a key in an answer for several keys holds back only what it may be")
  func keyless() async throws {
    let resource = listed("ask", removal: .ask)
    let bench = try await Self.bench(resource, of: 60, kept: 30) { keys in
      let found = keys.filter { $0 <= 30 || $0 == 31 }
      if keys.count == 1 {
        return keys[0] == 50 ? Response(json: #"{"name":"?"}"#) : found.first.map(Self.one) ?? Response(status: 404)
      }
      return Self.answer(found, more: keys.contains(50) ? [#"{"name":"?"}"#] : [])
    }
    let record = try await bench.sync([resource], allowRemoval: true)
    #expect(record.removed == 28 && record.trouble?.kind == .unasked, "\(record.error ?? "")")
    #expect(try bench.ask("SELECT id FROM asks WHERE id > 30") == ["31", "50"])
  }

  @Test(
    "11, 13: a merged record and 204 are not found; {}, an error and a body without the key keep their record",
    arguments: [
      (#"{"id":3,"name":"survivor"}"#, 200, true), ("", 204, true), ("", 410, true), ("{}", 200, false),
      (#"{"error":"not found","code":404}"#, 200, false), (#"{"id":77,"error":"not found"}"#, 200, false),
      (#"{"id":77,"message":"not found"}"#, 200, false), (#"{"id":null,"name":"n"}"#, 200, false),
    ])
  func merged(body: String, status: Int, isRemoved: Bool) async throws {
    let bench = try await Self.bench(Self.single, of: 10, kept: 8) { keys in
      switch keys[0] {
      case 9: Response(status: status, body: Array(body.utf8))
      case 10: Response(status: 404)
      default: Self.one(keys[0])
      }
    }
    let record = try await bench.sync([Self.single])
    #expect(record.removed == (isRemoved ? 2 : 1) && record.isDegraded == !isRemoved, "\(record.error ?? "")")
    #expect(try bench.ask("SELECT id FROM asks WHERE id > 8") == (isRemoved ? [] : ["9"]))
  }

  @Test("13: a by_key that answers each question with another record removes nothing")
  func alwaysAnother() async throws {
    let bench = try await Self.bench(Self.single, of: 10, kept: 8) { _ in
      Response(json: #"{"id":77,"name":"the current user"}"#)
    }
    let record = try await bench.sync([Self.single], allowRemoval: true)
    #expect(record.removed == 0 && record.trouble?.kind == .wrongByKey, "\(record.error ?? "")")
  }

  @Test("13: a key in another case is neither found nor removed", arguments: ["A7", "a\u{308}7"])
  func alike(key: String) async throws {
    var resource = Self.single
    resource.columns[0] = .init("id", at: at("id"))
    resource.pages = .init(.one)
    let keys = ["k1", "k2", "k3", "k4", "k5", key == "A7" ? "a7" : "\u{E4}7"]
    @Sendable func json(_ key: String) -> String { #"{"id":"\#(key)","name":"n"}"# }
    @Sendable func page(_ keys: [String]) -> Response {
      Response(json: #"{"results":[\#(keys.map(json).joined(separator: ","))]}"#)
    }
    let bench = try SyncBench([:])
    bench.shelf.answer { _, _ in page(keys) }
    _ = try await bench.sync([resource])
    bench.shelf.answer { _, target in
      switch target {
      case "/ask": page(Array(keys.prefix(4)))
      case "/ask/k5": Response(status: 404)
      case "/ask/k1": Response(json: json("k1"))
      default: Response(json: json(key))
      }
    }
    let record = try await bench.sync([resource], allowRemoval: true)
    #expect(record.removed == 1 && record.trouble?.kind == .unasked, "\(record.error ?? "")")
    #expect(try bench.ask("SELECT count(*) FROM asks WHERE id LIKE '%7'") == ["1"])
  }

  @Test("13, 26: questions that use up the budget are left out until the lists of children are pulled")
  func budgetBeforeLists() async throws {
    var bench = try SyncBench([:])
    bench.budget = RequestBudget(limit: 14, window: .seconds(60))
    var shop = Self.shop
    (shop.removal, shop.byKey) = (.ask, "/shops/{key}")
    let note = Resource(
      name: "note", path: "/shops/{shop.id}/notes", records: at("list"), table: "notes", removal: .twice,
      pages: .init(.one), columns: [Self.id], each: Each(of: "shop", changed: ["rev"]))
    let shelf = bench.shelf
    func serve(_ shops: ClosedRange<Int>, revision: Int) {
      let all = Self.list(shops.map { #"{"id":\#($0),"rev":\#(revision)}"# })
      shelf.answer { _, target in
        if target == "/shops" { return Response(json: all, headers: [Shelf.date]) }
        return target.hasSuffix("/notes") ? Response(json: Self.list([Self.record(1)])) : Response(status: 404)
      }
    }
    serve(1...30, revision: 1)
    var exits: [Int32?] = []
    for number in 0..<4 where exits.last != 0 {
      exits.append(try await bench.sync([shop, note], after: Double(number) * 61).exit)
    }
    #expect(exits == [69, 69, 0])
    serve(1...5, revision: 2)
    bench.mostRequests = 0
    var records: [SyncRecord] = []
    for number in 10..<14 where records.last?.exit != 0 {
      records.append(try await bench.sync([shop, note], allowRemoval: true, after: Double(number) * 61))
    }
    #expect(records.map(\.exit) == [69, 0], "\(records.map(\.error))")
    #expect(records.last?.trouble?.kind == .unasked)
  }
}
