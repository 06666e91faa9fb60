import RosterModel

/// The page style that fits an answer: announced pages first, since they are pulled in parallel (P1); then what leads
/// on by itself; then what can only be guessed.
struct PageChoice {
  private(set) var pages = Resource.Pages(.one)
  private(set) var notes: [Note] = []
  /// Parameters of the list's address that the style sends itself.
  private(set) var taken: Set<String> = []

  private let evidence: PageEvidence

  init(_ evidence: PageEvidence) {
    self.evidence = evidence
    let isFound =
      announced() || linked() || cursor() || nextAddress() || offset() || number() || after() || moreThanHere()
    if isFound {
      taken = evidence.asked.names
      size()
      proof()
    } else {
      alone()
    }
  }

  // MARK: Styles

  private mutating func announced() -> Bool {
    guard let last = evidence.last else { return false }
    pages = Resource.Pages(.number(param: numberParam(), first: firstNumber, last: last.at))
    notes.append(.remark(.last, "\(last.value) here"))
    return true
  }

  private mutating func linked() -> Bool {
    guard evidence.link != nil || evidence.isLinkedElsewhere else { return false }
    pages = Resource.Pages(.link)
    if evidence.link != nil {
      notes.append(.remark(.style, "the answer has a Link header with rel=\"next\""))
    } else {
      notes.append(.unseen(.style, "a further page: headers of this API link one where there is one"))
    }
    return true
  }

  private mutating func cursor() -> Bool {
    guard let cursor = evidence.cursor else { return false }
    let seen = evidence.leads.first { $0.value == cursor.value.text }?.name ?? evidence.asked.cursor?.name
    if seen == nil, evidence.next != nil { return false }
    let param = seen ?? guess(of: cursor)
    pages = Resource.Pages(.cursor(param: .query(param), at: .body(cursor.at)), more: more())
    if seen == nil { notes.append(.unseen(.param, "its name; this is a guess")) }
    if cursor.value == .null { notes.append(.remark(.at, "null here: this was the last page")) }
    return true
  }

  /// By what APIs with such an answer take.
  private func guess(of cursor: AnswerFacts.Fact) -> String {
    let name = cursor.at.segments.last ?? ""
    switch cursor.word {
    case "nextcursor": return evidence.isObjectList ? "start_cursor" : "cursor"
    case "endcursor", "aftercursor", "after": return "after"
    case "nextpagetoken" where evidence.isLast == nil: return name.hasPrefix("next_") ? "page_token" : "pageToken"
    case "nextmarker": return "marker"
    case "cursor", "next", "nextpage", "cursornext", "nextpagecursor": return "cursor"
    default: return name
    }
  }

  private mutating func nextAddress() -> Bool {
    guard let next = evidence.next else { return false }
    if byOffsetInParallel(next) { return true }
    pages = Resource.Pages(.next(at: .body(next.at)), more: more())
    if next.text == nil { notes.append(.remark(.at, "null here: this was the last page")) }
    return true
  }

  /// Where the next address counts records and the total is known, pages need not wait for one another.
  private mutating func byOffsetInParallel(_ next: PageEvidence.NextAddress) -> Bool {
    let before = evidence.asked.offset?.value ?? 0
    guard evidence.count != nil, let offset = PageParameters(evidence.leads).offset,
      offset.value == before + evidence.records
    else { return false }
    pages = Resource.Pages(.offset(param: .query(offset.name)))
    let lines = ["style = \"next\"", "at = \(next.at.description.tomlString)"]
    notes.append(
      Note(
        place: .style, isUnseen: false, lines: lines,
        text: "or, following upstream's own addresses, one page after the other:")
    )
    return true
  }

  private mutating func offset() -> Bool {
    let total = evidence.count?.value ?? 0
    let isTold = evidence.offset != nil && (total > 0 || evidence.more != nil || evidence.size != nil)
    guard evidence.asked.offset != nil || isTold else { return false }
    let name = evidence.asked.offset?.name ?? evidence.offset?.at.segments.last ?? "offset"
    let isOneBased = evidence.offset?.value == 1 && (evidence.asked.offset?.value ?? 1) == 1
    pages = Resource.Pages(.offset(param: .query(name), first: isOneBased ? 1 : 0))
    if evidence.count == nil { pages.more = more() }
    if evidence.asked.offset == nil {
      notes.append(.unseen(.param, "its name; the answer calls it so"))
    }
    return true
  }

