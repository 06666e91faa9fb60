import FoundationEssentials
import RosterCache
import RosterCore
import RosterDecode
import RosterFetch

/// Requests each record that no page lists any more: an absent record is not always a deleted one. No answer of an
/// earlier sync is used.
struct MissingRecords: Sendable {
  /// Number of records that are looked up, requested and kept together.
  private static let window = 1_000

  let plan: RecordPlan
  let requests: KeyRequests
  /// The list of a child; the only list of a resource by default.
  var place = ListPlace()
  let cache: Cache
  let fetcher: PageFetcher
  let concurrency: Int
  /// After a longer Retry-After no further key is asked for.
  let maxRetryAfter: Duration
  let clock: WallClock
  let context: PageFetcher.SyncContext
  /// The pauses of earlier syncs, with the questions that led to them.
  let pauses: RequestPauses

  /// One request, and a key that the answer must have. Without that key, an answer shows only which keys upstream has.
  private struct Question {
    var lookup: KeyRequests.KeyLookup
    var witness: String?

    /// The keys that it asks for.
    var keys: [String] { lookup.keys.filter { $0.bytes != witness?.bytes } }
  }

  private enum Step {
    case answered(Question, FetchedRecords)
    /// Other questions may have answers.
    case failed(Failure)
    /// No further question is asked.
    case ended(Failure, KeyRequests.KeyLookup)
  }

  /// Requests the missing records, and keeps the answers for the publication. A question without an answer does not
  /// hold up the others. Throws only a failure that ends the sync.
  func ask(_ answers: inout KeyAnswers) async throws {
    if pauses.questions.contains(plan.resource.name) { return answers.end(leftOut(nil)) }
    // A key that the cache does not have has a negative id.
    var last = Int64.min
    while !answers.hasEnded,
      case let missing = try await cache.missing(
        plan.resource.name, list: place.number, after: last, limit: Self.window),
      let highest = missing.last
    {
      last = highest.id
      let lookups = requests.requests(for: missing.map(\.key.text))
      for lookup in lookups where endedSync(lookup) { answers.failed(leftOut(lookup)) }
      try await fetch(lookups.filter { !endedSync($0) }.map { Question(lookup: $0) }, answers: &answers)
    }
  }

  /// Requests keys that `by_key` must find.
  /// - Parameter isConclusive: False if upstream may have removed the records of these keys.
  func control(_ keys: [MissingRecord.Key], isConclusive: Bool, answers: inout KeyAnswers) async throws {
    if pauses.questions.contains(plan.resource.name) { return answers.end(leftOut(nil)) }
    guard let lookup = requests.control(for: keys.map(\.text), several: answers.hasSeveralKeys) else {
      answers.control = .unproven
      return
    }
    if endedSync(lookup) { return answers.failed(leftOut(lookup)) }
    let wanted = Set(lookup.keys.map(\.bytes))
    do {
      let found = try await fetcher.fetch(lookup, plan: plan, for: context, isListed: true).scan.keys(by: plan)
      answers.control =
        !wanted.isDisjoint(with: found)
        ? .found : isConclusive ? .notFound(ControlQuestion(keys: lookup.keys, request: lookup.request)) : .unproven
    } catch let failure as Failure where !failure.endsSync { end(failure, at: lookup, answers: &answers) }
  }

  /// Number of keys from which one or two are chosen for the control question.
  static let controlKeys = 20

  // MARK: Questions that are left out

  /// True if the answer to this question ended an earlier sync with a pause, and no sync was published since. Asked
  /// again, it could end each sync before the lists of children are pulled.
  private func endedSync(_ lookup: KeyRequests.KeyLookup) -> Bool {
    pauses.questions.contains(lookup.request.url)
  }

  /// - Parameter lookup: nil if the questions for the resource used up `limit.budget`.
  private func leftOut(_ lookup: KeyRequests.KeyLookup?) -> Failure {
    let name = plan.resource.name
    var failure = Failure(
      .unreachable, step: "ask for records of \(name)", subject: lookup?.request.shownURL ?? name,
      cause: lookup == nil
        ? "such questions used up limit.budget and ended a sync, so this sync does not ask"
        : "the last answer had a Retry-After beyond max_retry_after and ended a sync, so this sync does not ask",
      hint: "try by_key of [resource.\(name)] by hand; once a sync succeeds, the next asks again")
    failure.concerned = (lookup.map { [$0.request.concern] } ?? []) + [.resource(name)]
    return failure
  }

  // MARK: Requests

