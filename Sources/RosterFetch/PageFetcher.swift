package import FoundationEssentials
import RosterAuth
package import RosterCore
package import RosterDecode

/// Requests one page of a list, or records by key, and scans the answer.
package final class PageFetcher: Sendable {
  /// One page to request, and the facts that are known of it.
  package struct PageQuery: Sendable {
    /// The request of the page, and its place in the list.
    package var page: PageRequest
    /// True if the first page announced this page, so that it must exist.
    package var isAnnounced: Bool
    /// Validator of the known body.
    package var validator: Validator
    /// Digest of the known body. An equal body is not parsed again.
    package var digest: Int64?
    /// The facts from the known body's answer. Headers can report other facts for the same body.
    package var facts: ListFacts?
    /// True if a kept page led to its address, which upstream may have forgotten since.
    package var isFromKept: Bool
    /// True if it is the first request of a resumed chain: the page before it was kept and not requested.
    package var isResumption: Bool

    /// Without further arguments, no facts are known of the page.
    package init(
      page: PageRequest, isAnnounced: Bool, validator: Validator = Validator(), digest: Int64? = nil,
      facts: ListFacts? = nil, isFromKept: Bool = false, isResumption: Bool = false
    ) {
      self.page = page
      self.isAnnounced = isAnnounced
      self.validator = validator
      self.digest = digest
      self.facts = facts
      self.isFromKept = isFromKept
      self.isResumption = isResumption
    }
  }

  /// The answer of upstream, as far as a pull needs it.
  package enum Answer: Sendable {
    case page(FetchedPage)
    /// The known body is unchanged: upstream answered 304, or transferred an equal body. With the validator of this
    /// answer, if it has one.
    case unchanged(Validator, answered: Date, isTransferred: Bool)
    /// The page does not exist (404), although it was announced or promised.
    case vanished
    /// The status is one of `beyond`, or the answer to a trial has no list of records.
    case pastTheEnd
    /// A kept page led to the address, and the answer shows that upstream has forgotten it. Or the request
    /// failed, and a second one would ask for the page after it.
    case forgotten
    /// A page of an incremental pull is refused. Or upstream has forgotten the delta token.
    case refused(Int)
    /// The first page of a child list has a status that means an empty list (`none`), or its parent has disappeared
    /// (404, 410).
    case declined(Int, answered: Date)
  }

  /// The sync for which a request is made.
  package struct SyncContext: Sendable {
    /// The sync's id in `syncs`, which events name.
    package var sync: Int64
    /// Counts the retries.
    package var tally: Tally

    /// The context of that sync.
    package init(sync: Int64, tally: Tally) {
      self.sync = sync
      self.tally = tally
    }
  }

  private let send: Send
  private let retry: Retry
  /// The digest of this cache.
  package let digest: PageDigest
  private let clock: WallClock
  private let report: EventSink

  /// - Parameter send: the chain of interceptors that ends at the transport.
  package init(send: @escaping Send, retry: Retry, digest: PageDigest, clock: WallClock, report: @escaping EventSink) {
    self.send = send
    self.retry = retry
    self.digest = digest
    self.clock = clock
    self.report = report
  }

  /// Fetches a page. Throws a Failure, or CancellationError. A malformed body is requested again.
  /// - Parameters:
  ///   - plans: the plan of each resource that uses this list; at least one.
  ///   - hasRecords: True if the snapshot has records of the list. It is called if the answer has none.
  package func fetch(
    _ wanted: PageQuery, of paging: Paging, plans: [RecordPlan], for context: SyncContext,
    hasRecords: () async throws -> Bool = { false }
  ) async throws -> Answer {
    let found = try await ask(wanted, of: paging, plans: plans, for: context)
    guard wanted.page.number == 1, !paging.isIncremental,
      found.lacksRecords(plans, known: wanted.facts, isBodyEmpty: wanted.digest == digest([])),
      try await hasRecords()
    else { return found }
    // A list that has records may be empty now, or upstream may have failed without saying so: it is asked once more.
    return try await ask(wanted, of: paging, plans: plans, for: context)
  }

  private func ask(
    _ wanted: PageQuery, of paging: Paging, plans: [RecordPlan], for context: SyncContext
  ) async throws -> Answer {
    var request = wanted.page.request
    if !paging.startsInHeader { request.headers += wanted.validator.conditions }
    let page = RequestContext.Page(wanted.page.number, of: paging.resource.name)
    let found: Answer?
    do {
      found = try await attempts(
        request, step: "pull page \(page.number) of \(page.resource)", of: page.resource, page: page,
        isOnce: wanted.page.isRepeated, context: context
      ) { response in
        try answer(response, to: wanted, of: paging, plans: plans)
      }
    } catch is PositionLost {
      return .forgotten
    } catch let failure as Failure
      where !wanted.validator.isEmpty && !paging.startsInHeader
      && failure.mayRefuseCondition(of: request.concern(asPage: page.number, of: page.resource))
    {
      return try await askWithoutCondition(wanted, of: paging, plans: plans, for: context)
    } catch let failure as Failure
      where wanted.isResumption
      && failure.endsResumption(at: request.concern(asPage: page.number, of: page.resource))
    { return .forgotten }
    if let found { return found }
    var whole = wanted
    whole.validator = Validator()
    return try await ask(whole, of: paging, plans: plans, for: context)
  }

  /// Requests a page without its validator, which upstream seems to refuse. The page is stored without one.
  private func askWithoutCondition(
    _ wanted: PageQuery, of paging: Paging, plans: [RecordPlan], for context: SyncContext
  ) async throws -> Answer {
    var whole = wanted
    (whole.validator, whole.digest) = (Validator(), nil)
    let found = try await ask(whole, of: paging, plans: plans, for: context)
    guard case .page(var page) = found else { return found }
    page.validator = Validator()
    return .page(page)
  }

  /// Reads records that the definition has, as if upstream had sent them.
  package func read(_ records: [JSONValue], of wanted: PageQuery, plan: RecordPlan) throws -> Answer {
    let json = JSONWriter(.list(records))
    let digest = digest(json.bytes)
    if digest == wanted.digest {
      // Unlike after a 304, no answer confirms a validator.
      return .unchanged(Validator(), answered: clock.now(), isTransferred: true)
    }
    let scan = try RecordDecoder.scan(page: json.bytes, by: plan)
    return .page(
      FetchedPage(
        body: json.bytes, digest: digest, facts: ListFacts(records: scan.records), scans: [scan],
        validator: Validator(), receivedAt: clock.now()))
  }

  /// Requests records by key. The result is an empty list if upstream does not have them. It answers then with
  /// 404, 410, 204, no record, a record of another key, or one that calls itself deleted.
  /// - Parameter isListed: True if upstream lists the record. It may list deleted ones too.
  package func fetch(
    _ lookup: KeyRequests.KeyLookup, plan: RecordPlan, for context: SyncContext, isListed: Bool = false
  ) async throws -> FetchedRecords {
    let step = "ask for records of \(plan.resource.name)"
    guard lookup.canBeAsked else { throw Self.unaskable(lookup, step: step, resource: plan.resource.name) }
    return try await attempts(lookup, step: step, of: plan.resource.name, context: context) { response in
      if !lookup.isSingle, Self.refusalsOfSeveral.contains(response.status) {
        return notFound(lookup, isRefusal: true)
      }
      if Self.notFound.contains(response.status) { return notFound(lookup) }
      try expectAnswer(response, to: lookup.request)
      let answer = response.body.withoutByteOrderMark
      // Firebase knows no other answer.
      if lookup.isSingle, answer.elementsEqual("null".utf8) { return notFound(lookup) }
      let name = plan.resource.name
      let found = try scanned(response, of: name) { () -> (body: [UInt8], scan: PageScan)? in
        var decoder = RecordDecoder(plan)
        if let refusal = try decoder.refusal(answer: answer) { throw refused(refusal, response, to: lookup.request) }
        return try read(answer, lookup: lookup, plan: plan)
      }
      guard let (body, scan) = found else {
        return notFound(lookup)
      }
      guard scan.isList != lookup.isSingle || (plan.resource.listsOneRecord && scan.isList && scan.records == 1) else {
        throw malformed(lookup.isSingle ? "expected one object" : "expected a list", of: name)
      }
      if lookup.isSingle, scan.skipped == 0,
        try isOfAnotherKey(
          scan, in: body, isList: scan.isList, lookup: lookup, plan: plan,
          said: UpstreamWords.clause(of: response, to: lookup.request, showsBody: false))
      {
        return notFound(lookup)
      }
      if lookup.isSingle, !isListed, plan.resource.isDeleted(answer) { return notFound(lookup) }
      return FetchedRecords(url: lookup.request.url, body: body, digest: digest(body), scan: scan)
    }
  }

  /// Statuses that say that upstream has none of the keys.
  private static let notFound: Set<Int> = [204, 404, 410]
  /// Statuses that refuse a question for several keys, because of one key, their number, or the length of the address.
  private static let refusalsOfSeveral: Set<Int> = [400, 404, 410, 413, 414, 422, 431]

  /// True if the answer to the question for one key is a record of another key: it was merged into that record. An
  /// answer that does not say so clearly is malformed: a list, `{}`, an error, or a key of other case or normalization.
  private func isOfAnotherKey(
    _ scan: PageScan, in body: [UInt8], isList: Bool, lookup: KeyRequests.KeyLookup, plan: RecordPlan,
    said words: @autoclosure () -> String
  ) throws -> Bool {
    guard let asked = lookup.keys.first, let key = scan.keys(by: plan).first else {
      throw unasked(plan.resource, words: words())
    }
    if key == asked.utf8.map(\.self) { return false }
    if String(decoding: key, as: UTF8.self).isAlike(asked) {
      throw malformed("the key has another case or Unicode normalization", of: plan.resource.name)
    }
    // A list of another record shows that upstream ignores the key.
    guard !isList, scan.storable == 1, !plan.resource.isError(body) else {
      throw unasked(plan.resource, words: words())
    }
    return true
  }

  private func unasked(_ resource: Resource, words: String) -> Failure {
    var fault = malformed("expected the record that was asked for\(words)", of: resource.name)
    fault.hint =
      "compare the answer with [resource.\(resource.name)]; if upstream answers so for a record that is gone, set removal = \"twice\""
    return fault
  }

  /// The answer as a body of records; nil if it says that no key was found.
  private func read(
    _ answer: [UInt8], lookup: KeyRequests.KeyLookup, plan: RecordPlan
  ) throws -> (body: [UInt8], scan: PageScan)? {
    var decoder = RecordDecoder(plan)
    guard lookup.isSingle, decoder.answersWithoutKey else {
      let scan = try decoder.scan(answer: answer)
      if scan.rejects > 0, let converted = plan.resource.converted(answer) {
        return (converted, try decoder.scan(answer: converted))
      }
      return scan.records == 0 && plan.resource.listsOneRecord ? nil : (answer, scan)
    }
    guard let body = try decoder.body(of: lookup.keys[0], answer: answer) else { return nil }
    return (body, try decoder.scan(answer: body, isWhole: true))
  }

  private func notFound(_ lookup: KeyRequests.KeyLookup, isRefusal: Bool = false) -> FetchedRecords {
    let none = Array("[]".utf8)
    return FetchedRecords(
      url: lookup.request.url, body: none, digest: digest(none), scan: PageScan(), isRefusal: isRefusal)
  }

  private static func unaskable(_ lookup: KeyRequests.KeyLookup, step: String, resource: String) -> Failure {
    var failure = Failure(
      .badAnswer, step: step, subject: lookup.request.shownURL,
      cause: "a key of dots means a folder in the path of an address",
      hint: "have by_key ask for it in the query, if upstream can be asked so")
    failure.concerned = [lookup.request.concern, .resource(resource)] + records(lookup, resource: resource)
    return failure
  }

  private static func records(_ lookup: KeyRequests.KeyLookup, resource: String) -> [AffectedItem] {
    lookup.keys.prefix(Diagnosis.maxConcerned).map { .record($0, of: resource) }
  }

  /// A failure names the keys only in `concerned`, which is hidden if record keys must not be shown.
  private func attempts<Value: Sendable>(
    _ lookup: KeyRequests.KeyLookup, step: String, of resource: String, context: SyncContext,
    read: (Response) throws -> Value
  ) async throws -> Value {
    do { return try await attempts(lookup.request, step: step, of: resource, context: context, read: read) } catch var
      failure
      as Failure
      where failure.concerned.contains(lookup.request.concern)
    {
      failure.concerned += Self.records(lookup, resource: resource)
      throw failure
    }
  }

  private func attempts<Value: Sendable>(
    _ request: Request, step: String, of resource: String, page: RequestContext.Page? = nil, isOnce: Bool = false,
    context: SyncContext, read: (Response) throws -> Value
  ) async throws -> Value {
    let current = RequestContext(sync: context.sync, page: page, resource: resource)
    do {
      return try await retry.run { fault, attempt, delay in
        context.tally.update { $0.retries += 1 }
        report(
          Event(
            .pageRetried, sync: context.sync, resource: resource, page: page?.number, attempt: attempt,
            reason: fault.reason?.label,
            delaySeconds: delay.seconds, error: fault.cause))
      } _: {
        let (response, value) = try await once(isOnce) {
          let response = try await RequestContext.$current.withValue(current) { try await send(request) }
          if response.isRateLimit { throw refusal(response, to: request) }
          return (response, try read(response))
        }
        // Retry-After of a successful answer is ignored: some servers send it with every answer.
        if response.status >= 400 { await retry.heed(response.retryAfter(now: clock.now())) }
        return value
      }
    } catch let fault as Failure where fault.exchange != nil {
      // A failed token request has its own step, and is not changed here.
      var failure = fault.ofStep(step, subject: request.shownURL)
      let concern = page.map { request.concern(asPage: $0.number, of: $0.resource) }
      failure.concerned.insert(contentsOf: concern.map { [$0] } ?? [request.concern, .resource(resource)], at: 0)
      throw failure
    }
  }
}

