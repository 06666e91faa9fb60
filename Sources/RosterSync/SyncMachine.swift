package import RosterCache
package import RosterModel

/// Decides when a sync pulls again, asks, publishes or gives up (P7, P8, P9), for each resource by its own rules. Pure.
///
/// `pulling` → `comparing` → `publishing`, with `asking` between them where records are missing; back to `pulling`
/// where pages of a resource do not belong together, twice at most for each. Every other event is a defect and ends the
/// sync.
package struct SyncMachine: Sendable {
  /// Where it is between two events.
  package enum State: Sendable, Equatable {
    case pulling, comparing, asking, publishing, ended
  }

  /// What follows the comparison of what was pulled with the snapshot.
  package enum AfterComparison: Sendable, Equatable {
    case publish
    /// Each missing record of some resources is to be asked for (`asks(for:)`).
    case ask
    /// These are to be pulled again, whole, and why.
    case again([String: String])
    case fail(Failure)
  }

  /// Pulls after the first that drift of one resource may cost (P7).
  package static let mostRepeats = 2

  /// Where it is between two events.
  package private(set) var state = State.pulling
  /// Why the cache is not wholly what upstream has, although it was published; nil if it is.
  package var shortcoming: String? {
    shortcomings.isEmpty ? nil : shortcomings.map(\.sentence).joined(separator: "; ")
  }
  /// The first of them, for `explain`.
  package var trouble: Trouble? { shortcomings.first?.trouble }
  /// The guard held this sync back (P8): what was pulled is kept, and shown as pending.
  package private(set) var isGuarded = false
  /// What was pulled is one state of upstream, and all that there is to decide about it is decided: it can be held
  /// against the snapshot, also where it is not published.
  package var isWhole: Bool { isGuarded || state == .publishing }
  /// What the publication does about each resource beside its pages.
  package private(set) var ends: [String: ResourceEnd] = [:]

  /// The resource whose records were all rejected; nil if every resource has a good record (P9).
  package private(set) var unstorable: String?

  /// Resources whose pages did not fit together to the end: what was pulled of them is dropped (P4).
  package private(set) var drifted: [String] = []

  private let upstream: String
  private let resources: [Resource]
  private var repeats: [String: Int] = [:]
  /// Resources whose incremental pull drifted too often: their records are published, and their marks stay (I6.3).
  private var weakened: Set<String> = []
  private var asking: Set<String> = []
  /// Incremental pulls whose keys are asked for (I9.1).
  private var askedChanges: [String: ResourceComparison] = [:]
  private var rejected = 0
  /// All but the rejected records.
  private var problems: [Shortcoming] = []

  /// - Parameter upstream: base_url, for failures.
  package init(upstream: String, resources: [Resource]) {
    self.upstream = upstream
    self.resources = resources
  }

  /// All pages are there.
  package mutating func pulled() throws(Failure) {
    guard state == .pulling else { throw defect("pulled") }
    state = .comparing
  }

  /// - Parameters:
  ///   - drifts: what did not fit together while it was pulled, by resource.
  ///   - ignoring: resources of which every page has the same records.
  ///   - found: of every resource.
  ///   - marks: of resources with `since`, after this pull.
  ///   - counts: what upstream says the number of records is, where the definition has a `count`.
  ///   - maxRemoval: percent of the records that may go, where a definition says nothing else.
  package mutating func compared(
    _ found: [ResourceComparison], drifts: [String: String] = [:], ignoring: Set<String> = [], counts: [String: Int],
    marks: [String: Since.MarkMove] = [:], maxRemoval: Int, allowRemoval: Bool
  ) -> AfterComparison {
    guard state == .comparing else { return .fail(defect("compared")) }
    var again = drifts
    for found in found where again[found.resource] == nil {
      again[found.resource] = resource(found)?.drift(found, count: counts[found.resource])
    }
    again = tolerating(again, of: Set(found.filter(\.isIncremental).map(\.resource)))
    if !again.isEmpty { return pullAgain(again, ignoring) }
    for found in found {
      if let failure = allRejected(found) ?? guarded(found, maxRemoval, allowRemoval) { return .fail(failure) }
    }
    rejected = found.reduce(0) { $0 + $1.rejected }
    return decide(found, marks)
  }

  /// The drifts that a list is to be pulled again for. Those of incremental pulls are tolerated in the end (I6.3).
  mutating func tolerating(_ drifts: [String: String], of incremental: Set<String>) -> [String: String] {
    drifts.filter { resource, _ in
      guard incremental.contains(resource), repeats[resource, default: 0] >= Self.mostRepeats else { return true }
      weakened.insert(resource)
      return false
    }
  }

  /// A whole pull is late, because the budget has no room for it (I1.2).
  mutating func postponed(_ resource: String) {
    let problem = Shortcoming.postponed(resource)
    if !problems.contains(where: { $0.sentence == problem.sentence }) { problems.append(problem) }
  }

  /// Upstream refused incremental pulls: their lists are pulled whole (I8.1). Throws (70) unless a pull has just ended.
  mutating func reset() throws(Failure) {
    guard state == .comparing else { throw defect("reset") }
    state = .pulling
  }

  /// Validators lied: the lists of these resources are pulled again, without validators (P15.4). Throws (70) unless a
  /// pull has just ended.
  mutating func lied(_ lies: [String: ValidatorLie]) throws(Failure) {
    guard state == .comparing else { throw defect("lied") }
    for (resource, lie) in lies.sorted(by: { $0.key < $1.key }) { problems.append(.lie(resource, lie)) }
    state = .pulling
  }

  /// Whether missing records of that resource are to be asked for.
  package func asks(for resource: String) -> Bool { asking.contains(resource) }

  /// Takes the answers to the questions for the missing records of a resource, or why they could not be asked for. If
  /// one has no answer, or the control question found nothing, no record of that resource is removed (P8, P16).
  package mutating func asked(_ resource: String, _ answers: Result<KeyAnswers, Failure>) throws(Failure) {
    guard state == .asking else { throw defect("asked") }
    switch answers {
    case .success(let answers):
      rejected += answers.rejected
      ends[resource]?.removal = answers.failedControl == nil ? .missing : .nobody
      if answers.failedControl != nil { keepMark(of: resource) }
      if let question = answers.failedControl { problems.append(.wrongByKey(resource, question)) }
    case .failure(let failure):
      ends[resource]?.removal = .nobody
      ends[resource]?.isSettled = false
      keepMark(of: resource)
      problems.append(.unasked(resource, failure))
    }
  }

  /// The next pull asks for the same changes again (I9.2).
  private mutating func keepMark(of resource: String) {
    if askedChanges[resource] != nil { ends[resource]?.mark = .stays }
  }

  /// Throws if an incremental pull would remove too many of the records that `by_key` did not find (I5.2).
  mutating func guardAsked(
    _ resource: String, leaving: Int, maxRemoval: Int, allowRemoval: Bool
  ) throws(Failure) {
    guard !allowRemoval, let found = askedChanges[resource], ends[resource]?.removal == .missing else { return }
    let limit = self.resource(found)?.maxRemoval ?? maxRemoval
    if let failure = guarded(found, leaving: leaving, limit) { throw failure }
  }

  /// The publication begins. Throws (70) where nothing is ready for it.
  package mutating func publishes() throws(Failure) {
    guard state == .asking || state == .publishing else { throw defect("publishes") }
    state = .publishing
  }

  /// The sync is over, however it went.
  package mutating func ended() { state = .ended }
}

