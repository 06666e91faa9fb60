import FoundationEssentials
import RosterCache
import RosterCore
import RosterDecode
import RosterFetch

/// The pages of one list, and the resources that use them: an address that several resources list is requested once.
struct PulledList: Sendable {
  private(set) var paging: Paging
  /// Plans in the order of `resources`. The first one's paging applies to all.
  private(set) var plans: [RecordPlan]
  let resources: [String]
  /// The list of a child; the only list of a resource by default.
  private(set) var place = ListPlace()
  /// True for a list of a child.
  var isChild: Bool { !place.isRoot }
  /// The mark or delta token that an incremental pull starts from; nil if the list is pulled whole.
  private(set) var start: SinceStart?
  /// The mark of a child's list when the sync began.
  private(set) var mark: Mark?
  /// Decides which published pages are transferred without their validators.
  var audits: AuditSchedule
  /// True if the last page was kept and not requested, so that the chain is resumed with its link.
  var isResumed = false
  /// True if it is pulled again because its pages did not fit together. Each page then begins where the one before it
  /// ends, because upstream may send pages of different sizes.
  var isByPage = false

  private let wholePlans: [RecordPlan]
  private let baseURL: String
  /// Start of the sync, for `{today}`.
  private let now: Date

  private init(_ plans: [RecordPlan], baseURL: String, at now: Date) {
    paging = Paging(plans[0].resource.askedWhole.dated(now), baseURL: baseURL)
    self.plans = plans
    wholePlans = plans
    audits = AuditSchedule(period: plans.compactMap(\.resource.auditEvery).min(), now: now)
    self.baseURL = baseURL
    self.now = now
    resources = plans.map(\.resource.name)
  }

  /// The list of one parent.
  /// - Parameters:
  ///   - plan: reads its pages.
  ///   - paging: with the values of the parent.
  init(_ wanted: WantedList, plan: RecordPlan, paging: Paging, baseURL: String, at now: Date) {
    (plans, wholePlans, self.paging) = ([plan], [plan], paging)
    (self.baseURL, self.now) = (baseURL, now)
    resources = [plan.resource.name]
    (place, start, mark) = (wanted.place, wanted.start, wanted.mark)
    audits = AuditSchedule(period: plan.resource.auditEvery, last: start == nil ? wanted.wholeAt : nil, now: now)
  }

  /// The records of the definition; nil if they are requested.
  var ownRecords: [JSONValue]? { plans[0].resource.ownRecords(at: now) }

  var since: Since? { wholePlans[0].resource.since }

  /// Asks for the whole list again, or for what changed since a mark or a delta token. Throws (65) if the mark cannot
  /// be converted because its zone is unknown, or if the token leads to another origin.
  mutating func start(from start: SinceStart?, _ links: NextLinks) throws {
    self.start = start
    plans = wholePlans
    paging = Paging(wholePlans[0].resource.askedWhole.dated(now), baseURL: baseURL)
    guard let start else { return }
    let asked = wholePlans.compactMap { $0.resource.readIncrementally.dated(now).starting(from: start) }
    guard asked.count == wholePlans.count else {
      throw failure(Since.unknownZone, hint: "set zone of [resource.\(resources[0]).since]", trouble: .malformed)
    }
    plans = try asked.map { try RecordPlan($0, isIncremental: true) }
    paging = Paging(asked[0], baseURL: baseURL, isIncremental: true, token: start.token)
    do throws(Failure) { paging = try paging.startingAtToken(links) } catch {
      throw failure("its delta token: \(error.cause)", hint: error.hint, trouble: error.trouble)
    }
  }

  /// The change of the mark after a pull of the list; nil if its last page lacks the delta token.
  /// - Parameter mark: The mark before the pull.
  func move(of mark: Mark?, after outcome: PullOutcome) -> Since.MarkMove? {
    // Upstream may have more changes than fit on the only page of an incremental pull.
    guard let since, !outcome.isLacking, start == nil || !outcome.lacksNext else { return .stays }
    if since.token != nil { return outcome.token.map { .token($0) } }
    return since.move(of: mark, after: outcome.extent, isWhole: start == nil, path: wholePlans[0].resource.path)
  }

  private func failure(_ cause: String, hint: String?, trouble: Diagnosis.Kind) -> Failure {
    let name = resources[0]
    return Failure(
      .badAnswer, step: "ask for the records of \(name) that changed", subject: name, cause: cause, hint: hint
    ).with(trouble, [.resource(name)])
  }

  /// The lists that these resources need.
  /// - Parameter now: The start of the sync, for `{today}`.
  static func lists(of plans: [RecordPlan], baseURL: String, at now: Date) -> [PulledList] {
    var groups: [(list: [UInt8]?, plans: [RecordPlan])] = []
    for plan in plans where plan.resource.each == nil {
      let list = !plan.resource.hasOwnRecords ? plan.resource.pulledList : nil
      if let list, let index = groups.firstIndex(where: { $0.list == list }) {
        groups[index].plans.append(plan)
      } else {
        groups.append((list, [plan]))
      }
    }
    return groups.map { PulledList($0.plans, baseURL: baseURL, at: now) }
  }
}

/// A list that is pulled, with the known facts of its next pages. Announced pages are looked up many at a time, because
/// a look-up costs half as much as a page.
struct OpenList {
  private static let width = 256

  var list: PulledList
  /// The server error that one of its pages ended with.
  var serverError: Failure?
  /// Time of the oldest answer that the list consists of; nil before the first one.
  private(set) var earliestReceivedAt: Date?
  private var pages: [[String: CachedPage]] = []
  private var end = 0

  init(_ list: PulledList) { self.list = list }

  mutating func uses(answerOf time: Date) { earliestReceivedAt = min(earliestReceivedAt ?? time, time) }

  /// nil if the page is not known, or if its facts differ between the resources.
  mutating func known(_ job: PullPlan.PageJob, plan: PullPlan, in cache: Cache) async throws -> [CachedPage]? {
    if job.page.number >= end || !job.isAnnounced {
      let addresses = addresses(from: job, plan)
      pages = []
      for resource in list.resources {
        pages.append(try await cache.known(resource, in: list.place, addresses: addresses))
      }
      end = job.page.number + addresses.count
    }
    let found = pages.compactMap { $0[job.page.address] }
    guard let first = found.first, found.count == list.plans.count else { return nil }
    return found.allSatisfy { $0.digest == first.digest && $0.validator == first.validator } ? found : nil
  }

  private func addresses(from job: PullPlan.PageJob, _ plan: PullPlan) -> [String] {
    guard job.isAnnounced, let first = plan.first(of: job.list), let last = plan.pages(in: job.list) else {
      return [job.page.address]
    }
    let numbers = job.page.number...min(last, job.page.number + Self.width - 1)
    return numbers.map { list.paging.page($0, announcedBy: first).address }
  }
}

extension ListFacts {
  init(_ page: CachedPage, of list: PulledList) {
    let takesUnnamed = list.paging.resource.pages.takesUnnamedTotal
    self.init(
      records: page.records, count: takesUnnamed ? nil : page.count, last: page.last, continuation: page.next)
    if takesUnnamed { unnamedTotal = page.count }
    skipped = page.skipped
    let since = list.since
    if since?.token != nil {
      token = page.highest
    } else {
      highest = since.flatMap { since in page.highest.flatMap(since.mark) }
    }
    answered = page.answered
  }
}
