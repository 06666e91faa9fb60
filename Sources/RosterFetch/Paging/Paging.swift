import FoundationEssentials
package import RosterCore
import RosterDecode

/// The way from one page of a list to the next: the first request, and the requests that follow from an answer.
/// Pure and immutable, so that a kept page leads to the same request as a transferred one.
/// A class, because each page's task holds it, and a copy of a resource has many fields to retain.
package final class Paging: Sendable {
  /// The definition of the list.
  package let resource: Resource
  /// True for the list of changed records.
  package let isIncremental: Bool
  /// True if each page's address comes from the page before it. An address that occurs twice is then a circle.
  package let followsAnswers: Bool
  /// True if the pull depends on the `Date` of each answer. It is costly to parse.
  let needsDates: Bool
  /// True if the requests are conditional by `since.param`: they have no validator, and 304 means that nothing changed.
  package let startsInHeader: Bool
  /// True if a fact of the list is in a header of the answer.
  let readsHeaders: Bool
  /// The delta token that it starts from; nil without one. It is shown nowhere.
  private let token: String?
  /// The page at a delta token that is an address.
  private let start: PageRequest?
  /// The address that takes the place of `path`; nil if `path` is below base_url.
  private let home: String?
  /// True if `home` is the whole address that upstream gave, so that the first request adds nothing to it.
  private let isGivenAddress: Bool
  /// The address that is shown if addresses have values of a parent; nil without such values.
  private let shownHome: String?
  let baseURL: String
  private let pages: Resource.Pages
  /// The address of a page without the value at its end, below base_url. nil if addresses do not end with a value.
  private let addressStart: String?

  /// - Parameters:
  ///   - baseURL: without a trailing `/`.
  ///   - template: The definition with its placeholders, if `resource` is filled with values of a parent. Such values
  ///     may be keys of records: `keylessURL` of each request has the placeholders instead.
  package convenience init(
    _ resource: Resource, baseURL: String, isIncremental: Bool = false, token: String? = nil, template: Resource? = nil
  ) {
    let path = template.map { isIncremental ? $0.since?.listing.path ?? $0.path : $0.path }
    self.init(
      resource, baseURL: baseURL, isIncremental: isIncremental, token: token,
      shownHome: path.map { $0.hasPrefix("/") ? (resource.baseURL ?? baseURL) + $0 : $0 })
  }

  private init(
    _ resource: Resource, baseURL: String, isIncremental: Bool, token: String?, start: PageRequest? = nil,
    home: String? = nil, isWhole: Bool = true, shownHome: String?
  ) {
    self.resource = resource
    self.isIncremental = isIncremental
    self.token = token
    self.start = start
    self.home = home
    isGivenAddress = home != nil && isWhole
    self.shownHome = shownHome
    self.baseURL = resource.baseURL ?? baseURL
    pages = resource.pages
    followsAnswers = resource.pages.style.kind.followsAnswers
    startsInHeader = isIncremental && resource.since?.startsInHeader == true
    needsDates = resource.since != nil || resource.each?.changed.isEmpty == false
    readsHeaders = resource.readsHeaders
    addressStart = home == nil ? resource.addressStart : nil
  }

  /// The continuation after a page.
  package enum Next: Sendable, Equatable {
    /// The first page announces this total number of pages. Each can be requested now (`page(_:announcedBy:)`).
    case announced(pages: Int)
    /// One page, whose successor is not known yet.
    case page(PageRequest)
    case end
  }

  /// The request that begins each pull.
  package func first() -> PageRequest {
    if let start { return start }
    let style = pages.style
    return switch style.kind.step {
    case .counts: request(1, after: 0, setting: setting(.integer(style.first)))
    case .sends: request(1, after: 0, setting: style.start.flatMap { setting(.text($0)) })
    case .follows, .stops: request(1, after: 0)
    }
  }

  /// A delta token that is an address is followed like `next`. Further pages set the style's parameter in it.
  package func startingAtToken(_ links: NextLinks) throws(Failure) -> Paging {
    guard let token, resource.since?.param == nil else { return self }
    let start = try request(1, after: 0, at: token, from: first()) { links }
    return Paging(
      resource, baseURL: baseURL, isIncremental: isIncremental, token: token, start: start,
      home: pages.style.param == nil ? home : start.request.url, shownHome: shownHome)
  }

  /// The list at an address that a column of the parent has (`Listing.pathColumn`). The address is followed like
  /// `next`:
  /// it is requested without `query`, and unchanged except for `since.param`. Later pages set the style's
  /// parameter in it. With further segments it is another address, and is requested as a path is.
  package func startingAt(address: String, rest: String = "", links: NextLinks) throws(Failure) -> Paging {
    var home = try resolved(address, against: baseURL + "/") { links }
    if !rest.isEmpty {
      let end = home.firstIndex { "?#".contains($0) } ?? home.endIndex
      home = (home[..<end].hasSuffix("/") ? home[..<end].dropLast() : home[..<end]) + rest + home[end...]
    }
    if let since = resource.since, case .query(let name)? = since.param, isIncremental || since.from != nil,
      let start = resource.query.first(where: { $0.name == name })
    {
      home = QueryText.setting(.init(name, start.value.queryText), in: home)
    }
    return Paging(
      resource, baseURL: baseURL, isIncremental: isIncremental, token: token, home: home, isWhole: rest.isEmpty,
      shownHome: shownHome)
  }

  /// Throws if a delta token of that page is an address that the next pull could not follow.
  package func expectUsable(
    _ token: String?, from page: PageRequest, links: () -> NextLinks
  ) throws(Failure) {
    guard let token, resource.since?.param == nil else { return }
    _ = try request(1, after: 0, at: token, from: page, links)
  }

  /// True if the pull starts from a delta token.
  package var startsFromToken: Bool { token != nil }

  /// True if a page ends the list and has no delta token.
  func lacksToken(_ facts: ListFacts, on page: PageRequest) -> Bool {
    guard resource.since?.token != nil, facts.token == nil else { return false }
    return verdict(after: page, facts) == .ends
  }

  /// False if a page with these facts is not the last one.
  func mayEnd(_ page: PageRequest, _ facts: ListFacts) -> Bool {
    if case .goesOn = verdict(after: page, facts) { return !pages.beyond.isEmpty }
    return true
  }

  /// Makes the request for page `number` of the announced pages.
  package func page(_ number: Int, announcedBy first: ListFacts) -> PageRequest {
    let before = (number - 1) * announcedSize(by: first)
    var page: PageRequest
    switch pages.style.kind.step {
    case .counts(let unit): page = request(number, after: before, setting: position(unit, page: number, before: before))
    case .sends, .follows, .stops: page = request(number, after: 0)
    }
    (page.longest, page.total, page.last) = (first.records, first.count, first.last)
    return page
  }

  /// The number of records of each announced page but the last one.
  private func announcedSize(by first: ListFacts) -> Int {
    pages.hidden ? max(pages.size?.records ?? 0, first.records) : first.records
  }

  /// Throws a `Failure` without a step if an answer leads to an address that cannot be requested.
  /// - Parameters:
  ///   - isByPage: If true, no page is announced by a total of records, so that each begins where the one before it
  ///     ends.
  ///   - links: evaluated if an answer leads to another origin.
  package func next(
    after page: PageRequest, _ facts: ListFacts, isByPage: Bool = false,
    links: () -> NextLinks = { .sameOrigin }
  ) throws(Failure) -> Next {
    if page.number == 1, !isByPage || pages.style.last != nil, let pages = announced(by: facts), pages > 1 {
      return .announced(pages: pages)
    }
    let verdict = verdict(after: page, facts)
    if verdict == .ends { return .end }
    guard var next = try following(page, facts, links) else { return .end }
    next.longest = max(page.longest, facts.records)
    (next.total, next.last) = (page.total ?? facts.count, facts.last ?? page.last)
    next.emptyPages = facts.records == 0 ? page.emptyPages + 1 : 0
    next.isTrial = verdict == .isTried
    next.isPromised = isPromised(after: page, facts)
    return .page(next)
  }

  /// The page after one without records, which may be the end of the list; nil if pages have no numbers. Any answer
  /// without new records shows that it is.
  package func ahead(of page: PageRequest) -> PageRequest? {
    guard case .counts = pages.style.kind.step, resource.each == nil, !page.isTrial,
      var next = try? following(page, ListFacts(records: 0), { .sameOrigin })
    else { return nil }
    (next.longest, next.total, next.last) = (page.longest, page.total, page.last)
    next.emptyPages = page.emptyPages + 1
    (next.isTrial, next.isAhead) = (true, true)
    return next
  }

  /// The request for the next page; nil if the answer has no value for it.
  private func following(
    _ page: PageRequest, _ facts: ListFacts, _ links: () -> NextLinks
  ) throws(Failure) -> PageRequest? {
    let (number, before) = (page.number + 1, page.recordsBefore + facts.records)
    switch pages.style.kind.step {
    case .counts(.pages):
      return request(number, after: before, setting: position(.pages, page: number, before: before))
    case .counts(.records):
      let before = page.recordsBefore + (try width(of: page, facts))
      return request(number, after: before, setting: position(.records, page: number, before: before))
    case .sends:
      guard let value = facts.next else { return nil }
      return request(number, after: before, setting: setting(value))
    case .follows:
      guard case .text(let address)? = facts.next else { return nil }
      return try request(number, after: before, at: address, from: page, links)
    case .stops: return nil
    }
  }

  /// The style's parameter with a value.
  private func setting(_ value: ListFacts.Value) -> (Resource.RequestPlace, ListFacts.Value)? {
    pages.style.param.map { ($0, value) }
  }

  /// The style's parameter with a position.
  private func position(
    _ unit: PageStyle.PageCount, page: Int, before: Int
  ) -> (Resource.RequestPlace, ListFacts.Value)? {
    let first = pages.style.first
    return switch unit {
    case .pages: setting(.integer(first + page - 1))
    case .records: setting(.integer(first + before))
    }
  }

  /// nil if the pages are not announced.
  private func announced(by first: ListFacts) -> Int? {
    if pages.style.last != nil { return max(1, first.last ?? 1) }
    guard pages.style.kind.isPositional, pages.count != nil else { return nil }
    guard first.records > 0, let count = first.count else { return 1 }
    let size = announcedSize(by: first)
    // A sum that rounds up could overflow: upstream may send any number.
    return max(1, count / size + (count % size == 0 ? 0 : 1))
  }

  /// Numbers of records that an announced page may have according to `count` and the first page. nil if the
  /// number of pages was not calculated from them. The last page may have more records than the total leaves for it: a
  /// total may be capped.
  package func predictedRecords(
    on page: Int, isLast: Bool, announcedBy first: ListFacts
  ) -> ClosedRange<Int>? {
    guard pages.style.kind.step == .counts(.pages), pages.style.last == nil, let count = first.count, first.records > 0
    else { return nil }
    let size = announcedSize(by: first)
    let predicted = min(size, max(0, count - (page - 1) * size))
    return (pages.hidden ? 0 : predicted)...(isLast ? size : predicted)
  }

  /// True if upstream may answer 206, because the definition reads the total of a Content-Range, or sends a Range.
  var takesPartialContent: Bool {
    if case .header(let name)? = pages.style.param, name.lowercased() == "range" { return true }
    return pages.count?.isContentRange == true
  }
}

