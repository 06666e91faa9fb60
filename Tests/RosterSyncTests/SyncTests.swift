import RosterCache
import RosterCore
import Synchronization
import Testing

/// What a sync promises of several resources at once, over the real cache.
struct SyncTests {
  private static let asking = listed("ask", removal: .ask)
  private static let twice = listed("twice", removal: .twice)
  private static let never = listed("never", removal: .never)
  private static let three = [asking, twice, never]

  private func bench(_ keys: ClosedRange<Int> = 1...10) throws -> SyncBench {
    try SyncBench(["/ask": records(keys), "/twice": records(keys), "/never": records(keys)])
  }

  private func counts(_ record: SyncRecord) -> [Int] { [record.added, record.changed, record.removed, record.records] }

  @Test("1: three resources are one snapshot; if one fails, none is published and pulled pages are kept")
  func allOrNone() async throws {
    let bench = try bench()
    let first = try await bench.sync(Self.three)
    #expect(first.outcome == .published && counts(first) == [30, 0, 0, 30] && first.pages == 15)
    bench.shelf.update { state in
      for path in state.lists.keys { state.lists[path] = records(1...10, mark: "!") }
      state.failing = ["/never?page=3": 400]
    }
    _ = bench.asked()
    let failed = try await bench.sync(Self.three)
    #expect(failed.outcome == .failed && failed.exit == 65)
    for name in ["ask", "twice", "never"] {
      #expect(try bench.list(name).allSatisfy { !$0.contains("!") })
      #expect(try bench.history(name, key: 1).isEmpty)
    }
    let came = bench.shelf.asked().filter { $0.status == 200 }.map(\.target)
    bench.shelf.update { $0.failing = [:] }
    let second = try await bench.sync(Self.three)
    #expect(second.outcome == .published && counts(second) == [0, 30, 0, 30])
    // Pages that arrived before the failure are not transferred again.
    let again = bench.shelf.asked()
    #expect(again.filter { $0.status == 200 }.map(\.target).allSatisfy { !came.contains($0) })
    #expect(second.resumed == came.count && again.count == 15)
    for name in ["ask", "twice", "never"] {
      #expect(try bench.list(name).allSatisfy { $0.contains("!") })
      #expect(try bench.history(name, key: 1) == [.changed])
    }
    let facts = try await bench.facts(Self.three)
    #expect(facts.resources.map(\.records) == [10, 10, 10] && facts.resources.allSatisfy { $0.proof == "count" })
    // Each resource by itself.
    bench.shelf.update { $0.lists["/twice"]?[0].record = #"{"id":1,"name":"other"}"# }
    let third = try await bench.sync(Self.three)
    #expect(counts(third) == [0, 1, 0, 30] && third.notModified == 14)
  }

  @Test("18: a whole pull of a chain says how many records have the key of another one")
  func duplicateKeys() async throws {
    let bench = try SyncBench(["/chain": records([1, 2, 1, 3, 2, 1])])
    var chain = listed("chain")
    chain.pages = .init(.cursor(param: .query("page"), at: .body(at("next"))))
    #expect(try await bench.sync([chain]).outcome == .published)
    let line = """
      notice 3 records have the key of another one, and the last one of each key counts: \
      if they are different records, correct key of [resource.chain]
      """
    #expect(bench.logged().filter { $0.contains("the key of another") } == [line])
    bench.shelf.update { $0.lists["/chain"] = records([1, 2, 3]) }
    #expect(try await bench.sync([chain]).outcome == .unchanged)
    #expect(bench.logged().filter { $0.contains("the key of another") }.isEmpty)
  }

  @Test("41: a stop interrupts the comparison, and the next sync transfers nothing again")
  func stopWhileComparing() async throws {
    var bench = try SyncBench(["/twice": records(1...200)])
    #expect(try await bench.sync([Self.twice]).outcome == .published)
    bench.shelf.update { $0.lists["/twice"] = records(1...200, mark: "!") }
    let running = Mutex<Task<SyncRecord, any Error>?>(nil)
    let isComparing = Mutex(false)
    let signs = Mutex(0)
    bench.onPhase = { phase in isComparing.withLock { $0 = phase == .verifying } }
    bench.tick = {
      guard isComparing.withLock({ $0 }) else { return }
      signs.withLock { $0 += 1 }
      running.withLock { $0 }?.cancel()
    }
    let task = running.withLock { [bench] running in
      let task = Task { try await bench.sync([Self.twice]) }
      running = task
      return task
    }
    let stopped = try await task.value
    #expect(stopped.outcome == .cancelled && stopped.exit == 1)
    // Without an interruption there are two signs for each of the 100 pages: one for the published page, one for the
    // pulled page.
    #expect(signs.withLock { $0 } < 5)
    (bench.tick, bench.onPhase) = ({}, { _ in })
    let next = try await bench.sync([Self.twice])
    #expect(next.outcome == .published && next.changed == 200 && next.resumed == 100)
  }

  @Test("1: characters, locations and episodes with their lists are one snapshot, and each change is in the feed")
  func rickAndMorty() async throws {
    func lists(_ mark: String) -> [String: [(key: Int, record: String)]] {
      func all(_ count: Int, rest: String) -> [(key: Int, record: String)] {
        (1...count).map { ($0, #"{"id":\#($0),"name":"n\#($0)\#(mark)",\#(rest),"url":"u","created":"c"}"#) }
      }
      return [
        "/character": all(5, rest: #""status":"Alive","origin":{"name":"o","url":""},"episode":["e/1","e/2"]"#),
        "/location": all(3, rest: #""type":"Planet","dimension":"C-137","residents":["c/1"]"#),
        "/episode": all(2, rest: #""air_date":"2013","episode":"S01E01","characters":["c/1","c/2"]"#),
      ]
    }
    let resources: [Resource] = [.character, .location, .episode]
    let bench = try SyncBench(lists(""))
    let first = try await bench.sync(resources)
    #expect(first.outcome == .published && counts(first) == [10, 0, 0, 10] && first.pages == 6)
    #expect(try bench.list("location")[0].contains(#""residents":["c/1"]"#))
    bench.shelf.update { $0.lists = lists("!") }
    let second = try await bench.sync(resources)
    #expect(counts(second) == [0, 10, 0, 10])
    for name in resources.map(\.name) { #expect(try bench.history(name, key: 2) == [.changed]) }
    let facts = try await bench.facts(resources)
    #expect(facts.resources.map(\.records) == [5, 2, 3] && facts.resources.map(\.pages) == [3, 1, 2])
    #expect(facts.snapshot == 2 && facts.records == 10 && facts.pages == 6)
  }

  @Test("11: a missing record is asked for, waited for, or stays, by each resource's own rule")
  func removal() async throws {
    let bench = try bench()
    _ = try await bench.sync(Self.three)
    bench.shelf.update { state in
      for path in state.lists.keys { state.lists[path] = records(1...8) }
      state.lists["hidden /ask"] = records([9], mark: "?")
    }
    _ = bench.asked()
    let first = try await bench.sync(Self.three)
    #expect(first.outcome == .published && counts(first) == [0, 1, 1, 29])
    #expect(bench.asked().filter { !$0.contains("?") } == ["/ask/9,10", "/ask/10,9"])
    var facts = try await bench.facts(Self.three)
    #expect(facts.resources.map(\.name) == ["ask", "never", "twice"])
    #expect(facts.resources.map(\.absent) == [0, 2, 2] && facts.resources.map(\.records) == [9, 10, 10])
    #expect(facts.resources.map(\.records).reduce(0, +) == facts.records)

    let second = try await bench.sync(Self.three)
    #expect(second.outcome == .published && counts(second) == [0, 0, 2, 27])
    #expect(try bench.history("twice", key: 9) == [.removed] && bench.history("never", key: 9).isEmpty)
    facts = try await bench.facts(Self.three)
    #expect(facts.resources.map(\.absent) == [0, 2, 0] && facts.resources.map(\.records) == [9, 10, 8])
    #expect(try await bench.sync(Self.three).outcome == .unchanged)
  }

  @Test("11: a record that is seen again before it was absent twice starts over")
  func seenAgain() async throws {
    let bench = try bench()
    let resources = [Self.twice]
    _ = try await bench.sync(resources)
    for keys in [1...9, 1...10, 1...9] {
      bench.shelf.update { $0.lists["/twice"] = records(keys) }
      #expect(try await bench.sync(resources).removed == 0)
    }
    #expect(try await bench.sync(resources).removed == 1)
  }

  @Test("1, 12: with `twice` the guard counts the removals of this sync; one guarded resource holds back all")
  func guarded() async throws {
    let bench = try bench()
    let resources = [Self.twice, Self.never]
    _ = try await bench.sync(resources)
    bench.shelf.update { state in
      state.lists["/twice"] = records(1...5)
      state.lists["/never"] = records(1...1, mark: "!")
    }
    // Half of one, and nine tenths of the other: none would go now.
    let absent = try await bench.sync(resources)
    #expect(absent.outcome == .published && counts(absent) == [0, 1, 0, 20])
    bench.shelf.update { $0.lists["/never"] = records(1...1, mark: "!!") }
    let held = try await bench.sync(resources)
    #expect(held.outcome == .failed && held.exit == 65)
    #expect(held.error?.contains("upstream lacks 5 of 10 records of twice, more than max_removal (20%)") == true)
    #expect(try bench.list("never")[0].contains("1!\""))
    let allowed = try await bench.sync(resources, allowRemoval: true)
    #expect(counts(allowed) == [0, 1, 5, 15])
  }

  @Test(
    "11: the first sync by another path, key, records or where has no guard and asks for no key; the next has both",
    arguments: [Resource.Removal.ask, .twice])
  func anotherList(removal: Resource.Removal) async throws {
    let bench = try SyncBench(["/ask": records(1...10), "/other": records(9...14), "/ask/other": records(9...14)])
    let first = listed("ask", removal: removal)
    _ = try await bench.sync([first])
    let second = listed("ask", path: "/other", removal: removal)
    // One that fails is not the first.
    bench.shelf.update { $0.failing = ["/other?page=2": 400] }
    #expect(try await bench.sync([second]).outcome == .failed)
    bench.shelf.update { $0.failing = [:] }
    _ = bench.asked()
    let moved = try await bench.sync([second])
    #expect(moved.outcome == .published && counts(moved) == [4, 0, 8, 6])
    #expect(bench.shelf.asked().allSatisfy { $0.target.hasPrefix("/other") })
    bench.shelf.update { $0.lists["/other"] = records(9...12) }
    let next = try await bench.sync([second])
    #expect(removal == .ask ? next.exit == 65 : next.removed == 0)
  }

  @Test(
    "9: two resources of one list request each page once, also without news, with and without validators",
    arguments: [true, false])
  func shared(hasValidators: Bool) async throws {
    let odd = at("odd")
    let all = (1...7).map { key in
      (key: key, record: #"{"id":\#(key),"name":"n\#(key)"\#(key % 2 == 1 ? #","odd":true"# : "")}"#)
    }
    let resources = [
      listed("issue", path: "/issues", where: [.init(odd, .absent)]),
      listed("pull", path: "/issues", where: [.init(odd, .present)]),
    ]
    let bench = try SyncBench(["/issues": all])
    bench.shelf.update { $0.hasValidators = hasValidators }
    let first = try await bench.sync(resources)
    #expect(first.outcome == .published && first.records == 7 && first.skipped == 7)
    #expect(bench.asked().sorted() == (1...4).map { "/issues?page=\($0)" })
    #expect(try bench.list("issue").count == 3 && bench.list("pull").count == 4)
    let second = try await bench.sync(resources)
    #expect(second.outcome == .unchanged && second.skipped == 7)
    let asked = bench.shelf.asked()
    #expect(asked.count == 4 && asked.allSatisfy { $0.status == (hasValidators ? 304 : 200) })
    // One record goes from one to the other.
    bench.shelf.update { $0.lists["/issues"]?[1].record = #"{"id":2,"name":"n2","odd":true}"# }
    let third = try await bench.sync(resources)
    #expect(third.outcome == .published && third.added == 1 && third.removed == 0)
    #expect(bench.shelf.asked().count == 4)
    bench.shelf.update { $0.lists["/issues"]?[1].record = #"{"id":2,"name":"n2","odd":false}"# }
    _ = try await bench.sync(resources, allowRemoval: true)
    #expect(try bench.history("issue", key: 2) == [.removed] && bench.history("pull", key: 2) == [.added, .changed])
  }
}
