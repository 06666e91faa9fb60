import FoundationEssentials
import RosterCache
import RosterCore
package import RosterFetch

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
    /// True if the first page announced this page, so that it must exist.
    package var isAnnounced: Bool
    /// True if the page before it, which led to this page, was not transferred in this pull.
    package var isFromKept: Bool
  }

  /// The state of one list.
  struct List {
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
    /// True if the pages that its total announced did not fit together, so that they are pulled one after the other.
    let isByPage: Bool
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
    /// The first and the last announced page, with which a page after the total is compared; without those that were
    /// not transferred.
    var edges = PageEdges()
    /// Number of announced pages; 0 without any.
    var announced = 0
    /// True after an announced page was compared with the first one, or if none can be.
    var isCompared = false
    /// All pages have the same records.
    var isParameterIgnored = false
    /// The page before, in a list by number or offset without announced pages.
    var previous: PageContent?
    /// True if that page has the records of the page before it.
    var isPreviousAgain = false
    /// The number of the page that has the records of the page before it. The next page shows whether the list is over.
    var repeatedPage: Int?
    /// The number of a page that upstream says is past the end, while the page after it is looked at.
    var missingPage: Int?
    /// True if records came after the total.
    var isTotalPassed = false
    /// True if a next value stayed the same while the pages differ.
    var isScroll = false
    /// True if the answer of a page lacks records.
    var isLacking = false
    /// The number of records of the last page.
    var lastLength = 0
    /// True if the last page is full, and the page that it led to is past the end.
    var isEndDoubtful = false
    /// True if the first page was transferred and differs from the known one.
    var isFirstNew = false
    var extent = PullExtent()
    /// The status with which upstream refused to continue an incremental pull.
    var refusal: Int?
    /// True if it refused the first page, because it has forgotten the delta token.
    var isTokenForgotten = false
    /// True if it refused the first page of a pull from a mark.
    var isStartRefused = false
    /// True if the only page is full and has no next value, without another sign of the end.
    var lacksNext = false
    /// The number of records on the longest page that a page with records follows; 0 without such a page.
    var longest = 0
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
  mutating func open(_ number: Int, paging: Paging, isByPage: Bool = false, maxPages: Int) {
    lists.append(
      List(
        number: number, paging: paging, maxPages: maxPages, hasMark: paging.resource.since != nil, isByPage: isByPage))
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
  /// - Parameter concurrency: limit for the pages in flight, over all lists.
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
    case .ended: max(lists[place].announced, lists[place].pages)
    case .first, .following, .waiting: lists[place].announced > 0 ? lists[place].announced : nil
    }
  }

  /// The facts of a list's first page; nil before its answer.
  package func first(of list: Int) -> ListFacts? { place(of: list).flatMap { lists[$0].first } }

  /// True if the first page of the list is not the one that an earlier sync received.
  func isFirstNew(of list: Int) -> Bool { place(of: list).map { lists[$0].isFirstNew } ?? false }

  /// True if no page is in flight.
  package var isIdle: Bool { inFlight == 0 }

  // MARK: Results

  /// The source of a page's facts.
  enum PageSource: Sendable {
    /// The body of an answer.
    case answer
    /// An answer whose body is that of the known page.
    case equalAnswer
    /// The known page, which upstream has confirmed (304).
    case confirmation
    /// The known page, which was not requested.
    case cache
  }

  /// Call this when a page was received, or when a known page is still valid. Returns false if its list has ended, so
  /// that the page is not needed. Throws if the page leads to an address that cannot be requested.
  /// - Parameters:
  ///   - bytes: size of the body, which waits to be written if the page is needed.
  ///   - digest: digest of the body.
  ///   - records: the page's records; nil for a page that was not transferred.
  ///   - links: evaluated if the page leads to another origin.
  mutating func came(
    _ job: PageJob, facts: ListFacts, from source: PageSource, waiting bytes: Int = 0, digest: Int64? = nil,
    records: @autoclosure () -> RepeatedPages.Page? = nil, links: () -> NextLinks = { .sameOrigin }
  ) throws(Failure) -> Bool {
    land(job)
    guard let place = place(of: job.list) else { return false }
    // Other pages are compared with nothing, and their keys are costly.
    let content = lists[place].compares(job) ? PageContent(records: records(), digest: digest) : PageContent()
    guard try lists[place].came(job, facts: facts, from: source, content: content, links: links) else { return false }
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
    change(job.list) { $0.endsAfterLast(at: job.page) }
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
        : job.page.isPromised
          ? """
          page \(page) is not there, although page \(page - 1) says by a total or a flag that the list goes on; if the \
          total counts something else, remove pages.count, or permit its place: expect = { "/PLACE" = "any" }
          """
          : "upstream does not know the address any more that page \(page - 1) led to")
  }

  /// Upstream refuses an incremental pull, or has forgotten the delta token: the list is
  /// pulled whole.
  mutating func wasRefused(_ job: PageJob, status: Int) {
    land(job)
    change(job.list) {
      $0.isTokenForgotten = job.page.number == 1 && $0.paging.startsFromToken
      $0.isStartRefused = job.page.number == 1 && !$0.paging.startsFromToken
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

  /// The lists that have failed because they have no end: their pulled pages are of no use.
  var endless: [Int] { lists.filter(\.isEndless).map(\.number) }

  /// The outcome of a list at the end of the pull.
  package func outcome(of list: Int) -> PullOutcome {
    guard let list = place(of: list).map({ lists[$0] }) else { return PullOutcome() }
    return PullOutcome(
      drift: list.drift, isParameterIgnored: list.isParameterIgnored, lie: list.lie, count: list.first?.count,
      extent: list.extent, refusal: list.refusal, isTokenForgotten: list.isTokenForgotten, token: list.end.token,
      ending: list.ending, answered: list.answered, hasPages: list.pages > 0, hasSeveralPages: list.pages > 1,
      isTotalPassed: list.isTotalPassed,
      isScroll: list.isScroll, isLacking: list.isLacking, isEndDoubtful: list.isEndDoubtful,
      isStartRefused: list.isStartRefused, lacksNext: list.lacksNext,
      shortenedTo: list.paging.isShortened(to: list.longest) ? list.longest : nil)
  }

  private mutating func drift(_ list: Int, why: String) { change(list) { $0.drifts(why) } }
}

/// The outcome of the pull of one list.
package struct PullOutcome: Sendable, Equatable {
  /// The reason why the pages do not fit together; nil if the pages show no such reason.
  package var drift: String?
  /// True if all pages have the same records, whichever page was requested.
  package var isParameterIgnored = false
  /// The first validator that lied; nil if none was found.
  var lie: ValidatorLie?
  /// The number of records, if the definition names a place for it.
  package var count: Int?
  /// Facts that the mark of a list with `since` depends on.
  var extent = PullExtent()
  /// The status with which upstream refused to continue an incremental pull; nil if it did not.
  package var refusal: Int?
  /// True if upstream has forgotten the delta token.
  package var isTokenForgotten = false
  /// The delta token of the last page.
  var token: String?
  /// The end of a child list that failed or vanished.
  var ending: ListEnd.State?
  /// `Date` of the last answer of a child list.
  var answered: Date?
  /// False if the list is empty without a page (`none`).
  var hasPages = false
  /// True if the list has more than one page.
  var hasSeveralPages = false
  /// True if records came after the total that upstream reports, which is capped.
  var isTotalPassed = false
  /// True if only upstream knew the position in the list, so that a repeated request may have lost a page.
  var isScroll = false
  /// True if an answer lacks records that upstream has. The mark stays, and the list of a child is requested again.
  var isLacking = false
  /// True if a full page led to a page that `beyond` calls past the end.
  var isEndDoubtful = false
  /// True if it refused the first page of an incremental pull from a mark.
  var isStartRefused = false
  /// True if the only page is full and has no next value, without another sign of the end.
  var lacksNext = false
  /// The number of records on the longest page, if all pages have fewer than `size` and upstream alone knew where the
  /// next one begins.
  var shortenedTo: Int?
}