// MARK: Requests

extension Paging {
  /// RFC 8259 §11.
  private static let json = Request.Header("Content-Type", "application/json")
  /// The type of HTML forms (url.spec.whatwg.org).
  private static let form = Request.Header("Content-Type", "application/x-www-form-urlencoded")

  private func request(
    _ number: Int, after before: Int, setting place: (Resource.RequestPlace, ListFacts.Value)? = nil
  ) -> PageRequest {
    let value = place.map { ($0.0, carried($0.1)) }
    if let addressStart, let (_, value) = value {
      let address = addressStart + QueryText.encoded(value.queryText)
      var request = Request(.get, baseURL + address, headers: resource.listing.headers)
      if number > 1, followsAnswers { request.keylessURL = baseURL + addressStart + Self.mask }
      if token != nil { hideToken(&request) }
      if let shownHome { request.keylessURL = shownHome }
      return PageRequest(number: number, recordsBefore: before, request: request, address: known(address))
    }
    var (query, body) = resource.constantParts
    // Nothing of `query` is added to an address, and only its own parameter names a further page.
    if isGivenAddress { query = [] }
    if let (place, value) = value, !isGivenAddress || number > 1 { place.put(value, into: &query, body: &body) }
    var page = request(number, after: before, url: address(with: query, page: value), body)
    if case (.header(let name), let value)? = value {
      page.request.headers.removeAll { $0.isNamed(name) }
      page.request.headers.append(Request.Header(name, value.queryText))
      page.address += "\n\(name): \(value.queryText)"
    }
    return page
  }

