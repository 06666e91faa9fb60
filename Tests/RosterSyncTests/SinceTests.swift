import FoundationEssentials
import RosterCore
import RosterSync
import Testing

/// Whole syncs of a resource with `since`.
struct SinceTests {
  private static func resource(
    _ name: String = "item", overlap: Int64 = 1, count: Bool = false, change: (inout Since) -> Void = { _ in }
  ) -> Resource {
    var resource = Resource(
      name: name, path: "/items", records: at("results"), table: "\(name)s",
      conditions: [.init(at("closed"), .absent)], removal: .twice,
      pages: .init(.number(last: .body(at("pages"))), count: count ? .body(at("count")) : nil),
      columns: [.init("id", at: at("id"), .integer), .init("name", at: at("name"))])
    var since = Since(
      at: at("at"), param: .query("since"), form: .number, overlap: .number(overlap), listing: resource.listing)
    change(&since)
    resource.since = since
    return resource
  }

  private static func item(_ id: Int, mark: Int?, name: String = "", isClosed: Bool = false) -> String {
    let fields = ["\"id\":\(id)", "\"name\":\"\(name)\""] + (mark.map { ["\"at\":\($0)"] } ?? [])
    return "{\((fields + (isClosed ? ["\"closed\":true"] : [])).joined(separator: ","))}"
  }

  /// Answers by the target of the request.
  private static func bench(_ answers: [String: [String]], pages: Int = 1) throws -> SyncBench {
    let bench = try SyncBench([:])
    set(answers, pages: pages, in: bench)
    return bench
  }

  /// The same after a first sync, whose requests are forgotten.
  private static func synced(_ resources: [Resource], answers: [String: [String]]) async throws -> SyncBench {
    let bench = try bench(answers)
    _ = try await bench.sync(resources)
    _ = bench.asked()
    return bench
  }

  private static func set(_ answers: [String: [String]], pages: Int = 1, in bench: SyncBench) {
    bench.shelf.answer { _, target in
      guard let records = answers[target] else { return Response(status: 422) }
      let body =
        #"{"names":["id","at","name"],"pages":\#(pages),"count":\#(records.count),"results":[\#(records.joined(separator: ","))]}"#
      return Response(json: body, headers: [Shelf.date])
    }
  }

  @Test("21: the first pull is whole, the next one starts before the mark, and --fresh is whole again")
  func starts() async throws {
    let bench = try Self.bench([
      "/items?page=1": [Self.item(1, mark: 10), Self.item(2, mark: 12)],
      "/items?since=11&page=1": [Self.item(2, mark: 13, name: "new")],
      "/items?since=12&page=1": [],
    ])
    let resources = [Self.resource()]
    #expect(try await bench.sync(resources).outcome == .published)
    #expect(try await bench.sync(resources, after: 1).changed == 1)
    #expect(try await bench.sync(resources, after: 2).outcome == .unchanged)
    #expect(bench.asked() == ["/items?page=1", "/items?since=11&page=1", "/items?since=12&page=1"])
    _ = try await bench.sync(resources, isFresh: true, after: 3)
    _ = try await bench.sync(resources, after: 90_000)
    #expect(bench.asked() == ["/items?page=1", "/items?page=1"])
  }

  @Test("21, 56: by another definition a list with a mark is pulled whole once, and no record counts as missed")
  func otherDefinition() async throws {
    let bench = try await Self.synced([Self.resource()], answers: ["/items?page=1": [Self.item(1, mark: 10)]])
    var other = Self.resource()
    other.columns[1].name = "called"
    let records = [Self.item(1, mark: 10, name: "new"), Self.item(2, mark: 12)]
    Self.set(["/items?page=1": records, "/items?since=11&page=1": []], in: bench)
    let record = try await bench.sync([other], after: 1)
    #expect(record.added == 1 && record.changed == 1 && record.missed.isEmpty)
    #expect(try bench.ask("SELECT called FROM items ORDER BY id") == ["new", ""])
    #expect(try await bench.sync([other], after: 2).outcome == .unchanged)
    #expect(bench.asked() == ["/items?page=1", "/items?since=11&page=1"])
  }

  @Test("1, 20: a fresh sync uses no mark, and the mark stays if it fails")
  func freshFailure() async throws {
    let whole = ["/items?page=1": [Self.item(1, mark: 10), Self.item(2, mark: 12)]]
    let bench = try await Self.synced([Self.resource()], answers: whole)
    Self.set(["/items?since=11&page=1": [Self.item(2, mark: 13, name: "new")]], in: bench)
    #expect(try await bench.sync([Self.resource()], isFresh: true, after: 1).outcome == .failed)
    #expect(try await bench.sync([Self.resource()], after: 2).changed == 1)
    #expect(bench.asked() == ["/items?page=1", "/items?since=11&page=1"])
  }

  @Test("26, 47: a whole pull without room in the budget is postponed, and degraded above twice whole_every")
  func postponed() async throws {
    var bench = try Self.bench([
      "/items?page=1": [Self.item(1, mark: 10), Self.item(2, mark: 12)],
      "/items?since=11&page=1": [Self.item(2, mark: 12)],
    ])
    let resources = [Self.resource()]
    _ = try await bench.sync(resources)
    _ = bench.asked()
    bench.mostRequests = 0
    let late = try await bench.sync(resources, after: 90_000)
    #expect(bench.asked() == ["/items?since=11&page=1"])
    #expect(late.exit == 0 && late.error == nil)
    let tooLate = try await bench.sync(resources, after: 180_000)
    #expect(bench.asked() == ["/items?since=11&page=1"])
    #expect(tooLate.isDegraded && tooLate.trouble?.kind == .postponed)
    bench.mostRequests = 1
    #expect(try await bench.sync(resources, after: 190_000).isDegraded == false)
    #expect(bench.asked() == ["/items?page=1"])
  }

  @Test("40: an incremental pull uses kept pages only if its first page is unchanged", arguments: [true, false])
  func resumed(_ isUnchanged: Bool) async throws {
    var resource = Self.resource()
    resource.since?.listing.pages = .init(.number(last: nil))
    let two = [Self.item(1, mark: 10), Self.item(2, mark: 12)]
    let bench = try await Self.synced([resource], answers: ["/items?page=1": two])
    let changed = [(3, 17), (4, 16), (5, 15), (6, 14), (7, 13)].map { Self.item($0, mark: $1) }
    func answer(_ records: [String], until last: Int) {
      bench.shelf.answer { request, _ in
        guard let page = request.url.last?.wholeNumberValue, page <= last else { return Response(status: 429) }
        let shown = records.dropFirst(2 * page - 2).prefix(2).joined(separator: ",")
        return Response(json: #"{"results":[\#(shown)]}"#, headers: [Shelf.date])
      }
    }
    answer(changed, until: 2)
    #expect(try await bench.sync([resource], after: 1).outcome == .failed)
    _ = bench.asked()
    // The new record moves each other one, the second one onto a page that was kept.
    answer((isUnchanged ? [] : [Self.item(8, mark: 18)]) + changed, until: 4)
    #expect(try await bench.sync([resource], after: 2).outcome == .published)
    let asked = bench.shelf.asked().map { $0.target.suffix(1) }
    #expect(asked == (isUnchanged ? ["1", "3", "4"] : ["1", "2", "3", "4"]))
    #expect(try bench.ask("SELECT group_concat(id) FROM items") == [isUnchanged ? "1,2,3,4,5,6,7" : "1,2,3,4,5,6,7,8"])
  }

  @Test("21: sync_resources and the status have what a whole pull missed, and the kind of each pull")
  func missed() async throws {
    let bench = try Self.bench([
      "/items?page=1": [Self.item(1, mark: 10), Self.item(2, mark: 12)], "/items?since=11&page=1": [],
    ])
    let resources = [Self.resource()]
    _ = try await bench.sync(resources)
    _ = try await bench.sync(resources, after: 1)
    Self.set(["/items?page=1": [Self.item(1, mark: 10, name: "late"), Self.item(2, mark: 12)]], in: bench)
    _ = try await bench.sync(resources, after: 90_000)
    let rows = try bench.ask("SELECT whole || ' ' || requests || ' ' || coalesce(missed, '-') FROM sync_resources")
    #expect(rows == ["1 1 -", "0 1 -", "1 1 1"])
    #expect(try await bench.facts(resources).resources.map(\.missed) == [1])
  }

  @Test("26: the estimate of the next sync leaves out a whole pull, since that can be postponed")
  func estimate() async throws {
    let bench = try Self.bench(
      ["/items?page=1": [Self.item(1, mark: 10)], "/items?page=2": [Self.item(2, mark: 12)]], pages: 2)
    #expect(try await bench.sync([Self.resource()]).requests == 2)
    #expect(try await bench.facts([Self.resource()]).requests == 1)
  }

  @Test("47: an upstream that ignores since.param gives the right data, and the sync notes it")
  func ignored() async throws {
    let all = [Self.item(1, mark: 2), Self.item(2, mark: 12)]
    let bench = try Self.bench(["/items?page=1": all, "/items?since=11&page=1": all + [Self.item(3, mark: 13)]])
    let resources = [Self.resource()]
    #expect(try await bench.sync(resources).trouble == nil)
    let record = try await bench.sync(resources, after: 1)
    #expect(record.added == 1 && !record.isDegraded && record.trouble?.kind == .ignoredSince)
  }

  @Test("52: since.from and since.value may have a day")
  func days() async throws {
    let bench = try Self.bench([
      "/items?since=2025-06-08&page=1": [Self.item(1, mark: 10)], "/items?since=9-2025-06-15&page=1": [],
    ])
    let resources = [
      Self.resource {
        $0.from = "{today-7d:date}"
        $0.value = "{since}-{today:date}"
      }
    ]
    #expect(try await bench.sync(resources).added == 1)
    #expect(try await bench.sync(resources, after: 1).outcome == .unchanged)
    #expect(bench.asked() == ["/items?since=2025-06-08&page=1", "/items?since=9-2025-06-15&page=1"])
  }

  @Test("21, 52: an incremental list may have another shape than the whole one")
  func shape() async throws {
    let bench = try Self.bench([
      "/items?page=1": [Self.item(1, mark: 10)], "/changes?since=9&page=1": ["[1,11,\"new\"]", "[2,12,\"other\"]"],
    ])
    let resources = [
      Self.resource {
        $0.at = at("at")
        $0.listing.path = "/changes"
        $0.listing.shape = .rows
        $0.listing.rowNames = at("names")
      }
    ]
    #expect(try await bench.sync(resources).added == 1)
    let record = try await bench.sync(resources, after: 1)
    #expect(record.added == 1 && record.changed == 1, "\(record.error ?? "")")
  }

  @Test("21, 28: resources that share pages and since are pulled together, from the lowest mark")
  func shared() async throws {
    let bench = try Self.bench([
      "/items?page=1": [Self.item(1, mark: 10)], "/items?since=9&page=1": [Self.item(1, mark: 11, name: "new")],
    ])
    let resources = [Self.resource("one"), Self.resource("two")]
    _ = try await bench.sync(resources)
    #expect(try await bench.sync(resources, after: 1).changed == 2)
    #expect(bench.asked() == ["/items?page=1", "/items?since=9&page=1"])
  }

  @Test(
    "21, 48: upstream refuses the second page of an incremental pull, and the list is pulled whole in the same sync"
  )
  func refused() async throws {
    let whole = ["/items?page=1": [Self.item(1, mark: 10)], "/items?page=2": [Self.item(2, mark: 12)]]
    let bench = try Self.bench(whole, pages: 2)
    let resources = [Self.resource()]
    _ = try await bench.sync(resources)
    let next = [
      "/items?page=2": [Self.item(2, mark: 12, name: "new")],
      "/items?since=11&page=1": [Self.item(2, mark: 12, name: "new")],
    ]
    Self.set(whole.merging(next) { $1 }, pages: 2, in: bench)
    _ = bench.asked()
    let record = try await bench.sync(resources, after: 1)
    #expect(record.outcome == .published && record.changed == 1 && record.removed == 0)
    #expect(bench.asked().suffix(2) == ["/items?page=1", "/items?page=2"])
    let events = bench.reported().filter { $0.name == .listReset }
    #expect(events.map(\.resource) == ["item"] && events.map(\.reason) == ["refused"])
  }

  @Test(
    "21: upstream refuses the first page of an incremental pull, and the list is pulled whole in the same sync",
    arguments: [400, 404, 410, 422])
  func refusedStart(status: Int) async throws {
    let bench = try await Self.synced([Self.resource()], answers: ["/items?page=1": [Self.item(1, mark: 10)]])
    bench.shelf.answer { _, target in
      guard target == "/items?page=1" else { return Response(status: status) }
      let records = [Self.item(1, mark: 10), Self.item(2, mark: 12)].joined(separator: ",")
      return Response(json: #"{"pages":1,"count":2,"results":[\#(records)]}"#, headers: [Shelf.date])
    }
    for round in 1...2 {
      let record = try await bench.sync([Self.resource()], after: Double(round))
      #expect(record.exit == 0 && !record.isDegraded && record.trouble?.kind == .listReset)
      #expect(record.added == (round == 1 ? 1 : 0))
      #expect(bench.asked().map { $0.contains("since") } == [true, false])
    }
    #expect(bench.reported().filter { $0.name == .listReset }.map(\.reason) == ["refused", "refused"])
    var scarce = bench
    scarce.mostRequests = 0
    let record = try await scarce.sync([Self.resource()], after: 3)
    #expect(record.exit == 69 && record.trouble?.kind == .budget)
    var beyond = Self.resource()
    beyond.since?.listing.pages.beyond = [status]
    #expect(try await bench.sync([beyond], after: 4).exit == 0)
    #expect(try await bench.sync([beyond], after: 5).exit != 0)
  }

  @Test("21: records without a value at since.at fail the sync with 65, which names since.at and since.form")
  func unreadable() async throws {
    let bench = try Self.bench(["/items?page=1": [Self.item(1, mark: nil), Self.item(2, mark: nil)]])
    let record = try await bench.sync([Self.resource()])
    #expect(record.exit == 65 && record.error?.contains("since.at, since.form") == true)
    Self.set(["/items?page=1": [Self.item(1, mark: nil), Self.item(2, mark: 3)]], in: bench)
    #expect(try await bench.sync([Self.resource()], after: 1).outcome == .published)
  }

  @Test("21: if no record has a time yet, the list is pulled whole until one has")
  func noTimeYet() async throws {
    let record = #"{"id":1,"name":"","at":null}"#
    let bench = try Self.bench(["/items?page=1": [record]])
    for round in 0...1 {
      #expect(try await bench.sync([Self.resource()], after: Double(round)).exit == 0)
      #expect(bench.asked() == ["/items?page=1"])
    }
    Self.set(["/items?page=1": [record, Self.item(2, mark: 12)], "/items?since=11&page=1": []], in: bench)
    for round in 2...3 { #expect(try await bench.sync([Self.resource()], after: Double(round)).exit == 0) }
    #expect(bench.asked().last == "/items?since=11&page=1")
    #expect(try bench.ask("SELECT id FROM items ORDER BY id") == ["1", "2"])
  }

  @Test("21: a record without a value that only one of two resources skips is 65 in either order")
  func unreadableInOne() async throws {
    let skipping = Self.resource("one")
    var storing = Self.resource("two")
    storing.conditions = []
    let records = [Self.item(1, mark: nil, isClosed: true)]
    for resources in [[skipping, storing], [storing, skipping]] {
      let bench = try Self.bench(["/items?page=1": records])
      #expect(try await bench.sync(resources).exit == 65, "\(resources.map(\.name))")
    }
    let bench = try Self.bench(["/items?page=1": records])
    #expect(try await bench.sync([skipping, Self.resource("two")]).exit == 0)
  }

  @Test("15, 21: a note without a value at since.at that a record was deleted removes the record")
  func deletion() async throws {
    let two = [Self.item(1, mark: 10), Self.item(2, mark: 10)]
    let bench = try await Self.synced([Self.resource()], answers: ["/items?page=1": two])
    Self.set(["/items?since=9&page=1": [Self.item(2, mark: nil, isClosed: true)]], in: bench)
    let record = try await bench.sync([Self.resource()], allowRemoval: true, after: 1)
    #expect(record.removed == 1, "\(record.error ?? "")")
    #expect(try bench.ask("SELECT mark FROM resource_lists") == ["10"])
  }

  @Test("11, 15: records that where skips now are removed under the guard, and the mark stays if it holds them back")
  func guarded() async throws {
    let open = (1...10).map { Self.item($0, mark: $0) }
    let closed = (1...3).map { Self.item($0, mark: $0 + 10, isClosed: true) }
    let resources = [Self.resource()]
    let bench = try await Self.synced(resources, answers: ["/items?page=1": open, "/items?since=9&page=1": closed])
    let held = try await bench.sync(resources, after: 1)
    #expect(held.exit == 65 && held.trouble?.kind == .guarded)
    #expect(try await bench.sync(resources, allowRemoval: true, after: 2).removed == 3)
    #expect(bench.asked().last == "/items?since=9&page=1")
  }

  @Test("21: a count that differs three times publishes the records, leaves the mark, and makes the proof weak")
  func drift() async throws {
    let resources = [Self.resource(count: true)]
    let bench = try await Self.synced(resources, answers: ["/items?page=1": [Self.item(1, mark: 10)]])
    bench.shelf.update {
      $0.answers = { _ in
        let body = #"{"pages":1,"count":2,"results":[\#(Self.item(1, mark: 12, name: "new"))]}"#
        return Response(json: body)
      }
    }
    let record = try await bench.sync(resources, after: 1)
    #expect(record.outcome == .published && record.changed == 1)
    #expect(bench.shelf.asked().count == 3)
    #expect(try await bench.facts(resources).resources.map(\.proof) == ["weak"])
    Self.set(["/items?since=9&page=1": [Self.item(1, mark: 12, name: "new")]], in: bench)
    #expect(try await bench.sync(resources, after: 2).exit == 0)
  }

  @Test("21: a key on two pages of an incremental pull repeats the pull twice, and then the proof is weak")
  func repeated() async throws {
    let resources = [Self.resource()]
    let bench = try await Self.synced(resources, answers: ["/items?page=1": [Self.item(1, mark: 10)]])
    let again = [Self.item(1, mark: 12, name: "new")]
    Self.set(["/items?since=9&page=1": again, "/items?since=9&page=2": again], pages: 2, in: bench)
    let record = try await bench.sync(resources, after: 1)
    #expect(record.outcome == .published && record.changed == 1)
    #expect(bench.shelf.asked().count == 6)
    #expect(try await bench.facts(resources).resources.map(\.proof) == ["weak"])
  }
}
