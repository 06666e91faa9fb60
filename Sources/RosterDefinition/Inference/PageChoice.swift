import RosterCore

/// The page style that fits an answer. Announced pages are preferred, because they are pulled in parallel; then
/// answers that lead to the next page; then guesses.
struct PageChoice {
  private(set) var pages = Resource.Pages(.one)
  private(set) var notes: [Note] = []
  /// Parameters of the list's address that the page style replaces.
  private(set) var taken: Set<String> = []

  private let evidence: PageEvidence
  private let key: JSONPointer

  init(_ evidence: PageEvidence, key: JSONPointer) {
    self.evidence = evidence
    self.key = key
    let isFound =
      announced() || linked() || continued() || cursor() || nextAddress() || offset() || number() || after()
      || moreThanHere()
    if isFound {
      taken = evidence.asked.names.union(evidence.continued)
      leaveOutPosition()
      cursorOfAddress()
      size()
      proof()
    } else {
      alone()
    }
  }

  // MARK: Styles

  private mutating func announced() -> Bool {
    // The address itself shows how its pages are selected.
    let isByOffset = evidence.asked.page == nil && evidence.asked.offset != nil
    guard let last = evidence.last, !evidence.isCursorOfNext, !isByOffset else { return false }
    pages = Resource.Pages(.number(param: numberParam(), first: firstNumber, last: last.at))
    notes.append(.remark(.last, text: "\(last.value) in this answer"))
    return true
  }

  private mutating func linked() -> Bool {
    guard evidence.link != nil || evidence.isLinkedElsewhere else { return false }
    pages = Resource.Pages(.link)
    if evidence.link != nil {
      notes.append(.remark(.style, text: "the answer has a Link header with rel=\"next\""))
    } else {
      notes.append(.unseen(.style, text: "a second page; this API announces one in a Link header with rel=\"next\""))
    }
    return true
  }

  private mutating func continued() -> Bool {
    guard evidence.continuation != nil || evidence.isBatchComplete else { return false }
    let at = evidence.continuation ?? JSONPointer(segments: ["continue"])
    pages = Resource.Pages(.cursor(param: .everyMember, at: .body(at)))
    notes.append(.remark(.param, text: "every member of \(at) becomes a parameter of the next request"))
    if evidence.continuation == nil {
      notes.append(.unseen(.style, text: "a second page; MediaWiki announces one by an object at \(at)"))
    }
    return true
  }

  private mutating func cursor() -> Bool {
    guard let cursor = evidence.cursor, !isCursorUnused(cursor) else { return false }
    // Such a cursor is that of the last record, and the last page has one too (graph.facebook.com).
    if evidence.next?.text != nil, Vocabulary.lastCursors.contains(cursor.word) { return false }
    // The size may have the value of the cursor: limit=10&offset=10.
    let size = evidence.asked.size?.name ?? PageParameters(evidence.leads).size?.name
    let leads = evidence.leads.filter { $0.name != size }
    let seen =
      leads.first { $0.value == cursor.value.text }?.name ?? evidence.asked.cursor?.name
      ?? (cursor.value.isCounted ? evidence.asked.offset?.name : nil)
    if seen == nil, evidence.next != nil { return false }
    let param = seen ?? guess(of: cursor)
    let start = evidence.asked.start.flatMap { $0.name == param ? $0.value : nil }
    pages = Resource.Pages(.cursor(param: .query(param), start: start, at: .body(cursor.at)), more: more())
    if seen == nil { notes.append(.unseen(.param, text: "the parameter's name; this one is a guess")) }
    leaveOutCursor()
    if cursor.value == .null { notes.append(.remark(.at, text: "null in this answer, which was the last page")) }
    return true
  }

  /// True if there is no cursor although more records follow: OpenAlex has one only if the request asked for it.
  private func isCursorUnused(_ cursor: AnswerFacts.Fact) -> Bool {
    cursor.value.integer == nil && cursor.value.text?.isEmpty != false && evidence.asked.cursor == nil
      && Double(evidence.statedTotal ?? 0) > evidence.reached
  }

  /// A cursor in the given address would begin every pull at a later page.
  private mutating func leaveOutCursor() {
    guard evidence.asked.start == nil, let cursor = evidence.asked.cursor else { return }
    notes.append(Self.leftOut(cursor.name, place: .param))
  }