  private func address(
    with query: [(String, String)], page: (place: Resource.RequestPlace, value: ListFacts.Value)?
  ) -> String {
    guard let home else {
      var path = resource.path
      if let page, page.place == .path, let placeholder = pages.style.kind.placeholder {
        path = path.replacing(placeholder, with: QueryText.encoded(page.value.queryText))
      }
      return QueryText.adding(query, raw: resource.listing.raw, to: baseURL + path)
    }
    return query.reduce(home) { QueryText.setting(.init($1.0, $1.1), in: $0) }
  }

  /// A value inside its template is sent as a text.
  private func carried(_ value: ListFacts.Value) -> ListFacts.Value {
    pages.value.map { .text($0.filled(with: value.queryText)) } ?? value
  }

  private func request(_ number: Int, after before: Int, url: String, _ body: JSONValue) -> PageRequest {
    var request =
      switch resource.method {
      case .get: Request(.get, url, headers: resource.listing.headers)
      case .post: Request(.post, url, headers: postHeaders, body: text(of: body))
      }
    if resource.method == .post { request.ownBody = ownText(of: body) }
    if number > 1, followsAnswers { request.keylessURL = keyless(url) }
    if token != nil { hideToken(&request) }
    if let shownHome { request.keylessURL = shownHome }
    let below = url.hasPrefix(baseURL) ? String(url.utf8.dropFirst(baseURL.utf8.count)) ?? url : url
    let address = request.body.isEmpty ? below : "\(below)\n\(String(decoding: request.body, as: UTF8.self))"
    return PageRequest(number: number, recordsBefore: before, request: request, address: known(address))
  }

