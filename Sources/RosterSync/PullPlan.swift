import FoundationEssentials
import RosterCache
package import RosterFetch
import RosterModel

/// Decides which page a pull requests next, over all its lists, and when it stops. Pure.
///
/// A list goes `first` → `announced` or `following` → `ended`. A list whose pages do not fit together ends too, with
/// the reason.
package struct PullPlan: Sendable {
  /// Bytes of pages that may wait to be written before requests stop, which limits the memory of a pull.
  static let backlog = 4 << 20

  /// One page to request now.
  package struct PageJob: Sendable, Equatable {
    /// Index of the list.
    package var list: Int
    /// The request of the page, and its place in the list.
    package var page: PageRequest
    /// True if the first page announced this page, so that it must exist (P7).
    package var isAnnounced: Bool
    /// True if the page before it, which led to this page, was not transferred in this pull.
    package var isFromKept: Bool
  }

  fileprivate struct List {
    enum Way {
      case first
      case announced(next: Int, last: Int)
      case following(PageRequest, isFromKept: Bool)
      /// The next page depends on an answer.
      case waiting
      case ended
    }

    let number: Int
    let paging: Paging
    let maxPages: Int
    /// True if the resource has `since`.
    let hasMark: Bool
    var way = Way.first
    var first: ListFacts?
    /// Addresses of a list that follows its answers. An address takes eight bytes, because all other memory of a pull
    /// does not grow with its pages.
    var met: Set<Int> = []
    var repeated = RepeatedPages()
    var pages = 0
    var drift: String?
    var lie: ValidatorLie?
    var isEndless = false
    /// Likeness of page 1 until another announced page is compared with it.
    var firstLikeness: Int?
    /// All pages have the same records.
    var isParameterIgnored = false
    /// True if the first page was transferred and differs from the known one.
    var isFirstNew = false
    var extent = PullExtent()
    /// The status with which upstream refused to continue an incremental pull.
    var refusal: Int?
    /// True if it refused the first page.
    var isTokenForgotten = false
    /// The last page so far, and its delta token.
    var end: (page: Int, token: String?) = (0, nil)
    /// Number of its pages in flight.
    var inFlight = 0
    /// The `Date` of the last answer.
    var answered: Date?
    /// The reason why a child list has failed or vanished; nil if it has not.
    var ending: ListEnd.State?
  }

  /// The open lists, in the order in which they were opened. A list is changed in its place, while a dictionary would
  /// move the whole list for each change.
  private var lists: [List] = []
  private var inFlight = 0
  private var waitingBytes = 0
  private var isStopped = false

  /// - Parameters:
  ///   - lists: the lists, each of which is pulled whole.
  ///   - maxPages: limit for the pages of one list. A longer list fails (65), because it cannot be distinguished
  ///     from an endless one.
  package init(_ lists: [Paging], maxPages: Int) {
    for (number, paging) in lists.enumerated() { open(number, paging: paging, maxPages: maxPages) }
  }

  /// Adds a list.
  mutating func open(_ number: Int, paging: Paging, maxPages: Int) {
    lists.append(List(number: number, paging: paging, maxPages: maxPages, hasMark: paging.resource.since != nil))
  }

  /// Forgets a list, whose outcome is known.
  mutating func close(_ number: Int) {
    lists.removeAll { $0.number == number }
  }

  private func place(of number: Int) -> Int? { lists.firstIndex { $0.number == number } }

  private mutating func change(_ number: Int, _ change: (inout List) -> Void) {
    if let place = place(of: number) { change(&lists[place]) }
  }

  /// True if no more pages of the list are requested or expected.
  func isDone(_ number: Int) -> Bool {
    guard let place = place(of: number), lists[place].inFlight == 0 else { return false }
    switch lists[place].way {
    case .ended: return true
    case .announced(let next, let last): return next > last
    case .first, .following, .waiting: return false
    }
  }

  /// True if another list may be opened, because the open ones have no request to start.
  /// - Parameter concurrency: limit for the pages in flight.
  func canOpen(concurrency: Int) -> Bool {
    !isStopped && inFlight < concurrency && waitingBytes < Self.backlog
  }

  // MARK: What to ask for

  /// The next page to request; nil if no page can be requested now. Lists that follow their answers have priority,
  /// because each of their pages waits for the previous one.
  /// - Parameter concurrency: limit for the pages in flight, over all lists (P1).
  package mutating func next(concurrency: Int) -> PageJob? {
    guard !isStopped, inFlight < concurrency, waitingBytes < Self.backlog else { return nil }
    guard let place = lists.firstIndex(where: { $0.isFollowing }) ?? lists.firstIndex(where: { $0.isOpen }),
      let job = lists[place].ask()
    else { return nil }
    inFlight += 1
    lists[place].inFlight += 1
    return job
  }

  /// Number of all pages of the list; nil while no answer has it.
  package func pages(in list: Int) -> Int? {
    guard let place = place(of: list) else { return nil }
    return switch lists[place].way {
    case .announced(_, let last): last
    case .ended: lists[place].pages
    case .first, .following, .waiting: nil
    }
  }

  /// The facts of a list's first page; nil before its answer.
  package func first(of list: Int) -> ListFacts? { place(of: list).flatMap { lists[$0].first } }

  /// True if the first page of the list is not the one that an earlier sync received.
  func isFirstNew(of list: Int) -> Bool { place(of: list).map { lists[$0].isFirstNew } ?? false }

  /// True if no page is in flight.
  package var isIdle: Bool { inFlight == 0 }

  // MARK: Results

  /// Call this when a page was received, or when a known page is still valid. Returns false if its list has ended, so
  /// that the page is not needed. Throws if the page leads to an address that cannot be requested.
  /// - Parameters:
  ///   - bytes: size of the body, which waits to be written if the page is needed.
  ///   - isTransferred: if true, it must report the same numbers of records and pages as the first page.
  ///   - records: the page's records; nil for a page that was not transferred.
  ///   - links: evaluated if the page leads to another origin.
  mutating func came(
    _ job: PageJob, facts: ListFacts, waiting bytes: Int = 0, isTransferred: Bool,
    records: @autoclosure () -> RepeatedPages.Page? = nil, links: () -> NextLinks = { .sameOrigin }
  ) throws(Failure) -> Bool {
    land(job)
    guard let place = place(of: job.list),
      try lists[place].came(job, facts: facts, isTransferred: isTransferred, records: records, links: links)
    else { return false }
    waitingBytes += bytes
    return true
  }

  /// The page is not in flight any more.
  private mutating func land(_ job: PageJob) {
    inFlight -= 1
    change(job.list) { $0.inFlight -= 1 }
  }

  /// A child list has failed or vanished: the other lists go on.
  mutating func ended(_ job: PageJob, as ending: ListEnd.State) {
    land(job)
    change(job.list) {
      $0.ending = $0.ending ?? ending
      $0.way = .ended
    }
  }

  /// A child list ends because of a fault that `came` has thrown.
  mutating func ends(_ list: Int, as ending: ListEnd.State) {
    change(list) {
      $0.ending = $0.ending ?? ending
      $0.way = .ended
      $0.isEndless = false
    }
  }

  /// The page is past the end (`beyond`).
  package mutating func wasPastTheEnd(_ job: PageJob) {
    land(job)
    change(job.list) { $0.way = .ended }
  }

  /// The status of the first page means that a child list is empty (`none`). An incremental pull of the list ends
  /// without a mark, so that the next pull is whole.
  mutating func wasEmpty(_ job: PageJob, answered: Date, isWhole: Bool) {
    change(job.list) { $0.answered = answered }
    if isWhole { wasPastTheEnd(job) } else { ended(job, as: .empty) }
  }

  /// Call this for an announced page that does not exist, or if upstream has forgotten its address: the list is pulled
  /// again.
  package mutating func wasMissing(_ job: PageJob) {
    land(job)
    let page = job.page.number
    drift(
      job.list,
      why: job.isAnnounced
        ? "page \(page), which was announced, is not there"
        : "upstream does not know the address any more that page \(page - 1) led to")
  }

  /// Upstream refuses to go on with an incremental pull (I8.1), or has forgotten the delta token (I7.2): the list is
  /// pulled whole.
  mutating func wasRefused(_ job: PageJob, status: Int) {
    land(job)
    change(job.list) {
      $0.isTokenForgotten = job.page.number == 1
      $0.refusal = status
      $0.way = .ended
    }
  }

  /// Call this if the validator of the page lied: the list is pulled again.
  mutating func lied(_ job: PageJob, lie: ValidatorLie) {
    land(job)
    change(job.list) {
      $0.lie = $0.lie ?? lie
      $0.way = .ended
    }
  }

  /// Call this after a final failure: no more pages are requested.
  package mutating func failed() {
    inFlight -= 1
    isStopped = true
  }

  /// Stops all further requests.
  package mutating func stop() { isStopped = true }

  /// Call this when this number of bytes was written.
  package mutating func staged(_ bytes: Int) { waitingBytes -= bytes }

  /// True if a list has failed because it has no end: its pulled pages are of no use.
  var isEndless: Bool { lists.contains(where: \.isEndless) }

  /// The outcome of a list at the end of the pull.
  package func outcome(of list: Int) -> PullOutcome {
    guard let list = place(of: list).map({ lists[$0] }) else { return PullOutcome() }
    return PullOutcome(
      drift: list.drift, isParameterIgnored: list.isParameterIgnored, lie: list.lie, count: list.first?.count,
      extent: list.extent, refusal: list.refusal, isTokenForgotten: list.isTokenForgotten, token: list.end.token,
      ending: list.ending, answered: list.answered, hasPages: list.pages > 0)
  }

  private mutating func drift(_ list: Int, why: String) { change(list) { $0.drifts(why) } }
}

