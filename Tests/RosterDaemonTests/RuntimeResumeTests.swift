import FoundationEssentials
import RosterCore
import RosterSimulator
import RosterSync
import Testing

@testable import RosterDaemon

/// The state that an interrupted sync leaves for the next start.
@Suite struct RuntimeResumeTests {
  static let validators: [Scenario.Validators] = [.none, .etag, .lastModified(age: .seconds(60))]

  @Test(
    "40: a pull that was interrupted at any page transfers none of the received pages again",
    arguments: validators, 1...7)
  func brokenOff(validators: Scenario.Validators, page: Int) async throws {
    var scenario = Scenario(characters: sevenPages, rules: [.on(.page(page), times: 1, .status(400))])
    scenario.validators = validators
    try await withBench(scenario) { bench in
      let broken = try await bench.sync()
      #expect(broken.outcome == .failed && broken.exit == 65 && broken.pages == page - 1)
      let before = bench.upstream.counts.pageRequests.count
      let resumed = try await bench.sync()
      #expect(resumed.outcome == .published && resumed.exit == 0)

      let again = bench.requests(after: before)
      let received = Set(1..<page)
      if validators == .none {
        // Page 1 is always requested; the other pages are reused.
        #expect(again.compactMap(\.page) == [1] + (max(2, page)...7))
        #expect(resumed.resumed == max(0, page - 2) && resumed.notModified == 0)
      } else {
        #expect(again.compactMap(\.page) == Array(1...7))
        #expect(Set(again.filter { $0.status == 304 }.compactMap(\.page)) == received)
        #expect(resumed.resumed == page - 1 && resumed.notModified == page - 1)
      }
      #expect(try bench.cached() == bench.expected)
    }
  }

  @Test("40: a cancelled sync keeps its pages, and the next start reuses them", arguments: validators)
  func calledBack(validators: Scenario.Validators) async throws {
    var scenario = Scenario(characters: sevenPages)
    scenario.validators = validators
    try await withBench(scenario) { bench in
      bench.upstream.hold(.page(5))
      let cancelled = try await bench.with { runtime in
        try await withThrowingTaskGroup(of: SyncRecord.self) { group in
          group.addTask { await runtime.sync(SyncRequest()).run() }
          try await bench.upstream.waitFor { $0.held == 1 }
          group.cancelAll()
          return try await group.next()
        }
      }
      #expect(cancelled?.outcome == .cancelled)
      bench.upstream.release()
      let before = bench.upstream.counts.pages(answered: 200)
      let resumed = try await bench.sync()
      #expect(resumed.outcome == .published && resumed.resumed == (validators == .none ? 3 : 4))
      #expect(bench.upstream.counts.pages(answered: 200) - before == (validators == .none ? 4 : 3))
      #expect(try bench.cached() == bench.expected)
    }
  }

  @Test(
    "40: a page without a validator is reused if it is younger than 15 min and not from the future",
    arguments: [(0, 4), (899, 4), (900, 0), (-60, 0)] as [(TimeInterval, Int)])
  func age(later: TimeInterval, resumed: Int) async throws {
    var scenario = Scenario(characters: sevenPages, rules: [.on(.page(6), times: 1, .status(400))])
    scenario.validators = .none
    try await withBench(scenario) { bench in
      // A whole second: a fraction may change when it is written and read.
      let start = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
      func clock(_ now: Date) -> WallClock {
        WallClock(now: { now }, sleep: WallClock.system.sleep, uptime: WallClock.system.uptime)
      }
      try await bench.sync(SyncRequest(), clock: clock(start))
      let next = try await bench.sync(SyncRequest(), clock: clock(start + later))
      #expect(next.outcome == .published && next.resumed == resumed)
      #expect(try bench.cached() == bench.expected)
    }
  }

  @Test("40: kept pages are not reused after upstream reports another count", arguments: validators)
  func changedMeanwhile(validators: Scenario.Validators) async throws {
    var scenario = Scenario(characters: sevenPages, rules: [.on(.page(6), times: 1, .status(400))])
    scenario.validators = validators
    try await withBench(scenario) { bench in
      try await bench.sync()
      bench.upstream.update { $0.removeLast() }
      let resumed = try await bench.sync()
      #expect(resumed.outcome == .published && resumed.records == 139)
      #expect(try bench.cached() == bench.expected)
    }
  }

  @Test("9: a Last-Modified of the same second is no validator: the page could have changed twice in it")
  func youngLastModified() async throws {
    var scenario = Scenario(characters: sevenPages)
    scenario.validators = .lastModified(age: .zero)
    // Date and Last-Modified of one instant.
    let now = Date()
    let upstream = try await Simulator.start(scenario, now: { now })
    do {
      try await withBench(Scenario(), environment: ["ROSTERD_UPSTREAM_BASE_URL": upstream.baseURL]) { bench in
        try await bench.sync()
        let again = try await bench.sync()
        #expect(again.outcome == .unchanged && again.notModified == 0)
      }
    } catch {
      await upstream.stop()
      throw error
    }
    #expect(upstream.counts.pages(answered: 200) == 14)
    await upstream.stop()
  }
}