  private func fetch(_ questions: [Question], answers: inout KeyAnswers) async throws {
    try await withThrowingTaskGroup(of: Step.self) { group in
      var (waiting, inFlight) = (questions[...], 0)
      while true {
        while !answers.hasEnded, inFlight < concurrency, let question = waiting.popFirst() {
          inFlight += 1
          group.addTask { try await step(question) }
        }
        guard let result = await group.nextResult() else { return }
        inFlight -= 1
        switch result {
        case .success(.answered(let question, let answer)):
          // First of all, so that a useless by_key shows before all keys were asked for in vain.
          waiting = try await take(answer, to: question, answers: &answers)[...] + waiting
        case .success(.failed(let failure)): answers.failed(failure)
        case .success(.ended(let failure, let lookup)):
          end(failure, at: lookup, answers: &answers)
          group.cancelAll()
        // The end of the questions has cancelled this one.
        case .failure(is CancellationError) where answers.hasEnded && !Task.isCancelled: break
        case .failure(let error): throw error
        }
      }
    }
  }

  /// Throws only a failure that ends the sync.
  private func step(_ question: Question) async throws -> Step {
    do { return .answered(question, try await fetcher.fetch(question.lookup, plan: plan, for: context)) } catch let
      failure as Failure where !failure.endsSync
    {
      let isOwn = failure.concerns(question.lookup) && !failure.isPause(beyond: maxRetryAfter)
      return isOwn ? .failed(failure) : .ended(failure, question.lookup)
    }
  }

  /// Ends the questions. If they ended this sync before the lists of children are pulled, the next one must not ask the
  /// same again.
  private func end(_ failure: Failure, at lookup: KeyRequests.KeyLookup, answers: inout KeyAnswers) {
    if failure.trouble == .budget {
      answers.pausing = plan.resource.name
    } else if failure.isPause(beyond: maxRetryAfter), failure.concerned.contains(lookup.request.concern) {
      answers.pausing = lookup.request.url
    }
    answers.end(failure)
  }

  // MARK: Answers

  /// Notes which keys upstream has, and which it does not have. Returns the questions for keys about which the answer
  /// does not say enough.
  ///
  /// An answer may have fewer records than were asked for, because upstream limits their number. Therefore the rest is
  /// asked for again, together with a key that was found, until an answer has that key and no other one. A
  /// record of unknown key may be any of the rest, so that smaller parts of the rest are asked for.
  private func take(
    _ answer: FetchedRecords, to question: Question, answers: inout KeyAnswers
  ) async throws -> [Question] {
    if !question.lookup.isSingle { answers.hasSeveralKeys = true }
    if answer.isRefusal { return try await smallerQuestions(question) }
    let received = answer.scan.keys(by: plan)
    let known = Set(received)
    let asked = question.lookup.keys
    let strangers = known.count { key in !asked.contains { $0.bytes == key || $0.resembles(key) } }
    if strangers > 0, asked.contains(where: { !known.contains($0.bytes) }) {
      // A record may have been merged into the stranger.
      if known.count <= asked.count, asked.count > 1 { return try await smallerQuestions(question) }
      if known.count > asked.count {
        answers.failed(ignoredKeys(strangers, question))
        return []
      }
    }
    let found = question.keys.filter { known.contains($0.bytes) }
    let rest = unlike(received, among: question.keys.filter { !known.contains($0.bytes) }, of: question, &answers)
    let isWhole = question.witness.map { known.contains($0.bytes) } ?? true
    // It is a record that upstream has, as that of a control question.
    if question.witness != nil, isWhole { answers.control = .found }
    if rest.isEmpty || found.isEmpty && isWhole && answer.scan.rejectsOfUnknownKey == 0 {
      try await keep(answer, notFound: rest)
      answers.answered(found: found.count, notFound: rest.count, rejected: answer.scan.rejects)
      return []
    }
    if let witness = question.witness ?? found.first, !found.isEmpty {
      try await keep(answer, notFound: [])
      answers.answered(found: found.count, notFound: 0, rejected: answer.scan.rejects)
      return [self.question(rest, witness: witness)]
    }
    let half = rest.count / 2
    let parts = rest.count == 1 ? [rest] : [Array(rest[..<half]), Array(rest[half...])]
    return parts.map { self.question($0, witness: rest.count == 1 ? nil : question.witness) }
  }

