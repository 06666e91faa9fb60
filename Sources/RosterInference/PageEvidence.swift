import RosterModel

/// The parameters of an address that are of paging.
struct PageParameters {
  struct Counted: Equatable {
    var name: String
    var value: Int
  }

  private(set) var page: Counted?
  private(set) var offset: Counted?
  private(set) var size: Counted?
  private(set) var cursor: Request.Parameter?

  init(_ parameters: [Request.Parameter]) {
    func counted(_ names: Set<String>) -> Counted? {
      for parameter in parameters where names.contains(parameter.name.word) {
        if let value = Int(parameter.value), value >= 0 { return Counted(name: parameter.name, value: value) }
      }
      return nil
    }
    page = counted(Vocabulary.pageParams)
    offset = counted(Vocabulary.offsetParams)
    size = counted(Vocabulary.sizeParams).flatMap { $0.value > 0 ? $0 : nil }
    cursor = parameters.first { Vocabulary.cursorParams.contains($0.name.word) }
  }

  var names: Set<String> {
    Set([page?.name, offset?.name, size?.name, cursor?.name].compactMap(\.self))
  }
}

/// All that one answer shows of how its pages follow one another.
struct PageEvidence {
  /// An address of the next page in the body; nil where it is null, as on the last page.
  struct NextAddress {
    var at: JSONPointer
    var text: String?
  }

  /// On this page.
  let records: Int
  let asked: PageParameters
  let next: NextAddress?
  /// In the Link header.
  let link: String?
  /// Pages are linked by headers, though this answer has no next one.
  let isLinkedElsewhere: Bool
  /// Parameters of the next page's address.
  let leads: [Request.Parameter]
  let cursor: AnswerFacts.Fact?
  let more: AnswerFacts.Fact?
  let isLast: AnswerFacts.Fact?
  let last: (at: Resource.AnswerPlace, value: Int)?
  /// A total that is one, as far as this answer tells.
  let count: (at: Resource.AnswerPlace, value: Int)?
  /// Perhaps a total, perhaps how many records are on the page.
  let doubtfulCount: JSONPointer?
  let page: (at: JSONPointer, value: Int)?
  let offset: (at: JSONPointer, value: Int)?
  let size: (at: JSONPointer, value: Int)?
  /// Whether the answer has a place for the next page's number.
  let tellsNextPage: Bool
  /// What the answer says it is, as Stripe's and Notion's do: `"object": "list"`.
  let isObjectList: Bool

  init(_ answer: ListAnswer, records: Int) {
    self.records = records
    let facts = AnswerFacts(answer.body)
    asked = PageParameters(answer.asked?.address.parameters ?? [])
    next = Self.next(facts)
    link = LinkHeader.next(in: answer.headers)
    isLinkedElsewhere = answer.headers.contains { header in
      let name = header.name.lowercased()
      return name == "link" && header.value.contains("rel=\"prev\"")
        || Vocabulary.linkingPrefixes.contains { name.hasPrefix($0) }
    }
    leads = (link ?? next?.text).map(ListAddress.parameters(of:)) ?? []
    cursor = Self.cursor(facts)
    more = facts.first(Vocabulary.more) { $0.value.isBoolean }
    isLast = facts.first(Vocabulary.isLast) { $0.value.isBoolean }
    page = facts.integer(Vocabulary.page, atLeast: 0)
    offset = facts.integer(Vocabulary.offset, atLeast: 0)
    size = facts.integer(Vocabulary.size, atLeast: 1)
    let nextNumber = Self.integer(Vocabulary.nextHeaders, answer.headers)
    tellsNextPage =
      facts.integer(["nextpage", "next"], atLeast: 1) != nil || nextNumber != nil
      || answer.headers.contains { Vocabulary.nextHeaders.contains($0.name.word) && $0.value.isEmpty }
    isObjectList = answer.body["object"] == .text("list")
    let goesOn = link != nil || next?.text != nil || more?.value == .boolean(true) || nextNumber != nil
    let isLinked = link != nil || isLinkedElsewhere
    let totals = Vocabulary.totalHeaders.union(isLinked ? [] : Vocabulary.unlinkedTotalHeaders)
    let counted = Self.count(facts, Self.integer(totals, answer.headers), records, goesOn: goesOn)
    count = counted.certain
    doubtfulCount = counted.doubtful
    let lasts = Vocabulary.lastHeaders.union(isLinked ? [] : Vocabulary.unlinkedLastHeaders)
    last = Self.last(facts, Self.integer(lasts, answer.headers)).flatMap { last in
      // More pages than records are no pages.
      last.value > max(1, counted.certain?.value ?? .max) ? nil : last
    }
  }

  private static func next(_ facts: AnswerFacts) -> NextAddress? {
    let address = facts.first(Vocabulary.next) { $0.value.text?.isAddress == true }
    let found = address ?? facts.first(Vocabulary.next) { $0.value == .null }
    return found.map { NextAddress(at: $0.at, text: $0.value.text) }
  }

  private static func cursor(_ facts: AnswerFacts) -> AnswerFacts.Fact? {
    func isCursor(_ fact: AnswerFacts.Fact) -> Bool {
      guard let text = fact.value.text else { return false }
      return !text.isEmpty && !text.isAddress
    }
    return facts.first(Vocabulary.nextCursors, where: isCursor)
      ?? facts.first(Vocabulary.nextCursors) { $0.value == .null || $0.value == .text("") }
      ?? facts.first(Vocabulary.cursors, where: isCursor)
  }

  private static func last(
    _ facts: AnswerFacts, _ header: (at: Resource.AnswerPlace, value: Int)?
  ) -> (at: Resource.AnswerPlace, value: Int)? {
    header ?? facts.integer(Vocabulary.last, atLeast: 1).map { (.body($0.at), $0.value) }
  }

  private static func integer(
    _ names: Set<String>, _ headers: [Request.Header]
  ) -> (at: Resource.AnswerPlace, value: Int)? {
    for header in headers where names.contains(header.name.word) {
      if let value = Int(header.value), value >= 0 { return (.header(header.name), value) }
    }
    return nil
  }

  /// A total is no less than the page has; where the list goes on it is more.
  private static func count(
    _ facts: AnswerFacts, _ header: (at: Resource.AnswerPlace, value: Int)?, _ records: Int, goesOn: Bool
  ) -> (certain: (at: Resource.AnswerPlace, value: Int)?, doubtful: JSONPointer?) {
    let least = goesOn ? records + 1 : records
    if let header, header.value >= least { return (header, nil) }
    if let total = facts.integer(Vocabulary.total, atLeast: least) { return ((.body(total.at), total.value), nil) }
    guard let count = facts.integer(Vocabulary.count, atLeast: least) else { return (nil, nil) }
    return count.value == records ? (nil, count.at) : ((.body(count.at), count.value), nil)
  }
}

extension String {
  /// Of a page: absolute, or relative to this one.
  fileprivate var isAddress: Bool { ["http://", "https://", "/", "?"].contains { hasPrefix($0) } }
}

extension JSONValue {
  fileprivate var isBoolean: Bool { if case .boolean = self { true } else { false } }
}
