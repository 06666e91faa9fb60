import FoundationEssentials
import RosterModel
import Testing

@testable import RosterCache

/// Whole syncs after a change of the configuration of children.
struct EachChangedTests {
  private static func bench() throws -> (SyncBench, Forest) {
    let documents = Dictionary(
      uniqueKeysWithValues: (1...3).map { ($0, Forest.Document(items: [1: .init(parts: ["a": $0]), 2: .init()])) })
    let (bench, forest) = (try SyncBench([:]), Forest(documents))
    forest.serve(bench)
    return (bench, forest)
  }

  @Test("C6.2, C6.6: a resource above grandchildren may get another name")
  func renamedAncestor() async throws {
    let (bench, forest) = try Self.bench()
    var (paper, item, part) = (Forest.document(), Forest.item(Each(of: "paper")), Forest.part)
    (paper.name, paper.table) = ("paper", "papers")
    (item.path, item.byKey) = ("/docs/{paper.id}/items", "/docs/{paper.id}/items/{key}")
    (part.path, part.byKey) = (
      "/docs/{paper.id}/items/{item.id}/parts", "/docs/{paper.id}/items/{item.id}/parts/{key}"
    )
    #expect(try await bench.sync([paper, item, part]).added == 12)
    let record = try await bench.sync(Forest.all, after: 60)
    #expect(record.exit == 0 && record.error == nil, "\(record.error ?? "")")
    #expect(try Forest.lines(in: bench) == forest.lines)
  }

  @Test("C6.2, C6.6: a parent of children may become the child of a new resource")
  func insertedAncestor() async throws {
    let (bench, forest) = try Self.bench()
    var (item, part) = (Forest.item(), Forest.part)
    (item.each, item.path, item.byKey) = (nil, "/docs/1/items", "/docs/1/items/{key}")
    (part.path, part.byKey) = ("/docs/1/items/{item.id}/parts", "/docs/1/items/{item.id}/parts/{key}")
    #expect(try await bench.sync([item, part]).added == 3)
    let record = try await bench.sync(Forest.all, after: 60)
    #expect(record.exit == 0 && record.error == nil, "\(record.error ?? "")")
    #expect(try Forest.lines(in: bench) == forest.lines)
  }
}