  /// The failure of an answer with more records than were asked for. It may be the list itself, which does not show
  /// whether a record that is not listed exists.
  private func ignoredKeys(_ strangers: Int, _ question: Question) -> Failure {
    let name = plan.resource.name
    var failure = Failure(
      .badAnswer, step: "ask for records of \(name)", subject: question.lookup.request.shownURL,
      cause: "the answer has \(strangers.counted(as: "record")) that the request does not name: upstream ignores "
        + "the keys in it",
      hint: "see which parameter the API's documentation names, and correct by_key of [resource.\(name)]")
    failure.concerned = [question.lookup.request.concern, .resource(name)]
    return failure
  }

  /// Asks again for the keys of a refused question, together with a key that upstream has just listed. Without such a
  /// key the refusal may mean all of them. If that is refused too, its halves are asked for, down to single keys.
  private func smallerQuestions(_ question: Question) async throws -> [Question] {
    let keys = question.keys
    if keys.count == 1 { return [self.question(keys, witness: nil)] }
    let halves = [Array(keys[..<(keys.count / 2)]), Array(keys[(keys.count / 2)...])]
    if let witness = question.witness { return halves.map { self.question($0, witness: witness) } }
    let known = try await cache.seenKeys(plan.resource.name, list: place.number, limit: 1).first?.text
    let parts = known != nil && keys.count < KeyRequests.maxKeys ? [keys] : halves
    return parts.map { self.question($0, witness: known) }
  }

  private func question(_ keys: [String], witness: String?) -> Question {
    Question(lookup: requests.request(for: keys + (witness.map { [$0] } ?? [])), witness: witness)
  }

  /// The keys without those that resemble a received key. Such a key has no answer.
  private func unlike(
    _ received: [[UInt8]], among keys: [String], of question: Question, _ answers: inout KeyAnswers
  ) -> [String] {
    if keys.isEmpty || received.isEmpty { return keys }
    let asked = Set(question.lookup.keys.map(\.bytes))
    let folded = Set(received.filter { !asked.contains($0) }.map { String(decoding: $0, as: UTF8.self).lowercased() })
    let unlike = keys.filter { !folded.contains($0.lowercased()) }
    if unlike.count < keys.count {
      var failure = Failure(
        .badAnswer, step: "ask for records of \(plan.resource.name)", subject: question.lookup.request.shownURL,
        cause: "the answer has a key in another case or Unicode normalization",
        hint: "correct key or by_key of [resource.\(plan.resource.name)]")
      failure.concerned = [question.lookup.request.concern, .resource(plan.resource.name)]
      answers.unclear(failure)
    }
    return unlike
  }

  private func keep(_ answer: FetchedRecords, notFound: [String]) async throws {
    let page = PageBody(
      resource: plan.resource.name, number: 0, address: answer.url, receivedAt: clock.now(), body: answer.body,
      digest: answer.digest, scan: answer.scan, place: place)
    try await cache.keep(page, notFound: notFound)
  }
}

extension String {
  /// Strings that differ only in their normalization are equal, but not as keys.
  fileprivate var bytes: [UInt8] { Array(utf8) }
  /// True if a key differs only in case or normalization.
  fileprivate func resembles(_ key: [UInt8]) -> Bool {
    lowercased() == String(decoding: key, as: UTF8.self).lowercased()
  }
}

extension Failure {
  /// True if the failure says nothing about other questions: a useless answer, a server error, or a dropped connection.
  fileprivate func concerns(_ lookup: KeyRequests.KeyLookup) -> Bool {
    if kind == .badAnswer { return true }
    // A failed token request concerns all questions.
    guard kind == .unreachable, concerned.contains(lookup.request.concern) else { return false }
    return switch reason {
    case .status, .connection, .timeout, .truncated: true
    default: false
    }
  }

  /// True if the failure of a question ends the sync. Otherwise the sync publishes what it has pulled.
  var endsSync: Bool {
    switch kind {
    case .cannotWrite, .defect: true
    case .unreachable: trouble == .noNetwork
    default: false
    }
  }
}

extension MissingRecord.Key {
  var text: String {
    switch self {
    case .integer(let number): "\(number)"
    case .text(let text): text
    }
  }
}

// MARK: The step of a sync

extension Sync {
  /// Requests the missing records. One that has no answer stays. The sync continues, unless the failure concerns
  /// all requests.
  func askForMissing(_ plans: [RecordPlan], by fetcher: PageFetcher) async throws {
    for plan in plans where machine.asks(for: plan.resource.name) {
      var answers = try await answers(plan, by: fetcher)
      pausingQuestion = pausingQuestion ?? answers.pausing
      if answers.failure != nil {
        let reason = incremental.contains(plan.resource.name) ? "upstream says that it changed" : Self.isUnlisted
        answers.failure?.concerned += await missingItems(of: plan.resource.name, reason: reason)
      }
      try machine.asked(plan.resource.name, answers: answers, allowRemoval: mayRemove)
      try await guardAsked(plan.resource.name)
    }
  }

