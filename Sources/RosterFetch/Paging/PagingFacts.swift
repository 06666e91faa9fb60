import FoundationEssentials
package import RosterCore
package import RosterDecode

/// The reason why an answer does not match its definition, as a clause.
package struct UndefinedAnswer: Error, Sendable, Equatable, CustomStringConvertible {
  /// The part of the definition that the answer lacks.
  package var reason: String
  /// The key of `pages` that names a total; set if the answer has none there.
  package var absentTotal: String?
  /// The reason.
  package var description: String { reason }
}

extension Paging {
  /// The facts of the list in an answer. An answer without a value that the definition names is malformed.
  /// - Parameter page: the number of the page, from 1.
  package func facts(
    in scan: PageScan, of response: Response, page: Int
  ) throws(UndefinedAnswer) -> ListFacts {
    let (scan, isFirst) = (adding(response, to: scan), page == 1)
    var facts = ListFacts(records: scan.records)
    facts.skipped = scan.skipped
    // An answer without a list may leave out its totals and flags too.
    func isGiven(_ value: PointedValue) -> Bool { !scan.lacksList || !value.isAbsent }
    // Some servers count a list for its first page only, or no empty list.
    func isTotalGiven(_ value: PointedValue) -> Bool {
      if !value.isAbsent { return true }
      let isLeftOut = isFirst ? scan.records == 0 && value.kind == .null : scan.records > 0 || followsAnswers
      return !isLeftOut && isGiven(value)
    }
    if let place = resource.pages.count, isTotalGiven(scan.count) {
      facts.count = try total(scan.count, named: "count", at: place)
    }
    facts.unnamedTotal = unnamedTotal(scan)
    facts.isTotalLowerBound = scan.isTotalLowerBound
    if let place = last, isTotalGiven(scan.last) { facts.last = try total(scan.last, named: "last", at: place) }
    if isGiven(scan.more) { facts.more = try more(in: scan, isFirst: isFirst) }
    if let last = facts.last, let count = facts.count, last > max(1, count) {
      throw UndefinedAnswer(reason: "it announces \(last) pages for \(count) records")
    }
    if let form = scan.otherForm?.rawValue, let since = resource.since {
      throw UndefinedAnswer(
        reason: "it has times of the form \(form) at \(since.at?.description ?? "") (since.at), and since.form is "
          + "\(since.form.rawValue): if all have that form, set form = \(form.tomlString) in since")
    }
    // A sign of a next page that no key of the definition follows is a doubt.
    let step = resource.pages.style.kind.step
    let mayGoOn = step == .stops || resource.pages.takesUnnamedMore
    if facts.more == nil, mayGoOn, scan.goesOn || scan.numberOfPages > page || response.leadsOn(after: page) {
      facts.more = true
    }
    facts.next = try next(scan, response: response)
    if step == .follows(.ofLinkHeader), !response.hasNextLink, response.leadsToNextPage(after: page) {
      throw UndefinedAnswer(
        reason: "other headers lead to a next page, and it has no Link header with rel=\"next\": style = \"number\", "
          + "or \"cursor\" with at = \"header:NAME\", can follow them")
    }
    // An answer without a list and without any sign that more pages follow is the last one.
    if scan.lacksList, facts.more == nil, facts.next == nil, resource.pages.ending != nil { facts.more = false }
    (facts.highest, facts.hasOtherMark) = (scan.highest, scan.hasOtherMark)
    if isIncremental { facts.lowest = scan.marks.lazy.filter { $0 != PageScan.noMark }.min() }
    facts.token = try deltaToken(scan.token, response: response)
    if let token = response.token,
      facts.next?.texts.contains(where: token.isRepeated) == true || facts.token.map(token.isRepeated) == true
    {
      throw UndefinedAnswer(reason: "its next-page value repeats the access token")
    }
    if facts.more == true, facts.next == nil, followsAnswers, facts.records > 0 || resource.pages.empty != .end {
      throw UndefinedAnswer(reason: lostNext(isEmpty: facts.records == 0))
    }
    return facts
  }