  private mutating func number() -> Bool {
    let isTold = evidence.page != nil && (evidence.count != nil || evidence.more != nil || evidence.size != nil)
    guard evidence.asked.page != nil || evidence.tellsNextPage || isTold else { return false }
    byNumber()
    return true
  }

  private mutating func byNumber() {
    pages = Resource.Pages(.number(param: numberParam(), first: firstNumber), more: more())
    guard pages.more == nil, evidence.count == nil else { return }
    notes.append(
      .remark(.beyond, "if upstream answers so behind the last page, instead of an empty one", lines: "beyond = [404]"))
  }

  /// More records, and nothing that leads to them but the records themselves.
  private mutating func after() -> Bool {
    guard evidence.more != nil else { return false }
    guard evidence.isObjectList else {
      byNumber()
      return true
    }
    let seen = evidence.asked.cursor?.name
    let param = seen ?? "starting_after"
    pages = Resource.Pages(.after(param: .query(param), at: JSONPointer(segments: ["id"])), more: more())
    if seen == nil { notes.append(.unseen(.param, "its name; Stripe calls it so")) }
    return true
  }

  private mutating func moreThanHere() -> Bool {
    guard let count = evidence.count, count.value > evidence.records else { return false }
    if evidence.size?.at.segments.last?.word == "limit" || evidence.asked.size?.name.word == "limit" {
      pages = Resource.Pages(.offset(param: .query("offset")))
      notes.append(.unseen(.style, "how pages are asked for: by \"offset\" is a guess, since there is a limit"))
    } else {
      byNumber()
      notes.append(.unseen(.style, "how pages are asked for: by number is a guess"))
    }
    return true
  }

  private mutating func alone() {
    pages = Resource.Pages(.one)
    let records = evidence.records
    let isFull =
      [10, 20, 25, 30, 50, 100, 200, 250, 500, 1000].contains(records) || records == evidence.asked.size?.value
    let doubt = isFull ? ", and \(records) records look like a full page" : ""
    notes.append(.unseen(.style, "any sign of further pages\(doubt): if there are, name their style and param"))
  }

  // MARK: What styles share

  private mutating func numberParam() -> Resource.RequestPlace {
    if let name = evidence.asked.page?.name ?? PageParameters(evidence.leads).page?.name { return .query(name) }
    notes.append(.unseen(.param, "its name; this is a guess"))
    return .query("page")
  }

  private var firstNumber: Int {
    if let asked = evidence.asked.page { return asked.value == 0 ? 0 : 1 }
    if let next = PageParameters(evidence.leads).page { return next.value == 1 ? 0 : 1 }
    return evidence.page?.value == 0 ? 0 : 1
  }

  private func more() -> Resource.AnswerPlace? { evidence.more.map { .body($0.at) } }

  /// How many records a page has, and how upstream is told.
  private mutating func size() {
    if let asked = evidence.asked.size {
      pages.size = Resource.Size(asked.value, param: .query(asked.name))
      return
    }
    let records = evidence.records
    if let seen = PageParameters(evidence.leads).size {
      suggestSize(seen.name, "larger pages, as far as upstream gives them")
    } else if let told = evidence.size?.at.segments.last {
      suggestSize(told, "larger pages, as far as upstream gives them; the name is a guess")
    } else {
      notes.append(.unseen(.size, "how to ask for more than \(records) records a page (size, size_param)"))
    }
  }

  private mutating func suggestSize(_ name: String, _ text: String) {
    let lines = ["size = 100", "size_param = \(name.tomlString)"]
    notes.append(Note(place: .size, isUnseen: false, lines: lines, text: text))
  }

  private mutating func proof() {
    if let count = evidence.count {
      pages.count = count.at
      notes.append(.remark(.count, "\(count.value) here"))
      return
    }
    if let doubtful = evidence.doubtfulCount {
      notes.append(
        .unseen(
          .count, "whether \(doubtful) is the total or how many are on this page",
          lines: "count = \(doubtful.description.tomlString)"))
      return
    }
    switch pages.style {
    case .number, .offset: notes.append(.unseen(.count, "a total: without `count` nothing proves that a pull is whole"))
    case .cursor, .next, .link, .after, .one:
      notes.append(.unseen(.count, "a total; the list's end is the proof that a pull is whole"))
    }
    if let isLast = evidence.isLast, pages.more == nil {
      notes.append(.remark(.more, "\(isLast.at) says the opposite of what `more` takes, so it is not used"))
    }
  }
}
