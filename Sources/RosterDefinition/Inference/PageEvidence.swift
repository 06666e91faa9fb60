import RosterCore

/// The parameters of an address that select a page.
struct PageParameters {
  struct Counted: Equatable {
    var name: String
    var value: Int
  }

  private(set) var page: Counted?
  private(set) var offset: Counted?
  private(set) var size: Counted?
  private(set) var cursor: Request.Parameter?
  /// The whole numbers of all parameters.
  let numbers: Set<Int>
  /// True if the page's number is the last segment of the path.
  private(set) var isPageInPath = false

  /// The cursor, if its value means the list's beginning.
  var start: Request.Parameter? {
    cursor.flatMap { Vocabulary.cursorStarts.contains($0.value.lowercased()) ? $0 : nil }
  }

  /// - Parameter path: The path of the address, if it may have the page.
  init(_ parameters: [Request.Parameter], path: String = "") {
    func counted(_ names: Set<String>) -> Counted? {
      Self.counted(names, in: parameters, word: \.word) ?? Self.counted(names, in: parameters, word: \.wordInBrackets)
    }
    // `first` is an offset if `max` is a parameter too, as in Keycloak. Without `max` it is a page size.
    let isFirstOffset = counted(["first"]) != nil && counted(["max"]) != nil
    page = counted(Vocabulary.pageParams)
    // A larger number is a time or a key.
    offset = counted(isFirstOffset ? ["first"] : Vocabulary.offsetParams).flatMap {
      $0.value < Vocabulary.maxTotal ? $0 : nil
    }
    size = counted(isFirstOffset ? ["max"] : Vocabulary.sizeParams).flatMap {
      (1...Resource.Size.max).contains($0.value) ? $0 : nil
    }
    numbers = Set(parameters.compactMap { Int($0.value) })
    cursor = parameters.first { Vocabulary.cursorParams.contains($0.name.word) }
    if page == nil, offset == nil, let (_, number) = path.splitPage {
      (page, isPageInPath) = (Counted(name: "", value: number), true)
    }
  }

  private static func counted(
    _ names: Set<String>, in parameters: [Request.Parameter], word: KeyPath<String, String>
  ) -> Counted? {
    for parameter in parameters where names.contains(parameter.name[keyPath: word]) {
      if let value = Int(parameter.value), value >= 0 { return Counted(name: parameter.name, value: value) }
    }
    return nil
  }

  var names: Set<String> {
    Set([page?.name, offset?.name, size?.name, cursor?.name].compactMap(\.self))
  }
}

/// Everything in one answer that shows how its pages follow one another.
struct PageEvidence {
  /// The place of the next page's address.
  struct NextAddress {
    var at: Resource.AnswerPlace
    /// nil if the place is null, as on the last page.
    var text: String?
  }

  let records: Int
  let asked: PageParameters
  let next: NextAddress?
  /// The next page's address in the Link header.
  let link: String?
  /// True if the API links pages by headers, although this answer has no next page.
  let isLinkedElsewhere: Bool
  let leads: [Request.Parameter]
  /// The place of an object with all parameters of the next page.
  let continuation: JSONPointer?
  let last: (at: Resource.AnswerPlace, value: Int)?
  /// A total that a definition may trust.
  let count: (at: Resource.AnswerPlace, value: Int)?
  /// A number that is either the total, or the number of records on the page, or an upper limit of totals.
  let doubtfulCount: (at: Resource.AnswerPlace, value: Int)?
  /// True if the answer has a place for the next page's number.
  let tellsNextPage: Bool
  /// True if the answer says that more records follow.
  let goesOn: Bool
  /// The fields by which the records are sorted, the key first.
  let sorted: [SortedField]
  private let answer: ListAnswer
  private let facts: AnswerFacts