/// A request that may be sent once only has failed.
private struct PositionLost: Error {}

/// Throws `PositionLost` if upstream may have moved on, so that a second request would ask for another page. A rate
/// limit moves nothing.
private func once<Value>(_ isOnce: Bool, _ attempt: () async throws -> Value) async throws -> Value {
  do { return try await attempt() } catch let fault as Failure
    where isOnce && fault.exchange != nil && fault.reason != .rateLimit && fault.retryAfter == nil
  {
    throw PositionLost()
  }
}

// MARK: Reading an answer

extension PageFetcher {
  /// nil if the body is unchanged (304) but the headers report another list. The page must then be requested without a
  /// validator.
  private func answer(
    _ response: Response, to wanted: PageQuery, of paging: Paging, plans: [RecordPlan]
  ) throws -> Answer? {
    let status = response.status
    // Whether the list ends too early depends on the other pages.
    let isJudged = wanted.facts.map { !paging.endsEarly(wanted.page, $0) } ?? true
    if status == 304, paging.startsInHeader, wanted.page.number > 1 { return .pastTheEnd }
    if status == 304, !wanted.validator.isEmpty, !paging.startsInHeader {
      guard isJudged, paging.agrees(response, with: wanted.facts, on: wanted.page) else { return nil }
      return .unchanged(Validator(response), answered: answered(response, paging: paging), isTransferred: false)
    }
    if status == 404, wanted.isAnnounced { return .vanished }
    let isBeyond =
      !wanted.isAnnounced && wanted.page.number > 1 && paging.resource.pages.beyond.contains(status)
    let isPastTrial = wanted.page.isTrial && Self.endsTrial(response)
    if isPastTrial, !wanted.page.isPromised { return .pastTheEnd }
    // Upstream may forget an address that it gave, but not one with a number.
    if wanted.isFromKept, Self.forgotten.contains(status), paging.followsAnswers || !isBeyond { return .forgotten }
    if isBeyond || isPastTrial { return wanted.page.isPromised ? .vanished : .pastTheEnd }
    if paging.refuses(status, of: wanted.page) { return .refused(status) }
    if paging.resource.each != nil, Self.declines(status, wanted: wanted, resource: paging.resource) {
      return .declined(status, answered: answered(response, paging: paging))
    }
    let hasContent = status != AnswerRules.NoRecords.noContent
    if !hasContent, wanted.page.number > 1 {
      return wanted.isAnnounced || wanted.page.isPromised ? .vanished : .pastTheEnd
    }
    let isUnchanged = status == 304 && paging.startsInHeader
    let isEmpty =
      wanted.page.number == 1 && (isUnchanged || paging.resource.answers.noRecords.contains(status: status))
    if !isEmpty, status != 206 || !paging.takesPartialContent {
      do { try expectAnswer(response, to: wanted.page.request) } catch var fault as Failure
        where wanted.page.isTrial
      {
        fault.hint = Self.hintOfEnd(status)
        throw fault
      } catch var fault as Failure where status == 206 && response["Content-Range"] != nil {
        let name = paging.resource.name
        fault.hint =
          "if it is a page of the list, set count = \"header:Content-Range\" of the pages of [resource.\(name)]"
        throw fault
      } catch var fault as Failure
        where paging.resource.each != nil && wanted.page.number == 1 && Self.mayMeanEmpty.contains(status)
        && fault.reason != .rateLimit
      {
        fault.hint = "\(fault.hint ?? ""); if \(status) means that the list is empty, set no_records = [\(status)]"
        throw fault
      } catch var fault as Failure
        where wanted.page.number > 1 && !paging.followsAnswers && !wanted.isAnnounced && Self.endsTrial(response)
      {
        fault.hint = Self.hintOfEnd(status)
        throw fault
      } catch let fault as Failure
        where wanted.page.number > 1 && paging.followsAnswers && Self.forgotten.contains(status)
        && fault.reason != .rateLimit
      {
        throw Self.expired(fault, status: status, isPromised: wanted.page.isPromised)
      }
    }
    let body = response.body.withoutByteOrderMark
    let digest = digest(body)
    if digest == wanted.digest, isJudged, paging.agrees(response, with: wanted.facts, on: wanted.page) {
      return .unchanged(Validator(response), answered: answered(response, paging: paging), isTransferred: true)
    }
    let name = paging.resource.name
    var scans: [PageScan]
    do {
      scans = try scanned(response, of: name) {
        try plans.map { plan in
          let scan = isEmpty ? PageScan.withoutList(body) : try read(body, by: plan, response, to: wanted.page)
          return paging.adding(response, to: scan)
        }
      }
    } catch let fault as Failure
      where wanted.page.isTrial && fault.reason == .malformed && (try? JSONValue(json: body)) != nil
    {
      // An answer that calls itself partial is no answer, and not the end of the list.
      return .pastTheEnd
    }
    guard let scan = scans.first else { throw malformed("no resource reads it", of: name) }
    if wanted.page.isTrial, !wanted.page.isPromised, scan.records == 0, scan.rejects == 0 { return .pastTheEnd }
    var facts = try facts(in: scan, of: response, page: wanted.page.number, by: paging)
    facts.skipped = scans.reduce(scan.skipped) { min($0, $1.skipped) }
    facts.hasOtherMark = scans.contains(where: \.hasOtherMark)
    if paging.resource.since != nil || paging.resource.each != nil {
      facts.answered = answered(response, paging: paging)
    }
    let isShort = paging.noteLacks(in: &scans, of: response, facts, on: wanted.page)
    let isLacking = isShort || scans.contains(where: \.isLacking)
    facts.isLacking = isLacking
    if !wanted.isAnnounced, paging.lacksToken(facts, on: wanted.page) {
      let place = paging.resource.since?.token?.description ?? ""
      throw malformed("the last page has no delta token at \(place) (since.token)", of: name)
    }
    return .page(
      FetchedPage(
        body: body, digest: isLacking ? 0 : digest, facts: facts, scans: scans,
        validator: isLacking ? Validator() : Validator(response), receivedAt: clock.now()))
  }

