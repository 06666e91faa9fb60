import FoundationEssentials
import Logging
import RosterCore
import RosterFetch
import RosterSync
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterDaemon

private func cancelled(_ id: Int64) -> SyncRecord {
  var record = SyncRecord(id: id, startedAt: "", outcome: .cancelled)
  record.exit = Failure.Kind.cancelled.exitCode
  return record
}

@Suite(.timeLimit(.minutes(1))) struct SyncLoopTests {
  private struct World {
    var now = Date(timeIntervalSince1970: 1_700_000_000)
    var syncs = 0
  }

  /// A sync that ends immediately.
  private struct EndedSync: JoinableSync {
    let ended: @Sendable (SyncRecord) async -> Void

    func run() async -> SyncRecord {
      let record = cancelled(1)
      await ended(record)
      return record
    }

    func joined(by request: SyncRequest) -> Bool { true }
  }

  @Test("A clock that is set back as a sync ends does not delay the next one")
  func setBackAtTheEnd() async {
    let world = Mutex(World())
    let (naps, napped) = AsyncStream<Duration>.makeStream()
    let clock = WallClock(
      now: { world.withLock { $0.now } },
      sleep: { duration in
        napped.yield(duration)
        for await _ in AsyncStream<Never>.makeStream().stream {}
        try Task.checkCancellation()
      }, uptime: { .zero })
    let loop = SyncLoop(clock: clock) { _, loop in
      EndedSync { report in
        await loop.ended(report, wait: .seconds(900))
        world.withLock { $0.now -= 31_536_000 }
      }
    }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await loop.run() }
      #expect(await naps.first { _ in true } == .seconds(900))
      group.cancelAll()
    }
  }

  @Test("A clock that is set back does not delay the next sync")
  func setBack() async {
    let world = Mutex(World())
    let (naps, napped) = AsyncStream<Int>.makeStream()
    let clock = WallClock(
      now: { world.withLock { $0.now } },
      sleep: { _ in
        let syncs = world.withLock { world in
          world.now -= 7200
          return world.syncs
        }
        napped.yield(syncs)
        // The second one lasts until the loop is cancelled.
        if syncs == 2 { for await _ in AsyncStream<Never>.makeStream().stream {} }
        try Task.checkCancellation()
      })
    let loop = SyncLoop(clock: clock) { _, loop in
      EndedSync { report in
        world.withLock { $0.syncs += 1 }
        await loop.ended(report, wait: .seconds(900))
      }
    }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await loop.run() }
      #expect(await naps.first { _ in true } == 1)
      #expect(await naps.first { _ in true } == 2)
      group.cancelAll()
    }
  }

  /// A clock that stands still, so that each sleep lasts until it is cancelled.
  private static let endless = WallClock(
    now: { Date(timeIntervalSince1970: 1_700_000_000) },
    sleep: { _ in
      for await _ in AsyncStream<Never>.makeStream().stream {}
      throw CancellationError()
    }, uptime: { .zero })

  /// A sync that runs until it is cancelled.
  private struct LongSync: JoinableSync {
    var takesRetries = true
    let begun: @Sendable () async -> Void
    let ended: @Sendable (SyncRecord) async -> Void

    func run() async -> SyncRecord {
      await begun()
      for await _ in AsyncStream<Never>.makeStream().stream {}
      let record = cancelled(7)
      await ended(record)
      return record
    }

    func joined(by request: SyncRequest) -> Bool { takesRetries || !request.retrySession }
  }

  @Test("20: a fresh request never joins a running sync that is not fresh, and any request joins a fresh one")
  func fresh() async throws {
    let (begins, began) = AsyncStream<Bool>.makeStream()
    let (ends, ended) = AsyncStream<Void>.makeStream()
    let loop = SyncLoop(clock: Self.endless) { request, loop in
      LongSync(
        begun: {
          await loop.begun(7)
          began.yield(request.isFresh)
        },
        ended: { report in
          await loop.ended(report, wait: .seconds(1 << 40))
          ended.yield()
        })
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await loop.run() }
      #expect(await begins.first { _ in true } == false)
      await #expect(throws: SyncRequest.Conflict.self) { try await loop.ask(SyncRequest(isFresh: true)) }
      _ = await loop.cancel()
      await ends.first { _ in true }
      async let asked = loop.ask(SyncRequest(isFresh: true))
      #expect(await begins.first { _ in true } == true)
      let (first, second) = (try await asked, try await loop.ask(SyncRequest(isFresh: true)))
      let plain = try await loop.ask(SyncRequest())
      #expect(!first.joined && second.joined && plain.joined)
      group.cancelAll()
    }
  }

  @Test("cancel ends the running sync and returns its id, also before its row is written; the loop goes on")
  func cancel() async throws {
    let (begins, began) = AsyncStream<Void>.makeStream()
    let (ends, ended) = AsyncStream<Void>.makeStream()
    let (rows, row) = AsyncStream<Void>.makeStream()
    let loop = SyncLoop(clock: Self.endless) { _, loop in
      LongSync(
        begun: {
          began.yield()
          for await _ in rows { break }
          await loop.begun(7)
        },
        ended: { report in
          await loop.ended(report, wait: .seconds(1 << 40))
          ended.yield()
        })
    }
    #expect(await loop.cancel() == nil)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await loop.run() }
      await begins.first { _ in true }
      async let early = loop.cancel()
      row.yield()
      let first = await early
      #expect(first == 7)
      await ends.first { _ in true }
      #expect(await loop.cancel() == nil)
      async let asked = loop.ask(SyncRequest())
      await begins.first { _ in true }
      row.yield()
      let second = try await asked
      let cancelled = await loop.cancel()
      #expect(second.id == 7 && !second.joined && cancelled == 7)
      await ends.first { _ in true }
      group.cancelAll()
    }
  }

  @Test("26: cancel finds no sync if the next one is postponed at that moment, and a request gets the reason")
  func cancelPostponed() async throws {
    let (asks, asked) = AsyncStream<Void>.makeStream()
    let (decisions, decide) = AsyncStream<Void>.makeStream()
    let workspace = Workspace()
    let ledger = BudgetLedger(
      path: workspace.path("roster.db.budget"), upstream: "http://a", clock: Self.endless,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    try ledger.change(RequestBudget(limit: 1, window: .seconds(60)))
    ledger.ended(try await ledger.spend(), isSent: true)
    let budget = try #require(Postponement(ledger, requests: 1, baseURL: "http://a", clock: Self.endless))
    let loop = SyncLoop(
      clock: Self.endless,
      postponement: {
        asked.yield()
        for await _ in decisions { break }
        return budget
      }, make: { _, _ in EndedSync { _ in } })
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await loop.run() }
      _ = await asks.first { _ in true }
      let cancelled = Task { await loop.cancel() }
      let request = Task { try await loop.ask(SyncRequest()) }
      while await loop.waiters < 2 { await Task.yield() }
      decide.yield()
      #expect(await cancelled.value == nil)
      let failure = await #expect(throws: Failure.self) { try await request.value }
      #expect(failure == budget.failure)
      group.cancelAll()
    }
  }

  @Test("35: a request for a new token joins the running sync, and is part of one that it starts")
  func newToken() async throws {
    let (begins, began) = AsyncStream<SyncRequest>.makeStream()
    let (ends, ended) = AsyncStream<Void>.makeStream()
    let asks = Mutex(0)
    let count: @Sendable () async -> Void = { asks.withLock { $0 += 1 } }
    let loop = SyncLoop(clock: Self.endless, requestNewToken: count) { request, loop in
      LongSync(
        begun: {
          await loop.begun(7)
          began.yield(request)
        },
        ended: {
          await loop.ended($0, wait: .seconds(1 << 40))
          ended.yield()
        })
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await loop.run() }
      #expect(await begins.first { _ in true }?.wantsNewToken == false)
      let joined = try await loop.ask(SyncRequest(wantsNewToken: true)).joined
      #expect(joined && asks.withLock { $0 } == 1)
      _ = await loop.cancel()
      _ = await ends.first { _ in true }
      _ = try await loop.ask(SyncRequest(wantsNewToken: true))
      #expect(await begins.first { _ in true }?.wantsNewToken == true && asks.withLock { $0 } == 1)
      group.cancelAll()
    }
  }

  @Test("33: a retry that is too late for the running sync is made by the next one")
  func lateRetry() async throws {
    let (begins, began) = AsyncStream<SyncRequest>.makeStream()
    let number = Mutex<Int64>(6)
    let (asks, asksRetry) = AsyncStream<Void>.makeStream()
    let note: @Sendable () async -> Void = { asksRetry.yield() }
    let loop = SyncLoop(clock: Self.endless, retrySession: note) { request, loop in
      LongSync(
        takesRetries: false,
        begun: {
          let id = number.withLock { number in
            number += 1
            return number
          }
          await loop.begun(id)
          began.yield(request)
        },
        ended: { await loop.ended($0, wait: .seconds(1 << 40)) })
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await loop.run() }
      #expect(await begins.first { _ in true }?.retrySession == false)
      async let asked = loop.ask(SyncRequest(retrySession: true))
      _ = await asks.first { _ in true }
      let cancelled = await loop.cancel()
      #expect(await begins.first { _ in true }?.retrySession == true)
      let id = try await asked.id
      #expect(cancelled == 7 && id == 8)
      group.cancelAll()
    }
  }
}
