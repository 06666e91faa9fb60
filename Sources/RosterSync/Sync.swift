import FoundationEssentials
package import Logging
package import RosterAuth
package import RosterCache
package import RosterCore
package import RosterDecode
package import RosterFetch
import Synchronization

/// One sync, from its row in `syncs` to its end: pulls every page of every resource, compares, requests missing
/// records, and publishes.
package actor Sync {
  let plans: [RecordPlan]
  let baseURL: String
  let cache: Cache
  private let tokens: TokenKeeper
  private let gate: RetryAfterGate
  private let send: Send
  private let retry: Retry
  let host: any SyncHost
  let clock: WallClock
  let logger: Logger
  private let request: Mutex<SyncRequest>
  /// True if the session has ended for this sync. It is written while `request` is locked.
  private let hasGivenUp = Mutex(false)
  let tally: Tally
  private var lists: [PulledList]
  /// The marks of resources with `since` when the sync began.
  private var marks: [String: Mark] = [:]
  var machine: SyncMachine
  /// The first records that could not be stored, if the sync fails because of them.
  private var rejected: [RejectedRecord] = []
  /// The outcome of each list's last pull.
  private var pulled: [PullOutcome]
  /// The first list whose incremental pull could not continue, for `explain`.
  private var listReset: Diagnosis?
  /// Resources whose pages are complete but of no use, so that the next sync transfers them again.
  private var useless: [String] = []
  /// Whole address of the question of `by_key` whose Retry-After was beyond `max_retry_after`, or the resource whose
  /// questions used up `limit.budget`; nil without one.
  private var pausingQuestion: String?
  /// True if upstream ignores `since.param`, by child resource.
  private var ignoresSince: [String: Bool] = [:]
  private var nextSigns: [String: NextSigns] = [:]

  /// - Parameters:
  ///   - send: sends requests with the token, and counts into `tally`.
  ///   - tally: the counts of this sync only.
  package init(
    _ request: SyncRequest, of plans: [RecordPlan], from baseURL: String, into cache: Cache, tokens: TokenKeeper,
    gate: RetryAfterGate, send: @escaping Send, retry: Retry, tally: Tally, host: any SyncHost, clock: WallClock,
    logger: Logger
  ) {
    self.request = Mutex(request)
    self.plans = plans
    self.baseURL = baseURL
    self.cache = cache
    self.tokens = tokens
    self.gate = gate
    self.send = send
    self.retry = retry
    self.tally = tally
    self.host = host
    self.clock = clock
    self.logger = logger
    lists = PulledList.lists(of: plans, baseURL: baseURL, at: clock.now())
    pulled = lists.map { _ in PullOutcome() }
    machine = SyncMachine(upstream: baseURL, resources: plans.map(\.resource))
  }

  /// Adds the permissions of a request that joins this sync. Returns false if it asks for another try of the
  /// session after this sync has given up. The request is then for the next sync.
  nonisolated package func joined(by other: SyncRequest) -> Bool {
    request.withLock { request in
      if other.retrySession, hasGivenUp.withLock({ $0 }) { return false }
      request.allowRemoval = request.allowRemoval || other.allowRemoval
      request.retrySession = request.retrySession || other.retrySession
      return true
    }
  }

  /// Runs the sync and never throws: the record contains its outcome.
  package func run() async -> SyncRecord {
    let startedAt = clock.now()
    let session: PullSession
    do throws(SyncStartError) {
      session = try await cache.begin(at: startedAt) { [host] in try host.renewCacheLock() }
    } catch {
      return await end(SyncRecord(id: error.id, startedAt: startedAt.rfc3339), of: nil, with: error.cause)
    }
    let isFresh = request.withLock { $0.isFresh }
    await host.began(session.record, tally: tally, isFresh: isFresh)
    do {
      if isFresh { try await session.beginFresh() }
      let published = try await publishRetryingSession(session)
      machine.ended()
      await host.ended(published)
      return published
    } catch {
      return await end(session.record, of: session, with: error)
    }
  }

  /// Publishes. If the session has ended, the steps are repeated once for each caller that requests a retry, also for
  /// one that joined later.
  private func publishRetryingSession(_ session: PullSession) async throws -> SyncRecord {
    while true {
      do { return try await publish(session) } catch let failure as Failure
        where failure.kind == .refused && mayRetry()
      {
        logger.notice("the session is tried once more: \(failure)", metadata: ["sync": "\(session.record.id)"])
        machine.restarts()
      }
    }
  }

  /// False if no request has asked for another try of the session: from now on none can.
  private func mayRetry() -> Bool {
    request.withLock { request in
      hasGivenUp.withLock { $0 = !request.retrySession }
      return request.retrySession
    }
  }

  /// The steps of a sync, in the order of its data.
  private func publish(_ session: PullSession) async throws -> SyncRecord {
    try host.renewTokenStoreLock()
    try await tokens.syncBegins(retrySession: takeRetry(), newToken: takeNewToken())
    try expectOpenGate()
    let fetcher = PageFetcher(
      send: send, retry: retry, digest: try await cache.digest, clock: clock, report: host.tell)
    try await chooseStarts(in: session)
    let compared = try await pullUntilConsistent(in: session, by: fetcher)
    try await askForMissing(plans.filter { $0.resource.each == nil }, in: session, by: fetcher)
    try await pullChildren(of: compared, by: fetcher)
    host.entered(.publishing)
    return try await conclude(compared)
  }

  // MARK: The steps

  func expectOpenGate() throws {
    try gate.refuse(
      longerThan: host.settings.maxRetryAfter, baseURL, clock,
      lifting: "stop rosterd and run: sqlite3 \(cache.path) 'UPDATE cache_identity SET held_until = NULL'")
  }

  /// Decides which lists are pulled whole. Resources of one list are pulled in the same way, from the lowest of
  /// their marks.
  private func chooseStarts(in session: PullSession) async throws {
    let now = clock.now()
    var requests = 0
    for index in lists.indices {
      guard let since = lists[index].since else { continue }
      var (starts, isDue, isLate) = ([SinceStart](), false, false)
      for resource in lists[index].resources {
        let history = try await session.sinceHistory(of: resource)
        marks[resource] = history.mark.flatMap(since.mark)
        switch since.nextPull(after: history, now: now) {
        case .whole: break
        case .incremental(let start): starts.append(start)
        case .wholeOrLater(let start, let isTooLate):
          starts.append(start)
          (isDue, isLate) = (true, isLate || isTooLate)
        }
      }
      let lowest = starts.count == lists[index].resources.count ? Self.lowest(starts) : nil
      var isWhole = lowest == nil
      if !isWhole, isDue {
        isWhole = try await mayPullWhole(index, after: &requests, in: session)
        if !isWhole { postpone(index, isLate: isLate) }
      }
      try await start(index, from: isWhole ? nil : lowest, in: session)
    }
  }

  /// The lowest mark, or the delta token that all starts share; nil if delta tokens differ.
  private static func lowest(_ starts: [SinceStart]) -> SinceStart? {
    let marks = starts.compactMap { if case .mark(let mark) = $0 { mark } else { nil } }
    if marks.count == starts.count { return marks.min { $0.value < $1.value }.map(SinceStart.mark) }
    return starts.allSatisfy { $0 == starts.first } ? starts.first : nil
  }

  /// True if the budget has room for as many requests as the last whole pull needed.
  /// - Parameter requests: Number of requests of the whole pulls that were chosen so far.
  private func mayPullWhole(
    _ list: Int, after requests: inout Int, in session: PullSession
  ) async throws -> Bool {
    var wanted = requests
    for resource in lists[list].resources { wanted += try await session.wholeRequests(of: resource) }
    guard host.permits(requests: wanted) else { return false }
    requests = wanted
    return true
  }

  private func postpone(_ list: Int, isLate: Bool) {
    for resource in lists[list].resources {
      logger.notice(
        "limit.budget has no room for a whole pull: only the records that changed are pulled",
        metadata: ["resource": "\(resource)"])
      if isLate { machine.postponed(resource) }
    }
  }

  private func start(_ list: Int, from start: SinceStart?, in session: PullSession) async throws {
    try lists[list].start(from: start, host.settings.links)
    for resource in lists[list].resources { await session.pullIncrementally(resource, when: start != nil) }
  }

  /// True if the caller permits any number of removals.
  var mayRemove: Bool { request.withLock { $0.allowRemoval } }

  private func takeRetry() -> Bool {
    request.withLock { request in
      defer { request.retrySession = false }
      return request.retrySession
    }
  }

  private func takeNewToken() -> Bool {
    request.withLock { request in
      defer { request.wantsNewToken = false }
      return request.wantsNewToken
    }
  }

  /// Pulls the lists until their pages are one state of upstream, or the sync fails.
  private func pullUntilConsistent(in session: PullSession, by fetcher: PageFetcher) async throws -> ComparedPull {
    var wanted = Array(lists.indices)
    while true {
      try await pull(wanted, in: session, by: fetcher)
      host.entered(.verifying)
      switch try await verify(session) {
      case .again(let lists): wanted = lists
      case .consistent(let compared): return compared
      }
    }
  }

  private func pull(_ wanted: [Int], in session: PullSession, by fetcher: PageFetcher) async throws {
    let record = session.record
    let resources = wanted.flatMap { lists[$0].resources }
    let incremental = incremental
    tally.update { counts in
      for resource in resources { counts.restart(resource, as: incremental.contains(resource) ? .since : .whole) }
    }
    host.entered(tally.now.pagesDone == 0 ? .discovering : .pulling)
    let progress = PullProgress(context: .init(sync: record.id, tally: tally), host: host)
    let pull = Pull(
      lists: lists, session: session, fetcher: fetcher, clock: clock, progress: progress,
      startedAt: Date(rfc3339: record.startedAt) ?? clock.now(), pauses: await session.pauses, logger: logger)
    let outcomes = try await host.onTransport { try await pull.run(wanted) }
    for (list, outcome) in outcomes { pulled[list] = outcome }
    try machine.pulled()
  }

  private enum Verified: ~Copyable {
    /// These lists must be pulled again.
    case again([Int])
    /// The pulled pages are one state of upstream.
    case consistent(ComparedPull)
  }

  private func verify(_ session: PullSession) async throws -> Verified {
    let lies = byResource(\.lie)
    if !lies.isEmpty { return .again(try await distrust(lies, in: session)) }
    let refusals = lists.indices.filter { pulled[$0].refusal != nil }
    if !refusals.isEmpty { return .again(try await reset(refusals, in: session)) }
    let drifts = machine.tolerating(byResource(\.drift), of: incremental)
    var compared: ComparedPull?
    if drifts.isEmpty { compared = try await session.compare() }
    let found = compared?.found ?? []
    // A cancelled sync is reported as cancelled, whatever was found.
    try Task.checkCancellation()
    let after = machine.compared(
      found, drifts: drifts, ignoring: Set(byResource { $0.isParameterIgnored ? true : nil }.keys),
      counts: byResource(\.count), unproven: byResource(\.unproven), marks: drifts.isEmpty ? try nextMarks() : [:],
      maxRemoval: host.settings.maxRemoval,
      allowRemoval: mayRemove)
    switch after {
    case .publish, .ask:
      for found in found where !found.isIncremental && found.distinct + found.rejected == 0 && found.skipped > 0 {
        let emptied = EmptiedResource(name: found.resource, skipped: found.skipped)
        logger.warning("\(emptied.complaint)", metadata: ["resource": "\(found.resource)"])
      }
      reportRepeats(found)
      reportLonger()
      // Not nil here: after a drift the machine decides .again or .fail.
      guard let compared else { return .again(Array(lists.indices)) }
      return .consistent(compared)
    case .fail(let failure): throw await withReason(failure, in: session)
    case .again(let reasons): return .again(try await discard(reasons, in: session))
    }
  }

  /// Reports duplicate keys in chains that were pulled whole. They may be a sign of a wrong key.
  func reportRepeats(_ found: [ResourceComparison]) {
    for found in found where !found.isIncremental && found.repeats > 0 {
      let resource = plans.first { $0.resource.name == found.resource }?.resource
      guard let resource, !resource.pages.style.kind.isPositional, !resource.isIncrementalChild else { continue }
      let records = found.repeats == 1 ? "1 record has" : "\(found.repeats) records have"
      logger.notice(
        """
        \(records) the key of another one, and the last one of each key counts: \
        if they are different records, correct key of [resource.\(found.resource)]
        """, metadata: ["resource": "\(found.resource)"])
    }
  }

  /// Reports lists that go on after an unchanged page that was their end: an earlier version ended each list at an
  /// empty page.
  private func reportLonger() {
    for (list, outcome) in zip(lists, pulled) where outcome.isLonger {
      logger.notice(
        """
        the list was over at an empty page, whose answer has a sign that more pages follow: it goes on from now on; \
        if an empty page ends it, set pages.empty = "end"
        """, metadata: ["resource": "\(list.resources[0])"])
    }
  }

  /// If one validator lied, the pages that validators confirmed are of no use. These lists are pulled again, without
  /// validators.
  private func distrust(_ lies: [String: ValidatorLie], in session: PullSession) async throws -> [Int] {
    try machine.lied(lies)
    let distrusted = Self.withSameAddresses(lies, plans)
    for (resource, lie) in distrusted.sorted(by: { $0.key < $1.key }) {
      host.tell(Event(.validatorsDistrusted, resource: resource, reason: lie.header.reason))
      try await session.distrust(resource)
    }
    let found = lists.indices.filter { lists[$0].resources.contains { distrusted[$0] != nil } }
    for index in found where lists[index].start != nil { try await start(index, from: nil, in: session) }
    return found
  }

  /// These resources, and the others of `plans` that have the same addresses as one of them.
  static func withSameAddresses(
    _ lies: [String: ValidatorLie], _ plans: [RecordPlan]
  ) -> [String: ValidatorLie] {
    let lying = plans.map(\.resource).filter { lies[$0.name] != nil }
    return plans.map(\.resource).reduce(into: lies) { found, resource in
      if found[resource.name] != nil { return }
      found[resource.name] = lying.first { $0.hasAddresses(of: resource) }.flatMap { lies[$0.name] }
    }
  }

  var incremental: Set<String> { Set(lists.filter { $0.start != nil }.flatMap(\.resources)) }

  /// Lists whose incremental pull upstream refused, or whose delta token it forgot, are pulled whole.
  private func reset(_ refused: [Int], in session: PullSession) async throws -> [Int] {
    try machine.reset()
    try await expectRoom(forWhole: refused.filter { pulled[$0].isStartRefused }, in: session)
    for index in refused {
      for resource in lists[index].resources {
        noteReset(
          resource, of: nil, isTokenForgotten: pulled[index].isTokenForgotten, status: pulled[index].refusal ?? 0)
        try await session.discard(resource, keepsPublished: true)
      }
      try await start(index, from: nil, in: session)
    }
    return refused
  }

  /// Throws (69) if the budget has no room for whole pulls of lists whose first incremental page upstream refused. Such
  /// a filter may be refused in each sync.
  private func expectRoom(forWhole lists: [Int], in session: PullSession) async throws {
    var requests = 0
    for index in lists where !(try await mayPullWhole(index, after: &requests, in: session)) {
      let name = self.lists[index].resources[0]
      throw Failure(
        .unreachable, step: "pull \(name) whole", subject: baseURL,
        cause: "upstream refused an incremental pull (\(pulled[index].refusal ?? 0)), and limit.budget has no room now",
        hint: "correct param, value or zone of [resource.\(name).since], or raise limit.budget"
      ).with(.budget, [.resource(name)])
    }
  }

  /// Reports that a list is pulled whole, because upstream refused its incremental pull.
  /// - Parameter path: JSON list of the keys of its ancestors; nil for the only list of a resource.
  func noteReset(_ resource: String, of path: String?, isTokenForgotten: Bool, status: Int) {
    listReset = listReset ?? .listReset(resource, isTokenForgotten: isTokenForgotten, status: status)
    logger.notice(
      "upstream refuses an incremental pull (\(status)): the list is pulled whole",
      metadata: ["resource": "\(resource)"])
    var event = Event(.listReset, resource: resource, reason: isTokenForgotten ? "token" : "refused")
    event.of = path
    host.tell(event)
  }

  /// Notes whether the lists of a child have next values.
  func note(_ resource: String, _ signs: NextSigns) { nextSigns[resource, default: NextSigns()].add(signs) }

  /// Notes whether upstream ignores `since.param` in the lists of a child.
  func note(_ resource: String, ignoresSince: Bool) {
    self.ignoresSince[resource] = self.ignoresSince[resource] == true || ignoresSince
  }

  /// The marks after this pull, by resource. Throws (65) if no record of a list has a value of the named form.
  private func nextMarks() throws -> [String: Since.MarkMove] {
    var moves: [String: Since.MarkMove] = [:]
    for (list, outcome) in zip(lists, pulled) {
      guard let since = list.since else { continue }
      for resource in list.resources {
        let move = list.move(of: marks[resource], after: outcome)
        guard let move, move != .unreadable else {
          useless = list.resources
          throw move == nil
            ? Self.withoutToken(since, resource: resource) : Self.unreadable(since, resource: resource)
        }
        moves[resource] = move
      }
    }
    return moves
  }

  private static func withoutToken(_ since: Since, resource: String) -> Failure {
    Failure(
      .badAnswer, step: "keep the delta token of \(resource)", subject: resource,
      cause: "the last page has none at \(since.token?.description ?? "")",
      hint: "correct token of [resource.\(resource).since]: since.token"
    ).with(.malformed, [.resource(resource)])
  }

  private static func unreadable(_ since: Since, resource: String) -> Failure {
    Failure(
      .badAnswer, step: "set the mark of \(resource)", subject: resource,
      cause: "no record has a value of the form \(since.form.rawValue) at \(since.at?.description ?? "")",
      hint:
        "correct at and form of [resource.\(resource).since]: since.at, since.form. Without a form that fits, remove "
        + "since: each sync then pulls the list whole"
    ).with(.malformed, [.resource(resource)])
  }

  /// Adds the first records that could not be stored, if the sync fails because of them.
  func withReason(_ failure: Failure, in session: PullSession) async -> Failure {
    guard let resource = machine.unstorable else { return failure }
    rejected = (try? await session.rejected(resource, limit: Diagnosis.maxConcerned)) ?? []
    guard let first = rejected.first else { return failure }
    var failure = failure
    failure.cause += "; the first reason, of \(first.place): \(first.reason)"
    failure.concerned += rejected.map(\.concern)
    return failure
  }

  private func discard(_ reasons: [String: String], in session: PullSession) async throws -> [Int] {
    let again = lists.indices.filter { lists[$0].resources.contains { reasons[$0] != nil } }
    for index in again { lists[index].isByPage = true }
    for resource in again.flatMap({ lists[$0].resources }) {
      let why = reasons[resource] ?? "it shares the pages of another resource"
      logger.notice("pulling again: \(why)", metadata: ["resource": "\(resource)"])
      try await session.discard(resource)
    }
    return again
  }

  /// Requests the missing records. One that has no answer stays. The sync continues, unless the failure concerns
  /// all requests.
  func askForMissing(_ plans: [RecordPlan], in session: PullSession, by fetcher: PageFetcher) async throws {
    for plan in plans where machine.asks(for: plan.resource.name) {
      var answers = try await answers(plan, in: session, by: fetcher)
      pausingQuestion = pausingQuestion ?? answers.pausing
      if answers.failure != nil {
        let reason = incremental.contains(plan.resource.name) ? "upstream says that it changed" : Self.isUnlisted
        answers.failure?.concerned += await missingItems(of: plan.resource.name, reason: reason, in: session)
      }
      try machine.asked(plan.resource.name, answers: answers, allowRemoval: mayRemove)
      try await guardAsked(plan.resource.name, in: session)
    }
  }

  private static let isUnlisted = "upstream lists it no more"

  /// Asks for the missing records of each list. At most one control question is asked. It comes first if
  /// `limit.budget` has no room for all questions, because nothing is removed without its answer.
  private func answers(
    _ plan: RecordPlan, in session: PullSession, by fetcher: PageFetcher
  ) async throws -> KeyAnswers {
    var answers = KeyAnswers()
    do { try expectOpenGate() } catch let failure as Failure {
      // The answers for another resource may have brought a Retry-After that is longer than a sync waits.
      answers.end(failure)
      return answers
    }
    let lists = try await lists(toAskFor: plan, in: session)
    guard let first = lists.first else { return answers }
    if !host.permits(requests: machine.questions(about: plan.resource.name) + 1) {
      try await askControl(plan, preferring: first, answers: &answers, in: session, by: fetcher)
    }
    for list in lists where !answers.hasEnded {
      try await missing(plan, list: list, in: session, by: fetcher)?.ask(&answers)
      if answers.needsControl {
        try await askControl(plan, preferring: list, answers: &answers, in: session, by: fetcher)
        // No record of any list is removed.
        if case .notFound = answers.control { break }
      }
    }
    return answers
  }

  /// A list with missing records, or the only one of a resource.
  fileprivate struct AskedList {
    var place = ListPlace()
    var values = ParentValues([])
    var isIncremental: Bool
  }

  private func lists(toAskFor plan: RecordPlan, in session: PullSession) async throws -> [AskedList] {
    let name = plan.resource.name
    guard plan.resource.each != nil else { return [AskedList(isIncremental: incremental.contains(name))] }
    return try await session.listsToAskFor(name).map(AskedList.init)
  }

  /// Asks `by_key` for a key that it must find: one that this pull has seen in the list, else in another list. If
  /// it saw none, the latest record of the snapshot takes its place, of this list or of another one.
  private func askControl(
    _ plan: RecordPlan, preferring list: AskedList, answers: inout KeyAnswers, in session: PullSession,
    by fetcher: PageFetcher
  ) async throws {
    let (name, limit) = (plan.resource.name, MissingRecords.controlKeys)
    // With `ask`, a page of an incremental pull has keys that upstream may not have any more.
    let hasRecords = !list.isIncremental || plan.resource.since?.asks != true
    if hasRecords, case let keys = try await session.seenKeys(name, list: list.place.number, limit: limit),
      !keys.isEmpty
    {
      try await missing(plan, list: list, in: session, by: fetcher)?
        .control(keys, isConclusive: true, answers: &answers)
    } else if let other = plan.resource.each == nil ? nil : try await session.seenList(of: name) {
      let keys = try await session.seenKeys(name, list: other.place.number, limit: limit)
      try await missing(plan, list: AskedList(other), in: session, by: fetcher)?
        .control(keys, isConclusive: true, answers: &answers)
    } else if let latest = try await session.latestKeys(name, in: list.place, limit: limit) {
      let other = AskedList(place: list.place, values: latest.values, isIncremental: list.isIncremental)
      try await missing(plan, list: other, in: session, by: fetcher)?
        .control(latest.keys, isConclusive: latest.isOfList, answers: &answers)
    } else {
      answers.control = .unproven
    }
  }

  private func missing(
    _ plan: RecordPlan, list: AskedList, in session: PullSession, by fetcher: PageFetcher
  ) async throws -> MissingRecords? {
    let filled = plan.resource.each == nil ? plan.resource : try plan.resource.filled(with: list.values)
    guard let requests = KeyRequests(filled, baseURL: baseURL, template: plan.resource) else { return nil }
    return MissingRecords(
      plan: filled.conditions == plan.resource.conditions ? plan : try RecordPlan(filled), requests: requests,
      place: list.place, session: session, fetcher: fetcher, concurrency: host.settings.concurrency,
      maxRetryAfter: host.settings.maxRetryAfter, clock: clock,
      context: .init(sync: session.record.id, tally: tally),
      pauses: await session.pauses)
  }

  /// The guard holds for records of an incremental pull that `by_key` did not find.
  private func guardAsked(_ resource: String, in session: PullSession) async throws {
    guard machine.asksForChanges(resource) else { return }
    try machine.guardAsked(
      resource, leaving: try await session.notFound(resource), maxRemoval: host.settings.maxRemoval,
      allowRemoval: mayRemove)
  }

  /// Publishes, unless the sync is a dry run.
  private func conclude(_ compared: consuming ComparedPull) async throws -> SyncRecord {
    try machine.publishes()
    let isDryRun = request.withLock { $0.isDryRun }
    var record = compared.session.record.counting(tally.now)
    record.exit = 0
    for resource in machine.resourcesHeldBack {
      machine.explains(try await compared.session.firstOfUnknownKey(resource), of: resource)
    }
    record.error = machine.shortcoming
    record.trouble = machine.trouble ?? listReset
    if record.trouble == nil { record.trouble = try await ignoredSince() }
    if record.trouble == nil { record.trouble = try await doubtfulPages() }
    if let trouble = record.trouble, [.shortPages, .fullPage, .unseenNext].contains(trouble.kind),
      try await cache.lastTrouble()?.kind != trouble.kind
    {
      logger.warning("\(trouble.what); see rosterctl explain")
    }
    let (clock, history) = (clock, host.settings.history)
    let requests = tally.now.requestsOf
    let decisions = machine.decisions.reduce(into: machine.decisions) { $0[$1.key]?.requests = requests[$1.key] ?? 0 }
    if isDryRun { return try await compared.tried(record, decisions: decisions, at: clock.now(), history: history) }
    var published = try await compared.publish(record, decisions: decisions, at: clock.now(), history: history)
    published.missed = await missed(in: record.id)
    return published
  }

  /// The first resource whose upstream ignores `since.param`, for `explain`. Pages that did not change say nothing
  /// about it, so that the last finding remains.
  private func ignoredSince() async throws -> Diagnosis? {
    var isUnknown = false
    for (list, outcome) in zip(lists, pulled) {
      guard let since = list.since, case .mark(let start)? = list.start else { continue }
      if since.isIgnored(from: start, lowest: outcome.extent.lowest) { return .ignoredSince(list.resources[0]) }
      isUnknown = isUnknown || outcome.extent.transferred == 0
    }
    if let child = ignoresSince.filter(\.value).keys.min() { return .ignoredSince(child) }
    isUnknown = isUnknown || plans.contains { $0.resource.isIncrementalChild && ignoresSince[$0.resource.name] == nil }
    guard isUnknown, let last = try await cache.lastTrouble(), last.kind == .ignoredSince else { return nil }
    return last
  }

  private static func unseenNext(of resource: Resource, _ request: Request) -> Diagnosis {
    resource.pages.style.kind.isSingle ? .fullPage(resource.name, request) : .unseenNext(resource.name, request)
  }

  /// The first resource whose answers do not show whether its list is whole, for status and `explain`.
  private func doubtfulPages() async throws -> Diagnosis? {
    let unseen = zip(lists, pulled).first { $1.lacksNext }
    if let (list, _) = unseen {
      return Self.unseenNext(of: list.paging.resource, list.paging.first().request)
    }
    for (resource, signs) in nextSigns.sorted(by: { $0.key < $1.key }) where !signs.isSeen {
      // Most lists of a child may be due in other syncs.
      guard let request = signs.lacking, let plan = plans.first(where: { $0.resource.name == resource }),
        try await !cache.hasNextValue(of: resource)
      else { continue }
      return Self.unseenNext(of: plan.resource, request)
    }
    for plan in plans where machine.hasShortPages(plan.resource.name) {
      guard let size = plan.resource.pages.size?.records else { continue }
      let longest = zip(lists, pulled).first { $0.0.resources.contains(plan.resource.name) }?.1.shortenedTo
      return .shortPages(plan.resource.name, size: size, longest: longest)
    }
    return nil
  }

  /// Logs and returns the number of records that incremental pulls had missed, by resource.
  private func missed(in sync: Int64) async -> [String: Int] {
    let mayMiss = lists.contains { $0.since != nil && $0.start == nil }
    guard mayMiss || plans.contains(where: { $0.resource.each != nil }) else { return [:] }
    let missed = (try? await cache.missed(in: sync)) ?? []
    for (resource, records) in missed {
      logger.warning(
        "the whole pull found \(records.counted(as: "record")) that incremental pulls had missed",
        metadata: ["resource": "\(resource)", "missed": "\(records)"])
    }
    return Dictionary(uniqueKeysWithValues: missed.map { ($0.resource, $0.records) })
  }

  private func byResource<Value>(_ part: (PullOutcome) -> Value?) -> [String: Value] {
    var values: [String: Value] = [:]
    for (list, outcome) in zip(lists, pulled) {
      for resource in list.resources { values[resource] = part(outcome) }
    }
    return values
  }
}