  static let isUnlisted = "upstream lists it no more"

  /// Asks for the missing records of each list. At most one control question is asked. It comes first if
  /// `limit.budget` has no room for all questions, because nothing is removed without its answer.
  private func answers(
    _ plan: RecordPlan, by fetcher: PageFetcher
  ) async throws -> KeyAnswers {
    var answers = KeyAnswers()
    do { try expectOpenGate() } catch let failure as Failure {
      // The answers for another resource may have brought a Retry-After that is longer than a sync waits.
      answers.end(failure)
      return answers
    }
    let lists = try await lists(toAskFor: plan)
    guard let first = lists.first else { return answers }
    if plan.resource.hasMovingRecords {
      answers.answered(found: 0, notFound: try await cache.noteMoved(plan.resource.name), rejected: 0)
    }
    if !host.permits(requests: machine.questions(about: plan.resource.name) + 1) {
      try await askControl(plan, preferring: first, answers: &answers, by: fetcher)
    }
    for list in lists where !answers.hasEnded {
      try await missing(plan, list: list, by: fetcher)?.ask(&answers)
      if answers.needsControl {
        try await askControl(plan, preferring: list, answers: &answers, by: fetcher)
        // No record of any list is removed.
        if case .notFound = answers.control { break }
      }
    }
    return answers
  }

  private func lists(toAskFor plan: RecordPlan) async throws -> [WantedList] {
    let name = plan.resource.name
    guard plan.resource.each == nil else { return try await cache.listsToAskFor(name) }
    let start = lists.first { $0.resources.contains(name) }?.start
    return [.only(from: start)]
  }

  /// Asks `by_key` for a key that it must find: one that this pull has seen in the list, else in another list. If
  /// it saw none, the latest record of the snapshot takes its place, of this list or of another one.
  private func askControl(
    _ plan: RecordPlan, preferring list: WantedList, answers: inout KeyAnswers,
    by fetcher: PageFetcher
  ) async throws {
    let (name, limit) = (plan.resource.name, MissingRecords.controlKeys)
    // With `ask`, a page of an incremental pull has keys that upstream may not have any more.
    let hasRecords = list.start == nil || plan.resource.since?.asks != true
    if hasRecords, case let keys = try await cache.seenKeys(name, list: list.place.number, limit: limit),
      !keys.isEmpty
    {
      try await missing(plan, list: list, by: fetcher)?
        .control(keys, isConclusive: true, answers: &answers)
    } else if let other = plan.resource.each == nil ? nil : try await cache.seenList(of: name) {
      let keys = try await cache.seenKeys(name, list: other.place.number, limit: limit)
      try await missing(plan, list: other, by: fetcher)?
        .control(keys, isConclusive: true, answers: &answers)
    } else if let latest = try await cache.latestKeys(name, in: list.place, limit: limit) {
      var other = list
      other.values = latest.values
      try await missing(plan, list: other, by: fetcher)?
        .control(latest.keys, isConclusive: latest.isOfList, answers: &answers)
    } else {
      answers.control = .unproven
    }
  }

  private func missing(
    _ plan: RecordPlan, list: WantedList, by fetcher: PageFetcher
  ) async throws -> MissingRecords? {
    let filled = plan.resource.each == nil ? plan.resource : try plan.resource.filled(with: list.values)
    guard let requests = KeyRequests(filled, baseURL: baseURL, template: plan.resource) else { return nil }
    return MissingRecords(
      plan: filled.conditions == plan.resource.conditions ? plan : try RecordPlan(filled), requests: requests,
      place: list.place, cache: cache, fetcher: fetcher, concurrency: host.settings.concurrency,
      maxRetryAfter: host.settings.maxRetryAfter, clock: clock,
      context: .init(sync: record.id, tally: tally),
      pauses: await cache.pauses)
  }

  /// The guard holds for records of an incremental pull that `by_key` did not find.
  private func guardAsked(_ resource: String) async throws {
    guard machine.asksForChanges(resource) else { return }
    try machine.guardAsked(
      resource, leaving: try await cache.notFound(resource), maxRemoval: host.settings.maxRemoval,
      allowRemoval: mayRemove)
  }
}
