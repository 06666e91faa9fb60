import FoundationEssentials
import Logging
import RosterCache
import RosterCore
import RosterFetch

/// Whether the lists without a parent are pulled whole, and the marks of the next pull.
extension Sync {
  /// Decides which lists are pulled whole. Resources of one list are pulled in the same way, from the lowest of
  /// their marks.
  func chooseStarts() async throws {
    let now = clock.now()
    waiting = Set(lists.indices)
    var requests = 0
    for index in lists.indices {
      guard let since = lists[index].since else { continue }
      var (starts, isDue, isLate) = ([SinceStart](), false, false)
      for resource in lists[index].resources {
        let history = try await cache.sinceHistory(of: resource)
        marks[resource] = history.mark.flatMap(since.mark)
        switch since.nextPull(after: history, now: now) {
        case .whole: break
        case .incremental(let start): starts.append(start)
        case .wholeOrLater(let start, let isTooLate):
          starts.append(start)
          (isDue, isLate) = (true, isLate || isTooLate)
        }
      }
      let lowest = starts.count == lists[index].resources.count ? Self.lowest(starts) : nil
      var isWhole = lowest == nil
      if !isWhole, isDue {
        isWhole = try await mayPullWhole(index, after: &requests)
        if !isWhole { postpone(index, isLate: isLate) }
      }
      try await start(index, from: isWhole ? nil : lowest)
    }
  }

  /// The lowest mark, or the delta token that all starts share; nil if delta tokens differ.
  private static func lowest(_ starts: [SinceStart]) -> SinceStart? {
    let marks = starts.compactMap { if case .mark(let mark) = $0 { mark } else { nil } }
    if marks.count == starts.count { return marks.min { $0.value < $1.value }.map(SinceStart.mark) }
    return starts.allSatisfy { $0 == starts.first } ? starts.first : nil
  }

  /// True if the budget has room for as many requests as the last whole pull needed.
  /// - Parameter requests: Number of requests of the whole pulls that were chosen so far.
  private func mayPullWhole(
    _ list: Int, after requests: inout Int
  ) async throws -> Bool {
    var wanted = requests
    for resource in lists[list].resources { wanted += try await cache.wholeRequests(of: resource) }
    guard host.permits(requests: wanted) else { return false }
    requests = wanted
    return true
  }

  private func postpone(_ list: Int, isLate: Bool) {
    for resource in lists[list].resources {
      logger.notice(
        "limit.budget has no room for a whole pull: only the records that changed are pulled",
        metadata: ["resource": "\(resource)"])
      if isLate { machine.postponed(resource) }
    }
  }

  func start(_ list: Int, from start: SinceStart?) async throws {
    try lists[list].start(from: start, host.settings.links)
    for resource in lists[list].resources { await cache.pullIncrementally(resource, when: start != nil) }
  }

  /// Throws (69) if the budget has no room for whole pulls of lists whose first incremental page upstream refused. Such
  /// a filter may be refused in each sync.
  func expectRoom(forWhole refusals: [String: [ListRefusal]]) async throws {
    var requests = 0
    for (index, list) in lists.enumerated() {
      let name = list.resources[0]
      guard let refusal = refusals[name]?.first, refusal.isStartRefused else { continue }
      guard try await !mayPullWhole(index, after: &requests) else { continue }
      throw Failure(
        .unreachable, step: "pull \(name) whole", subject: baseURL,
        cause: "upstream refused an incremental pull (\(refusal.status)), and limit.budget has no room now",
        hint: "correct param, value or zone of [resource.\(name).since], or raise limit.budget"
      ).with(.budget, [.resource(name)])
    }
  }

  /// The marks after this pull, by resource. Throws (65) if no record of a list has a value of the named form.
  func nextMarks() throws -> [String: Since.MarkMove] {
    var moves: [String: Since.MarkMove] = [:]
    for (list, outcome) in zip(lists, pulled) {
      guard let since = list.since else { continue }
      for resource in list.resources {
        let move = list.move(of: marks[resource], after: outcome)
        guard let move, move != .unreadable else {
          useless = list.resources
          throw move == nil
            ? Self.withoutToken(since, resource: resource) : Self.unreadable(since, resource: resource)
        }
        moves[resource] = move
      }
    }
    return moves
  }

  private static func withoutToken(_ since: Since, resource: String) -> Failure {
    Failure(
      .badAnswer, step: "keep the delta token of \(resource)", subject: resource,
      cause: "the last page has none at \(since.token?.description ?? "")",
      hint: "correct token of [resource.\(resource).since]: since.token"
    ).with(.malformed, [.resource(resource)])
  }

  private static func unreadable(_ since: Since, resource: String) -> Failure {
    Failure(
      .badAnswer, step: "set the mark of \(resource)", subject: resource,
      cause: "no record has a value of the form \(since.form.rawValue) at \(since.at?.description ?? "")",
      hint:
        "correct at and form of [resource.\(resource).since]: since.at, since.form. Without a form that fits, remove "
        + "since: each sync then pulls the list whole"
    ).with(.malformed, [.resource(resource)])
  }
}