  /// Notes what the answer lacks by a total that no key names, if the list ends before it, and by a Warning header.
  /// Nothing is removed then.
  /// - Returns: True if the answer lacks something. Its body does not show that, so that the page is never unchanged.
  func noteLacks(
    in scans: inout [PageScan], of response: Response, _ facts: ListFacts, on page: PageRequest
  ) -> Bool {
    let isWarned = response.headers.contains { $0.isNamed("Warning") && PageScan.isPartial($0.value) }
    var isLacking = isWarned
    for index in scans.indices {
      var facts = facts
      facts.unnamedTotal = unnamedTotal(scans[index])
      if endsEarly(page, facts) {
        scans[index].noteLack()
        isLacking = true
      }
      guard isWarned else { continue }
      scans[index].noteLack()
      // The total of a page is the reason of such a lack, unless the page has none.
      if resource.pages.takesUnnamedTotal, !exceeds(page, facts) { scans[index].count = PointedValue() }
    }
    return isLacking
  }

  /// A total is stored with its page, as a declared one is.
  func unnamedTotal(_ scan: PageScan) -> Int? { resource.pages.takesUnnamedTotal ? scan.count.number : nil }

  /// The reason why an answer that calls itself followed by another page is malformed without a next value.
  private func lostNext(isEmpty: Bool) -> String {
    let done = resource.pages.done?.description ?? ""
    let flag = resource.pages.more.map { "\($0) (more) is true" } ?? "\(done) (done) is false"
    let place = resource.pages.style.at.map { " at \($0) (at)" } ?? ""
    return switch resource.pages.style.kind.step {
    case .follows(.ofLinkHeader): "\(flag), and it has no Link header with rel=\"next\""
    case .sends(.ofLastRecord) where isEmpty:
      "\(flag), and the page has no record that the next page could follow: use another style of upstream's if it has "
        + "one (cursor, offset), or set pages.empty = \"end\" if an empty page ends the list"
    case .sends(.ofLastRecord): "\(flag), and no record has a value\(place)"
    case .sends(.ofAnswer), .follows(.ofAnswer): "\(flag), and there is no next value\(place)"
    case .counts, .stops: flag
    }
  }

  /// Without the access token, if it is an address. Empty is absent.
  private func deltaToken(_ found: PointedValue, response: Response) throws(UndefinedAnswer) -> String? {
    guard let since = resource.since, let place = since.token else { return nil }
    switch found.kind {
    case .absent, .null, .text(""): return nil
    case .text(let text): return since.param == nil ? response.token?.removed(from: text) ?? text : text
    case .integer(let number): return "\(number)"
    case .number(let digits): return digits
    case .boolean, .compound, .members, .whole:
      throw UndefinedAnswer(reason: "\(place) (since.token) is neither a text nor a number")
    }
  }

  /// Adds the values that the definition expects in the answer's headers, as if they were in the body. Totals are
  /// integers, however they are written.
  func adding(_ response: Response, to scan: PageScan) -> PageScan {
    var scan = scan
    if let place = resource.pages.count, case .header(let name) = place {
      scan.count = PointedValue(header: place.total(in: response[name]))
    }
    if resource.pages.takesUnnamedTotal, scan.count.isAbsent, let total = response.total {
      scan.count = PointedValue(.integer(total))
    }
    if case .header(let name)? = last { scan.last = PointedValue(header: response[name]) }
    if case .header(let name)? = resource.since?.token {
      scan.token = PointedValue(response[name].map(PointedValue.Kind.text) ?? .absent)
    }
    if case .header(let name)? = resource.pages.ending { scan.more = PointedValue(header: response[name]) }
    // The page is stored with its totals.
    (scan.count, scan.last) = (scan.count.asWhole, scan.last.asWhole)
    return scan
  }