// MARK: Rules

extension SyncMachine {
  private func resource(_ found: ResourceComparison) -> Resource? {
    resources.first { $0.name == found.resource }
  }

  private mutating func pullAgain(_ reasons: [String: String], _ ignoring: Set<String>) -> AfterComparison {
    for resource in reasons.keys.sorted() {
      repeats[resource, default: 0] += 1
      if repeats[resource, default: 0] > Self.mostRepeats { drifted.append(resource) }
    }
    if let resource = drifted.first {
      let why = reasons[resource] ?? ""
      return .fail(ignoring.contains(resource) ? ignored(resource, why) : drifting(resource, why))
    }
    state = .pulling
    return .again(reasons)
  }

  private mutating func decide(
    _ found: [ResourceComparison], _ marks: [String: Since.MarkMove]
  ) -> AfterComparison {
    for found in found {
      guard let resource = resource(found) else { return .fail(defect("an unknown resource compared")) }
      ends[resource.name] = end(of: resource, found, marks[resource.name] ?? .stays)
      if found.isIncremental {
        guard found.asked > 0 else { continue }
        asking.insert(resource.name)
        askedChanges[resource.name] = found
        continue
      }
      if found.isAnyoneKnown, found.missing > 0, !found.isOfAnotherList, resource.removal == .ask {
        asking.insert(resource.name)
      }
    }
    state = asking.isEmpty ? .publishing : .asking
    return asking.isEmpty ? .publish : .ask
  }

