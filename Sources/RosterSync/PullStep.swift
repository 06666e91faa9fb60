import RosterCache
import RosterFetch
import RosterModel

/// The result of a child of the pull's task group. An error is a step too, so that pages that were received before it
/// are still stored.
enum PullStep: Sendable {
  case answered(PullPlan.PageJob, [CachedPage]?, PageFetcher.Answer)
  /// The validator of the page lied.
  case lied(PullPlan.PageJob, ValidatorLie)
  case written(StageQueue.Batch)
  /// Pages have waited long enough to be written.
  case due
  /// - Parameter job: the page that was requested; nil while pages were written.
  case failed(any Error, job: PullPlan.PageJob?)

  init(fetching job: PullPlan.PageJob, _ known: [CachedPage]?, _ fetch: () async throws -> PageFetcher.Answer) async {
    do { self = .answered(job, known, try await fetch()) } catch let lie as ValidatorLie {
      self = .lied(job, lie)
    } catch { self = .failed(error, job: job) }
  }

  init(writing batch: StageQueue.Batch, _ write: () async throws -> Void) async {
    do {
      try await write()
      self = .written(batch)
    } catch { self = .failed(error, job: nil) }
  }
}

/// The state of a pull.
struct PullState {
  var plan: PullPlan
  var queue = StageQueue()
  /// The open lists, by their numbers in the plan.
  private(set) var lists: [Int: PulledList] = [:]
  var windows: [Int: KnownWindow] = [:]
  /// Child lists, if the pull requests any.
  var supply: ListSupply?
  /// The outcome of the child lists.
  var children = ChildOutcome()
  private var opened: Int
  /// True if a child waits until the batch is due.
  var isTimed = false
  /// The first failure, which is the cause: later ones are cancellations because of it.
  private(set) var failure: (any Error)?

  init(_ lists: [PulledList], maxPages: Int, supply: ListSupply? = nil) {
    plan = PullPlan(lists.map(\.paging), maxPages: maxPages)
    opened = lists.count
    self.supply = supply
    for (number, list) in lists.enumerated() {
      self.lists[number] = list
      windows[number] = KnownWindow(list)
    }
  }

  mutating func open(_ list: PulledList, maxPages: Int) {
    plan.open(opened, list.paging, maxPages: maxPages)
    lists[opened] = list
    windows[opened] = KnownWindow(list)
    opened += 1
  }

  mutating func close(_ number: Int) {
    plan.close(number)
    lists[number] = nil
    windows[number] = nil
  }

  var isOver: Bool { plan.isIdle && queue.isEmpty }

  mutating func failed(_ error: any Error, whileWriting: Bool) {
    if failure == nil { failure = error }
    plan.stop()
    if whileWriting { queue.fail() }
  }
}

/// The outcome of a pull of child lists, besides the lists that were obtained.
struct ChildOutcome: Sendable {
  /// Lists whose pages do not fit together.
  var drifts: [String: [ListDrift]] = [:]
  /// The first validator that lied, by resource.
  var lies: [String: ValidatorLie] = [:]
  /// The first failure of a list, by resource.
  var failures: [String: Failure] = [:]
  /// Number of lists of each resource that ended with a server error since the last one that was obtained.
  var serverErrors: [String: Int] = [:]

  /// After this number of lists in a row that end with a server error, the sync fails (E7.2).
  static let maxServerErrors = 8
}
