import FoundationEssentials
import Logging
import RosterCache
import RosterCore
import RosterDecode
import RosterFetch

/// The lists of children, one level of the definitions after the other.
extension Sync {
  /// Pulls and compares the lists of all children. Their parents were compared and checked against the guard, and the
  /// missing ones were asked for.
  func pullChildren(of pull: borrowing ComparedPull, by fetcher: PageFetcher) async throws {
    for children in levels {
      for parent in Set(children.compactMap { $0.resource.each?.parent }).sorted() {
        try await pull.stageParents(parent, decision: machine.decisions[parent] ?? RemovalDecision())
      }
      try machine.descends()
      for plan in children {
        try await planLists(plan.resource.name, of: pull)
        tally.update { $0.restart(plan.resource.name, as: .each) }
        // The answers of `by_key` may have brought a Retry-After that is longer than a sync waits.
        if try await pull.session.listCounts(of: plan.resource.name).waiting > 0 { try expectOpenGate() }
      }
      let failures = try await pullLists(children, of: pull, by: fetcher)
      for plan in children {
        try await judge(
          plan.resource.name, failures: failures[plan.resource.name] ?? ListFailures(), in: pull.session)
      }
      try await askForMissing(children, in: pull.session, by: fetcher)
    }
  }

  /// The children of each level: first those of resources without parents.
  private var levels: [[RecordPlan]] {
    var known = Set(plans.filter { $0.resource.each == nil }.map(\.resource.name))
    var levels: [[RecordPlan]] = []
    while known.count < plans.count {
      let next = plans.filter { plan in
        !known.contains(plan.resource.name) && plan.resource.each.map { known.contains($0.parent) } == true
      }
      if next.isEmpty { break }
      levels.append(next)
      known.formUnion(next.map(\.resource.name))
    }
    return levels
  }

