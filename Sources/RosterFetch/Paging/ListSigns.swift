import RosterCore

/// The end of a list, decided from all signs of an answer together. The list goes on if any sign says so, and it
/// is whole only if no sign contradicts. Pure, so that a kept page leads to the same decision as a transferred one.
extension Paging {
  /// The meaning of all signs together for the page after this one.
  package enum Verdict: Sendable, Equatable {
    /// - Parameter isSaid: False if no answer says so, and only the next page shows whether the list goes on.
    case goesOn(isSaid: Bool)
    /// A sign says that the list is over, but the page is full, or a member that no key names says otherwise. The next
    /// page is requested, and any answer without new records is the end.
    case isTried
    case ends
  }

  /// Limit for empty pages in a row. Filtered scans have hundreds of them; a child has a list for each parent.
  package var maxEmptyPages: Int { resource.each == nil ? 1000 : 20 }

  /// The verdict about the page that follows this one. Announced pages before the last one are not asked about.
  package func verdict(after page: PageRequest, _ facts: ListFacts) -> Verdict {
    let verdict = verdictOfKeys(after: page, facts)
    return verdict == .ends && facts.records > 0 && saysMore(facts) ? .isTried : verdict
  }

  /// True if only a member that no key names says that the list goes on.
  private func saysMore(_ facts: ListFacts) -> Bool { facts.more == true && resource.pages.takesUnnamedMore }

  private func verdictOfKeys(after page: PageRequest, _ facts: ListFacts) -> Verdict {
    let pages = resource.pages
    if resource.hasOwnRecords || facts.records == 0 && pages.empty == .end { return .ends }
    // A page that an earlier version stored without this sign had it, because an answer without it was malformed.
    let more = saysMore(facts) ? nil : facts.more ?? (pages.ending == nil ? nil : true)
    if followsAnswers, facts.next == nil { return .ends }
    if more == true { return pages.style.kind.isSingle ? .ends : .goesOn(isSaid: true) }
    let last = facts.last ?? page.last
    if let last, page.number < last { return .goesOn(isSaid: true) }
    switch pages.style.kind.step {
    case .stops: return .ends
    case .sends(.ofAnswer) where more != false && facts.next?.isOfStart == true && !exceeds(page, facts):
      return .isTried
    case .sends(.ofAnswer), .follows: return more == false ? .ends : .goesOn(isSaid: true)
    case .counts, .sends(.ofLastRecord): break
    }
    // Only records show that such a page exists.
    if facts.records == 0 { return .ends }
    // If pages count from 0, the number of the last one may be meant, which is one less than their number.
    if last != nil { return pages.style.first == 0 && isFull(page, facts) ? .isTried : .ends }
    let total = total(page, facts)
    if let total, isBelow(total, page, facts) { return .goesOn(isSaid: true) }
    if more == false { return .ends }
    let isFull = isFull(page, facts)
    if let total { return isFull && doubts(total, after: facts) ? .isTried : .ends }
    guard pages.short, let size = pages.size else { return .goesOn(isSaid: false) }
    if facts.records >= size.records { return .goesOn(isSaid: false) }
    return isFull || exceeds(page, facts) ? .isTried : .ends
  }

  /// True if an answer says that the page after this one exists: it is no end of the list that this page does not.
  /// The next value of a chain is no promise, because some servers give one on the last page too.
  func isPromised(after page: PageRequest, _ facts: ListFacts) -> Bool {
    if !saysMore(facts), let more = facts.more { return more }
    if let last = facts.last ?? page.last { return page.number < last }
    return exceeds(page, facts)
  }

  /// True if a total is above the number of records so far.
  func exceeds(_ page: PageRequest, _ facts: ListFacts) -> Bool {
    isBelow(total(page, facts) ?? facts.unnamedTotal ?? 0, page, facts)
  }

  /// True if the total is above the number of records so far, or is a lower bound that equals it.
  private func isBelow(_ total: Int, _ page: PageRequest, _ facts: ListFacts) -> Bool {
    let records = page.recordsBefore + facts.records
    return records < total || facts.isTotalLowerBound && records == total && records > 0
  }

  /// The total that the page reports, or a page before it.
  private func total(_ page: PageRequest, _ facts: ListFacts) -> Int? {
    facts.isUncounted ? page.total ?? facts.count : facts.count ?? page.total
  }

