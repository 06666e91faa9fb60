import FoundationEssentials
import RosterCore
import Testing

@testable import RosterCache

@Suite struct RecordThenTests {
  let folder = Folder()

  private func name(_ key: String, at date: Date, resource: String = "character") throws -> String? {
    let found = try CacheReader(path: folder.cache).show(resource, key: key, at: date)
    #expect(found.changes.allSatisfy { $0.at <= date.rfc3339 })
    let path = resource == "issue" ? "title" : "name"
    return try found.record.map { record in
      try folder.ask("SELECT \(literal(record)) ->> '$.\(path)'")[0]
    }
  }

  private func isUnknown(_ key: String, at date: Date) throws -> Bool {
    do {
      _ = try name(key, at: date)
      return false
    } catch let failure as Failure where failure.kind == .badAnswer {
      return true
    }
  }

  private func day(_ number: Double) -> Date { noon.addingTimeInterval(number * 86_400) }

  @Test("show --at shows the record at each time after it was added, changed, removed and added again")
  func walk() async throws {
    let cache = try await folder.mirrored([people(1...9)], at: day(0))
    _ = try await cache.mirror([people(1...9, mark: "!")], at: day(1))
    _ = try await cache.mirror([people(1...10, mark: "!")], at: day(2))
    _ = try await cache.mirror([people(1...8, mark: "!")], at: day(3))
    _ = try await cache.mirror([people(1...10, mark: "?")], at: day(4))
    await cache.close()
    for (key, names) in [
      ("1", [nil, "Name 1", "Name 1!", "Name 1!", "Name 1!", "Name 1?"]),
      ("9", [nil, "Name 9", "Name 9!", "Name 9!", nil, "Name 9?"]),
      ("10", [nil, nil, nil, "Name 10!", nil, "Name 10?"]), ("11", [nil, nil, nil, nil, nil, nil]),
    ] as [(String, [String?])] {
      for (index, expected) in names.enumerated() {
        #expect(try name(key, at: day(Double(index) - 0.5)) == expected, "\(key), \(index)")
      }
    }
    // The moment itself counts.
    #expect(try name("1", at: day(1)) == "Name 1!" && name("9", at: day(3)) == nil)
    let gone = try CacheReader(path: folder.cache).show("character", key: "9", at: day(3.5))
    #expect(gone.removal?.sync == 4 && gone.hasSnapshot)
    #expect(try !CacheReader(path: folder.cache).show("character", key: "1", at: day(-1)).hasSnapshot)
  }

  @Test("show --at is 65 before a time in which the resource was not configured, and 1 within that time")
  func away() async throws {
    func mirror(_ resources: [Resource], mark: String, number: Double) async throws {
      let cache = try await folder.define(resources)
      let record = try await cache.begin(at: day(number))
      for resource in resources { try await Pull(cache: cache).pages(resource, pages: [[person(1, mark: mark)]]) }
      _ = try await cache.compare()
      _ = try await cache.publish(record, decisions: [:], at: day(number), history: ninetyDays)
      await cache.close()
    }
    let other = changed {
      $0.name = "other"
      $0.table = "others"
      $0.lists = []
      $0.search = []
    }
    try await mirror([.character, other], mark: "", number: 0)
    try await mirror([other], mark: "!", number: 1)
    try await mirror([.character, other], mark: "?", number: 2)
    #expect(try name("1", at: day(2)) == "Name 1?")
    #expect(try isUnknown("1", at: day(0)))
    #expect(try name("1", at: day(0), resource: "other") == "Name 1")
    #expect(try !CacheReader(path: folder.cache).show("character", key: "1", at: day(1)).hasSnapshot)
  }

  @Test("show --at finds a text key whose record has another id when it returns")
  func textKey() async throws {
    let cache = try await folder.define([issue])
    func mirror(_ nodes: [String], title: String, date: Date) async throws {
      _ = try await cache.mirror(issue, pages: [nodes.map { #"{"node":"\#($0)","title":"\#(title)"}"# }], at: date)
    }
    try await mirror(["a", "b"], title: "one", date: day(0))
    // Absent twice.
    try await mirror(["b"], title: "one", date: day(1))
    try await mirror(["b"], title: "two", date: day(2))
    try await mirror(["a", "b"], title: "three", date: day(3))
    await cache.close()
    let titles = try [0.5, 1.5, 2.5, 3.5].map { try name("a", at: day($0), resource: "issue") }
    #expect(titles == ["one", "one", nil, "three"])
  }

  @Test("show --at is 65 if the needed history has expired; otherwise it answers at any age")
  func ended() async throws {
    let cache = try await folder.mirrored([people(1...9)], at: day(0))
    _ = try await cache.mirror([people(1...9, mark: "!")], at: day(10))
    // Nothing was ended yet.
    #expect(try name("1", at: day(5)) == "Name 1" && name("1", at: day(-5)) == nil)
    for number in [100, 120, 130] {
      _ = try await cache.mirror([people(1...9, mark: "\(number)")], at: day(Double(number)))
    }
    await cache.close()
    // Ninety days before the last: 40.
    #expect(try isUnknown("1", at: day(5)) && isUnknown("1", at: day(-5)) && isUnknown("1", at: day(50)))
    #expect(try name("1", at: day(100.5)) == "Name 1100" && name("1", at: day(125)) == "Name 1120")
    #expect(try name("1", at: day(131)) == "Name 1130")
  }

  @Test("show --at knows a quiet time within history by its syncs, and one of years by the snapshot's own sync")
  func quiet() async throws {
    let cache = try await folder.mirrored([people(1...9)], at: day(0))
    _ = try await cache.mirror([people(1...9, mark: "!")], at: day(1))
    for number in [60.0, 95, 110] { _ = try await cache.mirror([people(1...9, mark: "!")], at: day(number)) }
    #expect(try name("1", at: day(2)) == "Name 1!" && name("1", at: day(90)) == "Name 1!")
    _ = try await cache.mirror([people(1...9, mark: "?")], at: day(120))
    await cache.close()
    // Changes before day 30 have expired. The sync of day 60 shows that there was no later one.
    #expect(try name("1", at: day(61)) == "Name 1!" && name("1", at: day(119)) == "Name 1!")
    #expect(try isUnknown("1", at: day(31)))
  }

  @Test("show --at takes no information from a last verified sync about expired changes")
  func kept() async throws {
    let cache = try await folder.define()
    for (number, mark) in [(0, ""), (5, ""), (30, "a"), (100, "b"), (120, "c"), (130, "d")] {
      _ = try await cache.mirror([people(1...9, mark: mark)], at: day(Double(number)))
    }
    await cache.close()
    #expect(try folder.ask("SELECT outcome FROM syncs ORDER BY id LIMIT 1") == ["unchanged"])
    #expect(try isUnknown("1", at: day(10)) && isUnknown("1", at: day(50)))
    #expect(try name("1", at: day(101)) == "Name 1b")
  }
}
