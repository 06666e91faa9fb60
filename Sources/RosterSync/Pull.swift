import FoundationEssentials
import Logging
import RosterCache
import RosterCore
import RosterDecode
import RosterFetch
import Synchronization

/// Pulls every page of the lists of one level, a bounded number at a time, and stores them as they arrive. It is a
/// class, because every request has it.
final class Pull: Sendable {
  /// Maximum age at which a page without a validator is reused from an interrupted sync.
  static let takeOver: Duration = .seconds(15 * 60)

  let cache: Cache
  let fetcher: PageFetcher
  let clock: WallClock
  let progress: PullProgress
  /// Start of the sync.
  let startedAt: Date
  /// Times without requests, by which kept pages do not become older.
  let pauses: RequestPauses
  private let logger: Logger
  /// The warnings so far, each with its resource.
  private let unseen = Mutex<Set<String>>([])
  /// Digests of the first pages of the first lists of each resource.
  private let firstPages = Mutex<[String: [Int64]]>([:])

  init(
    cache: Cache, fetcher: PageFetcher, clock: WallClock, progress: PullProgress,
    startedAt: Date, pauses: RequestPauses, logger: Logger
  ) {
    (self.cache, self.fetcher, self.clock) = (cache, fetcher, clock)
    (self.progress, self.startedAt, self.pauses, self.logger) = (progress, startedAt, pauses, logger)
  }

  /// Pulls the lists. After the first failure of the sync the other requests are cancelled, the received pages are
  /// stored, and the failure is thrown. One failed list of a child does not end the others.
  func run(_ lists: ListSupply) async throws -> LevelOutcome {
    var work = PullState(lists, maxPages: progress.host.settings.maxPages)
    try await withThrowingTaskGroup(of: PullStep.self) { group in
      while true {
        await begin(&work, in: &group)
        write(&work, in: &group)
        if work.isOver { break }
        guard let step = try await group.next() else { break }
        take(step, work: &work)
        if work.failure != nil { group.cancelAll() }
      }
      group.cancelAll()
    }
    if let failure = work.failure {
      await dropEndless(work)
      throw failure
    }
    return work.outcome
  }

  /// If an endless list were kept, it would take more of the disk with each sync, and would repeat itself even after
  /// upstream was corrected. A failure to drop it must not hide the cause.
  private func dropEndless(_ work: PullState) async {
    for list in work.plan.endless.compactMap({ work.lists[$0]?.list }) {
      for resource in list.resources { try? await cache.discard(resource) }
    }
  }

  /// Starts all requests that may start now.
  private func begin(
    _ work: inout PullState, in group: inout ThrowingTaskGroup<PullStep, any Error>
  ) async {
    repeat {
      while let job = work.plan.next(concurrency: progress.host.settings.concurrency) {
        guard let list = work.lists[job.list]?.list else { continue }
        await begin(job, list: list, work: &work, in: &group)
      }
    } while await openNext(&work)
  }

  private func begin(
    _ job: PullPlan.PageJob, list: PulledList, work: inout PullState,
    in group: inout ThrowingTaskGroup<PullStep, any Error>
  ) async {
    do {
      let known = try await work.lists[job.list]?.known(job, plan: work.plan, in: cache)
      if job.page.isAhead, known?.contains(where: { $0.records > 0 }) != true {
        work.plan.wasPastTheEnd(job)
        settle(job, list: list, work: &work)
      } else if let known, let receivedAt = answerToTakeOver(known[0], job: job, of: list, in: work.plan) {
        work.note(isResumed: true, list: job.list)
        work.lists[job.list]?.uses(answerOf: receivedAt)
        try confirm(
          job, list: list, known: known, from: .cache, validator: Validator(), answered: nil, work: &work)
        progress.resumed(answerOf: receivedAt)
        settle(job, list: list, work: &work)
      } else {
        work.note(isResumed: false, list: job.list)
        group.addTask {
          await PullStep(fetching: job, known: known) { try await self.fetch(job, list: list, known: known) }
        }
      }
    } catch {
      work.plan.failed()
      work.failed(error, whileWriting: false)
    }
  }

