import RosterCache
import RosterFetch

/// The result of a child of the pull's task group. An error is a step too, so that pages that were received before it
/// are still stored.
enum PullStep: Sendable {
  case answered(PullPlan.PageJob, [CachedPage]?, PageFetcher.Answer)
  /// The validator of the page lied.
  case lied(PullPlan.PageJob, ValidatorLie)
  case written(StageQueue.Batch)
  /// Pages have waited long enough to be written.
  case due
  case failed(any Error, whileWriting: Bool)

  init(fetching job: PullPlan.PageJob, _ known: [CachedPage]?, _ fetch: () async throws -> PageFetcher.Answer) async {
    do { self = .answered(job, known, try await fetch()) } catch let lie as ValidatorLie {
      self = .lied(job, lie)
    } catch { self = .failed(error, whileWriting: false) }
  }

  init(writing batch: StageQueue.Batch, _ write: () async throws -> Void) async {
    do {
      try await write()
      self = .written(batch)
    } catch { self = .failed(error, whileWriting: true) }
  }
}

/// The state of a pull.
struct PullState {
  var plan: PullPlan
  var queue = StageQueue()
  var windows: [KnownWindow]
  /// True if a child waits until the batch is due.
  var isTimed = false
  /// The first failure, which is the cause: later ones are cancellations because of it.
  private(set) var failure: (any Error)?

  init(plan: PullPlan, windows: [KnownWindow]) {
    self.plan = plan
    self.windows = windows
  }

  var isOver: Bool { plan.isIdle && queue.isEmpty }

  mutating func failed(_ error: any Error, whileWriting: Bool) {
    if failure == nil { failure = error }
    plan.stop()
    if whileWriting { queue.fail() }
  }
}
