import FoundationEssentials
package import Logging
import RosterAuth
package import RosterCore
import Synchronization

/// Counts requests against `limit.budget`, across restarts too. Each request is written to a file before it is sent, so
/// that a killed process has counted all its requests. Without a budget it counts nothing and has no file.
package final class BudgetLedger: Sendable {
  fileprivate struct State {
    var budget: Budget?
    /// Number of open requests.
    var open = 0
    /// Requests that found no room while others are open. No other request has room until they end.
    var refused: [Waiters<Void>.ID] = []
    /// True if the last sync ran out of requests: the number that it needs is not known.
    var wasShort = false
    var isHeaderChanged = false
    /// The time of day minus the uptime, in seconds, that was used for the file's times.
    var offset = 0.0
    var isWarned = false
  }

  private let path: String
  private let upstream: String
  private let clock: WallClock
  private let logger: Logger
  private let waiters = Waiters<Void>()
  private let state = Mutex(State())
  /// Locked before `state`. Read-only methods never lock it, because a disk may hang.
  private let file = Mutex<SlotFile?>(nil)

  /// - Parameters:
  ///   - path: path of the file. The folder exists, and only this process writes the file.
  ///   - upstream: `upstream.base_url`. Requests to another upstream do not count.
  package init(path: String, upstream: String, clock: WallClock, logger: Logger) {
    self.path = path
    self.upstream = upstream
    self.clock = clock
    self.logger = logger
  }

  /// Applies the budget of a reload; nil removes it. Throws a Failure (73) if the file cannot be written.
  package func change(_ rule: RequestBudget?) throws(Failure) {
    let isCounting = state.withLock { state in
      guard state.budget?.rule != rule else { return true }
      state.wasShort = false
      state.isHeaderChanged = true
      if let rule { state.budget?.change(rule) } else { state.budget = nil }
      return rule == nil || state.budget != nil
    }
    if let rule, !isCounting { try open(rule) }
  }

  // MARK: Requests

  /// Counts a request that is about to start, and returns its number for `ended`. Throws a `Failure` (69) if the
  /// budget has no room, after all open requests have ended. Those are counted already, and a failed sync would cancel
  /// them.
  package func spend() async throws -> Int? {
    let now = clock.uptime()
    let (number, rule, waiter) = state.withLock { $0.spend(at: now, waiters) }
    store()
    guard number == nil, let rule else { return number }
    if let waiter { try await waiters.value(waiter) }
    throw usedUp(rule)
  }

  /// - Parameter isSent: false if no byte of the request can have reached upstream.
  package func ended(_ number: Int?, isSent: Bool) {
    guard let number else { return }
    let now = clock.uptime()
    let refused = state.withLock { state in
      state.budget?.ended(number, at: now, isSent: isSent)
      state.open -= 1
      guard state.open == 0 else { return [Waiters<Void>.ID]() }
      defer { state.refused = [] }
      return state.refused
    }
    store()
    for waiter in refused { waiters.settle(waiter, result: .success(())) }
  }

  /// Number of requests that will be refused when the open ones have ended.
  var refusals: Int { state.withLock { $0.refused.count } }

  private func usedUp(_ rule: RequestBudget) -> Failure {
    let room = (clock.now() + (wait(for: nil) ?? .zero).seconds).rfc3339
    return Failure(
      .unreachable, cause: "limit.budget (\(rule.text)) is used up",
      hint: "the pulled pages are kept, and the next sync starts when the whole budget is free again, at \(room)"
    ).with(.budget)
  }

  // MARK: Syncs

  /// Time until the budget has room for a sync; nil if it has room now, or if there is no budget.
  /// - Parameter requests: the requests of the last successful sync; nil if no sync has succeeded.
  package func wait(for requests: Int?) -> Duration? {
    let now = clock.uptime()
    return state.withLock { state in
      state.budget.flatMap { $0.wait(for: state.wasShort ? $0.rule.limit : requests ?? 1, at: now) }
    }
  }

  /// True if the last sync ran out of requests, so that the next one waits for the whole budget.
  package var wasShort: Bool { state.withLock { $0.budget != nil && $0.wasShort } }

  /// Call this when a sync has succeeded: its number of requests is known.
  package func syncWentWell() {
    let isNews = state.withLock { state in
      defer { state.wasShort = false }
      if state.wasShort { state.isHeaderChanged = true }
      return state.wasShort
    }
    if isNews { store() }
  }

  /// The budget and the number of requests in its last window; nil without a budget.
  package var usage: (rule: RequestBudget, used: Int)? {
    let now = clock.uptime()
    return state.withLock { state in state.budget.map { ($0.rule, $0.used(at: now)) } }
  }
}

