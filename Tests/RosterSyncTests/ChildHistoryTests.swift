import FoundationEssentials
import RosterCore
import RosterSync
import RosterTestSupport
import Testing

@testable import RosterCache

/// Random histories of an upstream with three levels: records are added, changed, moved and removed, lists fail, and
/// syncs are interrupted. After each sync in which no list failed, all tables equal upstream. Syncs are more than 15
/// minutes apart, so that a kept page of documents without a validator is not used again.
struct ChildHistoryTests {
  private static let histories = Int(ProcessInfo.processInfo.environment["ROSTER_HISTORIES"] ?? "") ?? 50

  @Test("11, 16, 22, 23, 40: after each sync without a failed list the tables equal upstream")
  func histories() async throws {
    for seed in 1...Self.histories {
      do { try await Self.history(UInt64(seed), Forest.all) } catch {
        Issue.record("history \(seed): \(error)")
        return
      }
    }
  }

  @Test(
    "15, 21, 22, 40: with since, no change of a list is lost, and after whole pulls the tables equal upstream")
  func incremental() async throws {
    for seed in 1...Self.histories {
      do { try await Self.history(UInt64(seed), Forest.incremental) } catch {
        Issue.record("history \(seed): \(error)")
        return
      }
    }
  }

  private struct Difference: Error, CustomStringConvertible {
    var description: String
  }

  private static func history(_ seed: UInt64, _ resources: [Resource]) async throws {
    var dice = SeededDice(seed: seed)
    let (bench, forest) = try Forest.bench([:])
    let isIncremental = resources == Forest.incremental
    let resources = resources.map(withoutEmptyLists)
    forest.update { $0.omitsEmptyLists = true }
    for _ in 0..<Int.random(in: 1...12, using: &dice) { grow(forest, &dice) }
    var failing = false
    for step in 1...8 {
      for _ in 0..<Int.random(in: 0...4, using: &dice) { change(forest, &dice) }
      disturb(forest, &dice, wasFailing: failing)
      let isFresh = Int.random(in: 0..<12, using: &dice) == 0
      let record = try await bench.sync(resources, allowRemoval: true, isFresh: isFresh, after: Double(step * 1000))
      try expectParents(bench, seed, step)
      failing = record.exit != 0 || record.error != nil || record.listsFailed > 0
      guard !failing else { continue }
      let (found, expected) = (try Forest.lines(in: bench), forest.lines)
      if found != expected {
        let gone = expected.filter { !found.contains($0) }
        let wrong = found.filter { !expected.contains($0) }
        // An incremental pull does not notice that an item is gone.
        if isIncremental, !isFresh, gone.isEmpty, wrong.allSatisfy(forest.isOfGoneItem) { continue }
        throw Difference(description: "step \(step): lacks \(gone), has \(wrong)")
      }
    }
  }

  /// The definition for an upstream that leaves out empty lists.
  private static func withoutEmptyLists(_ resource: Resource) -> Resource {
    var resource = resource
    resource.answers.noRecords.isAbsent = true
    return resource
  }

  /// Every child has its parent.
  private static func expectParents(_ bench: SyncBench, _ seed: UInt64, _ step: Int) throws {
    let orphans = try bench.ask(
      """
      SELECT (SELECT count(*) FROM items WHERE doc_id NOT IN (SELECT id FROM docs))
        + (SELECT count(*) FROM parts WHERE item_id NOT IN (SELECT record_id FROM items))
        + (SELECT count(*) FROM details WHERE doc_id NOT IN (SELECT id FROM docs))
      """)
    if orphans != ["0"] { throw Difference(description: "step \(step): \(orphans) children without a parent") }
    if try bench.ask("PRAGMA integrity_check") != ["ok"] { throw Difference(description: "step \(step): damaged") }
  }

  private static func disturb(_ forest: Forest, _ dice: inout SeededDice, wasFailing: Bool) {
    let kind = wasFailing ? 0 : Int.random(in: 0..<5, using: &dice)
    let patience = Int.random(in: 0...20, using: &dice)
    let status = [403, 404, 500].randomElement(using: &dice) ?? 403
    forest.update { state in
      (state.statuses, state.patience, state.requests, state.wrongCounts) = ([:], nil, 0, 0)
      state.bodies = [:]
      let id = state.documents.keys.sorted().last ?? 1
      switch kind {
      case 1: state.patience = patience
      case 2: state.statuses["/docs/\(id)/items"] = status
      case 3: state.wrongCounts = 1
      case 4: state.bodies["/docs/\(id)/items"] = #"{"count":0,"partial":true,"list":[]}"#
      default: break
      }
    }
  }

  private static func grow(_ forest: Forest, _ dice: inout SeededDice) {
    let id = Int.random(in: 1...30, using: &dice)
    let items = Int.random(in: 0...4, using: &dice)
    let parts = Int.random(in: 0...3, using: &dice)
    forest.update { state in
      guard state.documents[id] == nil else { return }
      // A new document never has an old revision, as in an API with time stamps.
      var document = Forest.Document(revision: state.nextRevision())
      for key in 0..<items {
        document.items[key + 1] = .init(
          revision: state.nextRevision(),
          parts: Dictionary(uniqueKeysWithValues: (0..<parts).map { ("p\($0)", $0) }))
      }
      state.documents[id] = document
    }
  }

  private static func change(_ forest: Forest, _ dice: inout SeededDice) {
    let kind = Int.random(in: 0..<6, using: &dice)
    let (key, value) = (Int.random(in: 1...5, using: &dice), Int.random(in: 0...99, using: &dice))
    let all = forest.documents.keys.sorted()
    guard let id = all.randomElement(using: &dice), let other = all.randomElement(using: &dice), kind > 0 else {
      return grow(forest, &dice)
    }
    forest.update { state in
      switch kind {
      case 1: state.documents[id] = nil
      case 2: state.documents[id]?.items[key] = nil
      case 3: state.documents[id]?.items[key, default: .init()].parts["p\(value % 4)"] = value
      case 4: state.documents[id]?.items[key]?.parts["p\(value % 4)"] = nil
      default:
        let moved = state.documents[id]?.items[key]
        state.documents[id]?.items[key] = nil
        if let moved { state.documents[other]?.items[key] = moved }
      }
      for document in [id, other] where state.documents[document] != nil {
        let (own, below) = (state.nextRevision(), state.nextRevision())
        state.documents[document]?.revision = own
        if state.documents[document]?.items[key] != nil { state.documents[document]?.items[key]?.revision = below }
      }
    }
  }
}