  /// Chooses the lists to request.
  private func planLists(_ resource: String, of pull: borrowing ComparedPull) async throws {
    let host = host
    let planned = try await pull.planLists(of: resource, at: clock.now(), maxAge: Pull.takeOver) {
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

  /// Sets the number of lists in the status. Lists that an interrupted sync has pulled are done.
  private func countLists(of resource: String, in session: PullSession) async throws {
    let lists = try await session.listCounts(of: resource)
    let done = lists.obtained + lists.empty + lists.failed
    tally.update { $0.setLists(of: resource, done: done, total: done + lists.waiting) }
  }

  /// Pulls the lists until each fits together, has failed, or has drifted too often. Returns the failures of each
  /// resource.
  private func pullLists(
    _ children: [RecordPlan], of pull: borrowing ComparedPull, by fetcher: PageFetcher
  ) async throws -> [String: ListFailures] {
    var failures: [String: ListFailures] = [:]
    var repeats: [Int64: Int] = [:]
    while true {
      for plan in children { try await countLists(of: plan.resource.name, in: pull.session) }
      host.entered(.pulling)
      let outcome = try await pullOnce(children, isByPage: !repeats.isEmpty, in: pull.session, by: fetcher)
      failures.merge(outcome.failures) { $0.followed(by: $1) }
      try machine.pulled()
      machine.noteUnproven(outcome.unproven)
      host.entered(.verifying)
      for (resource, ignores) in outcome.ignoresSince { note(resource, ignoresSince: ignores) }
      for (resource, signs) in outcome.nextSigns { note(resource, signs) }
      try await pullWhole(outcome.refusals, in: pull.session)
      if !outcome.lies.isEmpty {
        try machine.lied(outcome.lies)
        let distrusted = Self.withSameAddresses(outcome.lies, children)
        for (name, drifts) in outcome.drifts where distrusted[name] == nil {
          _ = try await repeatLists(name, drifts: drifts, repeats: &repeats, in: pull.session)
        }
        try await distrustLists(distrusted, of: pull)
        continue
      }
      var found: [ResourceComparison] = []
      var again = !outcome.refusals.isEmpty
      for plan in children {
        let name = plan.resource.name
        let compared = try await compareLists(name, of: pull)
        let drifts = (outcome.drifts[name] ?? []) + compared.drifts
        if try await repeatLists(name, drifts: drifts, repeats: &repeats, in: pull.session) { again = true }
        found.append(drifts.isEmpty ? compared.found : try await compareLists(name, of: pull).found)
      }
      try Task.checkCancellation()
      if again {
        try machine.reset()
        continue
      }
      try await decide(found, in: pull.session)
      reportRepeats(found)
      return failures
    }
  }

  private func pullOnce(
    _ children: [RecordPlan], isByPage: Bool, in session: PullSession, by fetcher: PageFetcher
  ) async throws -> ChildOutcome {
    let record = session.record
    let startedAt = Date(rfc3339: record.startedAt) ?? clock.now()
    let pull = Pull(
      lists: [], session: session, fetcher: fetcher, clock: clock,
      progress: PullProgress(context: .init(sync: record.id, tally: tally), host: host), startedAt: startedAt,
      pauses: await session.pauses, logger: logger)
    let supply = try await ListSupply(children, isByPage: isByPage, in: session, baseURL: baseURL, at: startedAt)
    return try await host.onTransport { try await pull.run(supply) }
  }

  private func compareLists(
    _ resource: String, of pull: borrowing ComparedPull
  ) async throws -> (found: ResourceComparison, drifts: [ListDrift]) {
    let machine = machine
    return try await pull.compareLists(of: resource) { machine.listDrift($0, count: $1) }
  }

  /// Lists whose incremental pull upstream refused, or whose delta token it forgot, are pulled whole.
  private func pullWhole(_ refusals: [String: [ListRefusal]], in session: PullSession) async throws {
    for (resource, lists) in refusals.sorted(by: { $0.key < $1.key }) {
      for list in lists {
        noteReset(resource, of: list.place.path, isTokenForgotten: list.isTokenForgotten, status: list.status)
      }
      try await session.pullAgain(resource, places: lists.map(\.place), asksWhole: true)
    }
  }

  /// Requests drifted lists again. A list that has drifted too often has failed, or is published with a weak
  /// proof if it was pulled incrementally. Returns true if a list is requested again.
  private func repeatLists(
    _ resource: String, drifts: [ListDrift], repeats: inout [Int64: Int], in session: PullSession
  ) async throws -> Bool {
    var again: [ListPlace] = []
    var ended: [ListEnd] = []
    for drift in drifts {
      let number = drift.place.number
      repeats[number, default: 0] += 1
      if repeats[number, default: 0] <= SyncMachine.maxRepeats {
        again.append(drift.place)
      } else if drift.isIncremental {
        ended.append(ListEnd(resource, at: drift.place, state: .pulled, isWeak: true))
      } else {
        ended.append(
          ListEnd(
            resource, at: drift.place,
            state: .failed(
              "its pages changed while they were pulled, \(SyncMachine.maxRepeats + 1) times: \(drift.reason)")))
      }
    }
    for end in ended where !end.isWeak { try await session.discard(resource, in: end.place) }
    try await session.endLists(ended)
    try await session.pullAgain(resource, places: again)
    return !again.isEmpty
  }

  /// If a validator of one list lied, all lists are pulled again without validators.
  private func distrustLists(_ lies: [String: ValidatorLie], of pull: borrowing ComparedPull) async throws {
    for (resource, lie) in lies.sorted(by: { $0.key < $1.key }) {
      host.tell(Event(.validatorsDistrusted, resource: resource, reason: lie.header.reason))
      try await pull.session.distrust(resource)
      try await planLists(resource, of: pull)
    }
  }

  private func decide(_ found: [ResourceComparison], in session: PullSession) async throws {
    let after = machine.compared(
      found, counts: [:], maxRemoval: host.settings.maxRemoval, allowRemoval: mayRemove)
    if case .fail(let failure) = after { throw await withReason(failure, in: session) }
  }

  /// Too many failed lists fail the sync, and so does a server error if no list was obtained.
  /// Answers 404 and 410 are no failures here.
  private func judge(_ resource: String, failures: ListFailures, in session: PullSession) async throws {
    let counts = try await session.listCounts(of: resource)
    guard counts.failed > 0 else { return }
    let examples = try await session.failedLists(of: resource, limit: Diagnosis.maxConcerned)
    let failed = counts.failed - counts.notFound
    let areTooMany = failed > 8 && failed * 100 > counts.requested
    let isFirst = !counts.wasEverPulled && counts.obtained == 0
    let outage = counts.obtained == 0 ? failures.serverError : nil
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
}
