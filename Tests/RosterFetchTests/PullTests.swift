import FoundationEssentials
import RosterDecode
import RosterFetch
import RosterModel
import RosterSimulator
import RosterTestSupport
import Synchronization
import Testing

/// A pull that keeps what it stages in memory.
private struct Bench {
  let upstream: Simulator
  let pull: Pull
  let tally = Tally()
  let staged: Staged

  final class Staged: Sendable {
    let pages = Mutex<[Int: PulledPage]>([:])
    var numbers: [Int] { pages.withLock { $0.keys.sorted() } }
  }

  func run() async throws -> Pull.Outcome {
    let announced = try await pull.discover(sync: 1, tally: tally)
    return try await pull.run(announced, sync: 1, tally: tally)
  }
}

private func withBench(
  _ scenario: Scenario = Scenario(), concurrency: Int = 8, held: [HeldPage] = [],
  stage: @escaping @Sendable ([PulledPage]) async throws -> Void = { _ in },
  _ body: (Bench) async throws -> Void
) async throws {
  try await withTransport(scenario, .init(connections: concurrency)) { upstream, transport in
    let clock = WallClock.system
    let staged = Bench.Staged()
    let table = RetryTable(RetryDelays(base: .zero, max: .zero, jitter: .zero))
    let fetcher = PageFetcher(
      baseURL: upstream.baseURL, send: transport.send, retry: Retry(table: table, hold: Hold(), clock: clock),
      decoders: .init(page: PageDecoder.page, characters: PageDecoder.characters), clock: clock, report: { _ in })
    let ends = Pull.Ends(
      held: { range in held.filter { range.contains($0.number) } },
      stage: { pages in
        try await stage(pages)
        staged.pages.withLock { all in for page in pages { all[page.number] = page } }
      })
    let pull = Pull(fetcher: fetcher, ends: ends, concurrency: concurrency, clock: clock, report: { _ in })
    try await body(Bench(upstream: upstream, pull: pull, staged: staged))
  }
}

@Suite struct PullTests {
  @Test(
    "P1: every page is pulled once, in never more than `concurrency` requests at a time, and that many are reached",
    arguments: [1, 8, 64])
  func bounded(concurrency: Int) async throws {
    try await withBench(concurrency: concurrency) { bench in
      let expected = min(concurrency, 41)
      bench.upstream.hold(.pages(2...42))
      async let outcome = bench.run()
      try await bench.upstream.waitFor { $0.held == expected }
      bench.upstream.release()
      #expect(try await outcome == .complete)
      #expect(bench.upstream.counts.peakInFlight == expected)
      #expect(bench.upstream.counts.pageRequests.count == 42)
      #expect(bench.staged.numbers == Array(1...42))
      let pulled = bench.staged.pages.withLock { $0.values.flatMap(\.page.characters).sorted { $0.id < $1.id } }
      #expect(pulled.map(\.name) == bench.upstream.characters.map(\.name))
    }
  }

  @Test("P4: when a page fails for good, what was received before it is staged")
  func failure() async throws {
    try await withBench(Scenario(rules: [.on(.page(20), .status(404)), .on(.page(21), .status(400))]), concurrency: 1) {
      bench in
      let outcome = try await bench.run()
      #expect(outcome == .drifted("page 20 of 42 is not there"))
      #expect(!bench.staged.numbers.contains(20))
    }
    try await withBench(Scenario(rules: [.on(.page(20), .status(400))]), concurrency: 1) { bench in
      await #expect(throws: Failure.self) { try await bench.run() }
      #expect(bench.staged.numbers == Array(1...19))
      #expect(bench.tally.now.pagesDone == 19)
    }
  }

  @Test("P7: a page that tells of another count is drift, and the rest is not asked for")
  func drift() async throws {
    try await withBench(Scenario(rules: [.on(.page(3), .info(count: 827))]), concurrency: 1) { bench in
      let outcome = try await bench.run()
      #expect(outcome == .drifted("page 3 tells of 827 characters on 42 pages, page 1 of 826 on 42"))
      #expect(bench.upstream.counts.pageRequests.count == 3)
    }
  }

  @Test("P6: a held page is asked for with its validator, and 304 transfers nothing")
  func notModified() async throws {
    try await withBench { first in
      _ = try await first.run()
      let pages = first.staged.pages.withLock { $0 }
      let held = pages.values.map { HeldPage($0, isPublished: true) }
      try await withBench(held: held) { second in
        let outcome = try await second.run()
        #expect(outcome == .complete)
        #expect(second.tally.now.notModified == 42)
        #expect(second.tally.now.resumed == 0)
        #expect(second.tally.now.characters == 826)
        #expect(second.staged.numbers.isEmpty)
      }
    }
  }

  @Test("P4: a page without a validator that a broken-off sync left is taken over for 15 minutes, page 1 never")
  func takenOver() async throws {
    let now = Date()
    func left(_ number: Int, age: Double, count: Int = 826) -> HeldPage {
      HeldPage(
        number: number, validator: Validator(), isPublished: false, count: count, pages: 42, characters: 20,
        receivedAt: now - age)
    }
    let held = [left(1, age: 1), left(2, age: 1), left(3, age: 901), left(4, age: 1, count: 825)]
    try await withBench(held: held) { bench in
      let outcome = try await bench.run()
      #expect(outcome == .complete)
      #expect(bench.tally.now.resumed == 1)
      #expect(bench.staged.numbers == [1] + Array(3...42))
      #expect(bench.upstream.counts.requests(ofPage: 2).isEmpty)
    }
  }

  @Test("what cannot be staged fails the pull with its own failure")
  func stageFails() async throws {
    let full = Failure(.cannotWrite, step: "stage", subject: "x", cause: "the disk is full")
    let stage: @Sendable ([PulledPage]) throws -> Void = { if $0[0].number > 1 { throw full } }
    try await withBench(stage: stage) { bench in
      await #expect(throws: full) { try await bench.run() }
    }
  }
}

extension HeldPage {
  fileprivate init(_ pulled: PulledPage, isPublished: Bool) {
    self.init(
      number: pulled.number, validator: pulled.validator, isPublished: isPublished, count: pulled.page.count,
      pages: pulled.page.pages, characters: pulled.page.characters.count, receivedAt: pulled.receivedAt)
  }
}
