import FoundationEssentials
import RosterCore
import RosterDecode
import Synchronization
import Testing

@testable import RosterSync

/// Whole syncs from an upstream whose validators do not change with the records.
struct ValidatorLieTests {
  private static let day = 86_400.0

  /// A resource each of whose pages is audited once a day.
  private static func audited(_ name: String, path: String? = nil, every: Duration? = .seconds(86_400)) -> Resource {
    var resource = listed(name, path: path, removal: .never)
    resource.auditEvery = every
    resource.pages.count = nil
    return resource
  }

  private func bench(_ change: (inout Shelf.State) -> Void = { _ in }) throws -> SyncBench {
    let bench = try SyncBench(["/a": records(1...8), "/b": records(1...8)])
    bench.shelf.update { $0.fixedTag = "fixed" }
    bench.shelf.update(change)
    return bench
  }

  @Test("20: in each period every page is transferred once, and otherwise answered 304")
  func periods() async throws {
    let bench = try bench()
    let resources = [Self.audited("a")]
    _ = try await bench.sync(resources)
    _ = bench.asked()
    for day in 0..<3 {
      var audited: [String] = []
      for part in 1...8 {
        let time = (Double(day) + Double(part) / 8) * Self.day
        #expect(try await bench.sync(resources, after: time).outcome == .unchanged)
        let asked = bench.shelf.asked()
        #expect(asked.count == 4)
        audited += asked.filter { $0.status == 200 }.map(\.target)
      }
      #expect(audited.sorted() == (1...4).map { "/a?page=\($0)" })
    }
  }