  /// Opens the next list. Returns false if none can be opened now.
  private func openNext(_ work: inout PullState) async -> Bool {
    guard work.supply != nil, work.plan.canOpen(concurrency: progress.host.settings.concurrency) else { return false }
    do {
      let next = try await work.supply?.next(links())
      for end in next?.ends ?? [] {
        progress.ended(end)
        work.queue.add(end)
      }
      guard let list = next?.list else {
        if next?.isLast != false { work.supply = nil }
        return work.supply != nil
      }
      work.open(list)
      return true
    } catch {
      work.plan.stop()
      work.failed(error, whileWriting: false)
      return false
    }
  }

  /// The time of the page's answer if it may be reused without a request, otherwise nil. The first page is always
  /// requested, and must be unchanged. A page that was received in the future has no known age, because the clock
  /// was wrong. After a pause a page with a validator is reused too. Otherwise a list of more pages than `limit.budget`
  /// would never be complete.
  private func answerToTakeOver(
    _ known: CachedPage, job: PullPlan.PageJob, of list: PulledList, in plan: PullPlan
  ) -> Date? {
    let now = clock.now()
    guard !job.page.isRepeated, !job.page.isAhead, known.state != .guarded, let receivedAt = known.receivedAt,
      receivedAt <= now,
      receivedAt > pauses.earliest(age: Self.takeOver, at: now)
    else { return nil }
    if !known.validator.isEmpty {
      guard pauses.hasPause(after: receivedAt), !isAudited(known, job: job, of: list) else { return nil }
    }
    // The mark must not be later than the answer.
    if list.since != nil, known.answered == nil { return nil }
    if list.plans[0].resource.hasOwnRecords { return nil }
    // A record that entered the first page has moved another one onto the next page.
    guard let first = plan.first(of: job.list), job.page.number > 1, !plan.isFirstNew(of: job.list) else {
      return nil
    }
    return ListFacts(known, of: list).contradicts(first, before: job.page.recordsBefore) ? nil : receivedAt
  }

  /// True if the page is transferred without its validator.
  private func isAudited(_ known: CachedPage, job: PullPlan.PageJob, of list: PulledList) -> Bool {
    known.state == .published && list.audits.isDue(job.page.address, digest: fetcher.digest)
  }

  private func fetch(
    _ job: PullPlan.PageJob, list: PulledList, known: [CachedPage]?
  ) async throws -> PageFetcher.Answer {
    progress.asks()
    defer { progress.answered() }
    let isAudited = known.map { self.isAudited($0[0], job: job, of: list) } ?? false
    let wanted = PageFetcher.PageQuery(
      page: job.page, isAnnounced: job.isAnnounced,
      validator: isAudited ? Validator() : known?[0].validator ?? Validator(),
      digest: known?[0].digest, facts: (known?[0]).map { ListFacts($0, of: list) }, isFromKept: job.isFromKept,
      isResumption: list.isResumed && list.paging.followsAnswers)
    if let records = list.ownRecords {
      return try fetcher.read(records, of: wanted, plan: list.plans[0])
    }
    let found = try await fetcher.fetch(wanted, of: list.paging, plans: list.plans, for: progress.context) {
      try await hasRecords(list)
    }
    if case .page(let page) = found, let known { try await expectHonest(page, job: job, list: list, known: known) }
    return found
  }

  /// True if the snapshot has records of the list.
  private func hasRecords(_ list: PulledList) async throws -> Bool {
    for resource in list.resources where try await cache.hasRecords(resource, in: list.place) { return true }
    return false
  }

  /// Throws a `ValidatorLie` if the validator is the stored one and the records are not the stored ones.
  private func expectHonest(
    _ page: FetchedPage, job: PullPlan.PageJob, list: PulledList, known: [CachedPage]
  ) async throws {
    guard list.start == nil, known[0].state == .published, !page.validator.isEmpty, page.validator == known[0].validator
    else { return }
    for page in received(page, job: job, list: list) where try await cache.differs(page) {
      throw ValidatorLie(
        header: page.validator.etag == nil ? .lastModified : .etag, page: job.page.number,
        request: job.page.request)
    }
  }

