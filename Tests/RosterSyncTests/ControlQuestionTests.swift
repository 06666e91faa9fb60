import RosterCache
import RosterCore
import RosterFetch
import Testing

@testable import RosterSync

/// What a sync asks `by_key` before it removes records that `by_key` does not find.
struct ControlQuestionTests {
  private static let asking = listed("ask", removal: .ask)

  /// The same, where by_key answers for one key at a time.
  private static let askingSingly: Resource = {
    var resource = asking
    resource.byKey = "/ask/{key}"
    return resource
  }()

  /// A bench whose list has lost its last records.
  private func bench(of count: Int = 10, lost: Int = 2, _ resource: Resource = asking) async throws -> SyncBench {
    let bench = try SyncBench(["/ask": records(1...count)])
    _ = try await bench.sync([resource])
    bench.shelf.update { $0.lists["/ask"] = records(1...(count - lost)) }
    _ = bench.asked()
    return bench
  }

  private func askedByKey(_ bench: SyncBench) -> [String] {
    bench.asked().filter { !$0.contains("?") }
  }

  @Test("11, 13: an answer whose key has another normalization is not the record, and removes nothing")
  func normalized() async throws {
    var resource = Self.asking
    resource.columns[0] = .init("id", at: at("id"))
    (resource.pages, resource.byKey) = (.init(.one), "/ask/{key}")
    let bench = try SyncBench([:])
    func answer(_ keys: [String]) {
      @Sendable func json(_ key: String) -> String { #"{"id":"\#(key)","name":""}"# }
      bench.shelf.answer { _, target in
        if target == "/ask/a" { return Response(status: 404) }
        return Response(
          json: target == "/ask" ? #"{"results":[\#(keys.map(json).joined(separator: ","))]}"# : json(#"\u00e9"#))
      }
    }
    answer([#"e\u0301"#, "a", "b", "c"])
    _ = try await bench.sync([resource])
    answer(["a", "b", "c"])
    let record = try await bench.sync([resource], allowRemoval: true)
    #expect(record.removed == 0 && record.isDegraded)
  }

  @Test(
    "11: a text key that by_key writes as a number is that key, so that a 404 removes its record",
    arguments: [false, true])
  func numberForText(asksMany: Bool) async throws {
    var resource = Self.asking
    resource.columns[0] = .init("id", at: at("id"))
    (resource.pages, resource.byKey) = (.init(.one), asksMany ? "/ask/{keys}" : "/ask/{key}")
    let bench = try SyncBench([:])
    func serve(_ keys: [Int], kept: Int) {
      bench.shelf.answer { _, target in
        func json(_ key: String) -> String { #"{"id":\#(key),"name":"n"}"# }
        if target == "/ask" {
          return Response(json: #"{"results":[\#(keys.map { json("\"\($0)\"") }.joined(separator: ","))]}"#)
        }
        let asked = target.split(separator: "/").last.map { $0.replacing("%2C", with: ",").split(separator: ",") } ?? []
        let found = asked.filter { keys.contains(Int($0) ?? 0) || Int($0) == kept }.map { json(String($0)) }
        if asksMany, asked.count > 1 { return Response(json: "[\(found.joined(separator: ","))]") }
        return found.first.map { Response(json: $0) } ?? Response(status: 404)
      }
    }
    serve([1, 2, 3, 4], kept: 0)
    _ = try await bench.sync([resource])
    // The list lacks 3 and 4, and by_key still has 4.
    serve([1, 2], kept: 4)
    let record = try await bench.sync([resource], allowRemoval: true)
    #expect(record.removed == 1 && record.error == nil, "\(record)")
    #expect(try bench.ask("SELECT id FROM asks ORDER BY id") == ["1", "2", "4"])
  }

  @Test("13: a by_key that answers with another normalization of every key finds nothing, and removes nothing")
  func normalizedControl() async throws {
    var resource = Self.asking
    resource.columns[0] = .init("id", at: at("id"))
    resource.pages = .init(.one)
    let bench = try SyncBench([:])
    func answer(_ count: Int) {
      @Sendable func list(_ letter: String, _ numbers: [Int]) -> String {
        "[\(numbers.map { #"{"id":"\#(letter)\#($0)","name":""}"# }.joined(separator: ","))]"
      }
      bench.shelf.answer { _, target in
        let asked = target.split(separator: ",").compactMap { $0.last.flatMap { Int(String($0)) } }
        let listed = #"{"results":\#(list(#"e\u0301"#, Array(1...count)))}"#
        return Response(json: target == "/ask" ? listed : list(#"\u00e9"#, asked))
      }
    }
    answer(6)
    _ = try await bench.sync([resource])
    answer(3)
    let record = try await bench.sync([resource], allowRemoval: true)
    #expect(record.removed == 0 && record.isDegraded && record.trouble?.kind == .wrongByKey)
  }

  /// The questions about two keys of which each is refused: with a key that is listed, and one by one.
  private static let refused = ["/ask/9,10", "/ask/9,10,8", "/ask/9,8", "/ask/10,8", "/ask/9", "/ask/10"]

  @Test(
    "13: a by_key that answers 404 for every key removes nothing and degrades the state", arguments: [1, 2])
  func wrongByKey(lost: Int) async throws {
    let bench = try await bench(lost: lost)
    bench.shelf.update { $0.failing = ["/ask/": 404] }
    let record = try await bench.sync([Self.asking])
    #expect(record.removed == 0 && record.exit == 0)
    #expect(askedByKey(bench) == (lost == 1 ? ["/ask/10", "/ask/9"] : Self.refused + ["/ask/7,8"]))
    #expect(
      record.error == "no ask was removed, because by_key does not find a ask that upstream lists "
        + "(http://shelf.test/ask/{keys}); correct by_key of [resource.ask]")
    let records = record.trouble?.concerned.filter { $0.kind == .record }.map(\.name)
    #expect(records == (lost == 1 ? ["9"] : ["7", "8"]))
    #expect(record.trouble?.kind == .wrongByKey)
    #expect(try bench.list("ask").count == 10)
    // The next sync has nothing new on any page, and asks for a key of an unchanged page.
    #expect(try await bench.sync([Self.asking]).removed == 0)
    #expect(askedByKey(bench).count == (lost == 1 ? 2 : Self.refused.count + 1))
    bench.shelf.update { $0.failing = [:] }
    let right = try await bench.sync([Self.asking])
    #expect(right.removed == lost && right.error == nil)
    #expect(askedByKey(bench).count == 2)
  }

  @Test("13: no control question is asked if by_key has found a key in this sync")
  func found() async throws {
    let bench = try await bench()
    bench.shelf.update { $0.lists["hidden /ask"] = records([9]) }
    #expect(try await bench.sync([Self.asking]).removed == 1)
    #expect(askedByKey(bench) == ["/ask/9,10", "/ask/10,9"])
  }

  @Test("13: no control question is asked if no key is left, and only --allow-removal removes")
  func empty() async throws {
    let bench = try await bench()
    bench.shelf.update { $0.lists["/ask"] = [] }
    #expect(try await bench.sync([Self.asking], allowRemoval: true).removed == 10)
    #expect(askedByKey(bench) == ["/ask/1,2,3,4,5,6,7,8,9,10"])
  }

  @Test("13: a by_key whose records are skipped by where removes nothing")
  func skipped() async throws {
    let isListed = Resource.Condition(at("listed"), .present)
    var resource = Self.asking
    resource.conditions = [isListed]
    let bench = try SyncBench(["/ask": listedRecords(1...10)])
    _ = try await bench.sync([resource])
    bench.shelf.update { state in
      state.lists["/ask"] = listedRecords(1...8)
      state.lists["answers /ask"] = records(1...10)
    }
    _ = bench.asked()
    let record = try await bench.sync([resource])
    #expect(record.removed == 0 && record.trouble?.kind == .wrongByKey)
    #expect(askedByKey(bench) == ["/ask/9,10", "/ask/7,8"])
  }

  @Test("11: a record that the cache has and that not now skips is removed after by_key")
  func skippedNow() async throws {
    var resource = Self.asking
    resource.conditions = [.init(at("listed"), .differs([.integer(0), .text("no")]))]
    let bench = try SyncBench(["/ask": listedRecords(1...10)])
    _ = try await bench.sync([resource])
    bench.shelf.update { state in
      state.lists["/ask"] = listedRecords(1...8)
      state.lists["hidden /ask"] = [(9, #"{"id":9,"name":"n","listed":0}"#), (10, #"{"id":10,"name":"n"}"#)]
    }
    let record = try await bench.sync([resource])
    #expect(record.removed == 1 && record.exit == 0)
    #expect(try bench.list("ask").count == 9)
  }

  @Test("13: a control question without an answer removes nothing, like any question without an answer")
  func noAnswer() async throws {
    let bench = try await bench()
    bench.shelf.update { $0.failing = ["/ask/7,8": 403] }
    let record = try await bench.sync([Self.asking])
    #expect(record.removed == 0 && record.trouble?.kind == .unasked)
    #expect(record.error?.contains("not all missing ones could be asked for") == true)
  }

  @Test(
    "11, 13: a key that cannot be asked for holds back only its own record",
    arguments: [403, 500])
  func oneUnanswered(_ status: Int) async throws {
    let resource = Self.askingSingly
    let bench = try await bench(of: 40, lost: 30, resource)
    bench.shelf.update { state in
      state.lists["hidden /ask"] = records(12...38, mark: "!")
      state.failing = ["/ask/11": status]
    }
    let record = try await bench.sync([resource], allowRemoval: true)
    #expect(record.changed == 27 && record.removed == 2 && record.trouble?.kind == .unasked)
    #expect(record.error?.hasPrefix("some ask records stay, because not all missing ones could be asked for") == true)
    bench.shelf.update { $0.failing = [:] }
    #expect(try await bench.sync([resource], allowRemoval: true).removed == 1)
  }

  @Test("13: after eight failures in a row no further key is asked for", arguments: [403, 500])
  func noneAnswered(_ status: Int) async throws {
    let bench = try await bench(of: 60, lost: 50, Self.askingSingly)
    bench.shelf.update { $0.failing = ["/ask/": status] }
    let record = try await bench.sync([Self.askingSingly], allowRemoval: true)
    #expect(record.removed == 0 && record.trouble?.kind == .unasked)
    #expect((8...12).contains(askedByKey(bench).count))
  }

  @Test("13: a by_key that answers 401 removes no record, and does not fail the sync")
  func refusedKeys() async throws {
    var bench = try await bench()
    bench.refusesTokens = true
    bench.shelf.update { $0.failing = ["/ask/": 401] }
    let record = try await bench.sync([Self.asking])
    #expect(record.exit == 0 && record.removed == 0, "\(record.error ?? "")")
  }

  @Test("13, 26: if the budget has no room for all questions, each sync removes what it could ask for")
  func budgetEnds() async throws {
    var bench = try await bench(of: 24, lost: 20, Self.askingSingly)
    bench.budget = RequestBudget(limit: 8, window: .seconds(60))
    bench.mostRequests = 8
    var syncs: [SyncRecord] = []
    for number in 1...12 where syncs.isEmpty || syncs.last?.error != nil {
      syncs.append(try await bench.sync([Self.askingSingly], allowRemoval: true, after: Double(number) * 61))
    }
    #expect(syncs.allSatisfy { $0.exit == 0 }, "\(syncs.map(\.error))")
    #expect(syncs.reduce(0) { $0 + $1.removed } == 20 && syncs.count < 8, "\(syncs.map(\.removed))")
    #expect(syncs.dropLast().allSatisfy { $0.trouble?.kind == .unasked })
    let removed = askedByKey(bench).filter { $0 != "/ask/3" }
    #expect(Set(removed).count == 20)
  }

  @Test("13, 26: no network ends the sync, and a used-up budget only ends the questions")
  func endsSync() {
    var failure = Failure(.unreachable, step: "ask", subject: "u", cause: "c").with(.budget, [])
    #expect(!failure.endsSync)
    failure.trouble = .noNetwork
    #expect(failure.endsSync)
    #expect(!Failure(.refused, step: "ask", subject: "u", cause: "c").endsSync)
  }

  @Test("13: keys with a comma or of dots are not chosen for a question for two keys")
  func chosenKeys() throws {
    var resource = Self.asking
    let several = try #require(KeyRequests(resource, baseURL: "http://up"))
    #expect(several.control(for: ["a,b", "c", "d", "e"], several: true)?.keys == ["c", "d"])
    #expect(several.control(for: ["a,b"], several: true)?.keys == ["a,b"])
    #expect(several.control(for: ["a", "b"], several: false)?.keys == ["a"])
    #expect(several.control(for: [], several: true) == nil)
    resource.byKey = "/ask/{key}"
    let single = try #require(KeyRequests(resource, baseURL: "http://up"))
    #expect(single.control(for: ["..", "b"], several: false)?.keys == ["b"])
    #expect(single.control(for: [".."], several: false) == nil)
  }

  private func listedRecords(_ keys: ClosedRange<Int>) -> [(key: Int, record: String)] {
    keys.map { ($0, #"{"id":\#($0),"name":"n","listed":1}"#) }
  }
}
