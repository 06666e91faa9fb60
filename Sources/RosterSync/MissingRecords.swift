import FoundationEssentials
import RosterCache
import RosterDecode
import RosterFetch
import RosterModel

/// Requests each record that no page lists any more (P8): an absent record is not always a deleted one.
struct MissingRecords: Sendable {
  /// Number of records that are looked up, requested and kept together.
  private static let window = 1_000
  /// After this number of failures in a row, upstream does not seem to support such requests.
  static let maxFailures = 8

  let plan: RecordPlan
  let requests: KeyRequests
  /// The list of a child; the only list of a resource by default.
  var place = ListPlace()
  let session: PullSession
  let fetcher: PageFetcher
  let concurrency: Int
  /// After a longer Retry-After no further key is asked for (P11.10).
  let maxRetryAfter: Duration
  let clock: WallClock
  let context: PageFetcher.SyncContext
  /// True if the keys are those of an incremental pull (I9.1), and not those that a whole pull misses.
  let isIncremental: Bool
  /// True if only records with a vanished child list are asked for (E7.4): an incremental pull misses no other.
  var onlyDoubted = false
  /// Start of the sync, if the resource has `since`: the mark may be above the time of an older answer (I2.1).
  let notBefore: Date?
  /// Times without requests, by which kept answers do not become older (E8.1).
  let pauses: RequestPauses

  /// The end of the asking by an answer whose Retry-After is longer than a sync waits (E7.8).
  struct Pause: Error {
    let failure: Failure
    /// The whole address of the question, which no output may show.
    let question: String
  }

  /// Requests the missing records, and keeps those that upstream still has for the publication. A question without an
  /// answer does not hold up the others. Throws after many failures in a row, or if upstream is out of reach.
  /// - Parameter controls: True to ask the control question if nothing else shows that `by_key` works (P16).
  func ask(controls: Bool = true) async throws -> KeyAnswers {
    var last: Int64 = isIncremental ? .min : 0
    var asked = Asked()
    while case let missing = try await session.missing(
      plan.resource.name, list: place.number, after: last, limit: Self.window, onlyDoubted: onlyDoubted),
      let highest = missing.last
    {
      last = highest.id
      try await ask(requests.requests(for: missing.map(\.key.text)), asked: &asked)
    }
    if asked.answers.failure == nil, controls, asked.answers.needsControl {
      asked.answers = try await controlled(asked.answers)
    }
    return asked.answers
  }

  /// Requests keys that this pull has just seen (P16). If an incremental pull received no record, or asks for all that
  /// it received, the latest records of the cache take their place (I9.2). Returns the answers with the question if its
  /// answer has none of the keys.
  func controlled(_ answers: KeyAnswers) async throws -> KeyAnswers {
    var answers = answers
    let name = plan.resource.name
    var seen: [MissingRecord.Key] = []
    if !isIncremental || onlyDoubted {
      seen = try await session.seenKeys(name, list: place.number, limit: Self.seenKeys)
    }
    if isIncremental, seen.isEmpty {
      seen = try await session.latestKeys(name, in: place, limit: Self.seenKeys)
    }
    answers.lacksSeenKey = seen.isEmpty
    guard let lookup = requests.control(for: seen.map(\.text), several: answers.hasSeveralKeys) else { return answers }
    if try await controlKeys(lookup).isDisjoint(with: lookup.keys.map { Array($0.utf8) }) {
      answers.failedControl = ControlQuestion(keys: lookup.keys, request: lookup.request)
    }
    return answers
  }

  /// The keys in the answer to a control question, as the bytes of their texts. Strings that differ only in their
  /// normalization are different keys.
  private func controlKeys(_ lookup: KeyRequests.KeyLookup) async throws -> Set<[UInt8]> {
    let kept = try await session.keptKeys(
      plan.resource.name, list: place.number, answer: lookup.request.url, receivedIn: recently)
    if let kept { return Set(kept.map { Array($0.text.utf8) }) }
    if endedSync(lookup) { throw leftOut(lookup) }
    let answer = try await answer(lookup)
    try await session.keepControl(page(answer))
    return answer.scan.keys(by: plan)
  }

  /// Number of seen keys from which one or two are chosen for the control question.
  private static let seenKeys = 20

  private struct Asked {
    var answers = KeyAnswers()
    /// Number of failures since the last answer.
    private var failures = 0

    mutating func failed(_ failure: Failure) throws(Failure) {
      answers.failure = answers.failure ?? failure
      failures += 1
      if failures == MissingRecords.maxFailures { throw failure }
    }

    mutating func answered(_ lookup: KeyRequests.KeyLookup, kept: KeptAnswer) {
      failures = 0
      answers.rejected += kept.rejected
      answers.found += kept.found
      answers.notFound += lookup.keys.count - kept.found
      if !lookup.isSingle { answers.hasSeveralKeys = true }
    }
  }

  private func ask(_ lookups: [KeyRequests.KeyLookup], asked: inout Asked) async throws {
    var waiting: [KeyRequests.KeyLookup] = []
    for lookup in lookups {
      let kept = try await session.takeOver(
        plan.resource.name, list: place.number, answer: lookup.request.url, receivedIn: recently)
      if let kept {
        asked.answered(lookup, kept: kept)
      } else if endedSync(lookup) {
        try asked.failed(leftOut(lookup))
      } else {
        waiting.append(lookup)
      }
    }
    try await fetchAll(waiting, asked: &asked)
  }

  /// True if the answer to this question ended an earlier sync with a pause, and no sync was published since. Asked
  /// again, it could end each sync before the lists of children are pulled (E7.8).
  private func endedSync(_ lookup: KeyRequests.KeyLookup) -> Bool {
    pauses.questions.contains(lookup.request.url)
  }