  /// Writes the pages that are due.
  private func write(_ work: inout PullState, in group: inout ThrowingTaskGroup<PullStep, any Error>) {
    if let batch = work.queue.next(at: clock.uptime(), isLast: work.plan.isIdle) {
      group.addTask { await PullStep(writing: batch) { try await self.keep(batch) } }
    } else if !work.isTimed, let wait = work.queue.due(at: clock.uptime()) {
      work.isTimed = true
      group.addTask {
        try? await self.clock.sleep(wait)
        return .due
      }
    }
  }

  private func keep(_ batch: StageQueue.Batch) async throws {
    try await cache.append(batch.received)
    for (list, pages) in batch.confirmed { try await cache.confirm(list.resource, pages: pages, in: list.place) }
    try await cache.endLists(batch.ends)
  }
}

// MARK: Results

extension Pull {
  private func take(_ step: PullStep, work: inout PullState) {
    switch step {
    case .answered(let job, let known, let answer):
      guard let list = work.lists[job.list]?.list else { return }
      do { try take(answer, to: job, list: list, known: known, work: &work) } catch {
        guard list.isChild, let failure = error as? Failure, failure.kind == .badAnswer else {
          return work.failed(error, whileWriting: false)
        }
        // `came` has counted the page already.
        note(failure, of: list, work: &work)
        work.plan.ends(job.list, as: .failed("\(failure)"))
      }
      settle(job, list: list, work: &work)
    case .lied(let job, let lie):
      work.plan.lied(job, lie: lie)
      if let list = work.lists[job.list]?.list { settle(job, list: list, work: &work) }
    case .written(let batch):
      work.queue.written()
      work.plan.staged(batch.bytes)
    case .due: work.isTimed = false
    case .failed(let error, let job?): failed(error, job: job, work: &work)
    case .failed(let error, nil): work.failed(error, whileWriting: true)
    }
  }

  /// A failure ends the sync, or only the list of a child.
  private func failed(_ error: any Error, job: PullPlan.PageJob, work: inout PullState) {
    guard let list = work.lists[job.list]?.list, list.isChild, let failure = error as? Failure, failure.endsOneList,
      !failure.isPause(beyond: progress.host.settings.maxRetryAfter)
    else {
      work.plan.failed()
      return work.failed(error, whileWriting: false)
    }
    note(failure, of: list, work: &work)
    if failure.kind == .unreachable { work.lists[job.list]?.serverError = failure }
    work.plan.ended(job, as: .failed("\(failure)"))
    settle(job, list: list, work: &work)
  }

  private func note(_ failure: Failure, of list: PulledList, work: inout PullState) {
    work.outcome.failures[list.resources[0], default: ListFailures()].note(failure)
  }

  /// Hands on the outcome of a list that has ended.
  private func settle(_ job: PullPlan.PageJob, list: PulledList, work: inout PullState) {
    guard work.plan.isDone(job.list) else { return }
    let outcome = work.plan.outcome(of: job.list)
    let earliestReceivedAt = work.lists[job.list]?.earliestReceivedAt
    let serverError = work.close(job.list)
    guard work.outcome.note(list, outcome) else { return }
    if list.isChild, let failure = work.outcome.outage(after: serverError, of: list.resources[0]) {
      return work.failed(failure, whileWriting: false)
    }
    work.outcome.noteSigns(of: list, outcome)
    guard list.isChild else { return }
    var end = list.end(after: outcome)
    // A list is as old as its oldest answer. An empty list by its status is kept as long as any other.
    end.receivedAt = earliestReceivedAt ?? clock.now()
    if end.answered == nil { end.answered = end.receivedAt }
    progress.ended(end)
    work.queue.add(end)
  }