  /// True if the answer's headers agree with the known facts. A 304 need not repeat them (RFC 9110 §15.4.5). The next
  /// address of a page that `more` ends is not known, and does not matter.
  /// - Parameter page: the page that was requested; nil if it may be the last one.
  func agrees(_ response: Response, with known: ListFacts?, on page: PageRequest? = nil) -> Bool {
    guard readsHeaders else { return true }
    let told = adding(response, to: PageScan())
    let (isSilent, pages) = (response.status == 304, resource.pages)
    if isSilent, let known, let page, hidesEnd(response, known, page) { return false }
    return agrees(pages.count, told.count, isSilent) { $0.number == known?.count }
      && agrees(last, told.last, isSilent) { $0.number == known?.last }
      && agrees(pages.ending, told.more, isSilent) { _ in
        (try? more(in: told, isFirst: false)) == (known?.more != false)
      }
      && (known?.more == false || leads(response, from: known))
      && agrees(response, deltaToken: told.token, with: known, on: page)
  }

  /// True if a 304 does not show that the list still ends at a full page. Only headers tell the end, they are missing,
  /// and its validator may be one of the body alone.
  private func hidesEnd(_ response: Response, _ known: ListFacts, _ page: PageRequest) -> Bool {
    let pages = resource.pages
    let next = pages.style.nextHeader.map { Resource.AnswerPlace.header($0) } ?? pages.style.at
    let signs = [pages.count, last, pages.ending, followsAnswers ? next : nil].compactMap(\.self)
    let isTold = signs.contains { sign in
      if case .header(let name) = sign { response[name] != nil } else { true }
    }
    return !isTold && !signs.isEmpty && verdict(after: page, known) == .ends && mayFillPage(known)
  }

  /// True if a delta token in a header is the known one. The token of a page that is not the last one does not matter.
  private func agrees(
    _ response: Response, deltaToken told: PointedValue, with known: ListFacts?, on page: PageRequest?
  ) -> Bool {
    guard case .header? = resource.since?.token else { return true }
    if let known, let page, !mayEnd(page, known) { return true }
    if told.kind == .absent, response.status == 304 { return true }
    return (try? deltaToken(told, response: response)) == known?.token
  }

  /// - Parameter isSilent: True for a 304, which may leave the header out.
  private func agrees(
    _ place: Resource.AnswerPlace?, _ told: PointedValue, _ isSilent: Bool, as isKnown: (PointedValue) -> Bool
  ) -> Bool {
    guard case .header? = place else { return true }
    return isSilent && told.kind == .absent || isKnown(told)
  }

  private func leads(_ response: Response, from known: ListFacts?) -> Bool {
    let style = resource.pages.style
    guard let name = style.nextHeader else { return true }
    if response[name] == nil, response.status == 304 { return true }
    return switch style.kind.step {
    case .follows(.ofLinkHeader): links(response, to: known?.next)
    case .follows(.ofAnswer): address(response[name], in: response) == known?.next
    case .sends, .counts, .stops: text(response[name]) == known?.next
    }
  }

  private var last: Resource.AnswerPlace? { resource.pages.style.last }

  private func next(_ scan: PageScan, response: Response) throws(UndefinedAnswer) -> ListFacts.Value? {
    let style = resource.pages.style
    switch style.kind.step {
    case .counts, .stops: return nil
    case .follows(.ofLinkHeader): return try link(response)
    case .follows(.ofAnswer):
      if let entry = style.entry { return address(try text(scan.at, at: entry), in: response) }
      if let name = style.nextHeader { return address(response[name], in: response) }
      return try style.placeInBody.flatMap { (place) throws(UndefinedAnswer) in
        try address(scan.at, at: place, in: response)
      }
    case .sends:
      if let entry = style.entry { return text(try text(scan.at, at: entry)) }
      if let name = style.nextHeader { return text(response[name]) }
      return try style.placeInBody.flatMap { (place) throws(UndefinedAnswer) in
        style.param == .everyMember
          ? try members(scan.at, place: place, response: response) : try value(scan.at, place: place)
      }
    }
  }