// MARK: The end of a sync that published nothing

extension Sync {
  /// - Parameter session: nil if the sync could not begin.
  private func end(_ record: SyncRecord, of session: PullSession?, with error: any Error) async -> SyncRecord {
    var record = record.counting(tally.now)
    record.finishedAt = clock.now().rfc3339
    record.end(with: error)
    if !rejected.isEmpty { record.trouble?.rejected = rejected }
    if let session {
      await end(session, with: &record, pause: (error as? Failure)?.retryAfter)
    } else {
      await cache.noteFailedStart(record)
    }
    machine.ended()
    await host.ended(record)
    return record
  }

  /// - Parameter pause: The Retry-After of the failure. It may be that of a token server, for which the gate is open.
  private func end(_ session: PullSession, with record: inout SyncRecord, pause: Duration?) async {
    let (clock, history) = (clock, host.settings.history)
    if machine.isGuarded {
      for concern in record.trouble?.concerned ?? [] where concern.kind == .resource {
        let missing = await missingItems(of: concern.name, reason: Self.isUnlisted, in: session)
        record.trouble?.concerned += missing
      }
    }
    let pauseEnd = pause.flatMap { $0 > host.settings.maxRetryAfter ? clock.now() + $0.seconds : nil }
    if let until = [gate.until(clock), host.pausedUntil, pauseEnd].compactMap({ $0 }).max() {
      await attempt("note a pause of requests") {
        try await session.notePause(from: clock.now(), until: until, by: pausingQuestion)
      }
    }
    if machine.isConsistent {
      await attempt("keep the pulled pages") {
        try await session.concludePull(of: session.record.id, isGuarded: machine.isGuarded, machine.decisions)
      }
    }
    for resource in machine.drifted + useless + [machine.unstorable].compactMap({ $0 }) {
      await attempt("drop the pulled pages") { try await session.discard(resource) }
    }
    await attempt("write the sync's end") { [record] in
      try await session.end(record, at: clock.now(), history: history)
    }
  }