  /// The headers of the definition may replace the type of the body.
  private var postHeaders: [Request.Header] {
    let headers = resource.listing.headers
    let type = resource.listing.format == .form ? Self.form : Self.json
    return headers.contains { $0.isNamed(type.name) } ? headers : [type] + headers
  }

  /// A page of an incremental pull is another page than one of a whole pull at the same address. A start in a header
  /// belongs to the address.
  private func known(_ address: String) -> String {
    guard isIncremental else { return address }
    var address = Resource.incrementalPrefix + address
    if case .header(let name)? = resource.since?.param,
      let start = resource.listing.headers.first(where: { $0.isNamed(name) })
    {
      address += "\n\(name): \(start.value)"
    }
    return address
  }

  private func hideToken(_ request: inout Request) {
    request.hasDeltaToken = true
    request.keylessURL = keyless(request.url) ?? request.url
  }

  /// Hides values that upstream gave, which may be keys of records. Only the parts of the address that the definition
  /// contains too are kept.
  private func keyless(_ url: String) -> String? {
    let constant = resource.constantParts.query.filter { parameter in
      token.map { parameter.1.contains($0) } != true
    }
    let own = QueryText.adding(constant, raw: resource.listing.raw, to: baseURL + resource.path)
    if url == own { return nil }
    let (known, given) = (own.split(separator: "?", maxSplits: 1), url.split(separator: "?", maxSplits: 1))
    guard let home = Origin.authority(of: url), let path = given.first else { return Self.mask }
    let parameters = known.dropFirst().flatMap { $0.split(separator: "&") }
    let query = given.dropFirst().flatMap { $0.split(separator: "&") }.map { pair in
      let name = pair.firstIndex(of: "=").map { pair[...$0] } ?? ""
      return parameters.contains(pair) ? String(pair) : name + Self.mask
    }
    return (path == known.first ? String(path) : "\(url[..<home.endIndex])/\(Self.mask)")
      + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
  }

