import RosterCore
import RosterSimulator
import Testing

@testable import RosterDaemon

/// Upstream changes while its pages are pulled. Pages are requested one at a time, so that each test knows which
/// were read before.
@Suite struct RuntimeDriftTests {
  struct Change: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var edit: @Sendable (inout [RosterSimulator.Character]) -> Void
  }

  private static func newcomer(_ id: Int) -> RosterSimulator.Character {
    var character = sevenPages[0]
    character.id = Int64(id)
    character.name = "Newcomer \(id)"
    return character
  }

  static let changes = [
    Change(testDescription: "inserted at the front") { $0.insert(newcomer(1001), at: 0) },
    Change(testDescription: "inserted at the end") { $0.append(newcomer(1001)) },
    Change(testDescription: "a whole page inserted") { $0.insert(contentsOf: (1001...1020).map(newcomer), at: 30) },
    Change(testDescription: "removed from a page that was read") { $0.remove(at: 3) },
    Change(testDescription: "removed from a page to come") { $0.remove(at: 130) },
    Change(testDescription: "the last page removed") { $0.removeLast(20) },
    Change(testDescription: "moved from the front to the end") { $0.append($0.remove(at: 0)) },
    Change(testDescription: "moved from the end to the front") { $0.insert($0.removeLast(), at: 0) },
    Change(testDescription: "two change places") { $0.swapAt(2, 120) },
    Change(testDescription: "turned round") { $0.reverse() },
  ]

  @Test(
    "18: no record is lost or counted twice, whatever moves while it is pulled", arguments: changes,
    RuntimeResumeTests.validators)
  func once(change: Change, validators: Scenario.Validators) async throws {
    var scenario = Scenario(characters: sevenPages, rules: [.on(.page(4), times: 1, .drift(change.edit))])
    scenario.validators = validators
    try await withBench(scenario) { bench in
      let report = try await bench.sync()
      #expect(report.outcome == .published && report.exit == 0)
      #expect(try bench.cached() == bench.expected)
      #expect(report.records == bench.upstream.characters.count)
    }
  }

  @Test(
    "11, 18: with a snapshot and validators no record that upstream has is removed by movements", arguments: changes
  )
  func withSnapshot(change: Change) async throws {
    try await withBench { bench in
      try await bench.sync()
      bench.upstream.configure { $0.rules = [.on(.page(4), times: 1, .drift(change.edit))] }
      let report = try await bench.sync()
      #expect(report.exit == 0)
      #expect(try bench.cached() == bench.expected)
    }
  }

  @Test("11, 18: a removal and an addition during the pull with equal count lose no record")
  func balanced() async throws {
    try await withBench { bench in
      try await bench.sync()
      bench.upstream.configure {
        $0.rules = [
          .on(
            .page(4), times: 1,
            .drift {
              $0.remove(at: 3)
              $0.append(Self.newcomer(1001))
            })
        ]
      }
      #expect(try await bench.sync().exit == 0)
      let ids = Set(try bench.cached().map(\.id))
      #expect(ids.isSuperset(of: bench.expected.map(\.id)))
      try await bench.sync()
      #expect(try bench.cached() == bench.expected)
    }
  }

  @Test("9, 18, 40: pages that never fit are pulled three times; it is 65, and neither they nor validators stay")
  func forever() async throws {
    try await withBench { bench in
      try await bench.sync()
      let snapshot = try bench.cached()
      bench.upstream.configure { $0.rules = [.on(.page(4), .drift { $0.append($0.remove(at: 0)) })] }
      let before = bench.upstream.counts.pageRequests.count
      let report = try await bench.sync()
      #expect(report.outcome == .failed && report.exit == 65)
      #expect(try bench.cached() == snapshot)
      let asked = bench.requests(after: before)
      #expect(asked.count { $0.page == 1 } == 3)
      // The first pull sends the published validators, the repeated pulls send none.
      #expect(asked.drop { $0["If-None-Match"] != nil }.allSatisfy { $0["If-None-Match"] == nil })

      bench.upstream.configure { $0.rules = [] }
      let published = Set(asked.compactMap { $0["If-None-Match"] })
      let start = bench.upstream.counts.pageRequests.count
      let mended = try await bench.sync()
      #expect(mended.exit == 0 && mended.resumed == 0)
      // Validators belong to published pages, never to dropped ones.
      #expect(bench.requests(after: start).compactMap { $0["If-None-Match"] }.allSatisfy(published.contains))
      #expect(try bench.cached() == bench.expected)
    }
  }

  struct Disagreement: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var match: Match
    var fault: RosterSimulator.Fault

    init(_ testDescription: String, match: Match, fault: RosterSimulator.Fault) {
      self.testDescription = testDescription
      self.match = match
      self.fault = fault
    }
  }

  static let disagreements = [
    Disagreement("a page that vanishes", match: .page(5), fault: .vanished),
    Disagreement("the last page vanishes", match: .page(7), fault: .vanished),
    Disagreement("a page announces more", match: .page(3), fault: .info(count: 141)),
    Disagreement("a page announces fewer", match: .page(7), fault: .info(count: 139)),
    Disagreement("a page announces more pages", match: .page(2), fault: .info(pages: 8)),
    Disagreement("page 1 announces more", match: .page(1), fault: .info(count: 141)),
    Disagreement("page 1 announces more pages", match: .page(1), fault: .info(pages: 8)),
    Disagreement("page 1 announces fewer pages", match: .page(1), fault: .info(pages: 6)),
    Disagreement("all announce more", match: .anyPage, fault: .info(count: 141)),
  ]

  @Test(
    "18: pages with other counts or missing pages are pulled again; if they persist, it is 65",
    arguments: disagreements)
  func disagree(_ what: Disagreement) async throws {
    try await withBench(
      Scenario(
        characters: sevenPages, rules: [.on(what.match, times: what.match == .anyPage ? 7 : 1, what.fault)])
    ) { bench in
      let report = try await bench.sync()
      #expect(report.outcome == .published && report.exit == 0)
      #expect(try bench.cached() == bench.expected)
      #expect(bench.upstream.counts.requests(ofPage: 1).count == 2)
    }
    try await withBench(Scenario(characters: sevenPages, rules: [.on(what.match, what.fault)])) { bench in
      let report = try await bench.sync()
      #expect(report.outcome == .failed && report.exit == 65)
      #expect(bench.upstream.counts.requests(ofPage: 1).count == 3)
      #expect(try bench.cached().isEmpty)
    }
  }
}