/// The outcome of the pull of one list.
package struct PullOutcome: Sendable, Equatable {
  /// The reason why the pages do not fit together (P7); nil if the pages show no such reason.
  package var drift: String?
  /// True if all pages have the same records, whichever page was requested.
  package var isParameterIgnored = false
  /// The first validator that lied (P15); nil if none was found.
  var lie: ValidatorLie?
  /// The number of records, if the definition names a place for it.
  package var count: Int?
  /// Facts that the mark of a list with `since` depends on.
  var extent = PullExtent()
  /// The status with which upstream refused to continue an incremental pull (I8.1); nil if it did not.
  package var refusal: Int?
  /// True if upstream has forgotten the delta token (I7.2).
  package var isTokenForgotten = false
  /// The delta token of the last page.
  var token: String?
  /// The end of a child list that failed or vanished.
  var ending: ListEnd.State?
  /// `Date` of the last answer of a child list.
  var answered: Date?
  /// False if the list is empty without a page (`none`).
  var hasPages = false
}

extension PullPlan.List {
  var isOpen: Bool {
    switch way {
    case .first, .following: true
    case .announced(let next, let last): next <= last
    case .waiting, .ended: false
    }
  }

  var isFollowing: Bool {
    if case .following = way { true } else { false }
  }

  var isChain: Bool { paging.followsAnswers }

