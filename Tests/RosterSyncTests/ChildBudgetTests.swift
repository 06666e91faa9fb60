import FoundationEssentials
import RosterCore
import RosterSync
import Testing

@testable import RosterCache

/// Pulls of many lists that `limit.budget` spreads over several windows.
struct ChildBudgetTests {
  /// Without `changed`, so that lists are kept by their age only.
  private static let resources = [Forest.document(), Forest.item(Each(of: "doc"))]

  private static func bench(_ count: Int, budget: Int) throws -> (SyncBench, Forest) {
    let documents = (1...count).map { ($0, Forest.Document(items: [1: .init()])) }
    var (bench, forest) = try Forest.bench(Dictionary(uniqueKeysWithValues: documents))
    bench.budget = RequestBudget(limit: budget, window: .seconds(3600))
    return (bench, forest)
  }

  @Test("40: a first pull of 300 parents over four budget windows transfers each page once, without changed")
  func windows() async throws {
    // 100 pages of documents and 300 lists.
    let (bench, forest) = try Self.bench(300, budget: 120)
    var exits: [Int32?] = []
    var seconds = 0.0
    repeat {
      exits.append(try await bench.sync(Self.resources, after: seconds).exit)
      seconds += 3601
    } while exits.last != 0 && exits.count < 6
    #expect(exits == [69, 69, 69, 0])
    let asked = bench.asked()
    let lists = asked.filter { $0.hasSuffix("/items") }
    #expect(lists.count == 300 && Set(lists).count == 300)
    // The first page of the documents is requested by each sync.
    #expect(asked.count - lists.count == 103)
    #expect(try bench.ask("SELECT count(*) FROM items") == ["300"])
    #expect(forest.documents.count == 300)
  }

  @Test("26, 55: the estimate of the next sync counts a pull of all lists as a usual one, if few are usually due")
  func estimate() async throws {
    let documents = (1...12).map { ($0, Forest.Document(items: [1: .init()])) }
    let (bench, forest) = try Forest.bench(Dictionary(uniqueKeysWithValues: documents))
    let changed = [Forest.document(), Forest.item()]
    func estimate() async throws -> Int? { try await bench.facts(changed).requests }
    // Four pages of documents, and twelve lists.
    #expect(try await bench.sync(changed).requests == 16)
    #expect(try await estimate() == 4)
    #expect(try await bench.sync(changed, after: 60).requests == 4)
    #expect(try await estimate() == 4)
    forest.update { state in for id in 1...2 { state.documents[id]?.revision = 2 } }
    #expect(try await bench.sync(changed, after: 120).requests == 6)
    #expect(try await estimate() == 6)
    #expect(try await bench.sync(changed, isFresh: true, after: 180).requests == 16)
    // A usual sync had no list, or two.
    #expect(try await estimate() == 5)
    #expect(try await bench.sync(Self.resources, after: 240).requests == 16)
    #expect(try await bench.facts(Self.resources).requests == 16)
  }

  @Test("40: the clock of upstream does not decide how long a list with since is kept", arguments: [-7200.0, 7200])
  func otherClock(ahead: Double) async throws {
    var item = Forest.changedItem
    item.each = Each(of: "doc")
    let (bench, _) = try Self.bench(30, budget: 25)
    #expect(try await bench.sync([Forest.document(), item], after: ahead).exit == 69)
    #expect(try await bench.sync([Forest.document(), item], after: ahead + 3601).exit == 0)
    let lists = bench.asked().filter { $0.contains("/items") }
    #expect(lists.count == 30 && Set(lists).count == 30)
  }

  @Test("40: a list is too old if requests were allowed for 15 min after it was pulled")
  func tooOld() async throws {
    let (bench, _) = try Self.bench(30, budget: 25)
    #expect(try await bench.sync(Self.resources).exit == 69)
    func lists() -> Set<String> { Set(bench.asked().filter { $0.hasSuffix("/items") }) }
    let first = lists()
    #expect(try await bench.sync(Self.resources, after: 3601 + 901).exit == 69)
    #expect(first.count == 15 && lists() == first)
  }

  @Test("40: time without requests does not count as age")
  func pauses() {
    let start = Date(timeIntervalSince1970: 1_000_000)
    var pauses = RequestPauses()
    #expect(pauses.earliest(age: .seconds(900), at: start) == start - 900)
    let areAdded = [pauses.add(from: start, until: start + 3600), pauses.add(from: start + 10, until: start + 3600)]
    #expect(areAdded == [true, false])
    #expect(pauses.earliest(age: .seconds(900), at: start + 3600) == start - 900)
    #expect(pauses.earliest(age: .seconds(900), at: start + 4000) == start - 500)
    #expect(pauses.earliest(age: .seconds(900), at: start + 4500) == start + 3600)
    #expect(pauses.earliest(age: .seconds(900), at: start + 5000) == start + 4100)
    #expect(pauses.earliest(age: .seconds(900), at: start + 100) == start - 900)
    pauses.add(from: start + 4000, until: start + 8000)
    #expect(pauses.earliest(age: .seconds(900), at: start + 8100) == start - 400)
  }
}
