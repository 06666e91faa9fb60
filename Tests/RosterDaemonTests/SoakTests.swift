import FoundationEssentials
import Glibc
import Logging
import RosterCache
import RosterCore
import RosterSimulator
import RosterSync
import RosterTestSupport
import Testing

@testable import RosterDaemon

/// The test has a process of its own, whose descriptors belong to the test alone, apart from the inherited ones.
@Suite struct SoakTests {
  // EndToEndTests measures the memory from outside. Here the process contains upstream, which remembers every token.
  @Test("Failed, cancelled and timed-out syncs leave no descriptor, connection or task in rosterd")
  func nothingIsLeft() async {
    await #expect(processExitsWith: .success) {
      try await Soak.run()
    }
  }
}

/// One rosterd with this number of failed syncs (`make soak`: 1,000).
private struct Soak {
  private static let rounds = ProcessInfo.processInfo.environment["ROSTER_SOAK"].flatMap(Int.init) ?? 100

  /// Number of times that a loaded machine may exceed the short request timeout of this test.
  private static let patience = 10

  let bench: Bench
  let runtime: Runtime
  /// No part of a sync waits for this clock: each pause moves it on, and ends at once.
  let clock: ManualClock
  /// Files and sockets of other tests, whose names change when they are removed.
  let inherited: Set<String>

  private var upstream: Simulator { bench.upstream }

  static func run() async throws {
    let inherited = try openDescriptors()
    // With ETags every page is requested, including those that an earlier sync received.
    let scenario = Scenario(characters: sevenPages, tokens: .init(flow: .authenticateForm))
    let environment = [
      "ROSTERD_UPSTREAM_TIMEOUT": "200ms", "ROSTERD_AUTH_TIMEOUT": "200ms",
      "ROSTERD_RETRY_MAX_RETRIES": "1",
    ]
    try await withBench(scenario, concurrency: 8, environment: environment) { bench in
      let clock = ManualClock()
      // Without the advance, a caller that waits for a point in time would sleep again at once, for ever.
      var hasty = clock.wallClock
      hasty.sleep = { pause in
        try Task.checkCancellation()
        clock.advance(by: pause)
      }
      weak var cache: Cache?
      do {
        let runtime = try await Runtime.open(
          bench.configuration, clock: hasty, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        cache = runtime.cache
        try await Soak(bench: bench, runtime: runtime, clock: clock, inherited: inherited).measure()
        await runtime.close()
      }
      // A task that still exists would keep the objects that it uses.
      #expect(cache == nil)
    }
  }

  private func measure() async throws {
    try await rounds(Self.endings.count)
    let before = try await rest()
    try await rounds(Self.rounds)
    let after = try await rest()
    #expect(after == before, "\(before) before, \(after) after")
    #expect(clock.pending.isEmpty)
    let last = await sync()
    #expect(last.exit == 0, "\(last.error ?? "")")
  }

  private func rounds(_ count: Int) async throws {
    for number in 0..<count {
      // A new version each time, so that no answer is a 304.
      upstream.update { for index in $0.indices { $0[index] = $0[index].marked(number) } }
      try await Self.endings[number % Self.endings.count](self)
      upstream.release()
      upstream.configure { $0.rules = [] }
      upstream.forgetRequests()
    }
  }

  private func sync() async -> SyncRecord {
    await runtime.sync(SyncRequest(retrySession: true)).run()
  }

  // MARK: How syncs end badly

  private typealias Ending = @Sendable (Soak) async throws -> Void

  // The last ending is not one of a token fault, whose writes may still be in progress when the sync is over.
  private static let endings: [Ending] = cancellations + tokenFaults + pageFaults

  private static let pageFaults: [Ending] = [
    failing(.page(4), fault: .status(400)), failing(.page(5), fault: .status(503)), failing(.page(1), fault: .drop),
    failing(.page(6), fault: .drop), failing(.page(3), fault: .cut(after: .half, .reset)),
    failing(.page(3), fault: .cut(after: .head, .close)), failing(.page(7), fault: .html()),
    failing(.page(4), fault: .cut(after: .half, .stall)), failing(.page(1), fault: .cut(after: .nothing, .stall)),
    failing(.page(5), fault: .vanished), failing(.page(2), fault: .redirect(to: "http://127.0.0.1:1/")),
    failing(.page(3), fault: .status(401)),
  ]

  private static let tokenFaults: [Ending] = [
    failing(.anyToken, fault: .status(503)), failing(.anyToken, fault: .refusal()), failing(.anyToken, fault: .drop),
    failing(.anyToken, fault: .html()), failing(.anyToken, fault: .cut(after: .half, .close)),
    failing(.anyToken, fault: .cut(after: .nothing, .stall)),
    failing(.anyToken, fault: .answer(status: 200, body: "{}")),
  ]

  private static let cancellations: [Ending] = [.page(1), .page(6), .anyToken].map { match in
    { try await $0.cancelled(at: match) }
  }

  private static func failing(_ match: Match, fault: RosterSimulator.Fault) -> Ending {
    { try await $0.fails(at: match, fault) }
  }

  private func fails(at match: Match, _ fault: RosterSimulator.Fault) async throws {
    if match == .anyToken { upstream.killAccessTokens() }
    upstream.configure { $0.rules = [.on(match, fault)] }
    let report = await sync()
    #expect(report.outcome == .failed, "\(fault) at \(match)")
    // A token request without an answer may have spent the refresh token.
    if match == .anyToken { try bench.write(upstream.newSession()) }
  }

  private func cancelled(at match: Match) async throws {
    if match == .anyToken { upstream.killAccessTokens() }
    upstream.hold(match)
    try await withThrowingTaskGroup(of: SyncRecord.self) { group in
      group.addTask { await self.sync() }
      try await upstream.waitFor { $0.held > 0 }
      group.cancelAll()
      let report = try await group.next()
      #expect(report?.outcome == .cancelled)
    }
  }

  // MARK: What is there

  /// The open descriptors, after every connection was closed and one request was made on a new one.
  private func rest() async throws -> [String: Int] {
    upstream.release()
    upstream.configure { $0.rules = [.on(.page(1), .status(400))] }
    // The request for a token may have needed a connection of its own.
    _ = await sync()
    for _ in 0..<Self.patience {
      let accepted = upstream.counts.connections
      await upstream.disconnect()
      // A timed-out request leaves no connection, and a connection that upstream had not accepted yet was not closed.
      if await sync().requests == 1, upstream.counts.connections == accepted + 1 { break }
    }
    upstream.configure { $0.rules = [] }
    // A session whose end was cleared is written beside the sync (TokenMachine's `keeping`).
    let store = bench.workspace.path("state")
    return try openFiles(besides: store, store + "/token.json.new", others: inherited)
  }
}