  /// The same for a parameter whose name does not say that it is a position (Airtable, Mastodon, ServiceNow).
  private mutating func leaveOutPosition() {
    let (names, place): (Set<String>, Note.Place) =
      switch pages.style.kind.step {
      case .sends(.ofAnswer): if case .query(let name)? = pages.style.param { ([name], .param) } else { ([], .style) }
      case .follows: (evidence.moved, .style)
      case .counts, .sends(.ofLastRecord), .stops: ([], .style)
      }
    for name in names.intersection(evidence.given).subtracting(taken).sorted() {
      taken.insert(name)
      notes.append(Self.leftOut(name, place: place))
    }
  }

  private static func leftOut(_ name: String, place: Note.Place) -> Note {
    .remark(place, text: "the value of \(name) in the given address is left out: a pull starts at the first page")
  }

  /// The first request of a style that has no key for it has the cursor's start value in its query.
  private mutating func cursorOfAddress() {
    let step = pages.style.kind.step
    guard step == .follows(.ofAnswer) || step == .sends(.ofLastRecord), let start = evidence.asked.start else { return }
    taken.remove(start.name)
  }

  /// The name that known APIs with such an answer use.
  private func guess(of cursor: AnswerFacts.Fact) -> String {
    let name = cursor.at.segments.last ?? ""
    switch cursor.word {
    case "nextcursor": return evidence.isObjectList ? "start_cursor" : "cursor"
    case "endcursor", "aftercursor", "after": return "after"
    case "nextpagetoken" where evidence.isLast == nil: return name.hasPrefix("next_") ? "page_token" : "pageToken"
    case "nextmarker": return "marker"
    case "nextbatch": return "from"
    case "cursor", "next", "nextpage", "cursornext", "nextpagecursor": return "cursor"
    default: return name
    }
  }

  private mutating func nextAddress() -> Bool {
    guard let next = evidence.next else { return false }
    if let style = inParallel {
      pages = Resource.Pages(style)
      notes.append(Self.instead(of: next))
      return true
    }
    pages = Resource.Pages(.next(at: next.at), more: more())
    if case .entry = next.at {
      if next.text == nil { notes.append(.unseen(.at, text: "a second page, whose link has the relation \"next\"")) }
    } else if next.text == nil {
      notes.append(.remark(.at, text: "null in this answer, which was the last page"))
    }
    return true
  }

  /// The style of pages that can be pulled in parallel: the total is known, and the next address counts pages or
  /// records.
  private var inParallel: Resource.Style? {
    guard evidence.count != nil else { return nil }
    let next = PageParameters(evidence.leads)
    if let offset = next.offset, offset.value == (evidence.asked.offset?.value ?? 0) &+ evidence.records {
      return .offset(param: .query(offset.name))
    }
    if let page = next.page, page.value == (evidence.asked.page?.value ?? firstNumber) &+ 1 {
      return .number(param: .query(page.name), first: firstNumber)
    }
    return nil
  }

  private static func instead(of next: PageEvidence.NextAddress) -> Note {
    Note(
      place: .style, isUnseen: false, lines: ["style = \"next\"", "at = \(next.at.description.tomlString)"],
      text: "instead of style and param, to follow upstream's own addresses one page after another:")
  }

  private mutating func offset() -> Bool {
    let total = evidence.statedTotal ?? 0
    let isTold = evidence.offset != nil && (total > 0 || evidence.more != nil || evidence.size != nil)
    let next = PageParameters(evidence.leads).offset
    guard evidence.asked.offset != nil || evidence.asked.page == nil else { return false }
    guard evidence.asked.offset != nil || next != nil || isTold else { return false }
    let told = evidence.unusedOffset ?? evidence.offset?.at.segments.last
    let name = evidence.asked.offset?.name ?? next?.name ?? told ?? "offset"
    let isOneBased = evidence.offset?.value == 1 && (evidence.asked.offset?.value ?? 1) == 1
    pages = Resource.Pages(.offset(param: .query(name), first: isOneBased ? 1 : 0))
    if evidence.count == nil { pages.more = more() }
    if evidence.asked.offset == nil, next == nil {
      notes.append(.unseen(.param, text: "the parameter's name; the answer has a field of this name"))
    }
    return true
  }

  private mutating func number() -> Bool {
    let isTold = evidence.page != nil && (evidence.statedTotal != nil || evidence.more != nil || evidence.size != nil)
    let isLed = PageParameters(evidence.leads).page != nil
    guard evidence.asked.page != nil || isLed || evidence.tellsNextPage || isTold else { return false }
    byNumber()
    return true
  }