  /// The value in the element of a list; nil if no element fulfils the conditions.
  private func text(_ found: PointedValue, at entry: Resource.EntryPlace) throws(UndefinedAnswer) -> String? {
    switch found.kind {
    case .absent, .null: return nil
    case .text(let text): return text
    case .integer(let number): return "\(number)"
    case .number(let digits): return digits
    case .boolean, .compound, .members, .whole:
      throw UndefinedAnswer(reason: "\(Resource.AnswerPlace.entry(entry)) is neither a text nor a number")
    }
  }

  private func links(_ response: Response, to known: ListFacts.Value?) -> Bool {
    do throws(UndefinedAnswer) {
      return try link(response) == known || (response["Link"] == nil && response.status == 304)
    } catch { return false }
  }

  private func link(_ response: Response) throws(UndefinedAnswer) -> ListFacts.Value? {
    do throws(LinkHeader.Fault) { return address(try LinkHeader.next(in: response.headers), in: response) } catch {
      switch error {
      case .unclosed: throw UndefinedAnswer(reason: "an address in its Link header has no closing >")
      case .foreign(let anchor):
        throw UndefinedAnswer(
          reason: "its only Link header with rel=\"next\" belongs to another list: its anchor is \"\(anchor)\"")
      }
    }
  }

  private func text(_ text: String?) -> ListFacts.Value? {
    text.flatMap { $0.isEmpty ? nil : .text($0) }
  }

  /// The address without the token, which upstream may repeat: an address is stored and shown.
  private func address(_ text: String?, in response: Response) -> ListFacts.Value? {
    self.text(
      text.map { text in
        let address = absolute(text, after: response).withoutUserInfo
        return response.token?.removed(from: address) ?? address
      })
  }

  /// After a redirect at base_url's origin, a relative address is relative to the page that answered (RFC 3986
  /// §5.1.3). It is stored with the page, which is known by the address that was requested.
  private func absolute(_ address: String, after response: Response) -> String {
    guard !address.isEmpty, let base = response.redirectedTo.flatMap({ URL(written: $0) }),
      let url = URL(written: address, relativeTo: base), URL(written: address)?.scheme == nil,
      let origin = Origin(url: url.absoluteString), origin == Origin(url: baseURL)
    else { return address }
    return url.absoluteString
  }

  private func value(_ found: PointedValue, place: JSONPointer) throws(UndefinedAnswer) -> ListFacts.Value? {
    switch found.kind {
    case .absent, .null: return nil
    case .text(let text): return self.text(text)
    case .integer(let number): return .integer(Int(number))
    case .number(let digits): return .number(digits)
    case .whole(let json): return json == .list([]) || json == .object([]) ? nil : .whole(json)
    case .boolean: throw UndefinedAnswer(reason: "\(place) is neither a text nor a number")
    case .compound, .members:
      throw UndefinedAnswer(
        reason:
          "\(place) is a list or an object: name one text or number in it, such as \(JSONPointer(segments: place.segments + ["0"]))"
      )
    }
  }

  /// The object is sent member by member. The token's parameter is not among them.
  private func members(
    _ found: PointedValue, place: JSONPointer, response: Response
  ) throws(UndefinedAnswer) -> ListFacts.Value? {
    switch found.kind {
    case .absent, .null: return nil
    case .members(let members):
      if members.isEmpty { return nil }
      let secrets = response.token?.parameters ?? []
      return .members(
        members.filter { member in !secrets.contains { $0.utf8.elementsEqual(member.name.utf8) } })
    case .boolean, .integer, .number, .text, .compound, .whole:
      throw UndefinedAnswer(reason: "\(place) is not an object")
    }
  }