  private static let mask = "***"

  /// A delta token in a body is shown nowhere. A long body is no command to type.
  private func ownText(of body: JSONValue) -> String {
    let text = text(of: body.secretsMasked)
    return token == nil && text.count <= 4096 ? String(decoding: text, as: UTF8.self) : "…"
  }

  private func text(of body: JSONValue) -> [UInt8] {
    guard resource.listing.format == .form, case .object(let members) = body else { return JSONWriter(body).bytes }
    return Array(QueryText.form(members.map { ($0.name, $0.value.queryText) }).utf8)
  }

  /// Resolves the address against the address of its page (RFC 3986 §5), and requests it unchanged.
  private func request(
    _ number: Int, after before: Int, at address: String, from page: PageRequest, _ links: () -> NextLinks
  ) throws(Failure) -> PageRequest {
    let url = try resolved(address, against: page.request.url, links: links)
    return request(number, after: before, url: completed(url, from: page, before: before), resource.body)
  }

  /// The next address, completed by parameters of the definition. It has the path of the definition, and its own values
  /// are only positions of a page. Many servers make such links without the filter and the size of the request. An
  /// address with any other value is complete: upstream remembers the rest, and may refuse it there. So does a delta
  /// feed.
  /// - Parameter before: The number of records on the pages before the next one.
  private func completed(_ url: String, from page: PageRequest, before: Int) -> String {
    guard home == nil, start == nil, !isIncremental, url.path == (baseURL + resource.path).path else { return url }
    let query = resource.constantParts.query
    let given = QueryText.parameters(of: url)
    let missing = query.filter { parameter in !given.contains { $0.name.utf8.elementsEqual(parameter.0.utf8) } }
    let own = given.filter { given in !query.contains { $0.0.utf8.elementsEqual(given.name.utf8) } }.map {
      Int($0.value)
    }
    let positions = [page.number, page.number + 1, before, before + 1]
    let size = before - page.recordsBefore
    guard !missing.isEmpty, !url.contains("#"), own.contains(where: { positions.contains($0 ?? -1) }),
      own.allSatisfy({ (positions + [size]).contains($0 ?? -1) })
    else { return url }
    return url + "&" + QueryText.form(missing, raw: resource.listing.raw)
  }

  /// The absolute address, at base_url's origin.
  private func resolved(
    _ address: String, against base: String, links: () -> NextLinks
  ) throws(Failure) -> String {
    guard let base = URL(written: base), let url = URL(written: within(base, address), relativeTo: base)?.absoluteURL,
      let origin = Origin(url: url.absoluteString)
    else { throw .noPageAddress }
    if origin == Origin(url: baseURL) { return url.absoluteString }
    guard links() == .rebase, let rebased = rebased(url.absoluteString) else { throw .foreignPage }
    return rebased
  }