  private mutating func byNumber() {
    pages = Resource.Pages(.number(param: numberParam(), first: firstNumber), more: more())
    guard pages.more == nil, evidence.count == nil else { return }
    notes.append(
      .remark(
        .beyond, text: "if a page after the last one is answered with 404 instead of an empty list",
        lines: "beyond = [404]"))
  }

  /// The answer says that there are more records, but only the last record can lead to them.
  private mutating func after() -> Bool {
    if let (parameter, field) = evidence.start, evidence.more != nil || evidence.mayBeFull {
      after(parameter, field)
      return true
    }
    guard evidence.more != nil else { return false }
    guard evidence.isObjectList else {
      byNumber()
      proposeAfter()
      return true
    }
    let seen = evidence.asked.cursor?.name
    let param = seen ?? "starting_after"
    pages = Resource.Pages(.after(param: .query(param), at: key), more: more())
    if seen == nil { notes.append(.unseen(.param, text: "the parameter's name; this is Stripe's")) }
    leaveOutCursor()
    return true
  }

  /// The address asked for the records after a value.
  private mutating func after(_ parameter: Request.Parameter, _ field: SortedField) {
    pages = Resource.Pages(.after(param: .query(parameter.name), at: field.at), more: more())
    let isIncluded = field.isFirst(parameter.value)
    if field.at != key {
      notes.append(
        .remark(.at, text: "the records are sorted by it; those that share a value may be skipped between two pages"))
    }
    // The records of the last value come again on the last page.
    if pages.more == nil, isIncluded || field.at != key {
      pages.short = true
      pages.size = Resource.Size(evidence.records)
    }
    leaveOutCursor()
  }

  /// The fewest records whose order is no accident.
  private static let minSorted = 3

  private mutating func proposeAfter() {
    guard evidence.records >= Self.minSorted, let field = evidence.sorted.first else { return }
    let at = field.at == key ? [] : ["at = \(field.at.description.tomlString)"]
    notes.append(
      Note(
        place: .style, isUnseen: true, lines: ["style = \"after\"", "param = \"after\""] + at,
        text: "whether a parameter asks for the records after a value of \(field.at), by which they are sorted; then, "
          + "with its name, instead of style and param:"))
  }

  private mutating func moreThanHere() -> Bool {
    guard let count = evidence.count ?? evidence.doubtfulCount, count.value > evidence.records else { return false }
    let size = evidence.asked.size?.name ?? evidence.size?.at.segments.last ?? ""
    if let offset = Vocabulary.offsetsBySize[size] {
      pages = Resource.Pages(.offset(param: .query(offset)))
      notes.append(
        .unseen(.style, text: "the parameter that leads to the next page; \(offset) is a guess from \(size)"))
    } else if let offset = Vocabulary.offsetsByTotal[count.at.description] {
      pages = Resource.Pages(.offset(param: .query(offset)))
      notes.append(.unseen(.style, text: "the parameter that leads to the next page; \(offset) is Elasticsearch's"))
    } else if count.at.isContentRange {
      pages = Resource.Pages(.offset(param: .query("offset")))
      notes.append(.unseen(.style, text: "the parameter that leads to the next page; offset is PostgREST's"))
    } else {
      byNumber()
      notes.append(.unseen(.style, text: "how the next page is requested; a page number is a guess"))
    }
    return true
  }

  private mutating func alone() {
    pages = Resource.Pages(.one)
    if evidence.hasNextRange {
      return notes.append(
        .remark(
          .style,
          text: "the answer has a Next-Range header: the next page is requested by the header Range, which no style "
            + "sends; `headers = { Range = \"id ..; max=1000\" }` in [upstream] requests up to 1000 records (Heroku)"))
    }
    let (records, isFull) = (evidence.records, evidence.mayBeFull)
    notes.append(
      isFull
        ? .fullPage(records)
        : .unseen(.style, text: "a sign of further pages; if there are any, set `style` and its keys"))
    // The sync then reports a full page.
    if isFull {
      pages.size = Resource.Size(records)
      proposeAfter()
    }
    guard let size = evidence.asked.size else { return }
    taken = [size.name]
    setSize(size, isLowered: isFull && records < size.value)
  }

  // MARK: What styles share