  @Test("20: pages that only the body of a POST tells apart have moments of their own")
  func periodsOfPost() async throws {
    let bench = try SyncBench([:])
    bench.shelf.answer { request, _ in
      let page = (try? JSONValue(json: request.body))?["page"].flatMap { Int($0.queryText) } ?? 0
      return Response(json: page <= 40 ? #"[{"id":\#(page)}]"# : "[]", tag: "\"fixed\"", to: request)
    }
    var resource = Self.audited("a")
    (resource.method, resource.records) = (.post, JSONPointer(segments: []))
    resource.pages = .init(.number(param: .body(at("page"))))
    _ = try await bench.sync([resource])
    var transferred: [Int] = []
    for part in 1...8 {
      _ = bench.asked()
      _ = try await bench.sync([resource], after: Double(part) / 8 * Self.day)
      transferred.append(bench.shelf.asked().count { $0.status == 200 })
    }
    #expect(transferred.reduce(0, +) == 41)
    #expect(transferred.allSatisfy { $0 < 20 }, "\(transferred)")
  }

  @Test("9: pages whose total in a header is new are transferred once, although their bodies are the same")
  func headerTotal() async throws {
    let bench = try SyncBench([:])
    let total = Mutex(5)
    bench.shelf.answer { request, _ in
      let (page, total) = (Int(request.url.split(separator: "=")[1]) ?? 1, total.withLock { $0 })
      let records = (2 * page - 1...2 * page).filter { $0 <= total }.map { #"{"id":\#($0)}"# }
      return Response(
        json: "[\(records.joined(separator: ","))]", headers: [.init("X-Total-Count", "\(total)")],
        tag: "\"\(page)-\(records.count)\"", to: request)
    }
    var resource = listed("a", removal: .never)
    resource.records = JSONPointer(segments: [])
    resource.pages = .init(.number(), count: .header("X-Total-Count"))
    // After six records, whose last page is full, each sync requests the page after it.
    for (records, transferred) in [(5, 3), (5, 0), (6, 4), (6, 1), (6, 1)] {
      total.withLock { $0 = records }
      _ = bench.asked()
      _ = try await bench.sync([resource], after: 60)
      let statuses = bench.shelf.asked().map(\.status)
      #expect(statuses.filter { $0 == 200 }.count == transferred, "\(records): \(statuses)")
      #expect(try bench.ask("SELECT count(*) FROM \"as\"") == ["\(records)"])
    }
  }

  @Test(
    "20, 47: a lie is found, everything is pulled whole in the same sync, and the state is degraded",
    arguments: ["ETag", "Last-Modified"])
  func lie(header: String) async throws {
    let bench = try bench { if header == "Last-Modified" { $0.fixedTime = "Sun, 15 Jun 2025 10:00:00 GMT" } }
    let resources = [Self.audited("a"), Self.audited("b")]
    _ = try await bench.sync(resources)
    bench.shelf.update { $0.lists["/a"] = records(1...8, mark: "!") }
    _ = bench.reported()
    _ = bench.asked()
    let found = try await bench.sync(resources, after: Self.day + 1)
    #expect(found.outcome == .published && found.changed == 8 && found.exit == 0)
    #expect(found.error?.contains("the same \(header) again for other records of a on page ") == true)
    #expect(found.error?.contains("http://shelf.test/a?page=") == true)
    #expect(found.trouble?.kind == .validators && found.isDegraded)
    let events = bench.reported().filter { $0.name == .validatorsDistrusted }
    #expect(events.map(\.resource) == ["a"])
    #expect(events.map(\.reason) == [header == "ETag" ? "etag" : "last_modified"])
    #expect(bench.shelf.asked().filter { $0.target.hasPrefix("/a") }.suffix(4).allSatisfy { $0.status == 200 })
    #expect(try bench.list("a").allSatisfy { $0.contains("!") })

    var facts = try await bench.facts(resources)
    #expect(facts.resources.map(\.validators) == ["distrusted", "trusted"])
    #expect(facts.resources[0].distrustedSince == "2025-06-16T15:06:41.000Z")
    #expect(facts.resources[1].distrustedSince == nil)

    // Neither sent nor stored, restarts included; an equal body is unchanged all the same.
    bench.shelf.update { $0.lists["/a"] = records(1...8, mark: "!!") }
    #expect(try await bench.sync(resources, after: Self.day + 2).changed == 8)
    _ = bench.asked()
    let next = try await bench.sync(resources, after: Self.day + 3)
    #expect(next.outcome == .unchanged && next.error == nil)
    let asked = bench.shelf.asked()
    #expect(asked.filter { $0.target.hasPrefix("/a") }.allSatisfy { $0.status == 200 })
    #expect(asked.filter { $0.target.hasPrefix("/b") && $0.status == 304 }.count == 4)

    // Trust returns with a fresh sync that is published.
    bench.shelf.update { $0.failing = ["/b?page=4": 400] }
    #expect(try await bench.sync(resources, isFresh: true, after: Self.day + 4).outcome == .failed)
    facts = try await bench.facts(resources)
    #expect(facts.resources[0].validators == "distrusted")
    bench.shelf.update { $0.failing = [:] }
    #expect(try await bench.sync(resources, isFresh: true, after: Self.day + 5).exit == 0)
    facts = try await bench.facts(resources)
    #expect(facts.resources[0].validators == "trusted" && facts.resources[0].distrustedSince == nil)
    _ = bench.asked()
    _ = try await bench.sync(resources, after: Self.day + 6)
    #expect(bench.shelf.asked().filter { $0.target.hasPrefix("/a") && $0.status == 304 }.count == 4)
  }

  @Test("20: resources with the same addresses are distrusted together")
  func shared() async throws {
    let bench = try bench()
    let resources = [Self.audited("one", path: "/a"), Self.audited("two", path: "/a")]
    _ = try await bench.sync(resources)
    bench.shelf.update { $0.lists["/a"] = records(1...8, mark: "!") }
    _ = try await bench.sync(resources, after: Self.day + 1)
    #expect(try await bench.facts(resources).resources.map(\.validators) == ["distrusted", "distrusted"])
    #expect(bench.reported().filter { $0.name == .validatorsDistrusted }.map(\.resource) == ["one", "two"])
  }

  @Test("20: a resource with the same address and another way to the next page is distrusted too")
  func sameAddress() async throws {
    let bench = try bench()
    var resources = [
      Self.audited("one", path: "/a", every: nil), Self.audited("two", path: "/a"), Self.audited("other", path: "/b"),
    ]
    for (index, style) in [Resource.Style.one, .link, .one].enumerated() {
      resources[index].pages = .init(style)
      // The total of the shelf is above the records of its first page.
      resources[index].answers.expect = [.init(at("info", "count"), .any)]
    }
    _ = try await bench.sync(resources)
    bench.shelf.update { $0.lists["/a"] = records(1...8, mark: "!") }
    let record = try await bench.sync(resources, after: Self.day + 1)
    #expect(record.changed == 4 && record.error?.contains("other records of two on page 1") == true)
    #expect(
      try bench.ask("SELECT name FROM resources WHERE validators = 'distrusted' ORDER BY name") == ["one", "two"])
    #expect(bench.reported().filter { $0.name == .validatorsDistrusted }.map(\.resource) == ["one", "two"])
    bench.shelf.update { $0.lists["/a"] = records(1...8, mark: "!!") }
    #expect(try await bench.sync(resources, after: Self.day + 2).changed == 4)
  }

  @Test("20: other bytes of a body are no lie if its records are the stored ones")
  func otherBytes() async throws {
    let bench = try bench()
    let resources = [Self.audited("a")]
    _ = try await bench.sync(resources)
    bench.shelf.update { $0.lists["/a"] = records(1...8).map { ($0.key, $0.record.replacing(",", with: ", ")) } }
    for sync in 1...4 {
      let record = try await bench.sync(resources, after: Double(sync) * Self.day)
      #expect(record.changed == 0 && record.error == nil)
    }
    #expect(try await bench.facts(resources).resources[0].validators == "trusted")
  }

  @Test("20: audit_every = \"never\" finds no lie; with an audit a deletion that the validator hides is found")
  func deletion() async throws {
    let never = [Self.audited("a", every: nil)]
    let bench = try bench()
    _ = try await bench.sync(never)
    bench.shelf.update { $0.lists["/a"] = records([1, 2, 3, 5, 6, 7, 8]) }
    for sync in 1...5 { #expect(try await bench.sync(never, after: Double(sync)).outcome == .unchanged) }
    var resource = Self.audited("a")
    resource.removal = .twice
    resource.maxRemoval = 100
    // Another removal is another definition, which transfers everything once: the list is restored for that.
    bench.shelf.update { $0.lists["/a"] = records(1...8) }
    _ = try await bench.sync([resource], after: 6 * Self.day)
    bench.shelf.update { $0.lists["/a"] = records([1, 2, 3, 5, 6, 7, 8]) }
    var removed = 0
    for sync in 7...12 { removed += try await bench.sync([resource], after: Double(sync) * Self.day).removed }
    #expect(removed == 1)
    #expect(try bench.list("a").count == 7)
  }

  @Test("2, 20: a lie that a failed sync found is remembered, and that sync changes nothing for readers")
  func remembered() async throws {
    let bench = try bench()
    let resources = [Self.audited("a")]
    _ = try await bench.sync(resources)
    let start = try #require(try bench.ask("SELECT started_at FROM syncs").first.flatMap { Date(rfc3339: $0) })
    let digest = try bench.digest()
    /// Seconds until the page is audited.
    func moment(_ page: Int) -> Int {
      (1...86_400).first { seconds in
        let now = start.addingTimeInterval(Double(seconds))
        return AuditSchedule(period: .seconds(86_400), last: start, now: now).isDue("/a?page=\(page)", digest: digest)
      } ?? 0
    }
    let moments = (1...4).map { (page: $0, seconds: moment($0)) }.sorted { $0.seconds < $1.seconds }
    let (time, failing) = (moments[0].seconds, moments[3].page)
    #expect(moments[3].seconds > time)
    bench.shelf.update { state in
      state.lists["/a"] = records(1...8, mark: "!")
      // The audit asks for another page, and the second pull for all.
      state.failingUnconditional = ["/a?page=\(failing)": 400]
    }
    _ = bench.reported()
    #expect(try await bench.sync(resources, after: Double(time)).outcome == .failed)
    #expect(bench.reported().contains { $0.name == .validatorsDistrusted })
    #expect(try await bench.facts(resources).resources[0].validators == "trusted")
    #expect(try bench.list("a").allSatisfy { !$0.contains("!") })
    bench.shelf.update { $0.failingUnconditional = [:] }
    _ = bench.asked()
    #expect(try await bench.sync(resources, after: Double(time) + 1).changed == 8)
    // Nothing was found again: the validators were not used.
    #expect(!bench.reported().contains { $0.name == .validatorsDistrusted })
    #expect(bench.shelf.asked().allSatisfy { $0.status == 200 })
    #expect(try await bench.facts(resources).resources[0].validators == "distrusted")
  }

  @Test("20: a fresh sync sends no validator and uses no kept page, and the next ordinary sync resumes it")
  func fresh() async throws {
    let bench = try SyncBench(["/a": records(1...8)])
    let resources = [Self.audited("a", every: nil)]
    _ = try await bench.sync(resources)
    _ = bench.asked()
    #expect(try await bench.sync(resources, isFresh: true).outcome == .unchanged)
    #expect(bench.shelf.asked().map(\.status) == [200, 200, 200, 200])
    bench.shelf.update { $0.failing = ["/a?page=4": 400] }
    #expect(try await bench.sync(resources, isFresh: true).outcome == .failed)
    let received = bench.shelf.asked().filter { $0.status == 200 }.count
    bench.shelf.update { $0.failing = [:] }
    // A fresh sync uses none of what the interrupted one kept, and an ordinary one uses all of it.
    let resumed = try await bench.sync(resources)
    #expect(resumed.resumed == received && received > 0)
    #expect(bench.shelf.asked().filter { $0.status == 200 }.isEmpty)
  }
}