  /// True if the status means that a child's list is empty, or that its parent has disappeared.
  private static func declines(_ status: Int, wanted: PageQuery, resource: Resource) -> Bool {
    status == 404 || status == 410 || wanted.page.number == 1 && resource.answers.noRecords.contains(status: status)
  }

  /// Reads the body of a page. Throws a `Failure` if it is not an answer.
  private func read(_ body: [UInt8], by plan: RecordPlan, _ response: Response, to page: PageRequest) throws -> PageScan
  {
    var decoder = RecordDecoder(plan)
    switch try decoder.read(page: body) {
    case .records(let scan), .noRecords(let scan): return scan
    case .refusedWithoutList(let refusal) where page.isTrial: throw malformed(refusal.reason, of: plan.resource.name)
    case .refused(let refusal), .refusedWithoutList(let refusal): throw refused(refusal, response, to: page.request)
    }
  }

  private func refused(_ refusal: AnswerRefusal, _ response: Response, to request: Request) -> Failure {
    if response.namesRateLimit {
      let pause = response.pause(now: clock.now(), isRateLimit: true)
      return Failure(
        .unreachable,
        cause: "the answer says that a rate limit is exceeded: \(refusal.reason)"
          + UpstreamWords.clause(of: response, to: request, showsBody: false),
        hint: Self.hint(response.status, isRateLimit: true, isPassing: true), reason: .rateLimit,
        retryAfter: pause?.duration)
    }
    let key =
      refusal.sign.map {
        "set partial = [\($0.description.tomlString)] to store it and remove nothing, or \(AnswerRefusal.acceptance(of: $0)) if it is whole"
      } ?? "correct expect or partial of the definition"
    return Failure(
      .badAnswer,
      cause: "the answer calls itself partial or failed: \(refusal.reason)"
        + UpstreamWords.clause(of: response, to: request, showsBody: false),
      hint:
        "see whether upstream is healthy; for an expired token set auth.expired.where; if it always answers so, \(key)",
      reason: .partialAnswer, retryAfter: response.retryAfter(now: clock.now()))
  }

