package import FoundationEssentials
package import RosterCore

/// A pull that `Cache.begin` has started: the steps of a sync that need one. `compare` leads to its publication, and
/// `end` to its end without one. Each step throws (73) if the cache was replaced since the sync began.
package struct PullSession: Sendable {
  let cache: Cache
  /// The row of the sync, with the facts that are known at its beginning.
  package let record: SyncRecord

  // MARK: What earlier pulls know

  /// Begins a sync that transfers everything again: forgets the pages that an earlier one kept.
  package nonisolated(nonsending) func beginFresh() async throws {
    try await cache.beginFresh()
  }

  /// Time of the last whole pull of a resource with one list. If it is not noted, or the resource is a child, the time
  /// of the last published or unchanged sync. nil without one.
  package nonisolated(nonsending) func lastWholePull(of resource: String) async throws -> Date? {
    try await cache.lastWholePull(of: resource)
  }

  /// Facts of earlier pulls of a resource with `since`.
  package nonisolated(nonsending) func sinceHistory(of resource: String) async throws -> SinceHistory {
    try await cache.sinceHistory(of: resource)
  }

  /// Number of requests of the last whole pull of a resource. Its pages replace a row that `history` has ended.
  package nonisolated(nonsending) func wholeRequests(of resource: String) async throws -> Int {
    try await cache.wholeRequests(of: resource)
  }

  /// Says whether this sync pulls only the records of a resource that changed.
  package nonisolated(nonsending) func pullIncrementally(_ resource: String, when isIncremental: Bool) async {
    await cache.pullIncrementally(resource, when: isIncremental)
  }

  /// The known facts of the pages of a list at these addresses. An address without known facts is left out.
  package nonisolated(nonsending) func known(
    _ resource: String, in place: ListPlace = ListPlace(), addresses: [String]
  ) async throws -> [String: CachedPage] {
    try await cache.known(resource, in: place, addresses: addresses)
  }

  /// True if the snapshot has records of the list, whatever is known of its pages.
  package nonisolated(nonsending) func hasRecords(_ resource: String, in place: ListPlace) async throws -> Bool {
    try await cache.hasRecords(resource, in: place)
  }

  /// True if the records of a transferred page differ from its stored records. The rest of the body does not
  /// matter.
  package nonisolated(nonsending) func differs(_ page: PageBody) async throws -> Bool {
    try await cache.differs(page)
  }

  // MARK: The pages of a pull

  /// Keeps transferred pages with one append. A page replaces an earlier page of the same address.
  package nonisolated(nonsending) func append(_ pages: [PageBody]) async throws {
    try await cache.append(pages)
  }

  /// Makes known pages part of this pull.
  package nonisolated(nonsending) func confirm(
    _ resource: String, pages: [ConfirmedPage], in place: ListPlace = ListPlace()
  ) async throws {
    try await cache.confirm(resource, pages: pages, in: place)
  }

  /// Drops the pulled pages of a resource, or of one of its lists, because they do not fit together. The sync
  /// ignores its known pages from here on, so that the next pull requests every page whole.
  /// - Parameter keepsPublished: True if published pages may still be confirmed: only the question was wrong.
  package nonisolated(nonsending) func discard(
    _ resource: String, in place: ListPlace? = nil, keepsPublished: Bool = false
  ) async throws {
    try await cache.discard(resource, in: place, keepsPublished: keepsPublished)
  }

  /// Drops the pulled pages of a resource, and all pages that its validators confirmed: they lied. The validators
  /// are not used until another definition or a fresh sync is published, even if this sync is not published.
  package nonisolated(nonsending) func distrust(_ resource: String) async throws {
    try await cache.distrust(resource)
  }

  /// The pauses of requests since the oldest pulled page.
  package var pauses: RequestPauses { get async { await cache.pauses } }

  /// Notes that no request is allowed between these times, if an interrupted sync has pulled pages. The end of a whole
  /// pull stays the last entry: its pages wait for a decision, not for requests.
  /// - Parameter question: address of the question of `by_key` that brought the pause; nil if another answer did.
  package nonisolated(nonsending) func notePause(
    from start: Date, until end: Date, by question: String? = nil
  ) async throws {
    try await cache.notePause(from: start, until: end, by: question)
  }

  // MARK: Lists

  /// Notes the parents that this pull adds, or changes so that lists of their children depend on it, and those that the
  /// publication will remove. Call it when the resource was compared, and its missing records were asked for.
  package nonisolated(nonsending) func stageParents(_ resource: String, decision: RemovalDecision) async throws {
    try await cache.stageParents(resource, decision: decision)
  }

  /// Decides which lists of a child this sync requests, and which of them it pulls whole. Lists that an
  /// interrupted sync has pulled to their end become part of the pull.
  /// - Parameters:
  ///   - maxAge: Largest age of such a list that is used although the definition has no `changed`.
  ///   - permits: True if the budget has room for that number of requests.
  /// - Returns: The whole pulls for which it has none, and the pages of lists of the interrupted sync.
  @discardableResult
  package nonisolated(nonsending) func planLists(
    of resource: String, at now: Date, maxAge: Duration, permits: @Sendable (Int) -> Bool
  ) async throws -> PlannedLists {
    try await cache.planLists(of: resource, at: now, maxAge: maxAge, permits: permits)
  }

  /// Lists to request, in the order of their numbers.
  package nonisolated(nonsending) func wantedLists(
    of resource: String, after number: Int64, limit: Int
  ) async throws -> [WantedList] {
    try await cache.wantedLists(of: resource, after: number, limit: limit)
  }

  /// Ends lists. The pages of a complete one are kept until they are published.
  package nonisolated(nonsending) func endLists(_ ends: [ListEnd]) async throws {
    try await cache.endLists(ends)
  }

  /// Requests lists again, because their pages did not fit together.
  /// - Parameter asksWhole: True if upstream refused to continue their incremental pulls instead.
  package nonisolated(nonsending) func pullAgain(
    _ resource: String, places: [ListPlace], asksWhole: Bool = false
  ) async throws {
    try await cache.pullAgain(resource, places: places, asksWhole: asksWhole)
  }

  /// Numbers of lists of a child in this sync.
  package nonisolated(nonsending) func listCounts(of resource: String) async throws -> ListCounts {
    try await cache.listCounts(of: resource)
  }

  /// The first failed lists of this pull, and the first vanished ones.
  package nonisolated(nonsending) func failedLists(of resource: String, limit: Int) async throws -> [FailedList] {
    try await cache.failedLists(of: resource, limit: limit)
  }

  // MARK: Comparison and missing records

  /// Compares the complete lists of a resource with the snapshot. Every page is a sign of life. Throws
  /// CancellationError if `interruptPublish` or a cancelled task ended it.
  /// - Parameter drift: The reason why the pages of a list do not fit together; nil if they fit. Its arguments are the
  ///   comparison of the list, and the number of records that upstream reports for a list of a child.
  /// - Returns: The sums over all lists, and the lists with a drift.
  package nonisolated(nonsending) func compare(
    _ resource: String, drift: @Sendable (ResourceComparison, Int?) -> String?
  ) async throws -> (found: ResourceComparison, drifts: [ListDrift]) {
    try await cache.endingWithTask { try await $0.compare(resource, drift: drift) }
  }

  /// The first records that cannot be stored, from the pages of the last `compare`. Long records are shortened.
  package nonisolated(nonsending) func rejected(_ resource: String, limit: Int) async throws -> [RejectedRecord] {
    try await cache.rejected(resource, limit: limit)
  }

  /// The first rejected record of unknown key on the pages of the last `compare`.
  package nonisolated(nonsending) func firstOfUnknownKey(_ resource: String) async throws -> RejectedRecord? {
    try await cache.firstOfUnknownKey(resource)
  }

  /// The missing records of the last comparison that no kept answer has, by ascending id.
  package nonisolated(nonsending) func missing(
    _ resource: String, list: Int64 = 0, after id: Int64, limit: Int
  ) async throws -> [MissingRecord] {
    try await cache.missing(resource, list: list, after: id, limit: limit)
  }

  /// The lists of a child with records that `by_key` is asked for, with the values of their parents.
  package nonisolated(nonsending) func listsToAskFor(_ resource: String) async throws -> [WantedList] {
    try await cache.listsToAskFor(resource)
  }

  /// Number of records of the snapshot that incremental pulls asked `by_key` for and that it did not find.
  package nonisolated(nonsending) func notFound(_ resource: String) async throws -> Int {
    try await cache.notFound(resource)
  }

  /// Keeps an answer of `by_key`, scanned as an answer, for this sync. Its records are kept in the snapshot and
  /// updated. A record that cannot be stored keeps its last good version. Records that were not requested are
  /// ignored. No later sync uses the answer.
  /// - Parameter notFound: The keys that upstream does not have, by this answer.
  package nonisolated(nonsending) func keep(_ answer: PageBody, notFound: [String]) async throws {
    try await cache.keep(answer, notFound: notFound)
  }

  /// Keys of storable records on the last page that this sync received. Without such a page: of one that an
  /// interrupted sync received, else of an unchanged one.
  package nonisolated(nonsending) func seenKeys(
    _ resource: String, list: Int64, limit: Int
  ) async throws -> [MissingRecord.Key] {
    try await cache.seenKeys(resource, list: list, limit: limit)
  }

  /// A list of a child whose pages in this sync have a storable record, for a control question. nil if no list
  /// has one.
  package nonisolated(nonsending) func seenList(of resource: String) async throws -> WantedList? {
    try await cache.seenList(of: resource)
  }

  /// Keys for a control question: of the records of the snapshot that changed last, in this list, else in one
  /// other list. Records that this pull misses are left out. A record that the last whole pull missed comes last,
  /// because upstream has probably deleted it. nil if no record is left.
  package nonisolated(nonsending) func latestKeys(
    _ resource: String, in place: ListPlace, limit: Int
  ) async throws -> LatestKeys? {
    try await cache.latestKeys(resource, in: place, limit: limit)
  }

  // MARK: The end

  /// Ends a sync that is not meant to publish. Counts what it would have changed, keeps its pulled pages for the next
  /// sync, and writes its row.
  ///
  /// Throws CancellationError if `interruptPublish` or a cancelled task interrupted it.
  /// - Parameters:
  ///   - report: Its exit and error are written unchanged. The result is the written row, with the outcome `tried`.
  ///   - decisions: As in `publish`.
  package nonisolated(nonsending) func tried(
    _ report: SyncRecord, decisions: [String: RemovalDecision], at now: @autoclosure @escaping @Sendable () -> Date,
    history: Duration
  ) async throws -> SyncRecord {
    try await cache.endingWithTask {
      try await $0.expectComparisons()
      return try await $0.tried(report, decisions: decisions, at: now(), history: history)
    }
  }

  /// Publishes the pulled pages of this sync as the snapshot, all resources in one transaction with the sync's own row,
  /// and deletes expired history. If nothing is new, it writes only that row and those of `sync_resources`. Throws (70)
  /// unless each resource was compared.
  ///
  /// Throws CancellationError if `interruptPublish` or a cancelled task interrupted it: then nothing has changed.
  /// - Parameters:
  ///   - report: Its exit and error are written unchanged. The result is the written row, published or unchanged.
  ///   - decisions: Decisions by the names of resources. A missing resource has the default.
  ///   - now: Evaluated at the beginning for `changes`, and at the end for the row.
  package nonisolated(nonsending) func publish(
    _ report: SyncRecord, decisions: [String: RemovalDecision], at now: @autoclosure @escaping @Sendable () -> Date,
    history: Duration
  ) async throws -> SyncRecord {
    try await cache.endingWithTask {
      try await $0.expectComparisons()
      return try await $0.publish(report, decisions: decisions, at: now(), history: history)
    }
  }

  /// Keeps the composition of a whole pull, so that readers can compare it with the snapshot.
  /// - Parameters:
  ///   - isGuarded: True if the removal guard stopped the pull: the next sync pulls its pages without a validator
  ///     again.
  ///   - decisions: The decisions of the publication about missing records, if it made any.
  package nonisolated(nonsending) func concludePull(
    of sync: Int64, isGuarded: Bool, _ decisions: [String: RemovalDecision]
  ) async throws {
    try await cache.concludePull(of: sync, isGuarded: isGuarded, decisions)
  }

  /// Writes the row of a sync that failed or was cancelled, and deletes expired history. Reopens replaced or damaged
  /// files first. A row that cannot be written is written with the next sync's row, or on closing.
  package nonisolated(nonsending) func end(_ report: SyncRecord, at date: Date, history: Duration) async throws {
    try await cache.end(report, at: date, history: history)
  }
}

extension Cache {
  /// Interrupts the work when the task is cancelled.
  fileprivate nonisolated(nonsending) func endingWithTask<Result>(
    _ work: (Cache) async throws -> Result
  ) async throws -> Result {
    try await withTaskCancellationHandler {
      try await work(self)
    } onCancel: {
      interruptPublish()
    }
  }
}
