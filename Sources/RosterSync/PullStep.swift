import RosterCache
import RosterCore
import RosterFetch

/// The result of a child of the pull's task group. An error is a step too, so that pages that were received before it
/// are still stored. A task group copies the results of its children, so the values are in one allocation.
indirect enum PullStep: Sendable {
  case answered(PullPlan.PageJob, [CachedPage]?, PageFetcher.Answer)
  /// The validator of the page lied.
  case lied(PullPlan.PageJob, lie: ValidatorLie)
  case written(StageQueue.Batch)
  /// Pages have waited long enough to be written.
  case due
  /// - Parameter job: the page that was requested; nil while pages were written.
  case failed(any Error, job: PullPlan.PageJob?)

  init(
    fetching job: PullPlan.PageJob, known: [CachedPage]?,
    fetch: () async throws -> PageFetcher.Answer
  ) async {
    do {
      self = .answered(job, known, try await fetch())
    } catch let lie as ValidatorLie {
      self = .lied(job, lie: lie)
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
  var lists: [Int: OpenList] = [:]
  /// Lists that are not open yet; nil after the last one.
  var supply: ListSupply?
  var outcome = LevelOutcome()
  private var opened = 0
  /// True if a child waits until the batch is due.
  var isTimed = false
  /// The first failure, which is the cause: later ones are cancellations because of it.
  private(set) var failure: (any Error)?

  let maxPages: Int

  init(_ supply: ListSupply, maxPages: Int) {
    plan = PullPlan([], maxPages: maxPages)
    (self.supply, self.maxPages) = (supply, maxPages)
  }

  mutating func open(_ list: PulledList) {
    plan.open(opened, paging: list.paging, isByPage: list.isByPage, maxPages: maxPages)
    lists[opened] = OpenList(list)
    opened += 1
  }

  /// Returns the server error that a page of the list ended with.
  mutating func close(_ number: Int) -> Failure? {
    plan.close(number)
    return lists.removeValue(forKey: number)?.serverError
  }

  /// Notes whether the last page of a list was kept and not requested.
  mutating func note(isResumed: Bool, list number: Int) { lists[number]?.list.isResumed = isResumed }

  var isOver: Bool { plan.isIdle && queue.isEmpty }

  mutating func failed(_ error: any Error, whileWriting: Bool) {
    if failure == nil { failure = error }
    plan.stop()
    if whileWriting { queue.fail() }
  }
}

/// A list whose incremental pull upstream refused to continue.
struct ListRefusal: Sendable {
  var place: ListPlace
  var status: Int
  /// True if upstream has forgotten the delta token.
  var isTokenForgotten: Bool
  /// True if it refused the first page of a pull from a mark.
  var isStartRefused: Bool
}

/// The failures of the lists of one resource.
struct ListFailures: Sendable {
  /// The first failure. That of a vanished list counts only if no other list failed.
  private(set) var first: Failure?
  /// The first server error, which fails the sync if no list was obtained.
  private(set) var serverError: Failure?

  mutating func note(_ failure: Failure) {
    if first == nil || first?.trouble == .vanishedLists && failure.trouble != .vanishedLists { first = failure }
    if failure.kind == .unreachable { serverError = serverError ?? failure }
  }

  /// These failures, and those of a later pull of lists of the same resource.
  func followed(by later: ListFailures) -> ListFailures {
    var all = self
    all.first = first ?? later.first
    all.serverError = serverError ?? later.serverError
    return all
  }
}

/// Whether the answers of a resource's lists have next values.
struct NextSigns: Sendable {
  /// The first request of the first list whose page is full and has no next value.
  private(set) var lacking: Request?
  /// True if a list has several pages.
  private(set) var isSeen = false

  mutating func note(_ outcome: PullOutcome, first request: Request) {
    isSeen = isSeen || outcome.hasSeveralPages
    if outcome.lacksNext, lacking == nil { lacking = request }
  }

  mutating func add(_ other: NextSigns) { (lacking, isSeen) = (lacking ?? other.lacking, isSeen || other.isSeen) }
}

/// The outcome of a pull of the lists of one level, besides the lists of children that were obtained.
struct LevelOutcome: Sendable {
  /// The outcome of each list without a parent, by its first resource.
  var roots: [String: PullOutcome] = [:]
  /// Lists whose pages do not fit together.
  var drifts: [String: [ListDrift]] = [:]
  /// The first validator that lied, by resource.
  var lies: [String: ValidatorLie] = [:]
  /// Lists whose incremental pull upstream refused to continue.
  var refusals: [String: [ListRefusal]] = [:]
  /// True for resources whose upstream ignores `since.param`, false if other incremental pulls received pages.
  var ignoresSince: [String: Bool] = [:]
  /// Whether the lists of a child show where their next pages are.
  var nextSigns: [String: NextSigns] = [:]
  /// The failures of lists, by resource.
  var failures: [String: ListFailures] = [:]
  /// Resources of which a list does not have the proof that its definition promises.
  var unproven: [String: Unproven] = [:]
  /// Number of lists of each resource that ended with a server error since the last one that did not.
  private var serverErrors: [String: Int] = [:]

  /// After this number of lists in a row that end with a server error, the sync fails.
  private static let maxServerErrors = 8

  /// Counts a list that has ended. Returns its server error if it is the last one in a row that is too long.
  mutating func outage(after serverError: Failure?, of resource: String) -> Failure? {
    guard let serverError else {
      serverErrors[resource] = nil
      return nil
    }
    serverErrors[resource, default: 0] += 1
    return serverErrors[resource, default: 0] < Self.maxServerErrors ? nil : serverError
  }

  /// Notes the pull of a list. Returns false if the list must be pulled again.
  mutating func note(_ list: PulledList, _ outcome: PullOutcome) -> Bool {
    if !list.isChild { roots[list.resources[0]] = outcome }
    for resource in list.resources {
      if let lie = outcome.lie {
        lies[resource] = lies[resource] ?? lie
      } else if let status = outcome.refusal {
        refusals[resource, default: []].append(
          ListRefusal(
            place: list.place, status: status, isTokenForgotten: outcome.isTokenForgotten,
            isStartRefused: outcome.isStartRefused))
      } else if let drift = outcome.drift, outcome.ending == nil {
        drifts[resource, default: []].append(
          ListDrift(place: list.place, reason: drift, isIncremental: list.start != nil))
      }
    }
    return outcome.lie == nil && outcome.refusal == nil && (outcome.drift == nil || outcome.ending != nil)
  }

  /// Notes the proof of a list that was pulled, and whether upstream has read `since.param`.
  mutating func noteSigns(of list: PulledList, _ outcome: PullOutcome) {
    let resource = list.resources[0]
    if list.isChild {
      if let proof = outcome.unproven { unproven[resource, default: proof].formUnion(proof) }
      if outcome.lacksNext || outcome.hasSeveralPages {
        nextSigns[resource, default: NextSigns()].note(outcome, first: list.paging.first().request)
      }
    }
    guard let since = list.since, case .mark(let start)? = list.start, outcome.extent.transferred > 0 else { return }
    let isIgnored = since.isIgnored(from: start, lowest: outcome.extent.lowest)
    ignoresSince[resource] = ignoresSince[resource] == true || isIgnored
  }
}

extension PulledList {
  /// The end of a child list after its pull.
  func end(after outcome: PullOutcome) -> ListEnd {
    let name = resources[0]
    var end = ListEnd(
      name, at: place, state: outcome.ending ?? .pulled, answered: outcome.answered,
      count: outcome.isTotalPassed ? nil : outcome.count)
    end.isWeak = outcome.isLacking
    guard end.state == .pulled, let since, outcome.hasPages else { return end }
    guard let move = move(of: mark, after: outcome) else {
      let place = since.token?.description ?? ""
      end.state = .failed("its last page has no delta token at \(place): correct token of [resource.\(name).since]")
      return end
    }
    end.mark = move
    if move == .unreadable {
      end.state = .failed(
        "no record has a value of the form \(since.form.rawValue) at \(since.at?.description ?? "")"
          + ": correct at and form of [resource.\(name).since]")
    }
    return end
  }
}