  /// Statuses with which some servers answer for a parent without records, such as an empty Git repository.
  private static let mayMeanEmpty: Set<Int> = [400, 403, 409, 422, 451]

  /// Statuses that mean that an address of an earlier pull does not exist any more.
  private static let forgotten: Set<Int> = [400, 404, 410, 422]

  /// The failure of a page whose address comes from the page before it.
  private static func expired(_ fault: Failure, status: Int, isPromised: Bool) -> Failure {
    var fault = fault.with(.expiredPage)
    fault.hint =
      "if the cursor or address that led here has expired, the next sync begins at the first page, and larger pages "
      + "(size) or a higher limit.rate spare time"
      + (isPromised ? "" : "; \(hintOfEnd(status))")
    return fault
  }

  private static func hintOfEnd(_ status: Int) -> String {
    "if \(status) means the end of the list, set beyond = [\(status)] in its pages"
  }

  /// True if the answer to a trial says that there is no such page. The other statuses say something about
  /// upstream, the credential or the rate of requests.
  private static func endsTrial(_ response: Response) -> Bool {
    guard !response.isRateLimit else { return false }
    return response.status == 204 || [400, 404, 406, 409, 410, 416, 422].contains(response.status)
  }

  /// The time on the clock of upstream.
  private func answered(_ response: Response, paging: Paging) -> Date {
    guard paging.needsDates else { return clock.now() }
    return response["Date"].flatMap(Date.init(httpDate:)) ?? clock.now()
  }