  init(_ answer: ListAnswer, records: Int, sorted: [SortedField]) {
    self.answer = answer
    self.records = records
    self.sorted = sorted
    facts = AnswerFacts(answer.body)
    asked = PageParameters(answer.asked?.address.parameters ?? [], path: answer.asked?.address.path ?? "")
    let address =
      Self.next(facts, headers: answer.headers) ?? Self.onlyLink(in: answer.body) ?? Self.relatedLink(in: answer.body)
    let isFollowed = address?.text.flatMap { answer.asked?.address.isFollowed(by: $0) } ?? true
    next = isFollowed ? address : nil
    continuation = facts.object(Vocabulary.continuations, in: answer.body)
    link = try? LinkHeader.next(in: answer.headers)
    isLinkedElsewhere = answer.headers.contains { header in
      let name = header.name.lowercased()
      return name == "link" && header.value.contains("rel=\"prev\"")
        || Vocabulary.linkingPrefixes.contains { name.hasPrefix($0) }
    }
    leads = (link ?? address?.text).map(ListAddress.parameters(of:)) ?? []
    let nextNumber = Self.integer(Vocabulary.nextHeaders, headers: answer.headers)
    tellsNextPage =
      facts.integer(["nextpage", "next"], atLeast: 1) != nil || nextNumber != nil
      || answer.headers.contains { Vocabulary.nextHeaders.contains($0.name.word) && $0.value.isEmpty }
    let more = facts.first(Vocabulary.more) { $0.value.flag != nil }
    goesOn =
      link != nil || address?.text != nil || continuation != nil || more?.value.flag == true || nextNumber != nil
    let isLinked = link != nil || isLinkedElsewhere
    let totals = Vocabulary.totalHeaders.union(isLinked ? [] : Vocabulary.unlinkedTotalHeaders)
    let counted = Self.count(
      facts, header: Self.integer(totals, headers: answer.headers), records: records, goesOn: goesOn)
    count = counted.certain
    doubtfulCount = counted.doubtful
    let lasts = Vocabulary.lastHeaders.union(isLinked ? [] : Vocabulary.unlinkedLastHeaders)
    last = Self.last(facts, header: Self.integer(lasts, headers: answer.headers)).flatMap { last in
      // A number of pages is at most the number of records.
      last.value > max(1, counted.certain?.value ?? .max) ? nil : last
    }
  }

  private var parameters: [Request.Parameter] { answer.asked?.address.parameters ?? [] }
  var given: Set<String> { Set(parameters.map(\.name)) }
  /// Names of the parameters that have another value in the next page's address.
  var moved: Set<String> { Self.moved(from: parameters, to: leads) }
  /// The names of the parameters in `continuation`.
  var continued: Set<String> { Set(continuation.flatMap { answer.body[$0]?.members.map(\.name) } ?? []) }
  /// True for MediaWiki's last page, which has no such object.
  var isBatchComplete: Bool { answer.body["batchcomplete"] != nil }
  /// The total that the answer states, whether a definition may trust it or not.
  var statedTotal: Int? { count?.value ?? doubtfulCount?.value }
  var cursor: AnswerFacts.Fact? { Self.nextParameter(facts) ?? Self.cursor(facts) }
  /// True if the cursor is a parameter in an object with those of the next page, as in Intercom's answers.
  var isCursorOfNext: Bool { Self.nextParameter(facts) != nil }
  var more: AnswerFacts.Fact? { facts.first(Vocabulary.more) { $0.value.flag != nil } }
  var isLast: AnswerFacts.Fact? { facts.first(Vocabulary.isLast) { $0.value.isBoolean } }
  /// Numbers that are larger than the number of records and may be the total, whatever they are called.
  var possibleTotals: [(at: Resource.AnswerPlace, value: Int)] {
    Self.possibleTotals(facts, headers: answer.headers, above: records)
  }
  var page: (at: JSONPointer, value: Int)? { facts.integer(Vocabulary.page, atLeast: 0) }
  var offset: (at: JSONPointer, value: Int)? { facts.integer(Vocabulary.offset, atLeast: 0) }
  var size: (at: JSONPointer, value: Int)? { facts.integer(Vocabulary.size, atLeast: 1) }
  /// The name of an offset that is null in this answer, beside another one (Open Library).
  var unusedOffset: String? { facts.first(Vocabulary.offset) { $0.value == .null }?.at.segments.last }
  /// True if the next page is requested by the header Range (Heroku).
  var hasNextRange: Bool { answer.headers.contains { $0.name.lowercased() == "next-range" } }
  /// True if the answer has `"object": "list"`, as those of Stripe and Notion.
  var isObjectList: Bool { answer.body["object"] == .text("list") }

  /// True if the page may be full: its length is round, or in the address.
  var mayBeFull: Bool { records > 0 && records.isMultiple(of: 5) || records > 1 && asked.numbers.contains(records) }