  private func leftOut(_ lookup: KeyRequests.KeyLookup) -> Failure {
    var failure = Failure(
      .unreachable, step: "ask for records of \(plan.resource.name)", subject: lookup.request.shownURL,
      cause: "the last answer had a Retry-After beyond max_retry_after and ended a sync, so this sync does not ask",
      hint: "try by_key of [resource.\(plan.resource.name)] by hand; once a sync succeeds, the next asks again")
    failure.concerned = [lookup.request.concern, .resource(plan.resource.name)]
    return failure
  }

  /// Answers of these times are not requested again (P4).
  private var recently: Range<Date> {
    let now = clock.now()
    let end = now.addingTimeInterval(1)
    return min(end, notBefore ?? pauses.earliest(age: Pull.takeOver, at: now))..<end
  }

  private func fetchAll(_ lookups: [KeyRequests.KeyLookup], asked: inout Asked) async throws {
    try await withThrowingTaskGroup(of: Result<(KeyRequests.KeyLookup, FetchedRecords), Failure>.self) { group in
      var waiting = lookups[...]
      for lookup in waiting.prefix(concurrency) { group.addTask { try await fetch(lookup) } }
      waiting = waiting.dropFirst(concurrency)
      do {
        while let answer = try await group.next() {
          if let lookup = waiting.popFirst() { group.addTask { try await fetch(lookup) } }
          try await handle(answer, asked: &asked)
        }
      } catch let failure as Failure where failure.endsSync(of: plan.resource) {
        group.cancelAll()
        await keepAnswers(in: &group)
        throw failure
      }
    }
  }

  /// Keeps the answers that arrived before the sync ended, so that the next sync does not ask for them again (P4).
  private func keepAnswers(
    in group: inout ThrowingTaskGroup<Result<(KeyRequests.KeyLookup, FetchedRecords), Failure>, any Error>
  ) async {
    while let result = await group.nextResult() {
      if case .success(.success(let (lookup, answer))) = result { _ = try? await keep(answer, lookup: lookup) }
    }
  }

  private func handle(
    _ answer: Result<(KeyRequests.KeyLookup, FetchedRecords), Failure>, asked: inout Asked
  ) async throws {
    switch answer {
    case .failure(let failure): try asked.failed(failure)
    case .success(let (lookup, answer)):
      do { try await asked.answered(lookup, kept: keep(answer, lookup: lookup)) } catch let failure as Failure
        where failure.kind == .badAnswer
      { try asked.failed(failure) }
    }
  }

  /// The answer to one question. Throws `Pause` instead of a failure that asks for a longer pause than a sync waits.
  private func answer(_ lookup: KeyRequests.KeyLookup) async throws -> FetchedRecords {
    do { return try await fetcher.fetch(lookup, plan: plan, for: context) } catch let failure as Failure
      where failure.isPause(beyond: maxRetryAfter) && !failure.endsSync(of: plan.resource)
      && failure.concerned.contains(lookup.request.concern)
    { throw Pause(failure: failure, question: lookup.request.url) }
  }

  /// A failure that concerns only its own request is returned. If upstream is out of reach or refuses, the asking ends
  /// (throws).
  private func fetch(
    _ lookup: KeyRequests.KeyLookup
  ) async throws -> Result<(KeyRequests.KeyLookup, FetchedRecords), Failure> {
    do { return .success((lookup, try await answer(lookup))) } catch let failure as Failure
      where failure.concerns(lookup) && !failure.isPause(beyond: maxRetryAfter)
    { return .failure(failure) }
  }

  private func keep(_ answer: FetchedRecords, lookup: KeyRequests.KeyLookup) async throws -> KeptAnswer {
    // A record of unknown key may be any of the missing ones (P9).
    guard answer.scan.rejectsOfUnknownKey == 0 else {
      var failure = Failure(
        .badAnswer, step: "ask for records of \(plan.resource.name)", subject: lookup.request.shownURL,
        cause: "upstream's answer holds a record that does not say whose it is",
        hint: "ask that address by hand, and report the answer to the people who run upstream")
      failure.concerned = [lookup.request.concern, .resource(plan.resource.name)]
      throw failure
    }
    return try await session.keep(page(answer))
  }

  private func page(_ answer: FetchedRecords) -> PageBody {
    PageBody(
      resource: plan.resource.name, number: 0, address: answer.url, receivedAt: clock.now(), body: answer.body,
      digest: answer.digest, scan: answer.scan, place: place)
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

  /// True if the failure of a question ends the sync. Otherwise the sync publishes what it has pulled, and removes no
  /// record of that resource (P8.8). With `since`, the next sync could not use the answers: a budget that is too small
  /// would end each sync.
  func endsSync(of resource: Resource) -> Bool {
    switch kind {
    case .cannotWrite, .defect: true
    case .unreachable: trouble == .noNetwork || trouble == .budget && resource.since == nil
    default: false
    }
  }
}

extension PageScan {
  /// The keys of all records, as the bytes of their texts, without records that `where` skips or whose key is unknown.
  fileprivate func keys(by plan: RecordPlan) -> Set<[UInt8]> {
    (keys.bytes + rejectedKeys.bytes).withUnsafeBufferPointer { bytes in
      var cursor = KeyCursor(bytes, isText: plan.hasTextKeys)
      var keys: Set<[UInt8]> = []
      while let key = cursor.next() {
        switch key {
        case .integer(let number): keys.insert(Array("\(number)".utf8))
        case .text(let text): keys.insert(Array(text))
        }
      }
      return keys
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
