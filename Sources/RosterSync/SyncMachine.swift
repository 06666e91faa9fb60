package import RosterModel

/// Decides when a sync pulls again, asks, publishes or gives up (P7, P8, P9). Pure.
///
/// `pulling` → `comparing` → `publishing`, with `asking` between them where characters are missing;
/// back to `pulling` where pages do not belong together, twice at most. Every other event is a defect and ends the sync.
package struct SyncMachine: Sendable {
  package enum State: Sendable, Equatable {
    case pulling, comparing, asking, publishing, ended
  }

  package enum AfterPull: Sendable, Equatable {
    case compare
    case again(String)
    case fail(Failure)
  }

  package enum AfterComparison: Sendable, Equatable {
    case publish(Removal)
    /// Each missing id is to be asked for.
    case ask
    case again(String)
    case fail(Failure)
  }

  /// Pulls after the first that drift may cost (P7).
  package static let mostRepeats = 2

  package private(set) var state = State.pulling
  /// Why the cache is not wholly what upstream has, though it was published.
  package private(set) var shortcoming: String?
  /// The guard held this sync back (P8): what was pulled is dropped.
  package private(set) var isGuarded = false

  private let upstream: String
  private var repeats = 0
  private var rejected = 0

  package init(upstream: String) {
    self.upstream = upstream
  }

  package mutating func pulled(drift: String?) -> AfterPull {
    guard state == .pulling else { return .fail(defect("pulled")) }
    if let drift {
      return again(drift).map(AfterPull.again) ?? .fail(drifting(drift))
    }
    state = .comparing
    return .compare
  }

  /// - Parameters:
  ///   - count: `info.count`.
  ///   - maxRemoval: percent of the snapshot that may go.
  package mutating func compared(
    _ found: Comparison, count: Int, maxRemoval: Int, allowRemoval: Bool
  ) -> AfterComparison {
    guard state == .comparing else { return .fail(defect("compared")) }
    if !found.isComplete || found.distinct + found.rejected != count {
      let drift = "the pages hold \(found.distinct + found.rejected) characters, upstream tells of \(count)"
      return again(drift).map(AfterComparison.again) ?? .fail(drifting(drift))
    }
    if found.distinct == 0, found.rejected > 0 { return .fail(allRejected(found)) }
    rejected = found.rejected
    tellRejects()
    if found.missing == 0 || found.rejectedUnknown > 0 {
      state = .publishing
      return .publish(.nobody)
    }
    if !allowRemoval, found.missing * 100 > maxRemoval * found.snapshot { return .fail(guarded(found, maxRemoval)) }
    state = .asking
    return .ask
  }

  /// Every missing id was asked for, with how many records that could not be stored; or why that was not possible: then nobody is removed.
  package mutating func asked(_ answers: Result<Int, Failure>) -> Removal {
    guard state == .asking else { return .nobody }
    state = .publishing
    switch answers {
    case .success(let more):
      rejected += more
      tellRejects()
      return .missing
    case .failure(let failure):
      shortcoming = "nobody was removed, because not all missing characters could be asked for: \(failure)"
      return .nobody
    }
  }

  private mutating func tellRejects() {
    guard rejected > 0 else { return }
    shortcoming = "\(counted(rejected, "record")) could not be stored; `rosterctl rejects` tells why"
  }

  package mutating func ended() { state = .ended }

  /// The reason, where another pull may be made.
  private mutating func again(_ reason: String) -> String? {
    guard repeats < Self.mostRepeats else { return nil }
    repeats += 1
    state = .pulling
    return reason
  }

  private mutating func drifting(_ why: String) -> Failure {
    state = .ended
    return Failure(
      .badAnswer, step: "pull one state of upstream", subject: upstream,
      cause: "its pages changed while they were pulled, \(repeats + 1) times in a row: \(why)",
      hint: "the next sync tries again; if it lasts, upstream's pages do not fit together")
  }

  private mutating func allRejected(_ found: Comparison) -> Failure {
    state = .ended
    return Failure(
      .badAnswer, step: "store what upstream sent", subject: upstream,
      cause: "none of \(counted(found.rejected, "record")) can be stored",
      hint: "check that upstream.base_url is the API that rosterd knows")
  }

  private mutating func guarded(_ found: Comparison, _ maxRemoval: Int) -> Failure {
    state = .ended
    isGuarded = true
    return Failure(
      .badAnswer, step: "publish", subject: upstream,
      cause:
        "upstream lacks \(found.missing) of \(counted(found.snapshot, "character")), more than sync.max_removal (\(maxRemoval)%) lets go",
      hint: "if that is right, run `rosterctl sync --allow-removal`")
  }

  private mutating func defect(_ event: String) -> Failure {
    defer { state = .ended }
    return Failure(
      .defect, step: "sync", subject: upstream, cause: "\(event) while \(state)",
      hint: "report this as a defect in rosterd")
  }
}

private func counted(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