  /// The address, with the path of the page if it names only the end of that path. Some servers leave out the prefix
  /// of base_url (Confluence's `/wiki`). OData's links are relative to the context of the answer.
  private func within(_ base: URL, _ address: String) -> String {
    let path = address.prefix { $0 != "?" && $0 != "#" }
    guard !path.isEmpty, !path.hasPrefix("//"), !path.contains(":") else { return address }
    let requested = base.path(percentEncoded: true)
    if path.hasPrefix("/") {
      guard let home = URL(written: baseURL), requested.hasSuffix(path) else { return address }
      let prefix = requested.dropLast(path.count)
      // Without base_url's path, only the first segment may be missing, such as `/v1`.
      let isMissing = prefix == home.path(percentEncoded: true) || prefix.dropFirst().allSatisfy { $0 != "/" }
      guard resource.each == nil ? isMissing : prefix == home.path(percentEncoded: true) else { return address }
    } else {
      guard requested.hasSuffix("/" + path) else { return address }
    }
    return requested + address.dropFirst(path.count)
  }

  /// The path and the query as written, at base_url's origin.
  private func rebased(_ url: String) -> String? {
    guard let home = Origin.authority(of: baseURL), let other = Origin.authority(of: url) else { return nil }
    return String(baseURL[..<home.endIndex] + url[other.endIndex...].prefix { $0 != "#" })
  }
}

/// An answer leads to an address that cannot be requested. The caller adds the step.
extension Failure {
  /// The next-page link is not a valid URL.
  package static var noPageAddress: Failure {
    Failure(
      .badAnswer, cause: "the next-page link is not a valid URL",
      hint: "see that the answer has an address where the definition's pages expect it")
  }

  /// The next page is at another origin than base_url (`upstream.links`).
  package static var foreignPage: Failure {
    Failure(
      .badAnswer, cause: "it leads to another origin than upstream.base_url",
      hint: "set upstream.base_url to the API's address; with a mirror or proxy: upstream.links = \"rebase\""
    ).with(.foreignLink)
  }

  /// The page is empty, and nothing says how many positions it takes in a list by offset.
  package static var noPageWidth: Failure {
    Failure(
      .badAnswer, cause: "it is empty, and nothing says how many positions an empty page takes",
      hint: "set size in the definition's pages; or empty = \"end\", if an empty page ends the list")
  }
}

extension Resource {
  /// The parts that the requests of all pages have.
  fileprivate var constantParts: (query: [(String, String)], body: JSONValue) {
    var query = query.map { ($0.name, $0.value.queryText) }
    var body = body
    if let size = pages.size, let place = size.param { place.put(.integer(size.records), into: &query, body: &body) }
    return (query, body)
  }

  /// nil if the addresses do not end with a value.
  fileprivate var addressStart: String? {
    guard method == .get, case .query(let name)? = pages.style.param, !listing.raw.contains(name) else { return nil }
    let constant = constantParts.query.filter { $0.0 != name }
    return QueryText.adding(constant + [(name, "")], raw: listing.raw, to: path)
  }
}

extension String {
  /// The part of an address before its query.
  fileprivate var path: Substring { prefix { $0 != "?" && $0 != "#" } }
}

extension Resource.RequestPlace {
  fileprivate func put(_ value: ListFacts.Value, into query: inout [(String, String)], body: inout JSONValue) {
    switch self {
    case .query(let name): replace([(name, value.queryText)], in: &query)
    case .body(let pointer): body = body.setting(value.json, at: pointer)
    // A header is no part of the address, and the address has the path.
    case .header, .path: break
    case .everyMember:
      guard case .object(let members) = value.json else { return }
      replace(members.map { ($0.name, $0.value.queryText) }, in: &query)
    }
  }

  /// Parameters of the same names are removed.
  private func replace(_ parameters: [(String, String)], in query: inout [(String, String)]) {
    let names = Set(parameters.map(\.0))
    query.removeAll { names.contains($0.0) }
    query += parameters
  }
}
