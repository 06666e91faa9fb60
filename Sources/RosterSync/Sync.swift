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
  let gate: RetryAfterGate
  private let send: Send
  private let retry: Retry
  let host: any SyncHost
  let clock: WallClock
  let logger: Logger
  let request: Mutex<SyncRequest>
  /// True if the session has ended for this sync. It is written while `request` is locked.
  private let hasGivenUp = Mutex(false)
  let tally: Tally
  /// The row of the sync, as it began.
  private(set) var record = SyncRecord(id: 0, startedAt: "")
  /// The lists without a parent.
  var lists: [PulledList]
  /// Indices of the lists that the next pull requests.
  var waiting: Set<Int> = []
  /// The marks of resources with `since` when the sync began.
  var marks: [String: Mark] = [:]
  var machine: SyncMachine
  /// The first records that could not be stored, if the sync fails because of them.
  private(set) var rejected: [RejectedRecord] = []
  /// The outcome of the last pull of each of `lists`.
  private(set) var pulled: [PullOutcome]
  /// The first list whose incremental pull could not continue, for `explain`.
  private(set) var listReset: Diagnosis?
  /// Resources whose pages are complete but of no use, so that the next sync transfers them again.
  var useless: [String] = []
  /// Whole address of the question of `by_key` whose Retry-After was beyond `max_retry_after`, or the resource whose
  /// questions used up `limit.budget`; nil without one.
  var pausingQuestion: String?
  /// True if upstream ignores `since.param`, by resource. Resources of which no page was transferred have no entry.
  private(set) var ignoresSince: [String: Bool] = [:]
  private(set) var nextSigns: [String: NextSigns] = [:]

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
    do throws(SyncStartError) {
      record = try await cache.begin(at: startedAt) { [host] in try host.renewCacheLock() }
    } catch {
      return await failedToBegin(SyncRecord(id: error.id, startedAt: startedAt.rfc3339), because: error.cause)
    }
    let isFresh = request.withLock { $0.isFresh }
    await host.began(record, tally: tally, isFresh: isFresh)
    do {
      if isFresh { try await cache.beginFresh() }
      let published = try await withTaskCancellationHandler {
        try await runStepsRetryingSession()
      } onCancel: {
        cache.interruptPublish()
      }
      machine.ended()
      await host.ended(published)
      return published
    } catch {
      return await failed(with: error)
    }
  }

  /// Runs the steps. If the session has ended, they are repeated once for each caller that requests a retry, also for
  /// one that joined later.
  private func runStepsRetryingSession() async throws -> SyncRecord {
    while true {
      do { return try await runSteps() } catch let failure as Failure
        where failure.kind == .refused && mayRetry()
      {
        logger.notice("the session is tried once more: \(failure)", metadata: ["sync": "\(record.id)"])
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

  // MARK: The steps

  /// The steps of a sync, in the order of its data.
  private func runSteps() async throws -> SyncRecord {
    try host.renewTokenStoreLock()
    try await tokens.syncBegins(retrySession: takeRetry(), newToken: takeNewToken())
    try expectOpenGate()
    let fetcher = PageFetcher(
      send: send, retry: retry, digest: try await cache.digest, clock: clock, report: host.tell)
    for level in levels {
      try await plan(level)
      try await pullUntilConsistent(level, by: fetcher)
      try await askForMissing(level, by: fetcher)
    }
    host.entered(.publishing)
    return try await conclude()
  }

  /// The resources of each level: first those without a parent, then their children.
  private var levels: [[RecordPlan]] {
    var levels = [plans.filter { $0.resource.each == nil }]
    var known: Set<String> = []
    while let level = levels.last, !level.isEmpty {
      known.formUnion(level.map(\.resource.name))
      levels.append(
        plans.filter { plan in
          !known.contains(plan.resource.name) && plan.resource.each.map { known.contains($0.parent) } == true
        })
    }
    return levels.dropLast()
  }

  /// Chooses the lists to request. The decisions about the parents of children were made.
  private func plan(_ level: [RecordPlan]) async throws {
    let parents = Set(level.compactMap(\.resource.each?.parent))
    guard !parents.isEmpty else { return try await chooseStarts() }
    for parent in parents.sorted() {
      try await cache.stageParents(parent, decision: machine.decisions[parent] ?? RemovalDecision())
    }
    try machine.descends()
    for plan in level {
      try await planLists(plan.resource.name)
      tally.update { $0.restart(plan.resource.name, as: .each) }
      // The answers of `by_key` may have brought a Retry-After that is longer than a sync waits.
      if try await cache.listCounts(of: plan.resource.name).waiting > 0 { try expectOpenGate() }
    }
  }

  private func planLists(_ resource: String) async throws {
    let host = host
    let planned = try await cache.planLists(of: resource, at: clock.now(), maxAge: Pull.takeOver) {
      host.permits(requests: $0)
    }
    tally.update {
      $0.resumed += planned.resumedPages
      if let oldest = planned.earliestReceivedAt { $0.uses(answerOf: oldest) }
    }
    guard planned.postponed > 0 else { return }
    logger.notice(
      "limit.budget has no room for whole pulls: only the records that changed are pulled",
      metadata: ["resource": "\(resource)", "lists": "\(planned.postponed)"])
    if planned.areLate { machine.postponed(resource) }
  }

  /// Pulls the lists of a level until each is one state of upstream or has failed, and compares them with the snapshot.
  private func pullUntilConsistent(
    _ level: [RecordPlan], by fetcher: PageFetcher
  ) async throws {
    var failures: [String: ListFailures] = [:]
    var hasDrifted = false
    while true {
      let outcome = try await pull(level, isByPage: hasDrifted, by: fetcher)
      hasDrifted = hasDrifted || !outcome.drifts.isEmpty
      failures.merge(outcome.failures) { $0.followed(by: $1) }
      host.entered(.verifying)
      if try await pullsAgain(level, after: outcome) { continue }
      var (found, drifts) = try await compare(level)
      // A cancelled sync is reported as cancelled, whatever was found.
      try Task.checkCancellation()
      if try await repeatDrifted(drifts) {
        hasDrifted = true
        try machine.pullsAgain()
        continue
      }
      // A list that has drifted too often has ended, and counts differently.
      if !drifts.isEmpty { found = try await compare(level).found }
      try await decide(found)
      for plan in level where plan.resource.each != nil {
        let name = plan.resource.name
        try await judge(name, failures: failures[name] ?? ListFailures())
      }
      return
    }
  }

  /// - Parameter isByPage: True if pages that a total announced did not fit together.
  private func pull(
    _ level: [RecordPlan], isByPage: Bool, by fetcher: PageFetcher
  ) async throws -> LevelOutcome {
    let roots = waiting.sorted().map { lists[$0] }
    let startedAt = Date(rfc3339: record.startedAt) ?? clock.now()
    let children = level.filter { $0.resource.each != nil }
    tally.update { counts in
      for list in roots {
        for resource in list.resources { counts.restart(resource, as: list.start == nil ? .whole : .since) }
      }
    }
    for plan in children { try await countLists(of: plan.resource.name) }
    host.entered(tally.now.pagesDone == 0 ? .discovering : .pulling)
    let pull = Pull(
      cache: cache, fetcher: fetcher, clock: clock,
      progress: PullProgress(context: .init(sync: record.id, tally: tally), host: host), startedAt: startedAt,
      pauses: await cache.pauses, logger: logger)
    let supply = try await ListSupply(
      roots: roots, children, isByPage: isByPage, known: cache, baseURL: baseURL, at: startedAt)
    let outcome = try await host.onTransport { try await pull.run(supply) }
    waiting = []
    note(outcome)
    try machine.pulled()
    return outcome
  }

  private func note(_ outcome: LevelOutcome) {
    for (index, list) in lists.enumerated() { pulled[index] = outcome.roots[list.resources[0]] ?? pulled[index] }
    machine.noteUnproven(outcome.unproven)
    ignoresSince.merge(outcome.ignoresSince) { $0 || $1 }
    for (resource, signs) in outcome.nextSigns { nextSigns[resource, default: NextSigns()].add(signs) }
  }

  /// Sets the number of lists in the status. Lists that an interrupted sync has pulled are done.
  private func countLists(of resource: String) async throws {
    let lists = try await cache.listCounts(of: resource)
    let done = lists.obtained + lists.empty + lists.failed
    tally.update { $0.setLists(of: resource, done: done, total: done + lists.waiting) }
  }

  private func compare(
    _ level: [RecordPlan]
  ) async throws -> (found: [ResourceComparison], drifts: [String: [ListDrift]]) {
    var found: [ResourceComparison] = []
    var drifts: [String: [ListDrift]] = [:]
    let (counts, unproven) = (byResource(\.count), byResource(\.unproven))
    for name in level.map(\.resource.name) {
      let (machine, total, isTotalPassed) = (machine, counts[name], unproven[name]?.contains(.total) == true)
      let compared = try await cache.compare(name) { found, count in
        machine.drift(found, count: count ?? total, isTotalPassed: isTotalPassed)
      }
      found.append(compared.found)
      if !compared.drifts.isEmpty { drifts[name] = compared.drifts }
    }
    return (found, drifts)
  }

  private func decide(_ found: [ResourceComparison]) async throws {
    let marks = try nextMarks()
    do throws(Failure) {
      try machine.compared(
        found, counts: byResource(\.count), unproven: byResource(\.unproven), marks: marks,
        maxRemoval: host.settings.maxRemoval, allowRemoval: mayRemove)
    } catch { throw await withReason(error) }
    report(found)
  }

  // MARK: Lists that are pulled again

  /// Returns true if lists are pulled again: a validator lied, upstream refused an incremental pull, or pages do not
  /// fit together.
  private func pullsAgain(
    _ level: [RecordPlan], after outcome: LevelOutcome
  ) async throws -> Bool {
    try await pullWhole(outcome.refusals)
    machine.lied(outcome.lies)
    let distrusted = Self.withSameAddresses(outcome.lies, level)
    let drifts = outcome.drifts.filter { distrusted[$0.key] == nil }
    let areRepeated = try await repeatDrifted(drifts)
    try await distrust(distrusted)
    guard areRepeated || !outcome.refusals.isEmpty || !distrusted.isEmpty else { return false }
    try machine.pullsAgain()
    return true
  }

  /// Lists whose incremental pull upstream refused, or whose delta token it forgot, are pulled whole.
  private func pullWhole(_ refusals: [String: [ListRefusal]]) async throws {
    try await expectRoom(forWhole: refusals)
    for (resource, lists) in refusals.sorted(by: { $0.key < $1.key }) {
      for list in lists { reportReset(resource, after: list) }
      try await cache.pullAgain(resource, places: lists.map(\.place), asksWhole: true)
    }
    for index in indices(of: refusals.keys) {
      try await start(index, from: nil)
      waiting.insert(index)
    }
  }

  /// Requests drifted lists again, or ends those that have drifted too often. Returns true if one is requested again.
  private func repeatDrifted(_ drifts: [String: [ListDrift]]) async throws -> Bool {
    var ends: [ListEnd] = []
    var again: [String: [ListDrift]] = [:]
    let ignoring = Set(byResource { $0.isParameterIgnored ? true : nil }.keys)
    for (resource, drift, after) in try machine.drifted(drifts, ignoring: ignoring) {
      switch after {
      case .again: again[resource, default: []].append(drift)
      case .weak: ends.append(ListEnd(resource, at: drift.place, state: .pulled, isWeak: true))
      case .failed(let why):
        try await cache.discard(resource, in: drift.place)
        ends.append(ListEnd(resource, at: drift.place, state: .failed(why)))
      }
    }
    try await cache.endLists(ends)
    for (resource, lists) in again { try await cache.pullAgain(resource, places: lists.map(\.place)) }
    for index in indices(of: again.keys) { try await repeatRoot(index, because: again) }
    return !again.isEmpty
  }

  /// Pulls a list without a parent again, for all resources that share its pages.
  private func repeatRoot(_ list: Int, because drifts: [String: [ListDrift]]) async throws {
    waiting.insert(list)
    for resource in lists[list].resources {
      let why = drifts[resource]?.first?.reason ?? "it shares the pages of another resource"
      logger.notice("pulling again: \(why)", metadata: ["resource": "\(resource)"])
      if drifts[resource] == nil { try await cache.discard(resource) }
    }
  }

  /// If a validator lied, the pages that validators confirmed are of no use. All lists of these resources are pulled
  /// again, without validators.
  private func distrust(_ lies: [String: ValidatorLie]) async throws {
    for (resource, lie) in lies.sorted(by: { $0.key < $1.key }) {
      host.tell(Event(.validatorsDistrusted, resource: resource, reason: lie.header.reason))
      try await cache.distrust(resource)
      if plans.contains(where: { $0.resource.name == resource && $0.resource.each != nil }) {
        try await planLists(resource)
      }
    }
    for index in indices(of: lies.keys) {
      if lists[index].start != nil { try await start(index, from: nil) }
      waiting.insert(index)
    }
  }

  /// These resources, and the others of `plans` that have the same addresses as one of them.
  private static func withSameAddresses(
    _ lies: [String: ValidatorLie], _ plans: [RecordPlan]
  ) -> [String: ValidatorLie] {
    let lying = plans.map(\.resource).filter { lies[$0.name] != nil }
    return plans.map(\.resource).reduce(into: lies) { found, resource in
      if found[resource.name] != nil { return }
      found[resource.name] = lying.first { $0.hasAddresses(of: resource) }.flatMap { lies[$0.name] }
    }
  }

  /// Resources without a parent of which only the changed records are pulled.
  var incremental: Set<String> { Set(lists.filter { $0.start != nil }.flatMap(\.resources)) }

  /// The lists without a parent that these resources use.
  private func indices(of resources: some Collection<String>) -> [Int] {
    lists.indices.filter { lists[$0].resources.contains { resources.contains($0) } }
  }

  // MARK: What is reported

  /// Reports that a list is pulled whole, because upstream refused its incremental pull.
  private func reportReset(_ resource: String, after refusal: ListRefusal) {
    let (isForgotten, status) = (refusal.isTokenForgotten, refusal.status)
    listReset = listReset ?? .listReset(resource, isTokenForgotten: isForgotten, status: status)
    logger.notice(
      "upstream refuses an incremental pull (\(status)): the list is pulled whole",
      metadata: ["resource": "\(resource)"])
    var event = Event(.listReset, resource: resource, reason: isForgotten ? "token" : "refused")
    event.of = refusal.place.path.isEmpty ? nil : refusal.place.path
    host.tell(event)
  }

  private func report(_ found: [ResourceComparison]) {
    let children = Set(plans.filter { $0.resource.each != nil }.map(\.resource.name))
    for found in found where !children.contains(found.resource) {
      guard !found.isIncremental, found.distinct + found.rejected == 0, found.skipped > 0 else { continue }
      let emptied = EmptiedResource(name: found.resource, skipped: found.skipped)
      logger.warning("\(emptied.complaint)", metadata: ["resource": "\(found.resource)"])
    }
    reportRepeats(found)
  }

  /// Reports duplicate keys in chains that were pulled whole. They may be a sign of a wrong key.
  private func reportRepeats(_ found: [ResourceComparison]) {
    for found in found where !found.isIncremental && found.repeats > 0 {
      let resource = plans.first { $0.resource.name == found.resource }?.resource
      guard let resource, !resource.pages.style.kind.isPositional, !resource.isIncrementalChild,
        resource.since?.token == nil
      else { continue }
      let records = found.repeats == 1 ? "1 record has" : "\(found.repeats) records have"
      logger.notice(
        """
        \(records) the key of another one, and the last one of each key counts: \
        if they are different records, correct key of [resource.\(found.resource)]
        """, metadata: ["resource": "\(found.resource)"])
    }
  }

  /// Adds the first records that could not be stored, if the sync fails because of them.
  func withReason(_ failure: Failure) async -> Failure {
    guard let resource = machine.unstorable else { return failure }
    rejected = (try? await cache.rejected(resource, limit: Diagnosis.maxConcerned)) ?? []
    guard let first = rejected.first else { return failure }
    var failure = failure
    failure.cause += "; the first reason, of \(first.place): \(first.reason)"
    failure.concerned += rejected.map(\.concern)
    return failure
  }

  /// Too many failed lists fail the sync, and so does a server error if all lists were requested and none was obtained.
  /// Answers 404 and 410 are no failures here.
  private func judge(_ resource: String, failures: ListFailures) async throws {
    let counts = try await cache.listCounts(of: resource)
    guard counts.failed > 0 else { return }
    let examples = try await cache.failedLists(of: resource, limit: Diagnosis.maxConcerned)
    let failed = counts.failed - counts.notFound
    // Lists that failed before are requested again in each sync.
    let areTooMany = failed > 8 && failed * 2 > max(counts.requested, counts.published)
    let isFirst = !counts.wasEverPulled && counts.obtained == 0
    // A list that failed before may be the only one that is due.
    let outage = counts.obtained == 0 && counts.requested >= counts.published ? failures.serverError : nil
    if areTooMany || isFirst || outage != nil {
      var failure =
        outage ?? failures.first
        ?? Failure(
          .badAnswer, step: "pull the lists of \(resource)", subject: resource,
          cause: examples.first?.reason ?? "they failed")
      failure.concerned += examples.map(\.concern)
      let number = areTooMany ? failed : counts.failed
      failure.cause += "; \(number) of \(counts.requested.counted(as: "list")) of \(resource) failed"
      throw failure
    }
    machine.listsFailed(resource, counts: counts, examples: examples)
  }

  // MARK: Permissions

  func expectOpenGate() throws {
    try gate.refuse(
      longerThan: host.settings.maxRetryAfter, baseURL, clock,
      lifting: "stop rosterd and run: sqlite3 \(cache.path) 'UPDATE cache_identity SET held_until = NULL'")
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

  func byResource<Value>(_ part: (PullOutcome) -> Value?) -> [String: Value] {
    var values: [String: Value] = [:]
    for (list, outcome) in zip(lists, pulled) {
      for resource in list.resources { values[resource] = part(outcome) }
    }
    return values
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
  var isIncrementalChild: Bool { each != nil && since?.place != nil }
}