  private func end(of resource: Resource, _ found: ResourceComparison, _ mark: Since.MarkMove) -> ResourceEnd {
    if found.isIncremental {
      let isWeak = weakened.contains(resource.name)
      var end = ResourceEnd(.missing, proof: isWeak ? .weak : .since)
      end.mark = isWeak ? .stays : mark
      return end
    }
    var end = ResourceEnd(found.isAnyoneKnown ? .missing : .nobody, proof: .init(of: resource))
    end.mark = mark
    return end
  }

  private var shortcomings: [Shortcoming] { problems + (rejected > 0 ? [.rejects(rejected)] : []) }

  private mutating func drifting(_ resource: String, _ why: String) -> Failure {
    state = .ended
    return Failure(
      .badAnswer, step: "pull one state of \(resource)", subject: upstream,
      cause: "its pages changed while they were pulled, \(Self.mostRepeats + 1) times in a row: \(why)",
      hint: "the next sync tries again; if it lasts, upstream's pages do not fit together"
    ).with(.drift, [.resource(resource)])
  }

  private mutating func ignored(_ resource: String, _ why: String) -> Failure {
    state = .ended
    let param = self.resources.first { $0.name == resource }?.pages.style.param
    return Failure(
      .badAnswer, step: "pull the pages of \(resource)", subject: upstream,
      cause:
        "\(why), \(Self.mostRepeats + 1) times in a row: upstream ignores the parameter \(param?.description ?? "")",
      hint: "see which parameter the API's documentation names, and set param of [resource.\(resource).pages]"
    ).with(.ignoredParameter, [.resource(resource)])
  }

  private mutating func allRejected(_ found: ResourceComparison) -> Failure? {
    guard !found.isIncremental, found.distinct == 0, found.rejected > 0 else { return nil }
    state = .ended
    unstorable = found.resource
    let unknown = found.rejectedUnknown > 0 ? resource(found).map { ", \(found.rejectedUnknown) \($0.lackOfKey)" } : nil
    return Failure(
      .badAnswer, step: "store what upstream sent", subject: upstream,
      cause: "none of \(found.rejected.counted(as: "record")) of \(found.resource) can be stored\(unknown ?? "")",
      hint: "see `rosterctl rejects`, and correct the columns of [resource.\(found.resource)]"
    ).with(.unstorable, [.resource(found.resource)])
  }

  private mutating func guarded(
    _ found: ResourceComparison, _ maxRemoval: Int, _ allowRemoval: Bool
  ) -> Failure? {
    guard !allowRemoval, !found.isOfAnotherList, let resource = resource(found),
      found.isIncremental || resource.removal != .never
    else {
      return nil
    }
    let leaving = resource.removal == .twice && !found.isIncremental ? found.leavingNow : found.missing
    return guarded(found, leaving: leaving, resource.maxRemoval ?? maxRemoval)
  }

  private mutating func guarded(_ found: ResourceComparison, leaving: Int, _ limit: Int) -> Failure? {
    guard leaving * 100 > limit * found.snapshot else { return nil }
    state = .ended
    isGuarded = true
    return Failure(
      .badAnswer, step: "publish", subject: upstream,
      cause:
        "upstream lacks \(leaving) of \(found.snapshot.counted(as: "record")) of \(found.resource), more than max_removal (\(limit)%) lets go",
      hint: "if that is right, run `rosterctl sync --allow-removal`"
    ).with(.guarded, [.resource(found.resource), .setting("max_removal")])
  }

  private mutating func defect(_ event: String) -> Failure {
    defer { state = .ended }
    return Failure(
      .defect, step: "sync", subject: upstream, cause: "\(event) while \(state)",
      hint: "report this as a defect in rosterd")
  }
}

extension ResourceComparison {
  /// P9: a record that does not say whose it is may be any of the missing ones.
  fileprivate var isAnyoneKnown: Bool { rejectedUnknown == 0 }

  /// With `twice`.
  fileprivate var leavingNow: Int { isAnyoneKnown ? missingTwice : 0 }
}