  private func address(
    _ found: PointedValue, at place: JSONPointer, in response: Response
  ) throws(UndefinedAnswer) -> ListFacts.Value? {
    switch found.kind {
    case .absent, .null: return nil
    case .text(let text): return address(text, in: response)
    case .integer, .number, .boolean: throw UndefinedAnswer(reason: "\(place) is not an address")
    case .compound, .members, .whole:
      throw UndefinedAnswer(reason: "\(place) is not an address: name the text in it, such as \(place)/href")
    }
  }

  private func total(
    _ found: PointedValue, named name: String, at place: Resource.AnswerPlace
  ) throws(UndefinedAnswer) -> Int {
    if found.isAbsent {
      throw UndefinedAnswer(
        reason: "\(place) (\(name)) is \(found.kind == .null ? "null" : "absent")", absentTotal: name)
    }
    guard let number = found.number, (0...Self.most).contains(number) else {
      let cure = found.kind == .compound ? "name the number in it, such as \(place)/value" : "remove \(name)"
      throw UndefinedAnswer(reason: "\(place) (\(name)) is not a whole number from 0 to \(Self.most): \(cure)")
    }
    return number
  }

  /// Limit for numbers of records or pages: more than a cache could hold. Sums over all resources still fit an Int.
  private static let most = 1_000_000_000_000

  /// True if `more` or `done` says that more pages follow; nil without such a key. An answer may leave it out where it
  /// is false, if an earlier page has it, or if the definition says so.
  private func more(in scan: PageScan, isFirst: Bool) throws(UndefinedAnswer) -> Bool? {
    let pages = resource.pages
    guard let place = pages.ending else { return nil }
    let name = pages.more == nil ? "done" : "more"
    let flag: Bool
    if scan.more.isAbsent {
      guard !isFirst || pages.omitsFalse else {
        let hint = "if upstream leaves it out where it is false, set omits_false = true"
        throw UndefinedAnswer(reason: "\(place) (\(name)) is absent: \(hint)")
      }
      flag = false
    } else {
      guard let told = scan.more.flag else {
        throw UndefinedAnswer(reason: "\(place) (\(name)) is neither true nor false")
      }
      flag = told
    }
    return pages.more == nil ? !flag : flag
  }
}

extension PointedValue {
  /// A header's value; absent if the header is missing.
  fileprivate init(header text: String?) {
    self.init(text.map { .text($0) } ?? .absent)
  }

  /// The whole number, which may be written as a text or with a fraction of zero: `25`, `"25"`, `25.0`.
  fileprivate var number: Int? {
    switch kind {
    case .integer(let number): Int(number)
    case .number(let digits), .text(let digits): Self.whole(digits)
    case .absent, .null, .boolean, .compound, .members, .whole: nil
    }
  }

  /// The same value, as an integer if it is a whole number.
  fileprivate var asWhole: PointedValue {
    number.map { PointedValue(.integer(Int64($0)), offset: offset) } ?? self
  }

  /// The flag, which may be written as `true`, `"true"`, `"yes"`, `1` or `"1"`.
  fileprivate var flag: Bool? {
    switch kind {
    case .boolean(let flag): return flag
    case .text(let text): return Bool(written: text) ?? bit
    case .integer, .number: return bit
    case .absent, .null, .compound, .members, .whole: return nil
    }
  }

  private var bit: Bool? { number == 1 ? true : number == 0 ? false : nil }

  /// nil if the text is not a whole number.
  private static func whole(_ text: String) -> Int? {
    let parts = text.split { $0 == " " || $0 == "\t" }
    guard parts.count == 1, let text = parts.first else { return nil }
    if let number = Int(text) { return number }
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || ".eE+".utf8.contains($0) }) else { return nil }
    return Double(text).flatMap { Int(exactly: $0) }
  }

  fileprivate var isAbsent: Bool { kind == .absent || kind == .null }
}

extension Resource {
  /// True if a fact of the list is in a header of the answer.
  var readsHeaders: Bool {
    let places = [pages.style.last, pages.count, pages.more, pages.done, since?.token]
    return pages.style.nextHeader != nil || places.contains { if case .header? = $0 { true } else { false } }
  }
}