// MARK: The file

extension BudgetLedger {
  private func open(_ rule: RequestBudget) throws(Failure) {
    do throws(FileError) {
      let stored = BudgetSlot.read((try? contents(of: path, limit: Self.maxBytes)) ?? [], of: upstream, rule: rule)
      let (now, uptime) = (clock.now(), clock.uptime())
      let entries = stored.entries.map { $0.entry(at: now, uptime) }.filter { uptime - $0.last < rule.window }
      var budget = Budget(rule, entries: entries.sorted { $0.began < $1.began })
      let slots = budget.takeChanges().compactMap { id, entry in
        entry.map { (BudgetSlot.slot(of: id), BudgetSlot($0, at: now, uptime: uptime)) }
      }
      // The file is replaced as a whole: a killed process leaves the old file or the new one.
      try WholeFile(path, mode: 0o600).replace(
        with: BudgetSlot.file(upstream, rule: rule, wasShort: stored.wasShort, slots: Dictionary(slots) { $1 }))
      let opened = try SlotFile(path)
      state.withLock { state in
        state.budget = budget
        state.wasShort = stored.wasShort
        state.offset = now.timeIntervalSince1970 - uptime.seconds
      }
      file.withLock { $0 = opened }
    } catch {
      throw Failure(
        .cannotWrite, step: "keep limit.budget", subject: path, cause: "cannot \(error.step) it: \(error.error.text)",
        hint: Failure.hint(
          for: error.error.code, writing: path, else: "see whether rosterd may write to its folder")
      ).with(Diagnosis.Kind(errno: error.error.code))
    }
  }

  private func store() {
    file.withLock { file in
      guard let file else { return }
      let (now, uptime) = (clock.now(), clock.uptime())
      do throws(FileError) {
        for (slot, bytes) in changes(at: now, uptime) { try file.write(bytes, to: slot) }
      } catch { warn(error) }
    }
  }

  private func changes(at now: Date, _ uptime: Duration) -> [(slot: Int, bytes: [UInt8])] {
    state.withLock { state in
      let offset = now.timeIntervalSince1970 - uptime.seconds
      // The clock was set, so that the stored times are wrong.
      if abs(offset - state.offset) > Self.minStep {
        state.offset = offset
        state.budget?.touchAll()
      }
      let entries = (state.budget?.takeChanges() ?? []).map { id, entry in
        (BudgetSlot.slot(of: id), entry.map { BudgetSlot($0, at: now, uptime: uptime).bytes } ?? BudgetSlot.empty)
      }
      guard state.isHeaderChanged, let rule = state.budget?.rule else { return entries }
      state.isHeaderChanged = false
      return entries + [(0, BudgetSlot.header(upstream, rule: rule, wasShort: state.wasShort))]
    }
  }

  private func warn(_ error: FileError) {
    guard
      state.withLock({ state in
        defer { state.isWarned = true }
        return !state.isWarned
      })
    else { return }
    logger.warning(
      "limit.budget will not count requests from now on after a restart: cannot \(error.step) \(error.path): \(error.error.text)"
    )
  }

  /// Far above the size of the file: a larger file was made by another program.
  private static let maxBytes = 1 << 20
  /// Seconds. A larger difference means that the clock was set; a smaller one means that it was slewed.
  private static let minStep = 1.0
}

extension BudgetLedger.State {
  fileprivate mutating func spend(
    at now: Duration, _ waiters: Waiters<Void>
  ) -> (number: Int?, rule: RequestBudget?, waiter: Waiters<Void>.ID?) {
    guard let rule = budget?.rule else { return (nil, nil, nil) }
    if refused.isEmpty, let number = budget?.spend(at: now) {
      open += 1
      return (number, rule, nil)
    }
    if !wasShort { isHeaderChanged = true }
    wasShort = true
    guard open > 0 else { return (nil, rule, nil) }
    let waiter = waiters.open()
    refused.append(waiter)
    return (nil, rule, waiter)
  }
}