extension ResourceEnd.Proof {
  /// P7.
  fileprivate init(of resource: Resource) {
    switch (resource.pages.count, resource.pages.style) {
    case (.some, _): self = .count
    case (nil, .number), (nil, .offset): self = .weak
    case (nil, _): self = .end
    }
  }
}

extension Resource {
  /// Why the pages do not belong together; nil: they do, as far as can be told (P7).
  fileprivate func drift(_ found: ResourceComparison, count: Int?) -> String? {
    if found.isIncremental { return incrementalDrift(found, count: count) }
    let sum = found.distinct + found.rejected + found.skipped - found.passedRepeats
    if let count, sum != count {
      return "the pages hold \(sum.counted(as: "record")) of \(name), upstream tells of \(count)"
    }
    let repeats = found.repeats + found.passedRepeats
    guard repeats > 0, isByPlace else { return nil }
    return "\(repeats.counted(as: "key")) of \(name) met twice"
  }

  private func incrementalDrift(_ found: ResourceComparison, count: Int?) -> String? {
    if let count, found.received != count {
      return "the pages hold \(found.received.counted(as: "record")) of \(name), upstream tells of \(count)"
    }
    // A record may change twice, and a list of keys says so.
    if found.isAsked { return nil }
    switch since?.listing.pages.style {
    case .number, .offset, .link, .next: break
    case .cursor, .after, .one, nil: return nil
    }
    return found.acrossPages > 0 ? "\(found.acrossPages.counted(as: "key")) of \(name) on two pages" : nil
  }

  /// Whether a page is a place in the list, so that a record that moves is met twice, or not at all.
  private var isByPlace: Bool {
    switch pages.style {
    case .number, .offset: true
    case .cursor, .next, .link, .after, .one: false
    }
  }
}

/// A reason why a published sync leaves the state degraded.
private struct Shortcoming: Sendable {
  /// The sentence in the sync's row.
  var sentence: String
  /// The same for `explain`.
  var trouble: Trouble

  static func rejects(_ number: Int) -> Shortcoming {
    let what = "\(number.counted(as: "record")) could not be stored"
    return Shortcoming(sentence: "\(what); see the table rejects", trouble: Trouble(.rejects, what))
  }

  static func lie(_ resource: String, _ lie: ValidatorLie) -> Shortcoming {
    let what =
      "upstream gave the same \(lie.header.rawValue) again for other records of \(resource) on page \(lie.page) "
      + "(\(lie.request.shownURL))"
    return Shortcoming(
      sentence: "\(what), so \(resource) is synced without validators until `rosterctl sync --fresh`",
      trouble: Trouble(
        .validators, what,
        [lie.request.concern(asPage: lie.page, of: resource), .header(lie.header.rawValue), .resource(resource)]))
  }

  static func postponed(_ resource: String) -> Shortcoming {
    let what = "limit.budget has had no room for a whole pull of \(resource) for more than twice its whole_every"
    return Shortcoming(
      sentence: "\(what); only the records that changed were pulled",
      trouble: Trouble(.postponed, what, [.resource(resource), .setting("limit.budget")]))
  }

  static func unasked(_ resource: String, _ failure: Failure) -> Shortcoming {
    Shortcoming(
      sentence: "no \(resource) was removed, because not all missing ones could be asked for: \(failure)",
      trouble: Trouble(
        .unasked, "not all missing records of \(resource) could be asked for: \(failure.cause)", hint: failure.hint,
        [.resource(resource)] + Trouble(failure).concerned.filter { $0 != .resource(resource) }))
  }

  static func wrongByKey(_ resource: String, _ question: ControlQuestion) -> Shortcoming {
    let what = "by_key does not find a \(resource) that upstream lists (\(question.request.shownURL))"
    return Shortcoming(
      sentence: "no \(resource) was removed, because \(what); correct by_key of [resource.\(resource)]",
      trouble: Trouble(
        .wrongByKey, what,
        [.resource(resource), question.request.concern]
          + question.keys.map { .record($0, of: resource, reason: "by_key does not find it") }))
  }
}

extension Resource {
  /// What records of an unknown key have in common, missing keys and keys of another type alike.
  fileprivate var lackOfKey: String {
    let isText = columns.contains { $0.at == key && $0.type == .text }
    return "have no \(isText ? "string" : "integer from 1 on") as their key at \(key)"
  }
}
