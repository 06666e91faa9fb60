import FoundationEssentials
package import Logging
import RosterAuth
import RosterFiles
package import RosterModel
import Synchronization

/// Counts what is sent against `limit.budget`, over restarts too: each request is in a file before it is sent, so that
/// a process that is killed has counted all of its own. Without a budget it counts nothing and has no file.
package final class BudgetLedger: Sendable {
  fileprivate struct State {
    var budget: Budget?
    /// Requests under way.
    var open = 0
    /// Those that had no room, while some are under way: nothing else has room then.
    var refused: [Waiters<Void>.ID] = []
    /// The last sync was broken off for want of requests: how many it takes, nobody knows.
    var wasShort = false
    var isHeaderChanged = false
    /// The time of day less the uptime, in seconds, by which the file's times were written.
    var offset = 0.0
    var isWarned = false
  }

  private let path: String
  private let upstream: String
  private let clock: WallClock
  private let logger: Logger
  private let waiters = Waiters<Void>()
  private let state = Mutex(State())
  /// Locked before `state`, and never by whoever only looks: a disk may hang (S1).
  private let file = Mutex<SlotFile?>(nil)

  /// - Parameters:
  ///   - path: of its file, in a folder that is there and of which this process alone writes the file.
  ///   - upstream: `upstream.base_url`: what was sent to another one does not count.
  package init(path: String, upstream: String, clock: WallClock, logger: Logger) {
    self.path = path
    self.upstream = upstream
    self.clock = clock
    self.logger = logger
  }

  /// As a reload has it; nil: none. Throws a Failure (73) where its file cannot be had.
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

  /// Counts a request that is about to start; its number is for `ended`. Throws a `RequestFault` (69) where the budget
  /// has no room for it, once those that are under way have ended: they are paid for, and a sync that fails calls back
  /// what it has under way.
  package func spend() async throws -> Int? {
    let now = clock.uptime()
    let (number, rule, waiter) = state.withLock { $0.spend(at: now, waiters) }
    store()
    guard number == nil, let rule else { return number }
    if let waiter { try await waiters.value(waiter) }
    throw usedUp(rule)
  }

  /// - Parameter isSent: false where no byte of it can have reached upstream.
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
    for waiter in refused { waiters.settle(waiter, .success(())) }
  }

  /// How many wait to be refused.
  var refusals: Int { state.withLock { $0.refused.count } }

  private func usedUp(_ rule: RequestBudget) -> RequestFault {
    let room = (clock.now() + (wait(for: nil) ?? .zero).seconds).rfc3339
    return RequestFault(
      .unreachable, cause: "limit.budget (\(rule.text)) is used up",
      hint: "what was pulled is kept, and the next sync starts when the budget is whole again, at \(room)"
    ).with(.budget)
  }

  // MARK: Syncs

  /// How long until the budget holds a sync; nil: it does now, or there is none.
  /// - Parameter requests: of the last sync that went well; nil: none did.
  package func wait(for requests: Int?) -> Duration? {
    let now = clock.uptime()
    return state.withLock { state in
      state.budget.flatMap { $0.wait(for: state.wasShort ? $0.rule.limit : requests ?? 1, at: now) }
    }
  }

  /// A sync came to its end: what it took is known.
  package func syncWentWell() {
    let isNews = state.withLock { state in
      defer { state.wasShort = false }
      if state.wasShort { state.isHeaderChanged = true }
      return state.wasShort
    }
    if isNews { store() }
  }

  /// The budget and what of it the last window has used; nil: there is none.
  package var usage: (rule: RequestBudget, used: Int)? {
    let now = clock.uptime()
    return state.withLock { state in state.budget.map { ($0.rule, $0.used(at: now)) } }
  }
}

// MARK: The file

extension BudgetLedger {
  private func open(_ rule: RequestBudget) throws(Failure) {
    do throws(FileError) {
      let stored = BudgetSlot.read((try? contents(of: path, limit: Self.mostBytes)) ?? [], of: upstream, rule)
      let (now, uptime) = (clock.now(), clock.uptime())
      let entries = stored.entries.map { $0.entry(at: now, uptime) }.filter { uptime - $0.last < rule.window }
      var budget = Budget(rule, entries: entries.sorted { $0.began < $1.began })
      let slots = budget.takeChanges().compactMap { id, entry in
        entry.map { (BudgetSlot.slot(of: id), BudgetSlot($0, at: now, uptime)) }
      }
      // Whole: a process that is killed meanwhile leaves the old one or the new one.
      try WholeFile(path, mode: 0o600).replace(
        with: BudgetSlot.file(upstream, rule, wasShort: stored.wasShort, Dictionary(slots) { $1 }))
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
      ).with(Trouble.Kind(errno: error.error.code))
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
      // The clock was set: what is stored would be of another time.
      if abs(offset - state.offset) > Self.leastStep {
        state.offset = offset
        state.budget?.touchAll()
      }
      let entries = (state.budget?.takeChanges() ?? []).map { id, entry in
        (BudgetSlot.slot(of: id), entry.map { BudgetSlot($0, at: now, uptime).bytes } ?? BudgetSlot.empty)
      }
      guard state.isHeaderChanged, let rule = state.budget?.rule else { return entries }
      state.isHeaderChanged = false
      return entries + [(0, BudgetSlot.header(upstream, rule, wasShort: state.wasShort))]
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
      "what is sent from now on is not counted against limit.budget after a restart: cannot \(error.step) \(error.path): \(error.error.text)"
    )
  }

  /// Far above what it has: a file that is larger is somebody else's.
  private static let mostBytes = 1 << 20
  /// Seconds by which a clock is taken to have been set, and not to have been slewed.
  private static let leastStep = 1.0
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