  /// The parameter of the address that asked for the records after a value, and the field that has such values.
  /// nil if the address has both bounds of a span.
  var start: (parameter: Request.Parameter, field: SortedField)? {
    let sent = parameters.filter { ![asked.page?.name, asked.size?.name].contains($0.name) }
    let ordered = sent.compactMap { parameter in SortOrder(ofParameter: parameter.name).map { (parameter, $0) } }
    guard Set(ordered.map(\.1)).count == 1 else { return nil }
    for (parameter, order) in ordered {
      let fields = sorted.filter { $0.begins(at: parameter.value, in: order) }
      let named = fields.first { field in field.at.segments.last.map { parameter.name.word.contains($0.word) } == true }
      if let field = named ?? fields.first { return (parameter, field) }
    }
    return nil
  }

  private static func moved(from given: [Request.Parameter], to leads: [Request.Parameter]) -> Set<String> {
    Set(
      given.filter { parameter in
        let values = leads.filter { $0.name == parameter.name }.map(\.value)
        return !values.isEmpty && values.allSatisfy { $0.isOtherPosition(than: parameter.value) }
      }.map(\.name))
  }

  private static func next(_ facts: AnswerFacts, headers: [Request.Header]) -> NextAddress? {
    if let address = facts.first(Vocabulary.next, where: \.isAddress) {
      return NextAddress(at: .body(address.at), text: address.value.text)
    }
    let header = headers.first { header in
      let word = header.name.word
      return word.contains("next") && word != "link" && header.value.isAddress
    }
    if let header { return NextAddress(at: .header(header.name), text: header.value) }
    // Datasette has two such members, `next` for a key and `next_url` for the address.
    let isNull = { (fact: AnswerFacts.Fact) in fact.value == .null }
    let found = facts.first(Vocabulary.next.subtracting(["next", "nextpage"]), where: isNull)
    return (found ?? facts.first(Vocabulary.next, where: isNull)).map { NextAddress(at: .body($0.at)) }
  }

  /// The address in a list of links that has no other element, as in Nova's `servers_links`. The index of a longer list
  /// has another meaning on the last page.
  private static func onlyLink(in body: JSONValue) -> NextAddress? {
    for member in body.members where member.name.word.hasSuffix("links") && member.value.elements.count == 1 {
      let link = member.value.elements[0]
      guard link["rel"].map({ $0 == .text("next") }) ?? true,
        let address = link.members.first(where: { Vocabulary.addresses.contains($0.name.word) }),
        let text = address.value.text, text.isAddress, !PageParameters(ListAddress.parameters(of: text)).names.isEmpty
      else { continue }
      return NextAddress(at: .body(JSONPointer(segments: [member.name, "0", address.name])), text: text)
    }
    return nil
  }

  /// The address in a list of links that each say what they lead to, as in FHIR's `link` and PayPal's `links`.
  private static func relatedLink(in body: JSONValue) -> NextAddress? {
    for member in body.members where ["link", "links"].contains(member.name.word) {
      for relation in ["rel", "relation"] {
        let next = member.value.elements.first { $0[relation] == .text("next") }
        let shown =
          next ?? member.value.elements.first { ["self", "first", "last"].contains($0[relation]?.text ?? "") }
        guard let address = shown?.members.first(where: { Vocabulary.addresses.contains($0.name.word) }) else {
          continue
        }
        let place = Resource.EntryPlace(
          list: JSONPointer(segments: [member.name]),
          conditions: [.init(JSONPointer(segments: [relation]), .equal(.text("next")))],
          value: JSONPointer(segments: [address.name]))
        return NextAddress(at: .entry(place), text: next.flatMap { _ in address.value.text })
      }
    }
    return nil
  }

  private static func possibleTotals(
    _ facts: AnswerFacts, headers: [Request.Header], above least: Int
  ) -> [(at: Resource.AnswerPlace, value: Int)] {
    let inHeaders = headers.compactMap { header -> (at: Resource.AnswerPlace, value: Int)? in
      guard let value = Int(header.value), value > least, Vocabulary.isTotalHeader(header.name) else { return nil }
      return (.header(header.name), value)
    }
    return facts.possibleTotals(above: least).map { (.body($0.at), $0.value) } + inHeaders
  }

  /// A cursor under the name of its parameter, in an object such as `next`.
  private static func nextParameter(_ facts: AnswerFacts) -> AnswerFacts.Fact? {
    facts.first(Vocabulary.cursorParams) { fact in
      fact.at.segments.dropLast().last?.word == "next" && fact.value.text?.isEmpty == false
    }
  }