  private func take(
    _ answer: PageFetcher.Answer, to job: PullPlan.PageJob, list: PulledList, known: [CachedPage]?,
    work: inout PullState
  ) throws {
    let receivedAt = if case .page(let page) = answer { page.receivedAt } else { clock.now() }
    work.lists[job.list]?.uses(answerOf: receivedAt)
    progress.received(at: receivedAt)
    switch answer {
    case .page(let page):
      if known == nil, job.page.number == 1 { try warn(of: page, in: list) }
      try receive(page, job: job, list: list, work: &work)
    case .unchanged(let validator, let answered, let isTransferred):
      guard let known else { return work.plan.wasMissing(job) }
      try confirm(
        job, list: list, known: known, from: isTransferred ? .equalAnswer : .confirmation, validator: validator,
        answered: answered, work: &work)
      if !isTransferred { progress.notModified(isKept: known[0].state != .published) }
    case .vanished, .forgotten: work.plan.wasMissing(job)
    case .pastTheEnd: work.plan.wasPastTheEnd(job)
    case .refused(let status): work.plan.wasRefused(job, status: status)
    case .declined(let status, let answered): decline(status, answered: answered, job: job, list: list, work: &work)
    }
  }

  /// Warns of conditions and columns that may look at a wrong place. Once per resource: its lists have the same form.
  private func warn(of page: FetchedPage, in list: PulledList) throws {
    func warn(_ resource: String, _ text: String) {
      guard unseen.withLock({ $0.insert("\(resource) \(text)").inserted }) else { return }
      logger.warning("\(text): is the definition right?", metadata: ["resource": "\(resource)"])
    }
    for (plan, scan) in zip(list.plans, page.scans) {
      let name = plan.resource.name
      if !plan.resource.parentColumns.contains(where: { $0.key == "path" }), list.isChild, scan.records > 0,
        areEqual(name, page.digest)
      {
        warn(name, "the first \(Self.equalLists) lists of \(name) are equal, as if upstream ignored their parent")
      }
      for place in scan.unseen {
        warn(name, "the first answer has nothing at \(place), where expect of [resource.\(name)] looks")
      }
      guard scan.records >= Self.sample, unseen.withLock({ $0.insert(name).inserted }) else { continue }
      var decoder = RecordDecoder(plan)
      for place in try decoder.placesWithoutValue(in: page.body, at: scan.recordsAt, sample: Self.sample) {
        warn(name, "the first \(Self.sample) records of \(name) have nothing at \(place), where a column looks")
      }
    }
  }

  /// True for the last of the first lists of a resource if their first pages are equal.
  private func areEqual(_ resource: String, _ digest: Int64) -> Bool {
    firstPages.withLock { pages in
      pages[resource, default: []].append(digest)
      let known = pages[resource] ?? []
      if known.count > Self.equalLists { pages[resource]?.removeLast() }
      return known.count == Self.equalLists && known.allSatisfy { $0 == digest }
    }
  }

  /// Number of lists that show whether the parent is in the request.
  private static let equalLists = 3
  /// Number of records that show whether a place is right.
  private static let sample = 20

  /// The list is empty, or its parent has disappeared.
  private func decline(
    _ status: Int, answered: Date, job: PullPlan.PageJob, list: PulledList, work: inout PullState
  ) {
    if job.page.number == 1, list.plans[0].resource.answers.noRecords.contains(status: status) {
      return work.plan.wasEmpty(job, answered: answered, isWhole: list.start == nil)
    }
    let (meaning, key) = job.page.number == 1 ? ("an empty list", "no_records") : ("the end of the list", "beyond")
    let table = job.page.number == 1 ? "[resource.\(list.resources[0])]" : "pages"
    let failure = Failure(
      .badAnswer, step: "pull page \(job.page.number) of \(list.resources[0])", subject: job.page.request.shownURL,
      cause: "upstream answered \(status)",
      hint: "if that means \(meaning), set \(key) = [\(status)] in \(table)", reason: .status(status)
    ).with(.vanishedLists, [.resource(list.resources[0])])
    note(failure, of: list, work: &work)
    work.plan.ended(job, as: .vanished("\(failure)"))
  }

  private func links() -> NextLinks { progress.host.settings.links }

  private func receive(
    _ page: FetchedPage, job: PullPlan.PageJob, list: PulledList, work: inout PullState
  ) throws {
    let waiting = page.body.count * list.plans.count
    guard
      try work.plan.came(
        job, facts: page.facts, from: .answer, waiting: waiting, digest: page.digest,
        records: list.start == nil ? page.records(of: list.plans) : page.changes, links: links)
    else { return }
    work.queue.add(received(page, job: job, list: list), at: clock.uptime())
    progress.done(
      job.page.number, of: list, storable: page.scans.map(\.storable), pages: work.plan.pages(in: job.list))
  }