  private func expectAnswer(_ response: Response, to request: Request) throws {
    if !Self.answered.contains(response.status) { throw refusal(response, to: request) }
  }

  /// Statuses of an answer with records. Some servers answer each POST with 201, and some proxies any request with 203.
  private static let answered: Set<Int> = [200, 201, 203]

  private func refusal(_ response: Response, to request: Request) -> Failure {
    let isRateLimit = response.isRateLimit
    let rule = StatusRule(response.status)
    let now = clock.now()
    let pause = response.pause(now: now)
    var fault = Failure(
      isRateLimit || rule.isPassing ? .unreachable : .badAnswer,
      cause: "upstream answered \(response.status)\(response.pauseClause(now: now))"
        + UpstreamWords.clause(of: response, to: request, showsBody: true),
      hint: Self.hint(response.status, isRateLimit: isRateLimit, isPassing: rule.isPassing),
      reason: isRateLimit ? .rateLimit : .status(response.status),
      retryAfter: pause?.duration)
    fault.concerned = pause.map { [.header($0.header)] } ?? []
    return fault
  }

  private static func hint(_ status: Int, isRateLimit: Bool, isPassing: Bool) -> String {
    if status == 406 { return "set Accept in upstream.headers to a type that upstream offers" }
    if isRateLimit {
      return "ask less often (sync.interval), or set limit.rate or limit.budget to what upstream permits"
    }
    if isPassing { return "see whether upstream is healthy" }
    return switch status {
    case 202: "upstream has not finished this answer; the next sync asks again"
    case 401, 403: "see whether the credential may read this, or whether upstream limits the rate of requests"
    case 404, 410: "check upstream.base_url, and path of the definition"
    case 400..<500: "read what upstream says to this request, and correct query, body, pages or headers"
    default: "check upstream.base_url"
    }
  }