  /// Number of records up to the end of this page, as a Double because the product may exceed Int.
  var reached: Double {
    if let asked = asked.offset { return Double(asked.value) + Double(records) }
    let page = max(1, asked.page?.value ?? page?.value ?? 1)
    return Double(page - 1) * Double(asked.size?.value ?? records) + Double(records)
  }

  private static func cursor(_ facts: AnswerFacts) -> AnswerFacts.Fact? {
    func isCursor(_ fact: AnswerFacts.Fact) -> Bool {
      guard let text = fact.value.text else { return false }
      return !text.isEmpty && !text.isAddress
    }
    return facts.first(Vocabulary.nextCursors) { isCursor($0) || ($0.value.integer ?? 0) > 0 }
      ?? facts.first(Vocabulary.nextCursors) { $0.value == .null || $0.value == .text("") }
      ?? facts.first(Vocabulary.cursors, where: isCursor)
  }

  private static func last(
    _ facts: AnswerFacts, header: (at: Resource.AnswerPlace, value: Int)?
  ) -> (at: Resource.AnswerPlace, value: Int)? {
    header ?? facts.total(Vocabulary.last, atLeast: 1).map { (.body($0.at), $0.value) }
  }

  private static func integer(
    _ names: Set<String>, headers: [Request.Header]
  ) -> (at: Resource.AnswerPlace, value: Int)? {
    for header in headers where names.contains(header.name.word) {
      let place = Resource.AnswerPlace.header(header.name)
      if let value = place.total(in: header.value).flatMap(Int.init), value >= 0 { return (place, value) }
    }
    return nil
  }

  /// A total is at least the number of records on the page, and larger if the list continues. One that equals the
  /// number of records may be the page's length, and a limit of totals is reached by longer lists too.
  private static func count(
    _ facts: AnswerFacts, header: (at: Resource.AnswerPlace, value: Int)?, records: Int, goesOn: Bool
  ) -> (certain: (at: Resource.AnswerPlace, value: Int)?, doubtful: (at: Resource.AnswerPlace, value: Int)?) {
    let least = goesOn ? records + 1 : records
    let named =
      facts.total(Vocabulary.total, atLeast: least).flatMap {
        Vocabulary.estimates.contains($0.at.description) ? nil : $0
      } ?? facts.total(Vocabulary.count, atLeast: least)
    let told = header.flatMap { $0.value >= least ? $0 : nil } ?? named.map { (.body($0.at), $0.value) }
    guard let told else { return (nil, nil) }
    let isDoubtful = told.value == records || Vocabulary.totalLimits.contains(told.value)
    return isDoubtful ? (nil, told) : (told, nil)
  }
}

extension AnswerFacts.Fact {
  fileprivate var isAddress: Bool {
    guard let text = value.text, !text.isEmpty else { return false }
    return text.isAddress || ["href", "url", "uri"].contains(word)
  }
}

extension String {
  /// The path before the number of a page, and that number: `/articles/page/2`. nil if the path has none.
  var splitPage: (path: String, number: Int)? {
    let segments = split(separator: "/")
    guard segments.count > 2, let last = segments.last, let number = Int(last), number >= 0,
      Vocabulary.pageSegments.contains(segments[segments.count - 2].lowercased())
    else { return nil }
    return (String(self[..<last.startIndex]), number)
  }

  /// False for another spelling of the same value, such as a date and its midnight.
  fileprivate func isOtherPosition(than other: String) -> Bool {
    if let number = Int(self), let otherNumber = Int(other) { return number != otherNumber }
    let (mine, theirs) = (lowercased(), other.lowercased())
    return !mine.isEmpty && !theirs.isEmpty && !mine.hasPrefix(theirs) && !theirs.hasPrefix(mine)
  }

  /// The word in the last brackets of a name such as `pagination[page]`; empty without brackets, or if the brackets
  /// belong to a condition.
  fileprivate var wordInBrackets: String {
    guard hasSuffix("]"), let open = lastIndex(of: "[") else { return "" }
    let outer = self[..<open].lowercased()
    return Vocabulary.conditionWords.contains { outer.contains($0) } ? "" : String(self[open...]).word
  }

  /// True for an absolute address, and for a relative one that shows it by its first character or by its query.
  fileprivate var isAddress: Bool {
    if ["http://", "https://", "/", "?"].contains(where: { hasPrefix($0) }) { return true }
    guard !contains(" "), let mark = firstIndex(of: "?") else { return false }
    return self[mark...].contains("=")
  }
}

extension JSONValue {
  fileprivate var isBoolean: Bool { if case .boolean = self { true } else { false } }
}
