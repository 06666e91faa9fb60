import FoundationEssentials
import RosterModel
import RosterSync

/// A sync as the loop has it: it runs once, and others may join it.
protocol JoinableSync: Sendable {
  /// Never throws: how it ended is in the record.
  func run() async -> SyncRecord
  /// Somebody else asked for a sync too (P12).
  func joined(by request: SyncRequest)
}

extension Sync: JoinableSync {}

/// The daemon's loop: one sync at a time, when it is due or asked for (P12).
actor SyncLoop {
  private struct Current {
    var sync: any JoinableSync
    /// A fresh request may join it (L1.2).
    var isFresh: Bool
    /// nil until its row is written.
    var id: Int64?
    /// Ends it early.
    var cancel: AsyncStream<Void>.Continuation
  }

  private let make: @Sendable (SyncRequest, SyncLoop) -> any JoinableSync
  private let retrySession: @Sendable () async -> Void
  private let postponement: @Sendable () async -> Postponement?
  private let postponed: @Sendable (Postponement, Date) -> Void
  private let clock: WallClock
  private let pulse: Pulse
  /// By `uptime`, so that whoever sets the clock moves no sync. The first starts at once.
  private var due: Duration
  private var current: Current?
  /// What the next one is allowed, where somebody asks for it.
  private var waiting: SyncRequest?
  private var askers: [CheckedContinuation<Int64, any Error>] = []
  /// Those whose sync ended before it began: they are told once the status has its end.
  private var refused: [(CheckedContinuation<Int64, any Error>, Failure)] = []
  private var nap: Task<Void, any Error>?
  private var isStopping = false

  /// - Parameters:
  ///   - retrySession: gives the session one more try in the sync that runs (T6).
  ///   - postponement: looked at before each sync.
  ///   - postponed: told why one was not started, and when it will be.
  init(
    clock: WallClock, pulse: Pulse = Pulse(), retrySession: @escaping @Sendable () async -> Void = {},
    postponement: @escaping @Sendable () async -> Postponement? = { nil },
    postponed: @escaping @Sendable (Postponement, Date) -> Void = { _, _ in },
    make: @escaping @Sendable (SyncRequest, SyncLoop) -> any JoinableSync
  ) {
    self.make = make
    self.retrySession = retrySession
    self.postponement = postponement
    self.postponed = postponed
    self.clock = clock
    self.pulse = pulse
    due = clock.uptime()
  }

  /// Returns when it is cancelled and the sync that ran has ended.
  func run() async {
    while !Task.isCancelled {
      await sleepUntilDue()
      if Task.isCancelled { break }
      let request = waiting ?? SyncRequest()
      waiting = nil
      let sync = make(request, self)
      let (cancels, cancel) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
      current = Current(sync: sync, isFresh: request.isFresh, cancel: cancel)
      if let postponement = await postponement() {
        postpone(postponement)
        continue
      }
      pulse.syncBegan()
      await Self.run(sync, until: cancels)
      pulse.syncEnded()
      for (asker, failure) in refused { asker.resume(throwing: failure) }
      refused = []
    }
    isStopping = true
    refuse(with: stopping)
  }

  /// Starts a sync, or joins the one that runs; returns when its row is written. Throws a `SyncRequest.Conflict` if a
  /// fresh request arrives during a sync that is not fresh (L1.2).
  func ask(_ asked: SyncRequest) async throws -> (id: Int64, joined: Bool) {
    if asked.retrySession, current != nil { await retrySession() }
    if isStopping { throw stopping }
    if let current {
      if asked.isFresh, !current.isFresh { throw SyncRequest.Conflict() }
      current.sync.joined(by: asked)
      if let id = current.id { return (id, true) }
      return (try await begunID(), true)
    }
    let joined = waiting != nil
    waiting = SyncRequest(
      allowRemoval: asked.allowRemoval || waiting?.allowRemoval == true,
      retrySession: asked.retrySession || waiting?.retrySession == true,
      isFresh: asked.isFresh || waiting?.isFresh == true)
    nap?.cancel()
    return (try await begunID(), joined)
  }

  /// Cancels the sync that runs (P3, P4) and returns its id; nil: none runs. One whose COMMIT has begun ends as it
  /// would.
  func cancel() async throws -> Int64? {
    guard let current else { return nil }
    current.cancel.yield()
    if let id = current.id { return id }
    return try await begunID()
  }

  private static func run(_ sync: any JoinableSync, until cancels: AsyncStream<Void>) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { _ = await sync.run() }
      group.addTask { for await _ in cancels { break } }
      await group.next()
      group.cancelAll()
    }
  }

  func begun(_ id: Int64) {
    current?.id = id
    for asker in askers { asker.resume(returning: id) }
    askers = []
  }

  /// From here on the sync is not joined any more.
  /// - Parameter wait: until the next one. No date, which another time of day would move.
  func ended(_ report: SyncRecord, wait: Duration) {
    current = nil
    due = clock.uptime() + wait
    let exit = report.exit.flatMap(Failure.Kind.init(exitCode:)) ?? .cannotWrite
    let failure = Failure(exit, step: "start a sync", subject: "rosterd", cause: report.error ?? "it ended at once")
    refused = askers.map { ($0, failure) }
    askers = []
  }

  /// Nothing has begun: there is no row, and whoever asked learns why.
  private func postpone(_ postponement: Postponement) {
    current = nil
    due = max(due, uptime(at: postponement.until))
    postponed(postponement, clock.now() + (due - clock.uptime()).seconds)
    refuse(with: postponement.failure)
  }

  /// A new schedule holds from the next sync on; this moves it.
  func reschedule(to date: Date) {
    due = uptime(at: date)
    nap?.cancel()
  }

  /// Proof that the loop is alive: whoever calls it waits until the loop's own executor is free (S4).
  func beat() {}

  private func sleepUntilDue() async {
    while waiting == nil, !Task.isCancelled {
      let left = due - clock.uptime()
      if left <= .zero { return }
      let nap = Task { [clock] in try await clock.sleep(left) }
      self.nap = nap
      await withTaskCancellationHandler {
        // A nap ends early where there is something to do; the loop looks itself. One that lasted is the time that had
        // to pass.
        if case .success = await nap.result { due = clock.uptime() }
      } onCancel: {
        nap.cancel()
      }
    }
  }

  private func uptime(at date: Date) -> Duration {
    clock.uptime() + .seconds(date.timeIntervalSince(clock.now()))
  }

  private func begunID() async throws -> Int64 {
    try await withCheckedThrowingContinuation { askers.append($0) }
  }

  private func refuse(with failure: Failure) {
    for asker in askers { asker.resume(throwing: failure) }
    askers = []
  }

  private var stopping: Failure {
    Failure(
      .cancelled, step: "start a sync", subject: "rosterd", cause: "it is stopping", hint: "ask again when it runs")
  }
}
