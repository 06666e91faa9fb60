internal import FoundationEssentials
internal import RosterCore
import Synchronization

/// The state that the connections, the gates and the waiting tests share.
final class Backend: Sendable {
  typealias Resume = @Sendable () -> Void

  private struct Held {
    var seen: Seen
    var resume: Resume
  }

  private struct Gate {
    var match: Match
    /// Number of answers that may still pass.
    var permits = 0
  }

  private struct Watcher {
    var holds: @Sendable (Counts) -> Bool
    var resume: CheckedContinuation<Counts, any Error>
  }

  private struct State {
    var upstream: SimulatedUpstream
    var gates: [Gate] = []
    var held: [Int: Held] = [:]
    var active: [Int: Target] = [:]
    var watchers: [Int: Watcher] = [:]
    var nextID = 0

    mutating func newID() -> Int {
      nextID += 1
      return nextID
    }

    /// The held answers that `match` covers, in the order of arrival.
    mutating func takeHeld(_ match: Match?, atMost count: Int = .max) -> [Resume] {
      let taken = held.filter { match?.covers($0.value.seen) ?? true }.sorted { $0.key < $1.key }.prefix(count)
      for id in taken.map(\.key) { held[id] = nil }
      return taken.map(\.value.resume)
    }

    mutating func takeSatisfied() -> [Resume] {
      upstream.counts.held = held.count
      let counts = upstream.counts
      let satisfied = watchers.filter { $0.value.holds(counts) }
      for id in satisfied.keys { watchers[id] = nil }
      return satisfied.values.map { watcher in { watcher.resume.resume(returning: counts) } }
    }
  }

  private let state: Mutex<State>
  private let now: @Sendable () -> Date

  init(_ scenario: Scenario, now: @escaping @Sendable () -> Date) {
    state = Mutex(State(upstream: SimulatedUpstream(scenario, now: now())))
    self.now = now
  }

  /// Changes or reads the state under the lock, then wakes the waiters whose condition is now true.
  @discardableResult
  func with<Result: Sendable>(_ change: @Sendable (inout SimulatedUpstream, Date) -> Result) -> Result {
    update { change(&$0.upstream, now()) }
  }

  /// Decides the answer. `send` gets it at once, or when its gate is opened.
  func receive(_ request: Request, send: @escaping @Sendable (Int, SimulatedUpstream.Plan) -> Void) -> Int {
    let (id, plan) = update { state -> (Int, SimulatedUpstream.Plan?) in
      let id = state.newID()
      let plan = state.upstream.receive(request, now: now())
      state.active[id] = plan.seen.target
      guard let gate = state.gates.firstIndex(where: { $0.match.covers(plan.seen) }) else { return (id, plan) }
      if state.gates[gate].permits > 0 {
        state.gates[gate].permits -= 1
        return (id, plan)
      }
      state.held[id] = Held(seen: plan.seen) { send(id, plan) }
      return (id, nil)
    }
    if let plan { send(id, plan) }
    return id
  }

  /// Keeps the rest of a stalled answer until it is released.
  func stall(_ id: Int, seen: Seen, resume: @escaping Resume) {
    update { state in
      if state.active[id] != nil { state.held[id] = Held(seen: seen, resume: resume) }
    }
  }

  /// Records that the answer is complete, or that its connection was closed. Only the first call counts.
  func ended(_ id: Int, abandoned: Bool) {
    update { state in
      guard let target = state.active.removeValue(forKey: id) else { return }
      state.held[id] = nil
      state.upstream.counts.ended(target)
      if abandoned { state.upstream.counts.abandoned += 1 }
    }
  }

  func hold(_ match: Match) {
    update { state in
      if !state.gates.contains(where: { $0.match == match }) { state.gates.append(Gate(match: match)) }
    }
  }

  func release(_ match: Match?) {
    let released = update { state in
      state.gates.removeAll { match == nil || $0.match == match }
      return state.takeHeld(match)
    }
    for resume in released { resume() }
  }

  func pass(_ match: Match, count: Int) {
    let released = update { state in
      let released = state.takeHeld(match, atMost: count)
      for index in state.gates.indices where state.gates[index].match == match {
        state.gates[index].permits += count - released.count
      }
      return released
    }
    for resume in released { resume() }
  }

  func wait(for condition: @escaping @Sendable (Counts) -> Bool) async throws -> Counts {
    let id = update { $0.newID() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        update { $0.watchers[id] = Watcher(holds: condition, resume: continuation) }
        // A cancellation before the watcher was stored has not resumed it.
        if Task.isCancelled { cancelWait(id) }
      }
    } onCancel: {
      cancelWait(id)
    }
  }

  private func cancelWait(_ id: Int) {
    let watcher = state.withLock { $0.watchers.removeValue(forKey: id) }
    watcher?.resume.resume(throwing: CancellationError())
  }

  @discardableResult
  private func update<Result: Sendable>(_ change: (inout State) -> Result) -> Result {
    let (result, satisfied) = state.withLock { state in
      let result = change(&state)
      return (result, state.takeSatisfied())
    }
    for resume in satisfied { resume() }
    return result
  }
}
