import RosterCore
import RosterDecode
import RosterTestSupport
import Testing

@testable import RosterCache

/// Records that a pull has missed, or received twice.
struct MissingRecordsTests {
  let folder = Folder()

  @Test("5, 11: with `ask` found records are updated, rejected ones keep their version, others are removed")
  func asked() async throws {
    let cache = try await folder.mirrored(paired(people(1...6)))
    let record = try await cache.begin(at: noon)
    try await Pull(cache: cache).pages(.character, pages: [nil, [person(9)]])
    #expect(try await cache.compare().first?.missing == 4)
    #expect(try await cache.missing("character", after: 3, limit: 2).map(\.key) == [.integer(4), .integer(5)])
    try await Pull(cache: cache).answers(
      .character, records: [person(4, mark: "!"), #"{"id":5,"name":1}"#, person(77)])
    #expect(try await cache.missing("character", after: 0, limit: 9).map(\.id) == [3, 6])
    let report = try await cache.publish(record)
    #expect([report.added, report.changed, report.removed, report.rejected] == [1, 1, 2, 1])
    #expect(
      try folder.ask("SELECT name FROM characters ORDER BY id") == ["Name 1", "Name 2", "Name 4!", "Name 5", "Name 9"])
    #expect(try folder.ask("SELECT page || ' ' || position FROM rejects") == ["0 0"])
    // The next sync asks for them again.
    _ = try await cache.begin(at: noon)
    try await Pull(cache: cache).pages(.character, pages: [nil, nil])
    #expect(try await cache.compare().first?.missing == 2)
    try await folder.expectSound(closing: cache)
  }

  @Test("11: with `twice` a record that two whole pulls in a row missed is removed, with `never` none is")
  func removalRules() async throws {
    for rule in [Resource.Removal.twice, .never] {
      let folder = Folder()
      var resource = Resource.character
      resource.removal = rule
      let cache = try await folder.define([resource])
      _ = try await cache.mirror(resource, pages: paired(people(1...4)))
      #expect(try await cache.mirror(resource, pages: [nil, [person(3)]]).removed == 0)
      #expect(try await cache.absent() == ["character": 1])
      // The record is seen again: the count starts from zero.
      #expect(try await cache.mirror(resource, pages: [nil, people(3...4)]).outcome == .unchanged)
      #expect(try await cache.absent().isEmpty)
      _ = try await cache.mirror(resource, pages: [nil, [person(3)]])
      let record = try await cache.begin(at: noon)
      try await Pull(cache: cache).pages(resource, pages: [nil, nil])
      let found = try #require(try await cache.compare().first)
      #expect(found.missing == 1 && found.missingTwice == 1)
      #expect(try await cache.publish(record).removed == (rule == .twice ? 1 : 0))
      // A pull in which a reject may have been the missing one does not count.
      _ = try await cache.mirror(resource, pages: [nil, []], removal: .keepsAll)
      #expect(try await cache.mirror(resource, pages: [nil, []]).removed == 0)
      try await folder.expectSound([resource], closing: cache)
    }
  }

  @Test("18: the comparison reports a duplicate key, and the last occurrence in page order wins")
  func repeats() async throws {
    let cache = try await folder.define()
    let first = try await cache.mirror([[person(1), person(2)], [person(2, mark: "!"), person(3)]])
    #expect(first.added == 3)
    #expect(try folder.ask("SELECT name FROM characters WHERE id = 2") == ["Name 2!"])
    // Which page has the better one is not known when one of them goes: all are asked for whole.
    #expect(try await cache.known("character", addresses: [address(1), address(2)]).isEmpty)
    #expect(try await cache.mirror([[person(1), person(2)], [person(3)]]).changed == 1)
    let record = try await cache.begin(at: noon)
    try await Pull(cache: cache).pages(.character, pages: [[person(1), person(3, mark: "?")], nil])
    #expect(try await cache.compare().first?.repeats == 1)
    // 2 is removed: a request did not find it. 3 is on a later page, which is unchanged.
    let report = try await cache.publish(record)
    #expect([report.changed, report.removed] == [0, 1])
    #expect(try folder.ask("SELECT name FROM characters ORDER BY id") == ["Name 1", "Name 3"])
    await cache.close()
  }

  @Test(
    "11, 18: comparison and publication equal a full comparison of all records, for random movements",
    arguments: 0..<24)
  func walk(seed: Int) async throws {
    var dice = SeededDice(seed: UInt64(seed))
    var resource = Resource.character
    resource.removal = [.ask, .twice, .never][seed % 3]
    var cache = try await folder.define([resource])
    var upstream: [[Int: String]] = []
    var rows: [Int: String] = [:]
    var absent: [Int: Int] = [:]
    for sync in 0..<14 {
      upstream = upstream.filter { _ in Int.random(in: 0..<9, using: &dice) > 0 }
      while upstream.count < 6, Bool.random(using: &dice) || sync == 0 { upstream.append([:]) }
      for page in upstream.indices where Bool.random(using: &dice) {
        for _ in 0..<Int.random(in: 0..<4, using: &dice) {
          let id = Int.random(in: 1..<30, using: &dice)
          if upstream.contains(where: { $0[id] != nil }) {
            if Bool.random(using: &dice) {
              for other in upstream.indices { upstream[other][id] = nil }
            } else {
              for other in upstream.indices where upstream[other][id] != nil { upstream[other][id] = "v\(sync)" }
            }
          } else {
            upstream[page][id] = "v\(sync)"
          }
        }
      }
      let pages = upstream.map { page in page.keys.sorted().map { person(Int64($0), mark: page[$0] ?? "") } }
      let now = upstream.reduce(into: [:]) { $0.merge($1) { $1 } }
      let missing = Set(rows.keys).subtracting(now.keys)
      let record = try await cache.begin(at: noon)
      try await Pull(cache: cache).pages(resource, pages: pages)
      let found = try #require(try await cache.compare().first)
      #expect(found.distinct == now.count && found.repeats == 0 && found.missing == missing.count, "sync \(sync)")
      #expect(found.snapshot == rows.count)
      let still = resource.removal == .ask ? missing.filter { _ in Bool.random(using: &dice) } : []
      if !still.isEmpty {
        try await Pull(cache: cache).answers(resource, records: still.map { person(Int64($0), mark: "k\(sync)") })
      }
      let report = try await cache.publish(record)
      let gone = missing.filter { id in
        switch resource.removal {
        case .ask: !still.contains(id)
        case .twice: absent[id, default: 0] > 0
        case .never: false
        }
      }
      for id in missing { absent[id, default: 0] += 1 }
      for id in now.keys { absent[id] = nil }
      for id in gone { (rows[id], absent[id]) = (nil, nil) }
      for id in still { rows[id] = "k\(sync)" }
      rows.merge(now) { $1 }
      #expect(report.removed == gone.count && report.records == rows.count)
      #expect(
        try folder.ask("SELECT name FROM characters ORDER BY id")
          == rows.keys.sorted().map { "Name \($0)\(rows[$0] ?? "")" }, "sync \(sync)")
      if Int.random(in: 0..<4, using: &dice) == 0 {
        try await folder.expectSound([resource], closing: cache)
        cache = try await folder.define([resource])
      }
    }
    try await folder.expectSound([resource], closing: cache)
  }
}