  private func scanned<Value>(_ response: Response, of resource: String, _ scan: () throws -> Value) throws -> Value {
    do { return try scan() } catch let fault as Failure { throw fault } catch {
      let body = response.body.withoutByteOrderMark
      let first = body.first { $0 > UInt8(ascii: " ") }
      let isJSON = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
      let words = UpstreamWords.clause(of: response, to: nil, showsBody: !isJSON)
      let malformation = error as? Malformed
      if malformation?.expected == RecordDecoder.tooManyRecords {
        throw Failure(
          .badAnswer, cause: "the answer has more than \(RecordDecoder.maxRecords) records",
          hint: "ask for smaller pages: size of the pages of [resource.\(resource)]", reason: .tooLarge)
      }
      let named = malformation.flatMap { NamedMalformation($0, in: body) }
      let why = "\(error)\(named.map { " (\($0))" } ?? "")\(words)"
      if !isJSON, response.redirectedTo != nil { throw redirected(why) }
      throw malformed(why, of: isJSON ? resource : nil)
    }
  }

  /// Adds a hint, because the user can remove a total that upstream does not send.
  private func facts(in scan: PageScan, of response: Response, page: Int, by paging: Paging) throws -> ListFacts {
    do { return try paging.facts(in: scan, of: response, page: page) } catch {
      let name = paging.resource.name
      guard let key = error.absentTotal else { throw malformed(error.reason, of: name) }
      var fault = malformed(error.reason, of: name).with(.totalAbsent)
      fault.hint = "if upstream sends no total, remove \(key) from [resource.\(name).pages]"
      throw fault
    }
  }

