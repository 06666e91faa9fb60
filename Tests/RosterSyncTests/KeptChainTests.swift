import FoundationEssentials
import RosterCache
import RosterCore
import Synchronization
import Testing

/// What a sync keeps of a chain, and what it requests of it again.
struct KeptChainTests {
  private static let cursor = Resource.Style.cursor(param: .query("page"), at: .body(at("next")))
  private static let chains: [Resource.Style] = [
    cursor, .cursor(param: .everyMember, at: .body(at("on"))), .next(at: .body(at("address"))),
  ]

  private static func thing(_ style: Resource.Style, isCounted: Bool = false) -> Resource {
    var thing = listed("thing")
    thing.pages = .init(style, count: isCounted ? .body(at("info", "count")) : nil)
    return thing
  }

  /// A sync of five pages has failed on page 4.
  private func interrupted(_ thing: Resource, hasValidators: Bool = false) async throws -> SyncBench {
    let bench = try SyncBench(["/thing": records(1...10)])
    bench.shelf.update { state in
      (state.hasValidators, state.isCountedOnce) = (hasValidators, true)
      state.failing = ["/thing?page=4": 503]
    }
    #expect(try await bench.sync([thing]).outcome == .failed)
    #expect(bench.asked() == pages(1...4))
    bench.shelf.update { $0.failing = [:] }
    return bench
  }

  private func pages(_ numbers: ClosedRange<Int>) -> [String] {
    numbers.map { $0 == 1 ? "/thing" : "/thing?page=\($0)" }
  }

  @Test(
    "9, 40: a chain without validators goes on at the last kept page's link after its unchanged first page",
    arguments: chains, [false, true])
  func resumed(style: Resource.Style, isCounted: Bool) async throws {
    let thing = Self.thing(style, isCounted: isCounted)
    let bench = try await interrupted(thing)
    let record = try await bench.sync([thing])
    #expect(record.outcome == .published && record.records == 10 && record.resumed == 2)
    #expect(bench.asked() == pages(1...1) + pages(4...5))
    #expect(try bench.list("thing").count == 10)
    #expect(try await bench.facts([thing]).resources[0].proof == (isCounted ? "count" : "end"))
  }

  @Test("21, 40: published pages that an interrupted whole pull received unchanged are not requested again")
  func unchanged() async throws {
    var thing = Self.thing(Self.cursor)
    thing.since = Since(
      at: at("id"), param: .query("since"), form: .number, overlap: .number(1),
      listing: thing.listing)
    let bench = try SyncBench(["/thing": records(1...10)])
    bench.shelf.update { $0.hasValidators = false }
    _ = try await bench.sync([thing])
    bench.shelf.update { $0.failing = ["/thing?page=4": 503] }
    #expect(try await bench.sync([thing], after: 90_000).outcome == .failed)
    _ = bench.asked()
    bench.shelf.update { $0.failing = [:] }
    #expect(try await bench.sync([thing], after: 90_300).resumed == 2)
    #expect(bench.asked() == pages(1...1) + pages(4...5))
  }

