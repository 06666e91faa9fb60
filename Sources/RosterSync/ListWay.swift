import FoundationEssentials
import RosterCore
import RosterFetch

/// The way through one list: what its pages say about the next page, and about the list as a whole.
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
    _ job: PullPlan.PageJob, facts: ListFacts, from source: PullPlan.PageSource, content: PageContent,
    links: () -> NextLinks
  ) throws(Failure) -> Bool {
    let page = job.page
    if page.isTrial, !page.isPromised, facts.records == 0 || !isCircling && edges.contain(content) {
      way = .ended
      return false
    }
    if page.isAhead, let missingPage {
      let cause = "page \(missingPage) is not there, and page \(page.number) after it has records"
      throw refused(
        page, step: "find the end of \(paging.resource.name)", cause: cause,
        hint: "the next sync tries again; if it lasts, report this to upstream's operator", trouble: .drift)
    }
    // An answer of this pull must report the same numbers of records and pages as the first page.
    let isTold = source == .answer || source == .equalAnswer
    if isTold, let first, facts.contradicts(first, before: page.recordsBefore) {
      drifts("page \(page.number) reports \(facts.extent), page 1 reports \(first.extent)\(pageLength(facts, first))")
    }
    if job.isAnnounced { checkAnnounced(job, facts: facts, content: content) }
    guard drift == nil, lie == nil, ending == nil else { return false }
    if !job.isAnnounced, repeatsPrevious(page, facts, content) { return false }
    if first == nil { (first, isFirstNew) = (facts, source == .answer) }
    if let answered = facts.answered { self.answered = max(self.answered ?? answered, answered) }
    if hasMark {
      extent.add(
        records: facts.records, skipped: facts.skipped, highest: facts.highest, hasOtherMark: facts.hasOtherMark,
        answered: facts.answered, lowest: facts.lowest, isTransferred: source == .answer)
      if page.number >= end.page { end = (page.number, facts.token) }
    }
    isTotalPassed = isTotalPassed || paging.passesTotal(page, facts)
    if facts.records > 0 { longest = max(longest, page.longest) }
    (lastLength, isLacking) = (facts.records, isLacking || facts.isLacking)
    if isLast(job) {
      edges.note(content, isLast: page.number > 1)
      try go(on: page, facts, from: source, content: content, links)
    }
    pages += 1
    return true
  }

  /// True if a page of a chain had the records of an earlier one, so that the first page again is no end.
  private var isCircling: Bool { isChain && repeated.hasRepetition }

  /// True unless another announced page follows.
  private func isLast(_ job: PullPlan.PageJob) -> Bool { !job.isAnnounced || job.page.number == announced }

  /// True if the records of the page are compared with other pages.
  func compares(_ job: PullPlan.PageJob) -> Bool {
    !paging.resource.pages.style.kind.isSingle && (isLast(job) || !isCompared)
  }

  /// Moves on to the next page. Throws if upstream repeats addresses, or leads elsewhere (65).
  mutating func go(
    on page: PageRequest, _ facts: ListFacts, from source: PullPlan.PageSource, content: PageContent,
    _ links: () -> NextLinks
  ) throws(Failure) {
    let next: Paging.Next
    do throws(Failure) {
      next = try paging.next(after: page, facts, isByPage: isByPage, links: links)
      if next == .end { try paging.expectUsable(facts.token, from: page, links: links) }
    } catch {
      throw refused(page, cause: error.cause, hint: error.hint, trouble: error.trouble)
    }
    switch next {
    case .announced(let pages):
      guard pages <= maxPages else { throw tooLong(page, cause: "it announces \(pages) pages, more than") }
      way = .announced(next: 2, last: pages)
      (announced, isCompared) = (pages, edges.first == nil)
    case .page(let next):
      if next.isTrial, facts.more != true, next.number > maxPages {
        way = .ended
        return
      }
      guard next.number <= maxPages else { throw tooLong(page, after: facts) }
      guard next.emptyPages < paging.maxEmptyPages else { throw tooManyEmpty(page) }
      // The first trial of other lists is compared with `edges`, which is cheaper.
      let isStale = (isChain || !next.isTrial || page.isTrial) && repeated.came(content.records)
      guard let next = try onward(to: next, from: page, facts, isReused: source == .cache) else { return }
      way = .following(next, isFromKept: source != .answer)
      if isStale { try stale(page) }
    case .end:
      way = .ended
      if facts.records == 0, paging.resource.pages.empty != .end { lookAhead(of: page) }
      lacksNext = page.number == 1 && paging.lacksNext(facts)
    }
  }

  /// The next page, unless it has the address of an earlier one and the list is over or a circle.
  private mutating func onward(
    to next: PageRequest, from page: PageRequest, _ facts: ListFacts, isReused: Bool
  ) throws(Failure) -> PageRequest? {
    guard isChain else { return next }
    if met.isEmpty { met.insert(page.addressHash) }
    if met.insert(next.addressHash).inserted { return next }
    // Only the total and the repeated address end such a list.
    if facts.more != true, paging.completesTotal(page, facts) {
      way = .ended
      return nil
    }
    if facts.records == 0 {
      if facts.more == true {
        throw endless(page, cause: "it is empty, and leads to a page that was requested before", hint: Self.emptyHint)
      }
      way = .ended
      return nil
    }
    if next.request == page.request, repeated.isLastKnown, isWhole(at: page, facts) {
      way = .ended
      return nil
    }
    if repeated.isLastKnown {
      throw ignored(page) ?? endless(page, cause: "it leads to a page that was requested before", hint: circleHint)
    }
    if isReused {
      drifts("page \(page.number) is of an earlier sync, and its next value does not tell where it led")
      return nil
    }
    isScroll = true
    return next.repeated()
  }

  /// True if a page without a new record, which leads to itself, is where the list goes on once it has further records.
  /// The only page of a list could also be one that upstream gives for each value, if it may be full.
  private func isWhole(at page: PageRequest, _ facts: ListFacts) -> Bool {
    if facts.records < page.longest { return true }
    guard repeated.areAllAlike else { return false }
    let isTotal = facts.count == facts.records && !facts.isTotalLowerBound
    if paging.isPerhapsFull(facts.records) {
      // An upstream that ignores the parameter may report the length of its page.
      return isTotal && paging.resource.pages.style.param == nil
    }
    return isTotal || paging.resource.pages.size != nil
  }

  /// Throws if a chain has no end (65). A list by numbers is pulled again.
  mutating func stale(_ page: PageRequest) throws(Failure) {
    let cause = "it has no new record, like most pages before it"
    if isChain { throw ignored(page) ?? endless(page, cause: cause) }
    isParameterIgnored = repeated.areAllAlike
    drift =
      isParameterIgnored
      ? "pages 1 to \(page.number) have the same records"
      : "page \(page.number): \(cause); check that upstream knows the parameter of the definition's pages"
    way = .ended
  }

  /// An announced page with the records of page 1, or with another number of records than predicted, is drift.
  mutating func checkAnnounced(_ job: PullPlan.PageJob, facts: ListFacts, content: PageContent) {
    guard drift == nil, let first else { return }
    let page = job.page.number
    if !isCompared, facts.records > 0, let records = content.records, let other = edges.first {
      isCompared = true
      isParameterIgnored = records.likeness == other.likeness
    }
    if isParameterIgnored {
      drift = "page \(page) has the same records as page 1"
    } else if let predicted = paging.predictedRecords(on: page, isLast: page == announced, announcedBy: first),
      !predicted.contains(facts.records)
    {
      drift =
        "page \(page) has \(facts.records) records, not the \(predicted.lowerBound) that page 1 and its count predict"
    }
    if drift != nil { way = .ended }
  }

  /// Upstream may answer a request after the last page with the last or the first page again. Records that move during
  /// the pull can have the same effect on one page, but not on two.
  /// - Returns: True if the page is no part of the list.
  private mutating func repeatsPrevious(_ page: PageRequest, _ facts: ListFacts, _ content: PageContent) -> Bool {
    guard paging.resource.pages.style.kind.isPositional else { return false }
    if let repeatedPage {
      if isAgain(content) {
        way = .ended
      } else {
        drifts("page \(repeatedPage) has the records of an earlier page, and page \(page.number) has not")
      }
      return true
    }
    let isAgain = isAgain(content)
    defer { (previous, isPreviousAgain) = (content, isAgain) }
    let isShort = paging.resource.pages.size.map { facts.records < $0.records } == true
    guard facts.records > 0, page.number > 2 || page.number == 2 && isShort, isAgain, !isPreviousAgain,
      paging.verdict(after: page, facts) == .goesOn(isSaid: false),
      case .page(let next)? = try? paging.next(after: page, facts)
    else { return false }
    repeatedPage = page.number
    way = .following(next, isFromKept: false)
    return true
  }

  private func isAgain(_ content: PageContent) -> Bool {
    previous?.isAlike(content) == true || edges.isFirst(content)
  }

  /// The list ends because the page after its last one does not exist.
  mutating func endsAfterLast(at page: PageRequest) {
    isEndDoubtful = isChain && !page.isTrial && paging.isPerhapsFull(lastLength, longest: longest)
    if let repeatedPage {
      drifts("page \(repeatedPage) has the records of an earlier page, and no page follows it")
    } else {
      way = .ended
      missingPage = page.number
      lookAhead(of: page)
    }
  }

  /// A single page without records, between others that the cache has, may be the failure of one request.
  private mutating func lookAhead(of page: PageRequest) {
    guard let next = paging.ahead(of: page), next.number <= maxPages else { return }
    way = .following(next, isFromKept: false)
  }

  /// A cause of differing totals that the definition can cure: the value at `count` is the length of its page.
  private func pageLength(_ facts: ListFacts, _ first: ListFacts) -> String {
    guard let place = paging.resource.pages.count, facts.count == facts.records, first.count == first.records else {
      return ""
    }
    return ": \(place) (count) is the length of the page and not the total, so remove count"
  }

  /// nil if upstream gives the pages' addresses, or if the pages differ.
  private mutating func ignored(_ page: PageRequest) -> Failure? {
    guard repeated.areAllAlike, let param = paging.resource.pages.style.param else { return nil }
    isEndless = true
    return refused(
      page, cause: "it has the same records as all pages before it: upstream ignores the parameter \(param)",
      hint: Self.parameterHint(paging.resource.name),
      trouble: .ignoredParameter)
  }

  /// The cure if upstream ignores the parameter of the pages.
  static func parameterHint(_ resource: String) -> String {
    "see which parameter the API's documentation names, and set param of [resource.\(resource).pages]; if the list has "
      + "no pages, set style = \"one\"; \(wholeHint)"
  }

  private mutating func tooLong(_ page: PageRequest, after facts: ListFacts) -> Failure {
    if facts.more == true || paging.verdict(after: page, facts) == .goesOn(isSaid: true) {
      return tooLong(page, cause: "the list has more pages than")
    }
    return endless(
      page, cause: "it is page sync.max_pages (\(maxPages)), and no answer says whether the list ends here",
      hint: "raise it: one more request shows the end; or declare more, count or short of \(paging.resource.name)")
  }

  private mutating func tooManyEmpty(_ page: PageRequest) -> Failure {
    endless(
      page, cause: "it is the last of \(paging.maxEmptyPages) empty pages in a row, and leads to another page",
      hint: Self.emptyHint)
  }

  /// A page may begin with the last record of the page before it.
  private var circleHint: String {
    switch paging.resource.pages.style.kind.step {
    case .sends:
      "if a page begins with the last value again, set short and size, or more, so that the last page is the end"
    case .counts, .follows, .stops:
      repeated.areAllAlike ? "\(Self.wholeHint); else \(Self.operatorHint)" : Self.operatorHint
    }
  }

  private static let wholeHint = "if this page is the whole list, set size or count"

  private static let operatorHint = "upstream repeats its pages; report this to its operator"

  private static let emptyHint = "if an empty page ends the list, set pages.empty = \"end\""

  private mutating func tooLong(_ page: PageRequest, cause: String) -> Failure {
    endless(
      page, cause: "\(cause) sync.max_pages (\(maxPages))",
      hint: "raise it if \(paging.resource.name) has this number of pages; else check that the definition's pages end")
  }

  private mutating func endless(
    _ page: PageRequest, cause: String, hint: String = PullPlan.List.operatorHint
  ) -> Failure {
    isEndless = true
    return refused(page, cause: cause, hint: hint)
  }

  private func refused(
    _ page: PageRequest, step: String? = nil, cause: String, hint: String?, trouble: Diagnosis.Kind = .circle
  ) -> Failure {
    let name = paging.resource.name
    return Failure(
      .badAnswer, step: step ?? "continue after page \(page.number) of \(name)", subject: page.request.shownURL,
      cause: cause, hint: hint
    ).with(trouble, [page.request.concern(asPage: page.number, of: name)])
  }
}