  /// The first records without an answer of `by_key`, for `explain`.
  private func missingItems(of resource: String, reason: String, in session: PullSession) async -> [AffectedItem] {
    let found = (try? await session.missing(resource, after: 0, limit: Diagnosis.maxConcerned)) ?? []
    return found.map { .record($0.key.text, of: resource, reason: reason) }
  }

  /// Does work whose failure must not hide why the sync failed.
  private func attempt(_ what: String, work: () async throws -> Void) async {
    do { try await work() } catch { logger.error("cannot \(what): \(error)") }
  }
}

extension Sync.AskedList {
  fileprivate init(_ list: WantedList) {
    self.init(place: list.place, values: list.values, isIncremental: list.start != nil)
  }
}

extension Resource {
  /// True if whole pulls of both resources send the same requests, apart from what selects a page.
  fileprivate func hasAddresses(of other: Resource) -> Bool {
    !hasOwnRecords && !other.hasOwnRecords && baseURL == other.baseURL
      && listing.headers == other.listing.headers && path == other.path && query == other.query
      && method == other.method
      && body == other.body
  }

  /// True for a child whose lists are pulled from their marks.
  fileprivate var isIncrementalChild: Bool { each != nil && since?.place != nil }
}

extension SyncRecord {
  fileprivate mutating func end(with error: any Error) {
    switch error {
    case let failure as Failure:
      outcome = .failed
      exit = failure.kind.exitCode
      self.error = "\(failure)"
      trouble = Diagnosis(failure)
    case is CancellationError:
      outcome = .cancelled
      exit = Failure.Kind.cancelled.exitCode
      self.error = "the sync was cancelled; its pages are kept for the next one"
    default:
      outcome = .failed
      exit = Failure.Kind.defect.exitCode
      self.error = "a defect in rosterd: \(error)"
      trouble = Diagnosis(.defect, "\(error)")
    }
  }
}