  @Test("21, 51: pages whose content fails the sync are requested again")
  func useless() async throws {
    var thing = Self.thing(Self.cursor)
    thing.since = Since(
      at: at("when"), param: .query("since"), form: .number, overlap: .number(1),
      listing: thing.listing)
    let bench = try SyncBench(["/thing": records(1...4)])
    bench.shelf.update { $0.hasValidators = false }
    #expect(try await bench.sync([thing]).exit == 65)
    bench.shelf.update { $0.lists["/thing"] = [(1, #"{"id":1,"name":"a","when":3}"#)] }
    #expect(try await bench.sync([thing], after: 1).outcome == .published)
    #expect(bench.asked() == pages(1...2) + pages(1...1))
  }

  @Test("5, 51: pages of which no record can be stored are requested again")
  func unstorable() async throws {
    let thing = Self.thing(Self.cursor)
    let bench = try SyncBench(["/thing": [(1, #"{"id":"x","name":"a"}"#)]])
    bench.shelf.update { $0.hasValidators = false }
    #expect(try await bench.sync([thing]).exit == 65)
    bench.shelf.update { $0.lists["/thing"] = records(1...2) }
    #expect(try await bench.sync([thing], after: 1).outcome == .published)
  }

  @Test("19: after a redirect a relative link is relative to the page that answered")
  func redirected() async throws {
    var thing = listed("thing")
    thing.pages = .init(.link)
    let bench = try SyncBench([:])
    bench.shelf.answer { _, target in
      let isFirst = target == "/thing"
      guard isFirst || target == "/v2/things/page2" else { return Response(status: 404) }
      var response = Response(
        status: 200, headers: isFirst ? [.init("Link", #"<page2>; rel="next""#)] : [],
        body: Array(#"{"results":[{"id":\#(isFirst ? 1 : 2),"name":"a"}]}"#.utf8))
      if isFirst { response.redirectedTo = Shelf.baseURL + "/v2/things/" }
      return response
    }
    #expect(try await bench.sync([thing]).records == 2)
    #expect(bench.asked() == ["/thing", "/v2/things/page2"])
  }

  @Test("40: a chain whose first page changed since it was interrupted begins again")
  func changedFirst() async throws {
    let thing = Self.thing(Self.cursor)
    let bench = try await interrupted(thing)
    // A new record has moved each of the others by one place.
    bench.shelf.update { $0.lists["/thing"]?.insert((11, #"{"id":11,"name":"new"}"#), at: 0) }
    #expect(try await bench.sync([thing]).records == 11)
    #expect(bench.asked() == pages(1...6))
  }

  @Test("9, 40: of a chain that an interrupted sync pulled to its end only the first page is requested")
  func whole() async throws {
    let (thing, other) = (Self.thing(Self.cursor), listed("other"))
    let bench = try SyncBench(["/thing": records(1...4), "/other": records(1...4)])
    bench.shelf.update { state in
      state.hasValidators = false
      state.failing = ["/other?page=2": 400]
    }
    #expect(try await bench.sync([thing, other]).outcome == .failed)
    bench.shelf.update { $0.failing = [:] }
    _ = bench.asked()
    #expect(try await bench.sync([thing, other]).records == 8)
    #expect(bench.asked().sorted() == ["/other?page=1", "/other?page=2", "/thing"])
  }

  @Test(
    "40: if the address of the last kept page's link is forgotten, the list begins again",
    arguments: [400, 404, 410])
  func forgotten(status: Int) async throws {
    let thing = Self.thing(Self.cursor)
    let bench = try await interrupted(thing)
    bench.shelf.update { state in
      state.failing = ["/thing?page=4": status]
      state.failsOnce = true
    }
    #expect(try await bench.sync([thing]).outcome == .published)
    #expect(bench.asked() == pages(1...1) + pages(4...4) + pages(1...5))
  }

  @Test(
    "40: a final failure of the last kept page's link begins the list again, once",
    arguments: [403, 409, 412, 422, 500, 200], [false, true])
  func failed(status: Int, isLasting: Bool) async throws {
    let thing = Self.thing(Self.cursor)
    let bench = try await interrupted(thing)
    let refusals = Mutex(isLasting ? Int.max : 1)
    bench.shelf.update { state in
      state.answers = { request in
        guard request.url.hasSuffix("page=4") else { return nil }
        let isRefused = refusals.withLock { left in
          defer { left -= 1 }
          return left > 0
        }
        return isRefused ? Response(status: status, body: Array(#"{"ok":false,"error":"invalid_cursor"}"#.utf8)) : nil
      }
    }
    #expect(try await bench.sync([thing]).exit == (isLasting ? status == 500 ? 69 : 65 : 0))
    #expect(bench.asked() == pages(1...1) + pages(4...4) + pages(1...(isLasting ? 4 : 5)))
  }

  @Test(
    "40: an upstream that is out of reach has not forgotten the link", arguments: [502, 503, 504, 429, 401])
  func outOfReach(status: Int) async throws {
    let thing = Self.thing(Self.cursor)
    let bench = try await interrupted(thing)
    bench.shelf.update { $0.failing = ["/thing?page=4": status] }
    #expect(try await bench.sync([thing]).outcome == .failed)
    bench.shelf.update { $0.failing = [:] }
    #expect(bench.asked() == pages(1...1) + pages(4...4))
    bench.shelf.update { $0.now += 300 }
    #expect(try await bench.sync([thing]).resumed == 2)
  }

  @Test("40: a failure after a confirmed page says nothing about the link")
  func confirmed() async throws {
    let thing = Self.thing(Self.cursor)
    let bench = try await interrupted(thing, hasValidators: true)
    bench.shelf.update { $0.failing = ["/thing?page=4": 403] }
    #expect(try await bench.sync([thing]).exit == 65)
    #expect(bench.asked() == pages(1...4))
  }

  @Test("40: pages of a chain that are older than 15 min are requested again, page 1 first")
  func old() async throws {
    let thing = Self.thing(Self.cursor)
    let bench = try await interrupted(thing)
    bench.shelf.update { $0.now += 901 }
    #expect(try await bench.sync([thing]).resumed == 0)
    #expect(bench.asked() == pages(1...5))
  }

  @Test("40: a kept page of a chain with a validator is requested conditionally")
  func conditional() async throws {
    let thing = Self.thing(Self.cursor)
    let bench = try await interrupted(thing, hasValidators: true)
    #expect(try await bench.sync([thing]).resumed == 3)
    let asked = bench.shelf.asked()
    #expect(asked.map(\.target) == pages(1...5) && asked.map(\.status) == [304, 304, 304, 200, 200])
  }

  @Test("51: a guarded page of a chain without a validator is requested again")
  func guarded() async throws {
    let thing = Self.thing(Self.cursor)
    var bench = try SyncBench(["/thing": records(1...10)])
    bench.maxRemoval = 0
    bench.shelf.update { $0.hasValidators = false }
    _ = try await bench.sync([thing])
    bench.shelf.update { $0.lists["/thing"] = records(1...4) }
    // With `twice` the second sync that misses them would remove them.
    _ = try await bench.sync([thing])
    #expect(try await bench.sync([thing]).exit == 65)
    _ = bench.asked()
    #expect(try await bench.sync([thing]).exit == 65)
    #expect(bench.asked() == pages(1...2))
  }

  @Test("17: a count that only the first page has proves a chain, also if that page is unchanged (304)")
  func countedOnce() async throws {
    let thing = Self.thing(Self.cursor, isCounted: true)
    let bench = try SyncBench(["/thing": records(1...10)])
    bench.shelf.update { $0.isCountedOnce = true }
    #expect(try await bench.sync([thing]).outcome == .published)
    bench.shelf.update { $0.lists["/thing"]?[9].record = #"{"id":10,"name":"other"}"# }
    let second = try await bench.sync([thing])
    #expect(second.changed == 1 && second.notModified == 4)
    #expect(try await bench.facts([thing]).resources[0].proof == "count")
  }
}
