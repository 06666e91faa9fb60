import FoundationEssentials
import GrowthKinds
import RosterCore
import Synchronization
import Testing

@testable import RosterCache

/// Counts steps of SQLite's virtual machine, which do not depend on the load of the machine. A cost that grows with the
/// square of the records would be 16 times as high for 4 times the records.
@Suite("Cost grows with the records, not with their square")
struct GrowthTests {
  private static let count = 250
  private static let limit = 6.0

  @Test(
    "4 times the records cost about 4 times the steps, from the pull to the end of the publication",
    arguments: GrowthKind.allCases, [false, true])
  func sync(kind: GrowthKind, isText: Bool) async throws {
    let few = try await Self.steps(kind, isText: isText, count: Self.count)
    let many = try await Self.steps(kind, isText: isText, count: 4 * Self.count)
    #expect(few > 0)
    #expect(Double(many) / Double(few) < Self.limit, "\(few) steps, and \(many) for 4 times as many records")
  }

  @Test("5: an unchanged sync looks at no record to find lists that are cut", arguments: [false, true])
  func cutLists(isText: Bool) async throws {
    func steps(_ place: JSONPointer) async throws -> Int {
      var resource = GrowthKind.unchanged.resource(isText: isText, isAfter: true)
      resource.lists[0].at = place
      return try await Self.steps(.unchanged, of: resource, count: Self.count)
    }
    // Only a list inside of an object has members beside it.
    let (nested, flat) = (try await steps(at("more", "tags")), try await steps(at("tags")))
    #expect(nested - flat < Self.count, "\(nested) steps, and \(flat) for a list that nothing is beside")
  }

  private static func steps(_ kind: GrowthKind, isText: Bool, count: Int) async throws -> Int {
    try await steps(
      kind, from: kind.resource(isText: isText, isAfter: false), of: kind.resource(isText: isText, isAfter: true),
      count: count)
  }

  private static func steps(
    _ kind: GrowthKind, from before: Resource? = nil, of resource: Resource, count: Int
  ) async throws -> Int {
    let folder = Folder()
    let before = before ?? resource
    if kind != .first {
      let cache = try await folder.define([before])
      _ = try await cache.mirror(before, pages: kind.before(count).pages)
      await cache.close()
    }
    let cache = try await folder.define([resource])
    let steps = Steps()
    await cache.count(steps)
    let record = try await cache.mirror(
      resource, pages: kind.after(count).pages, present: kind.present(count), kind: kind)
    #expect(record.outcome == kind.outcome)
    let counted = steps.count
    await cache.close()
    return counted
  }
}

/// Steps that connections take.
final class Steps: Sendable {
  static let grain = 10
  private let calls = Mutex(0)

  var count: Int { calls.withLock { $0 } * Self.grain }

  func tick() { calls.withLock { $0 += 1 } }
}

extension [GrowthRecord] {
  /// JSON of 20 records a page.
  var pages: [[String]] {
    stride(from: 0, to: count, by: 20).map { self[$0..<Swift.min($0 + 20, count)].map(\.json) }
  }
}

extension Cache {
  /// Starts counting.
  func count(_ steps: Steps) { database?.tick(every: Int32(Steps.grain)) { steps.tick() } }

  /// A whole sync of a kind.
  func mirror(
    _ resource: Resource, pages: [[String]], present: [GrowthRecord], kind: GrowthKind
  ) async throws -> SyncRecord {
    let record = try begin(at: noon)
    let pull = Pull(cache: self)
    try await pull.pages(resource, pages: pages)
    _ = try compare()
    var last: Int64 = 0
    while let missing = try missing(resource.name, after: last, limit: 100).last { last = missing.id }
    for records in stride(from: 0, to: present.count, by: 20).map({ present.dropFirst($0).prefix(20) }) {
      try await pull.answers(resource, records: records.map(\.json))
    }
    let decisions = [resource.name: RemovalDecision(.asDefined, proof: .count)]
    return kind == .dryRun
      ? try tried(record, decisions: decisions, at: noon, history: ninetyDays)
      : try publish(record, decisions: decisions, at: noon, history: ninetyDays)
  }
}
