import FoundationEssentials
import RosterCore
import RosterSync

/// A sync from the loop's point of view: it runs once, and further requests may join it.
protocol JoinableSync: Sendable {
  /// Never throws: the record says how the sync ended.
  func run() async -> SyncRecord
  /// Adds the options of a further request for a sync. Returns false if it is too late for them.
  func joined(by request: SyncRequest) -> Bool
}

extension Sync: JoinableSync {}

/// The daemon's loop: runs one sync at a time, when it is due or requested.
actor SyncLoop {
  private struct Current {
    var sync: any JoinableSync
    /// True if a fresh request may join it.
    var isFresh: Bool
    /// nil until its row is written.
    var id: Int64?
    /// Cancels the sync.
    var cancel: AsyncStream<Void>.Continuation
  }

  private let make: @Sendable (SyncRequest, SyncLoop) -> any JoinableSync
  private let retrySession: @Sendable () async -> Void
  private let requestNewToken: @Sendable () async -> Void
  private let postponement: @Sendable () async -> Postponement?
  private let postponed: @Sendable (Postponement, Date) -> Void
  private let clock: WallClock
  private let pulse: Pulse
  /// In `uptime`, so that a changed clock does not move a sync. The first sync is due at once.
  private var due: Duration
  private var current: Current?
  /// The options of the next sync, if one was requested.
  private var waiting: SyncRequest?
  private var askers: [CheckedContinuation<Int64, any Error>] = []
  /// Cancellations of a sync that has no row yet.
  private var cancellers: [CheckedContinuation<Int64?, Never>] = []
  /// Requests whose sync ended before it began. They are answered after the status shows that end.
  private var refused: [(CheckedContinuation<Int64, any Error>, Failure)] = []
  private var nap: Task<Void, any Error>?
  private var isStopping = false

  /// - Parameters:
  ///   - retrySession: Gives the session one more try in the running sync.
  ///   - requestNewToken: Asks for a new token during the running sync.
  ///   - postponement: Asked before each sync.
  ///   - postponed: Receives the reason and the new start time of a sync that was not started.
  init(
    clock: WallClock, pulse: Pulse = Pulse(), retrySession: @escaping @Sendable () async -> Void = {},
    requestNewToken: @escaping @Sendable () async -> Void = {},
    postponement: @escaping @Sendable () async -> Postponement? = { nil },
    postponed: @escaping @Sendable (Postponement, Date) -> Void = { _, _ in },
    make: @escaping @Sendable (SyncRequest, SyncLoop) -> any JoinableSync
  ) {
    self.make = make
    self.retrySession = retrySession
    self.requestNewToken = requestNewToken
    self.postponement = postponement
    self.postponed = postponed
    self.clock = clock
    self.pulse = pulse
    due = clock.uptime()
  }

  /// Returns when it is cancelled and the running sync has ended.
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
      } else {
        pulse.syncBegan()
        await Self.run(sync, until: cancels)
        pulse.syncEnded()
      }
      for (asker, failure) in refused { asker.resume(throwing: failure) }
      refused = []
      // The sync of these cancellations has no row.
      answerCancellers(nil)
    }
    isStopping = true
    refuse(with: stopping)
  }

  /// Starts a sync, or joins the running one. Returns when the sync's row is written. Throws a `SyncRequest.Conflict`
  /// if a fresh request arrives during a sync that is not fresh.
  func ask(_ request: SyncRequest) async throws -> (id: Int64, joined: Bool) {
    var asked = request
    if asked.retrySession, current != nil { await retrySession() }
    if asked.wantsNewToken, current != nil {
      asked.wantsNewToken = false
      await requestNewToken()
    }
    if isStopping { throw stopping }
    if let current {
      if asked.isFresh, !current.isFresh { throw SyncRequest.Conflict() }
      if current.sync.joined(by: asked) {
        if let id = current.id { return (id, true) }
        return (try await begunID(), true)
      }
    }
    let joined = waiting != nil
    waiting = SyncRequest(
      allowRemoval: asked.allowRemoval || waiting?.allowRemoval == true,
      retrySession: asked.retrySession || waiting?.retrySession == true,
      wantsNewToken: asked.wantsNewToken || waiting?.wantsNewToken == true,
      isFresh: asked.isFresh || waiting?.isFresh == true)
    nap?.cancel()
    return (try await begunID(), joined)
  }

  /// Cancels the running sync and returns its id; nil if no sync runs, also if the next one was postponed
  /// meanwhile. A sync whose COMMIT has begun ends normally.
  func cancel() async -> Int64? {
    guard let current else { return nil }
    current.cancel.yield()
    if let id = current.id { return id }
    return await withCheckedContinuation { cancellers.append($0) }
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
    answerCancellers(id)
  }

  /// After this call the sync cannot be joined.
  /// - Parameter wait: Time until the next sync. It is not a date, because a changed clock would move that.
  func ended(_ report: SyncRecord, wait: Duration) {
    let hasBegun = current?.id != nil
    current = nil
    due = clock.uptime() + wait
    // Requests that were too late for a sync that has begun wait for the next one.
    if hasBegun { return }
    let exit = report.exit.flatMap(Failure.Kind.init(rawValue:)) ?? .cannotWrite
    let failure = Failure(exit, step: "start a sync", subject: "rosterd", cause: report.error ?? "it ended at once")
    refused = askers.map { ($0, failure) }
    askers = []
  }

  /// The sync has not begun and has no row. All requests for it are answered with the reason.
  private func postpone(_ postponement: Postponement) {
    current = nil
    due = max(due, uptime(at: postponement.until))
    postponed(postponement, clock.now() + (due - clock.uptime()).seconds)
    refuse(with: postponement.failure)
  }

  /// Moves the next sync when a reload has changed the schedule.
  func reschedule(to date: Date) {
    due = uptime(at: date)
    nap?.cancel()
  }

  /// Number of requests and cancellations that wait for the row of a sync.
  var waiters: Int { askers.count + cancellers.count }

  /// Returns as soon as the loop's executor is free, which proves that the loop is alive.
  func beat() {}

  private func sleepUntilDue() async {
    while waiting == nil, !Task.isCancelled {
      let left = due - clock.uptime()
      if left <= .zero { return }
      let nap = Task { [clock] in try await clock.sleep(left) }
      self.nap = nap
      await withTaskCancellationHandler {
        // A nap ends early if there is work, which the loop then looks for itself. A nap that was not interrupted means
        // that the sync is due now.
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

  private func answerCancellers(_ id: Int64?) {
    for canceller in cancellers { canceller.resume(returning: id) }
    cancellers = []
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