  mutating func drifts(_ why: String) {
    drift = drift ?? why
    way = .ended
  }

  mutating func ask() -> PullPlan.PageJob? {
    switch way {
    case .first:
      way = .waiting
      return .init(list: number, page: paging.first(), isAnnounced: false, isFromKept: false)
    case .following(let page, let isFromKept):
      way = .waiting
      return .init(list: number, page: page, isAnnounced: false, isFromKept: isFromKept)
    case .announced(let next, let last):
      guard next <= last, let first else { return nil }
      way = .announced(next: next + 1, last: last)
      return .init(list: number, page: paging.page(next, announcedBy: first), isAnnounced: true, isFromKept: false)
    case .waiting, .ended: return nil
    }
  }

  /// See `PullPlan.came`.
  mutating func came(
    _ job: PullPlan.PageJob, facts: ListFacts, isTransferred: Bool, records: () -> RepeatedPages.Page?,
    links: () -> NextLinks
  ) throws(Failure) -> Bool {
    if isTransferred, let first, facts.contradicts(first, inChain: isChain) {
      drifts("page \(job.page.number) reports \(facts.extent), page 1 reports \(first.extent)")
    }
    if job.isAnnounced { checkAnnounced(job.page.number, facts: facts, records: records) }
    guard drift == nil, lie == nil, ending == nil else { return false }
    if first == nil { (first, isFirstNew) = (facts, isTransferred) }
    if let answered = facts.answered { self.answered = max(self.answered ?? answered, answered) }
    if hasMark {
      extent.add(
        records: facts.records, skipped: facts.skipped, highest: facts.highest, answered: facts.answered,
        lowest: facts.lowest,
        isTransferred: isTransferred)
      if job.page.number >= end.page { end = (job.page.number, facts.token) }
    }
    if !job.isAnnounced { try go(on: job.page, facts, isTransferred: isTransferred, records: records, links) }
    if isFollowing { try check(records(), of: job.page) }
    pages += 1
    return true
  }

