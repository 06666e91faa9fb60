import FoundationEssentials
import Logging
import RosterCache
import RosterCore
import RosterDecode
import RosterFetch
import Synchronization

/// The end of a sync: its row, and the facts that status and `explain` show.
extension Sync {
  /// Publishes, unless the sync is a dry run.
  func conclude() async throws -> SyncRecord {
    try machine.publishes()
    let isDryRun = request.withLock { $0.isDryRun }
    var record = self.record.counting(tally.now)
    record.exit = 0
    for resource in machine.resourcesHeldBack {
      machine.explains(try await cache.firstOfUnknownKey(resource), of: resource)
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
    if isDryRun { return try await cache.tried(record, decisions: decisions, at: clock.now(), history: history) }
    var published = try await cache.publish(record, decisions: decisions, at: clock.now(), history: history)
    published.missed = await missed(in: record.id)
    return published
  }

  /// The first resource whose upstream ignores `since.param`, for `explain`. Pages that did not change say nothing
  /// about it, so that the last finding remains.
  private func ignoredSince() async throws -> Diagnosis? {
    if let plan = plans.first(where: { ignoresSince[$0.resource.name] == true }) {
      return .ignoredSince(plan.resource.name)
    }
    let fromMarks = lists.filter { if case .mark? = $0.start { true } else { false } }.map(\.resources[0])
    let children = plans.map(\.resource).filter(\.isIncrementalChild).map(\.name)
    guard (fromMarks + children).contains(where: { ignoresSince[$0] == nil }), let last = try await cache.lastTrouble(),
      last.kind == .ignoredSince
    else { return nil }
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
}

// MARK: The end of a sync that published nothing

extension Sync {
  /// Keeps the row of a sync that could not begin. It is written with the next one.
  func failedToBegin(_ record: SyncRecord, because error: any Error) async -> SyncRecord {
    let record = ended(record, with: error)
    await cache.noteFailedStart(record)
    await host.ended(record)
    return record
  }

  func failed(with error: any Error) async -> SyncRecord {
    var record = ended(record, with: error)
    await end(&record, pause: (error as? Failure)?.retryAfter)
    await host.ended(record)
    return record
  }

  private func ended(_ begun: SyncRecord, with error: any Error) -> SyncRecord {
    var record = begun.counting(tally.now)
    record.finishedAt = clock.now().rfc3339
    record.end(with: error)
    if !rejected.isEmpty { record.trouble?.rejected = rejected }
    return record
  }

  /// - Parameter pause: The Retry-After of the failure. It may be that of a token server, for which the gate is open.
  private func end(_ record: inout SyncRecord, pause: Duration?) async {
    let (clock, history) = (clock, host.settings.history)
    if machine.isGuarded {
      for concern in record.trouble?.concerned ?? [] where concern.kind == .resource {
        let missing = await missingItems(of: concern.name, reason: Self.isUnlisted)
        record.trouble?.concerned += missing
      }
    }
    let pauseEnd = pause.flatMap { $0 > host.settings.maxRetryAfter ? clock.now() + $0.seconds : nil }
    if let until = [gate.until(clock), host.pausedUntil, pauseEnd].compactMap({ $0 }).max() {
      await attempt("note a pause of requests") {
        try await cache.notePause(from: clock.now(), until: until, by: pausingQuestion)
      }
    }
    if machine.isConsistent {
      await attempt("keep the pulled pages") {
        try await cache.concludePull(of: record.id, isGuarded: machine.isGuarded, machine.decisions)
      }
    }
    for resource in machine.drifted + useless + [machine.unstorable].compactMap({ $0 }) {
      await attempt("drop the pulled pages") { try await cache.discard(resource) }
    }
    await attempt("write the sync's end") { [record] in
      try await cache.end(record, at: clock.now(), history: history)
    }
    machine.ended()
  }

  /// The first records without an answer of `by_key`, for `explain`.
  func missingItems(of resource: String, reason: String) async -> [AffectedItem] {
    let found = (try? await cache.missing(resource, after: 0, limit: Diagnosis.maxConcerned)) ?? []
    return found.map { .record($0.key.text, of: resource, reason: reason) }
  }

  /// Does work whose failure must not hide why the sync failed.
  private func attempt(_ what: String, work: () async throws -> Void) async {
    do { try await work() } catch { logger.error("cannot \(what): \(error)") }
  }
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