  /// The page once for each resource of the list.
  private func received(_ page: FetchedPage, job: PullPlan.PageJob, list: PulledList) -> [PageBody] {
    zip(list.resources, page.scans).map { resource, scan in
      PageBody(
        resource: resource, number: job.page.number, address: job.page.address, next: page.facts.continuation,
        validator: page.validator, receivedAt: page.receivedAt, body: page.body, digest: page.digest, scan: scan,
        answered: page.facts.answered, token: page.facts.token, place: list.place)
    }
  }

  private func confirm(
    _ job: PullPlan.PageJob, list: PulledList, known: [CachedPage], from source: PullPlan.PageSource,
    validator: Validator, answered: Date?, work: inout PullState
  ) throws {
    var facts = ListFacts(known[0], of: list)
    facts.skipped = known.reduce(facts.skipped) { min($0, $1.skipped) }
    if let answered { facts.answered = answered }
    let now = clock.now()
    guard try work.plan.came(job, facts: facts, from: source, digest: known[0].digest, links: links) else { return }
    for (resource, page) in zip(list.resources, known) {
      work.queue.add(
        resource, of: list.place,
        page: ConfirmedPage(
          number: job.page.number, page: page, validator: validator, receivedAt: source == .equalAnswer ? now : nil,
          confirmedAt: source == .confirmation ? now : nil, answered: answered),
        at: clock.uptime())
    }
    progress.done(
      job.page.number, of: list, storable: known.map(\.storable), pages: work.plan.pages(in: job.list))
  }
}

extension Failure {
  /// True if the failure of a request concerns the list of its page only.
  fileprivate var endsOneList: Bool {
    switch (kind, reason) {
    case (.badAnswer, _): true
    // A failed token request concerns all lists. It names no page.
    case (.unreachable, .status(let code)?): code >= 500 && concerned.contains { $0.kind == .page }
    default: false
    }
  }

  /// True if upstream wants no request for longer than a sync waits, which concerns all its requests.
  func isPause(beyond maxRetryAfter: Duration) -> Bool { (retryAfter ?? .zero) > maxRetryAfter }
}

extension FetchedPage {
  /// Two pages are alike if they list the same records in the same order, whatever else the answers contain.
  fileprivate func records(of plans: [RecordPlan]) -> RepeatedPages.Page {
    var hasher = Hasher()
    var keys: [Int] = []
    for (scan, plan) in zip(scans, plans) {
      for list in [scan.keys, scan.rejectedKeys] {
        list.bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        keys += list.hashes(isText: plan.hasTextKeys)
      }
    }
    if keys.isEmpty { hasher.combine(digest) }
    return .init(
      likeness: hasher.finalize(), keys: keys, isSkipping: scans.contains { $0.skipped > 0 },
      isEmpty: facts.records == 0)
  }

  /// The same for an incremental pull, which may list many changes of one record. Pages are alike if their records have
  /// the same bytes.
  fileprivate var changes: RepeatedPages.Page {
    var hasher = Hasher()
    for scan in scans {
      body[scan.recordsAt..<max(scan.recordsAt, scan.recordsEnd)].withUnsafeBytes { hasher.combine(bytes: $0) }
    }
    let likeness = hasher.finalize()
    return .init(likeness: likeness, keys: [likeness], isEmpty: facts.records == 0)
  }
}

extension KeyList {
  fileprivate func hashes(isText: Bool) -> [Int] {
    bytes.withUnsafeBufferPointer { bytes in
      var cursor = KeyCursor(bytes, isText: isText)
      var hashes: [Int] = []
      while let key = cursor.next() {
        var hasher = Hasher()
        switch key {
        case .integer(let key): hasher.combine(key)
        case .text(let key): hasher.combine(bytes: UnsafeRawBufferPointer(key))
        }
        hashes.append(hasher.finalize())
      }
      return hashes
    }
  }
}