  /// Moves on to the next page. Throws if upstream repeats addresses, or leads elsewhere (65).
  mutating func go(
    on page: PageRequest, _ facts: ListFacts, isTransferred: Bool, records: () -> RepeatedPages.Page?,
    _ links: () -> NextLinks
  ) throws(Failure) {
    let next: Paging.Next
    do throws(PagingFault) {
      next = try paging.next(after: page, facts, links: links)
      if next == .end { try paging.expectUsable(facts.token, from: page, links: links) }
    } catch {
      throw refused(page, cause: error.reason, hint: error.hint, trouble: error.trouble)
    }
    switch next {
    case .announced(let pages):
      guard pages <= maxPages else { throw tooLong(page, cause: "it announces \(pages) pages, more than") }
      way = .announced(next: 2, last: pages)
      if pages > 1 { firstLikeness = records()?.likeness }
    case .page(let next):
      guard next.number <= maxPages else { throw tooLong(page, isCertain: paging.saysMore(facts)) }
      if met.isEmpty { met.insert(page.addressHash) }
      if isChain, !met.insert(next.addressHash).inserted {
        _ = repeated.came(records())
        throw ignored(page) ?? endless(page, cause: "it leads to a page that was requested before")
      }
      way = .following(next, isFromKept: !isTransferred)
    case .end: way = .ended
    }
  }

  /// Throws if a chain has no end (65). A list by numbers is pulled again (P7).
  mutating func check(_ records: RepeatedPages.Page?, of page: PageRequest) throws(Failure) {
    guard repeated.came(records) else { return }
    let cause = "it has no new record, like most pages before it"
    if isChain { throw ignored(page) ?? endless(page, cause: cause) }
    isParameterIgnored = repeated.areAllAlike
    drift =
      isParameterIgnored
      ? "pages 1 to \(page.number) have the same records"
      : "page \(page.number): \(cause); check that upstream knows the parameter of the definition's pages"
    way = .ended
  }

  /// An announced page with the records of page 1, or with another number of records than predicted, is drift (P7).
  mutating func checkAnnounced(_ page: Int, facts: ListFacts, records: () -> RepeatedPages.Page?) {
    guard drift == nil, let first else { return }
    if let likeness = firstLikeness, facts.records > 0, let records = records() {
      firstLikeness = nil
      isParameterIgnored = records.likeness == likeness
    }
    if isParameterIgnored {
      drift = "page \(page) has the same records as page 1"
    } else if let predicted = paging.predictedRecords(on: page, announcedBy: first), facts.records != predicted {
      drift = "page \(page) has \(facts.records) records, not the \(predicted) that page 1 and its count predict"
    }
    if drift != nil { way = .ended }
  }

  /// nil if upstream gives the pages' addresses, or if the pages differ.
  private mutating func ignored(_ page: PageRequest) -> Failure? {
    guard repeated.areAllAlike, let param = paging.resource.pages.style.param else { return nil }
    isEndless = true
    return refused(
      page, cause: "it has the same records as all pages before it: upstream ignores the parameter \(param)",
      hint:
        "see which parameter the API's documentation names, and set param of [resource.\(paging.resource.name).pages]",
      trouble: .ignoredParameter)
  }

  /// - Parameter isCertain: False if only another request would show whether this page is the last one.
  private mutating func tooLong(_ page: PageRequest, isCertain: Bool) -> Failure {
    if isCertain { return tooLong(page, cause: "the list has more pages than") }
    return endless(
      page, cause: "it is page sync.max_pages (\(maxPages)), and no answer says whether the list ends here",
      hint: "raise it: one more request shows the end; or declare more, count or short of \(paging.resource.name)")
  }

  private mutating func tooLong(_ page: PageRequest, cause: String) -> Failure {
    endless(
      page, cause: "\(cause) sync.max_pages (\(maxPages))",
      hint: "raise it if \(paging.resource.name) has this number of pages; else check that the definition's pages end")
  }

  private mutating func endless(
    _ page: PageRequest, cause: String, hint: String = "upstream repeats its pages; report this to its operator"
  ) -> Failure {
    isEndless = true
    return refused(page, cause: cause, hint: hint)
  }

  private func refused(_ page: PageRequest, cause: String, hint: String, trouble: Diagnosis.Kind = .circle)
    -> Failure
  {
    let name = paging.resource.name
    return Failure(
      .badAnswer, step: "continue after page \(page.number) of \(name)", subject: page.request.shownURL, cause: cause,
      hint: hint
    ).with(trouble, [page.request.concern(asPage: page.number, of: name)])
  }
}

extension PagingFault {
  var reason: String {
    switch self {
    case .noAddress: "the next-page link is not a valid URL"
    case .elsewhere: "it leads to another origin than upstream.base_url"
    }
  }

  var trouble: Diagnosis.Kind {
    switch self {
    case .noAddress: .malformed
    case .elsewhere: .foreignLink
    }
  }

  var hint: String {
    switch self {
    case .noAddress: "see that the answer has an address where the definition's pages expect it"
    case .elsewhere:
      "set upstream.base_url to the API's address; with a mirror or proxy: upstream.links = \"rebase\""
    }
  }
}