  /// True if the list ends at this page, and a total that no key of the definition names is higher.
  func endsEarly(_ page: PageRequest, _ facts: ListFacts) -> Bool {
    facts.unnamedTotal != nil && exceeds(page, facts) && verdict(after: page, facts) == .ends
      && (facts.records > 0 || resource.pages.empty != .end)
  }

  /// True if the page has as many records as fit on a page, as far as is known. Upstream may have lowered the size of
  /// the first page, usually to a multiple of ten.
  private func isFull(_ page: PageRequest, _ facts: ListFacts) -> Bool {
    if page.longest > 0 { return facts.records >= page.longest }
    return resource.pages.size == nil || isPerhapsFull(facts)
  }

  /// True if the records may fill a page, as far as its number of records tells.
  func isPerhapsFull(_ facts: ListFacts) -> Bool { isPerhapsFull(facts.records) }

  /// The same where a wrong guess only costs a transfer: a size that the definition names is believed.
  func mayFillPage(_ facts: ListFacts) -> Bool {
    resource.pages.size.map { facts.records >= $0.records } ?? isPerhapsFull(facts)
  }

  /// The same for a page with this number of records. Pages usually have a multiple of 10 or 25 of them, or a power of
  /// two.
  /// - Parameter longest: The number of records on the longest page before it; 0 without one.
  package func isPerhapsFull(_ records: Int, longest: Int = 0) -> Bool {
    if longest > 0 { return records >= longest }
    if records == 0 { return false }
    let isUsual =
      records.isMultiple(of: 10) || records.isMultiple(of: 25) || records >= 32 && records.nonzeroBitCount == 1
    return isUsual || resource.pages.size.map { records >= $0.records } == true
  }

  /// True if a total may be capped, or may be the length of the page. A request for each list of a child is costly, so
  /// that only round totals are doubted there, and those that equal the page.
  private func doubts(_ total: Int, after facts: ListFacts) -> Bool {
    resource.each == nil || total.isMultiple(of: 100) || total == facts.records
  }

  /// True if the only page of a list is full, and only the missing next value makes it the last one.
  package func lacksNext(_ facts: ListFacts) -> Bool {
    if resource.pages.style.kind.step == .stops, facts.more == true { return true }
    guard facts.next == nil, facts.more == nil, facts.count == nil, facts.records > 0 else { return false }
    return switch resource.pages.style.kind.step {
    case .sends(.ofAnswer), .follows(.ofAnswer): isPerhapsFull(facts)
    // A longer page shows that upstream ignores the size.
    case .stops: facts.records == resource.pages.size?.records
    case .counts, .sends(.ofLastRecord), .follows(.ofLinkHeader): false
    }
  }

  /// True if all pages of a list have fewer records than `size`, and upstream decides where the next one begins. It may
  /// have lowered the size, and may skip the difference.
  /// - Parameter longest: The number of records on the longest page that another one follows; 0 without such a page.
  package func isShortened(to longest: Int) -> Bool {
    guard longest > 0, let size = resource.pages.size, longest < size.records else { return false }
    switch resource.pages.style.kind.step {
    case .sends(.ofAnswer), .follows: return true
    case .counts: return resource.pages.hidden
    case .sends(.ofLastRecord), .stops: return false
    }
  }

  /// True if the pages so far have as many records as the total says.
  package func completesTotal(_ page: PageRequest, _ facts: ListFacts) -> Bool {
    total(page, facts) == page.recordsBefore + facts.records && !facts.isTotalLowerBound
  }

  /// True if records came after the total that upstream reports: it is capped.
  package func passesTotal(_ page: PageRequest, _ facts: ListFacts) -> Bool {
    guard page.number > 1, facts.records > 0, let total = total(page, facts) else { return false }
    return page.recordsBefore + facts.records > total
  }

  /// The number of positions that a page takes in a list by offset. An empty page takes as many as a full one.
  func width(of page: PageRequest, _ facts: ListFacts) throws(Failure) -> Int {
    let hidesRows = resource.pages.hidden
    if facts.records > 0, !hidesRows { return facts.records }
    let full = resource.pages.size?.records ?? max(page.longest, facts.records)
    if full == 0, resource.pages.style.kind.step == .counts(.records) { throw .noPageWidth }
    return full
  }
}