  /// A redirect led to something that is not JSON, as to a page to log in.
  private func redirected(_ why: String) -> Failure {
    var fault = malformed("\(why), after a redirect", of: nil)
    fault.hint =
      "if that is a page to log in, because the token has expired, name the status of the redirect in auth.expired.status"
    return fault
  }

  /// - Parameter resource: the name of the definition that the answer does not fit; nil if it may be a web page.
  private func malformed(_ why: String, of resource: String?) -> Failure {
    let hint = resource.map { "compare the answer, which may be an error of upstream's, with [resource.\($0)]" }
    return Failure(
      .badAnswer, cause: "the answer is not what the API promises: \(why)",
      hint: hint ?? "check that upstream.base_url is the API's and not a web page's", reason: .malformed)
  }
}

extension Paging {
  /// Statuses with which upstream refuses an incremental pull, or has forgotten a delta token.
  private static let refusals: Set<Int> = [400, 404, 409, 410, 412, 422]

  /// True if a status means that upstream refuses the question for what changed, so that the list is pulled whole. The
  /// statuses of an empty list and of a removed parent mean something else on the first page of a child's list.
  fileprivate func refuses(_ status: Int, of page: PageRequest) -> Bool {
    guard isIncremental else { return false }
    // A lack of rights would refuse the whole pull too.
    if page.number == 1, startsFromToken, [403, 405, 416].contains(status) { return true }
    if page.number > 1 || startsFromToken { return Self.refusals.contains(status) }
    if resource.pages.beyond.contains(status) || resource.answers.noRecords.contains(status: status) { return false }
    if resource.each != nil, [404, 410].contains(status) { return false }
    return Self.refusals.contains(status)
  }
}

extension Failure {
  /// True if upstream may have refused a request only because of its validator. 412 is the right refusal of other
  /// conditions than those of a GET (RFC 9110 §13.2.2), and some servers fail at any condition.
  /// - Parameter page: the request. A failed token request does not concern it.
  fileprivate func mayRefuseCondition(of page: AffectedItem) -> Bool {
    guard concerned.contains(page), retryAfter == nil, case .status(let code)? = reason else { return false }
    return [400, 412, 501].contains(code)
  }

  /// True if upstream's last answer shows that a resumed chain cannot go on with its link.
  /// - Parameter page: the request of the link. A failed token request does not concern it.
  fileprivate func endsResumption(at page: AffectedItem) -> Bool {
    guard concerned.contains(page), retryAfter == nil else { return false }
    return switch reason {
    case .malformed, .partialAnswer: true
    // A 500 may be about the link. Other passing statuses and a refused token say nothing about it.
    case .status(let code): code == 500 || code != 401 && !StatusRule(code).isPassing
    default: false
    }
  }
}

extension PageFetcher.Answer {
  /// True if the answer says that a list has no records, in another form than an empty list. The form of an unchanged
  /// answer with a body is unknown.
  /// - Parameters:
  ///   - known: the facts of the known page; nil without one.
  ///   - isBodyEmpty: true if the known page has no body (204).
  fileprivate func lacksRecords(_ plans: [RecordPlan], known: ListFacts?, isBodyEmpty: Bool) -> Bool {
    switch self {
    case .unchanged:
      known?.records == 0
        && (isBodyEmpty || plans.contains { $0.resource.answers.noRecords != AnswerRules.NoRecords() })
    case .page(let page): page.scans.contains(where: \.lacksList)
    case .declined(let status, _): plans.contains { $0.resource.answers.noRecords.contains(status: status) }
    case .vanished, .pastTheEnd, .forgotten, .refused: false
    }
  }
}