  private mutating func numberParam() -> Resource.RequestPlace {
    if evidence.asked.isPageInPath { return .path }
    if let name = evidence.asked.page?.name ?? PageParameters(evidence.leads).page?.name { return .query(name) }
    notes.append(.unseen(.param, text: "the parameter's name; this one is a guess"))
    return .query(evidence.asked.size.flatMap { Vocabulary.numbersBySize[$0.name] } ?? "page")
  }

  private var firstNumber: Int {
    if let asked = evidence.asked.page { return asked.value == 0 ? 0 : 1 }
    if let next = PageParameters(evidence.leads).page { return next.value == 1 ? 0 : 1 }
    return evidence.page?.value == 0 ? 0 : 1
  }

  private func more() -> Resource.AnswerPlace? { evidence.more.map { .body($0.at) } }

  /// Sets the number of records on a page, or proposes how to change it.
  private mutating func size() {
    let records = evidence.records
    if let asked = evidence.asked.size {
      return setSize(asked, isLowered: evidence.goesOn && records > 0 && records < asked.value)
    }
    if pages.size != nil { return }
    if let seen = PageParameters(evidence.leads).size {
      suggestSize(seen.name, text: "requests larger pages, if upstream allows them")
    } else if let told = evidence.size?.at.segments.last {
      suggestSize(told, text: "requests larger pages, if upstream allows them; the parameter's name is a guess")
    } else {
      notes.append(.unseen(.size, text: "how to request pages of more than \(records) records (`size`, `size_param`)"))
    }
  }

  /// - Parameter isLowered: True if the answer shows that upstream sends fewer records than were asked for.
  private mutating func setSize(_ asked: PageParameters.Counted, isLowered: Bool) {
    let records = evidence.records
    pages.size = Resource.Size(isLowered ? records : asked.value, param: .query(asked.name))
    guard isLowered else { return }
    let text = "\(asked.value) were asked for, and upstream sent \(records): with \(asked.value) it may skip records"
    notes.append(.remark(.size, text: text))
  }

  private mutating func suggestSize(_ name: String, text: String) {
    let lines = ["size = 100", "size_param = \(name.tomlString)"]
    notes.append(Note(place: .size, isUnseen: false, lines: lines, text: text))
  }

  private mutating func proof() {
    if let count = evidence.count {
      pages.count = count.at
      notes.append(.remark(.count, text: "\(count.value) in this answer"))
      return
    }
    let totals = proposedTotals
    notes += totals.isEmpty ? [withoutTotal] : totals
    if let isLast = evidence.isLast, pages.more == nil {
      notes.append(
        .remark(.more, text: "true on the last page", lines: "done = \(isLast.at.description.tomlString)"))
    }
  }

  private static let maxProposed = 3

  private var proposedTotals: [Note] {
    var notes: [Note] = []
    if let doubtful = evidence.doubtfulCount {
      let isLimit = doubtful.value != evidence.records
      let why = isLimit ? "the most that upstream counts" : "the number of those on this page"
      notes.append(
        .unseen(
          .count, text: "whether \(doubtful.at) is the number of all records: \(doubtful.value) may be \(why)",
          lines: "count = \(doubtful.at.description.tomlString)"))
    }
    let others = evidence.possibleTotals.filter { $0.at != evidence.doubtfulCount?.at }
    for total in others.prefix(Self.maxProposed) {
      notes.append(
        .unseen(
          .count, text: "whether \(total.at) (\(total.value) in this answer) is the number of all records",
          lines: "count = \(total.at.description.tomlString)"))
    }
    return notes
  }

  private var withoutTotal: Note {
    switch pages.style.kind.step {
    case .counts:
      .unseen(.count, text: "the number of all records; without `count` nothing proves that a pull is complete")
    case .sends, .follows, .stops:
      .unseen(.count, text: "the number of all records; the end of the list proves that a pull is complete")
    }
  }
}

extension Note {
  /// Precedes the table of the pages, because a sync would say nothing of the missing records.
  fileprivate static func fullPage(_ records: Int) -> Note {
    .unseen(
      .pages,
      text: "whether more records exist: \(records) may be a full page, and `style = \"one\"` requests no other; "
        + "if so, set `style` and its keys, such as `style = \"number\"` and `param = \"page\"` (PAGES.md), "
        + "else remove `size`")
  }
}

extension JSONValue {
  /// True for a whole number, or its digits.
  fileprivate var isCounted: Bool { integer != nil || text.flatMap(Int.init) != nil }
}