extension PageScan {
  /// The scan of an answer whose status says that there are no records.
  fileprivate static func withoutList(_ body: [UInt8]) -> PageScan {
    var scan = PageScan()
    (scan.lacksList, scan.recordsAt, scan.recordsEnd) = (true, body.count, body.count)
    return scan
  }
}

extension RecordDecoder {
  /// Scans with a new decoder, because the bodies of a pull arrive in any order, from several tasks.
  fileprivate static func scan(page body: [UInt8], by plan: RecordPlan) throws -> PageScan {
    var decoder = RecordDecoder(plan)
    return try decoder.scan(page: body)
  }
}

extension Resource {
  /// The answer of `by_key` with numbers in its text keys as texts, because keys are compared as the type of their
  /// column. It is without the nulls that a list has for keys that were not found (GraphQL). nil if it has neither.
  fileprivate func converted(_ answer: [UInt8]) -> [UInt8]? {
    let places = keyPlaces.filter { place in columns.contains { $0.at == place && $0.type == .text } }
    guard shape.isPlain, let body = try? JSONValue(json: answer), let records = body[byKeyRecords] else { return nil }
    func converted(_ record: JSONValue) -> JSONValue {
      places.reduce(record) { record, place in
        if case .number(let digits)? = record[place] { record.setting(.text(digits), at: place) } else { record }
      }
    }
    let all: JSONValue =
      if case .list(let elements) = records {
        .list(elements.filter { $0 != .null }.map(converted))
      } else {
        converted(records)
      }
    return all == records ? nil : JSONWriter(body.setting(all, at: byKeyRecords)).bytes
  }

  /// True if an answer for one key may be a list of that record, and an empty list means that the key was not found.
  fileprivate var listsOneRecord: Bool { !shape.isPlain || answersWithList }
}

extension Resource {
  /// Members of an answer that says why it is not the record. A definition may have a column of that name.
  private static let membersOfErrors: Set<String> = ["error", "errors", "fault", "message"]

  /// Names of members, as `AnswerSign` has them, that call a record deleted if they are true.
  private static let membersOfDeleted: Set<String> = ["deleted", "isdeleted"]

  /// True if the answer to the question for one key calls the record deleted. The definition does not have that member:
  /// as a column, a list, or in `where`.
  fileprivate func isDeleted(_ answer: [UInt8]) -> Bool {
    var record = (try? JSONValue(json: answer))?[byKeyRecords]
    if case .list(let records)? = record, records.count == 1 { record = records[0] }
    guard case .object(let members)? = record else { return false }
    let known = Set((columns.map(\.at) + lists.map(\.at) + conditions.map(\.at)).compactMap(\.segments.first))
    return members.contains {
      $0.value == .boolean(true) && !known.contains($0.name)
        && Self.membersOfDeleted.contains($0.name.lowercased().filter(\.isLetter))
    }
  }

  /// True if the answer to the question for one key is an error, although it looks like a record.
  fileprivate func isError(_ answer: [UInt8]) -> Bool {
    guard case .object(let members)? = try? JSONValue(json: answer) else { return false }
    let known = Set((columns.map(\.at) + lists.map(\.at)).compactMap(\.segments.first))
    return members.contains { Self.membersOfErrors.contains($0.name) && !known.contains($0.name) && $0.value != .null }
  }
}

extension String {
  /// True if the texts differ at most in case and Unicode normalization.
  package func isAlike(_ other: String) -> Bool { lowercased() == other.lowercased() }
}

extension PageScan {
  /// The keys of all records, storable or not, as the bytes of their texts. Records that `where` skips, and those whose
  /// key is unknown, are left out. Strings that differ only in their normalization are different keys.
  package func keys(by plan: RecordPlan) -> [[UInt8]] {
    [keys, rejectedKeys].flatMap { list in
      list.bytes.withUnsafeBufferPointer { bytes in
        var cursor = KeyCursor(bytes, isText: plan.hasTextKeys)
        var keys: [[UInt8]] = []
        while let key = cursor.next() {
          switch key {
          case .integer(let number): keys.append(Array("\(number)".utf8))
          case .text(let text): keys.append(Array(text))
          }
        }
        return keys
      }
    }
  }
}
