package import RosterCache
package import RosterCore

/// Decides when a sync pulls again, requests missing records, publishes or gives up, for each resource by
/// its own rules. Pure.
///
/// For each level of lists the states are `pulling` → `comparing` → `decided`, with `asking` between the last two if
/// records are missing. `publishing` follows the last level. If the pages of a list do not fit together, the state
/// returns to `pulling`, at most twice for each list. Every other event is a defect and ends the sync.
package struct SyncMachine: Sendable {
  /// The state between two events.
  package enum State: Sendable, Equatable {
    case pulling, comparing, asking, decided, publishing, ended
  }

  /// The fate of a list whose pages do not fit together.
  package enum AfterDrift: Sendable, Equatable {
    /// It is pulled again, without validators.
    case again
    /// An incremental pull has drifted too often. Its records are published with a weak proof, and its mark stays.
    case weak
    /// The list of a child has drifted too often, for this reason at last.
    case failed(String)
  }

  /// Number of additional pulls that drift of one list may cause.
  static let maxRepeats = 2

  /// The current state.
  package private(set) var state = State.pulling
  /// The reason why the published cache differs from upstream; nil if it does not.
  package var shortcoming: String? {
    shortcomings.isEmpty ? nil : shortcomings.map(\.sentence).joined(separator: "; ")
  }
  /// The first shortcoming with the others, for `explain`.
  package var trouble: Diagnosis? {
    let troubles = shortcomings.map(\.trouble)
    var first = troubles.first
    if troubles.count > 1 { first?.others = Array(troubles.dropFirst()) }
    return first
  }
  /// True if the guard stopped this sync: the pulled pages are kept, and shown as pending.
  package private(set) var isGuarded = false
  /// True if the pulled pages are one state of upstream and all decisions about it were made. It can then be compared
  /// with the snapshot, even if it is not published.
  package var isConsistent: Bool { isGuarded || state == .publishing }
  /// The publication's decisions about each resource, apart from its pages.
  package private(set) var decisions: [String: RemovalDecision] = [:]

  /// The resource whose records were all rejected; nil if every resource has a good record.
  package private(set) var unstorable: String?

  /// Resources whose pages did not fit together in the last attempt: their pulled pages are dropped.
  package private(set) var drifted: [String] = []

  private let upstream: String
  private let resources: [Resource]
  /// The number of drifts, by resource and list.
  private var drifts: [String: [Int64: Int]] = [:]
  /// Resources whose incremental pull drifted too often: their records are published, and their marks are not moved.
  private var weakened: Set<String> = []
  /// Number of keys to ask for, by resource.
  private var asking: [String: Int] = [:]
  /// Parts of the definitions' proofs that the pulls lack.
  private var unproven: [String: Unproven] = [:]
  /// Incremental pulls whose keys are asked for.
  private var askedChanges: [String: ResourceComparison] = [:]
  private var rejected = 0
  /// Comparisons with rejected records of unknown key, so that nothing of their resources is removed.
  private var heldBack: [ResourceComparison] = []
  /// Names of their resources.
  var resourcesHeldBack: [String] { heldBack.map(\.resource) }
  /// The first rejected record of unknown key of each of them, or the first answer that calls itself partial.
  private var firstHeldBack: [String: RejectedRecord] = [:]
  /// All shortcomings except the rejected records.
  private var problems: [Shortcoming] = []

  /// - Parameter upstream: base_url, for failures.
  package init(upstream: String, resources: [Resource]) {
    self.upstream = upstream
    self.resources = resources
  }

  /// Call this when all pages were pulled.
  package mutating func pulled() throws(Failure) {
    guard state == .pulling else { throw defect("pulled") }
    state = .comparing
  }

  /// Decides about lists whose pages do not fit together. Throws (65) if a list without a parent has drifted too often.
  /// - Parameter ignoring: resources whose pages all have the same records.
  package mutating func drifted(
    _ lists: [String: [ListDrift]], ignoring: Set<String> = []
  ) throws(Failure) -> [(resource: String, list: ListDrift, after: AfterDrift)] {
    guard state == .comparing else { throw defect("drifted") }
    var after: [(resource: String, list: ListDrift, after: AfterDrift)] = []
    for (name, lists) in lists.sorted(by: { $0.key < $1.key }) {
      for list in lists { after.append((name, list, fate(of: list, in: name))) }
    }
    guard let resource = drifted.first else { return after }
    let why = lists[resource]?.first?.reason ?? ""
    throw ignoring.contains(resource) ? ignored(resource, why: why) : drifting(resource, why: why)
  }

  /// The reason why the pages of a list do not fit together; nil if they fit.
  /// - Parameters:
  ///   - count: the number of records that upstream reports.
  ///   - isTotalPassed: true if records came after that total.
  func drift(_ found: ResourceComparison, count: Int?, isTotalPassed: Bool = false) -> String? {
    resource(found)?.drift(found, count: count, isTotalPassed: isTotalPassed)
  }

  /// Lists are pulled again. Throws (70) unless a pull has just ended.
  package mutating func pullsAgain() throws(Failure) {
    guard state == .comparing else { throw defect("pullsAgain") }
    state = .pulling
  }

  /// Decides about the comparisons of a level: its missing records are asked for (`asks(for:)`), or it is decided.
  /// Throws (65) if too many records are missing or none can be stored.
  /// - Parameters:
  ///   - found: the comparisons of resources of one level.
  ///   - marks: the marks of resources with `since` after this pull.
  ///   - counts: the number of records that upstream reports, for definitions with `count`.
  ///   - unproven: what the pulls of these resources lack of the proof of their definitions.
  ///   - maxRemoval: percent of the records that may be removed, unless a definition has its own limit.
  package mutating func compared(
    _ found: [ResourceComparison], counts: [String: Int] = [:], unproven: [String: Unproven] = [:],
    marks: [String: Since.MarkMove] = [:], maxRemoval: Int, allowRemoval: Bool
  ) throws(Failure) {
    guard state == .comparing else { throw defect("compared") }
    for found in found where resource(found)?.each == nil {
      let (name, count) = (found.resource, counts[found.resource])
      self.unproven[name] = unproven[name]
      // Duplicate records do not show that the total is capped.
      if let count, found.distinct + found.rejected + found.skipped <= count {
        self.unproven[name]?.remove(.total)
      }
    }
    for found in found {
      if let failure = allRejected(found) ?? guarded(found, maxRemoval: maxRemoval, allowRemoval: allowRemoval) {
        throw failure
      }
    }
    rejected += found.reduce(0) { $0 + $1.rejected }
    heldBack += found.filter { !$0.areAllKeysKnown }
    try decide(found, marks: marks)
  }

  /// A whole pull is late, because the budget has no room for it.
  mutating func postponed(_ resource: String) {
    let problem = Shortcoming.postponed(resource)
    if !problems.contains(where: { $0.sentence == problem.sentence }) { problems.append(problem) }
  }

  /// Call this if the steps of a sync begin again, because the session is tried once more. Only the lies of
  /// validators remain, because these validators are not trusted any more.
  mutating func restarts() {
    state = .pulling
    (asking, askedChanges, decisions, rejected, heldBack) = ([:], [:], [:], 0, [])
    problems.removeAll { $0.trouble.kind != .validators }
  }

  /// Call this if validators lied: the lists of these resources are pulled again, without validators.
  mutating func lied(_ lies: [String: ValidatorLie]) {
    for (resource, lie) in lies.sorted(by: { $0.key < $1.key }) { problems.append(.lie(resource, lie: lie)) }
  }

  /// Call this before the lists of children are pulled: the decisions about their parents were made. Throws (70) unless
  /// that is so.
  mutating func descends() throws(Failure) {
    guard state == .asking || state == .decided else { throw defect("descends") }
    asking = [:]
    state = .pulling
  }

  /// Call this if lists of a child failed, and the others are published. Vanished lists are no shortcoming.
  mutating func listsFailed(_ resource: String, counts: ListCounts, examples: [FailedList]) {
    let failed = counts.failed - counts.vanished
    guard failed > 0 else { return }
    problems.append(
      .failedLists(resource, failed: failed, of: counts.requested, examples: examples.filter { !$0.hasVanished }))
  }

  /// Call this after each pull of child lists, with what they lack of the proof of their definitions.
  mutating func noteUnproven(_ lists: [String: Unproven]) {
    unproven.merge(lists) { $0.union($1) }
  }

  /// True if upstream may have lowered the size of the resource's pages, and no total proves that it skipped no record.
  func hasShortPages(_ resource: String) -> Bool {
    unproven[resource]?.contains(.size) == true && decisions[resource]?.proof != .count
  }

  /// True if the missing records of that resource must be requested.
  package func asks(for resource: String) -> Bool { asking[resource] != nil }

  /// Number of keys that `by_key` is asked for.
  func questions(about resource: String) -> Int { asking[resource] ?? 0 }

  /// Receives the answers about the missing records of a resource. A record is removed only if its own question was
  /// answered, and if `by_key` has found another one in this sync.
  package mutating func asked(
    _ resource: String, answers: KeyAnswers, allowRemoval: Bool
  ) throws(Failure) {
    guard state == .asking else { throw defect("asked") }
    rejected += answers.rejected
    let isAllowed = allowRemoval && answers.control == .unproven
    let hasQuestions = answers.notFound > 0 || answers.failure != nil
    decisions[resource]?.removal = answers.isProven || isAllowed || !hasQuestions ? .notFound : .keepsAll
    switch answers.control {
    case .notFound(let question) where !answers.isProven:
      askAgain(for: resource)
      problems.append(.wrongByKey(resource, question: question))
    case .unproven where !answers.isProven && !allowRemoval:
      askAgain(for: resource)
      problems.append(.unproven(resource))
    case .found, .notFound, .unproven, nil: break
    }
    if let failure = answers.failure {
      askAgain(for: resource)
      problems.append(
        .unasked(
          resource, failure: failure, isOfChanges: askedChanges[resource] != nil,
          keepsAll: answers.notFound == 0 || decisions[resource]?.keepsMissing == true))
    }
  }

  /// True if `by_key` is asked for the keys of incremental pulls.
  func asksForChanges(_ resource: String) -> Bool { askedChanges[resource] != nil }

  /// The next pull asks for the same changes again, or is whole again.
  private mutating func askAgain(for resource: String) {
    decisions[resource]?.isSettled = false
    if askedChanges[resource] != nil { decisions[resource]?.mark = .stays }
  }

  /// Throws if an incremental pull would remove too many of the records that `by_key` did not find.
  mutating func guardAsked(
    _ resource: String, leaving: Int, maxRemoval: Int, allowRemoval: Bool
  ) throws(Failure) {
    guard !allowRemoval, let found = askedChanges[resource], found.areAllKeysKnown,
      decisions[resource]?.isAsked == true
    else { return }
    let limit = self.resource(found)?.maxRemoval ?? maxRemoval
    if let failure = guarded(found, leaving: leaving, limit: limit) { throw failure }
  }

  /// Begins the publication. Throws (70) unless the sync is ready for it.
  package mutating func publishes() throws(Failure) {
    guard state == .asking || state == .decided else { throw defect("publishes") }
    state = .publishing
  }

  /// Call this at the end of the sync, whatever its outcome is.
  package mutating func ended() { state = .ended }
}

// MARK: Rules

extension SyncMachine {
  private func resource(_ found: ResourceComparison) -> Resource? {
    resources.first { $0.name == found.resource }
  }

  private mutating func fate(of list: ListDrift, in resource: String) -> AfterDrift {
    let isChild = resources.first { $0.name == resource }?.each != nil
    let number = drifts[resource, default: [:]][list.place.number, default: 0] + 1
    drifts[resource, default: [:]][list.place.number] = number
    if number <= Self.maxRepeats { return .again }
    guard !list.isIncremental else {
      if !isChild { weakened.insert(resource) }
      return .weak
    }
    if !isChild { drifted.append(resource) }
    return .failed(
      "its pages changed while they were pulled, \(Self.maxRepeats + 1) times: \(list.reason)")
  }

  private mutating func decide(
    _ found: [ResourceComparison], marks: [String: Since.MarkMove]
  ) throws(Failure) {
    for found in found {
      guard let resource = resource(found) else { throw defect("an unknown resource compared") }
      decisions[resource.name] = decision(of: resource, found, mark: marks[resource.name] ?? .stays)
      if found.asked > 0 {
        asking[resource.name, default: 0] += found.asked
        askedChanges[resource.name] = found
      }
      if found.isIncremental { continue }
      if hasDoubtfulEnd(resource) {
        if found.missing > 0 { problems.append(.doubtfulEnd(resource.name, missing: found.missing)) }
        continue
      }
      if found.areAllKeysKnown, found.missing > 0, !found.listChanged, resource.removal.asks {
        asking[resource.name, default: 0] += found.missing
      }
    }
    state = asking.isEmpty ? .decided : .asking
  }

  /// True if the list may go on after its last page, and nothing asks for the records that are missing.
  private func hasDoubtfulEnd(_ resource: Resource) -> Bool {
    unproven[resource.name]?.contains(.beyond) == true && !resource.removal.asks
  }

  private func decision(of resource: Resource, _ found: ResourceComparison, mark: Since.MarkMove) -> RemovalDecision {
    if found.isIncremental {
      let isWeak = weakened.contains(resource.name)
      var decision = RemovalDecision(.asDefined, proof: isWeak ? .weak : .since)
      decision.mark = isWeak ? .stays : mark
      return decision
    }
    let lacking = unproven[resource.name] ?? []
    let isKnown = found.areAllKeysKnown && !hasDoubtfulEnd(resource)
    var decision = RemovalDecision(isKnown ? .asDefined : .keepsAll, proof: .init(of: resource, without: lacking))
    decision.mark = mark
    return decision
  }

  private var shortcomings: [Shortcoming] {
    let partial = heldBack.filter { firstHeldBack[$0.resource]?.isAnswer == true }
    let others = heldBack.filter { firstHeldBack[$0.resource]?.isAnswer != true }
    let records = rejected - partial.reduce(0) { $0 + $1.rejectedUnknown }
    return problems + partial.compactMap { firstHeldBack[$0.resource].map(Shortcoming.partial) }
      + (records > 0 ? [.rejects(records, holdingBack: others, first: firstHeldBack)] : [])
  }

  /// Receives the reason why nothing of a resource is removed, before the shortcomings are read.
  mutating func explains(_ first: RejectedRecord?, of resource: String) { firstHeldBack[resource] = first }

  private mutating func drifting(_ resource: String, why: String) -> Failure {
    state = .ended
    return Failure(
      .badAnswer, step: "pull one state of \(resource)", subject: upstream,
      cause: "its pages changed while they were pulled, \(Self.maxRepeats + 1) times in a row: \(why)",
      hint: hint(ofDriftIn: resource)
    ).with(.drift, [.resource(resource)])
  }

  private func hint(ofDriftIn resource: String) -> String {
    var hint = "the next sync tries again; if it lasts, upstream's pages do not fit together"
    guard let pages = resources.first(where: { $0.name == resource })?.pages else { return hint }
    if pages.count != nil {
      hint += "; if its total is an estimate or counts only the records from that page on, remove count from pages"
    }
    if pages.style.last != nil { hint += "; if its number of pages grows with each page, remove last" }
    if !pages.hidden {
      hint += "; if upstream counts records that it does not list, set hidden = true in pages"
    }
    return hint
  }

  private mutating func ignored(_ resource: String, why: String) -> Failure {
    state = .ended
    let param = self.resources.first { $0.name == resource }?.pages.style.param
    return Failure(
      .badAnswer, step: "pull the pages of \(resource)", subject: upstream,
      cause:
        "\(why), \(Self.maxRepeats + 1) times in a row: upstream ignores the parameter \(param?.description ?? "")",
      hint: PullPlan.List.parameterHint(resource)
    ).with(.ignoredParameter, [.resource(resource)])
  }

  private mutating func allRejected(_ found: ResourceComparison) -> Failure? {
    guard !found.isIncremental, found.distinct == 0, found.rejected > 0 else { return nil }
    // Other lists of a child have good records.
    if resource(found)?.each != nil, found.snapshot > 0 { return nil }
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
    _ found: ResourceComparison, maxRemoval: Int, allowRemoval: Bool
  ) -> Failure? {
    guard !allowRemoval, !found.listChanged, let resource = resource(found) else { return nil }
    let leaving = found.leaving(by: resource.removal) + found.skippedNow + found.removedWithParents
    return guarded(found, leaving: leaving, limit: resource.maxRemoval ?? maxRemoval)
  }

  private mutating func guarded(_ found: ResourceComparison, leaving: Int, limit: Int) -> Failure? {
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
  /// A rejected record of unknown key may be any of the missing ones.
  fileprivate var areAllKeysKnown: Bool { rejectedUnknown == 0 }
}

/// Parts of a definition's proof that a pull lacks.
package struct Unproven: OptionSet, Sendable {
  /// The sum of the parts.
  package let rawValue: Int
  /// A sum of parts.
  package init(rawValue: Int) { self.rawValue = rawValue }
  /// Records came after the total, which is capped.
  package static let total = Unproven(rawValue: 1)
  /// Only upstream knew the position in the list.
  package static let position = Unproven(rawValue: 2)
  /// Upstream may have lowered the size of the pages, and may skip the difference.
  package static let size = Unproven(rawValue: 4)
  /// The only page is full, and nothing shows that it is the last one.
  package static let end = Unproven(rawValue: 8)
  /// A full page led to a page that `beyond` calls past the end.
  package static let beyond = Unproven(rawValue: 16)
}

extension PullOutcome {
  /// nil if the proof is the one of the definition.
  var unproven: Unproven? {
    let parts: Unproven = [
      isTotalPassed ? .total : [], isScroll ? .position : [], shortenedTo == nil ? [] : .size,
      lacksNext ? .end : [], isEndDoubtful ? .beyond : [],
    ]
    return parts.isEmpty ? nil : parts
  }
}

extension RemovalDecision.Proof {
  /// The proof of the definition and its pull.
  fileprivate init(of resource: Resource, without lacking: Unproven) {
    let pages = resource.pages
    if resource.hasOwnRecords {
      self = .count
    } else if pages.count != nil, !pages.hidden, !lacking.contains(.total) {
      self = .count
    } else {
      self =
        pages.style.kind.isPositional || !lacking.isDisjoint(with: [.position, .size, .end, .beyond])
          || pages.style.skipsTies(key: resource.key) ? .weak : .end
    }
  }
}

extension Resource.Style {
  /// True if a page begins after a value that several records may share.
  fileprivate func skipsTies(key: JSONPointer) -> Bool {
    kind.step == .sends(.ofLastRecord) && placeInBody != key
  }
}

extension Resource {
  /// The reason why the pages do not fit together; nil if no such reason was found.
  /// - Parameter isTotalPassed: True if records came after the total.
  fileprivate func drift(_ found: ResourceComparison, count: Int?, isTotalPassed: Bool = false) -> String? {
    if found.isIncremental { return incrementalDrift(found, count: count) }
    let occurrences = found.distinct + found.rejected + found.skipped
    let sum = occurrences - found.passedRepeats
    // Upstream counts each rejected or skipped record with the key of another one, or does not.
    // A partial answer is reported as a rejected record, and its total is of records that it lacks.
    let isPartial = found.rejectedUnknown > 0
    // Each record is there once or more: a pinned one, or the last one of the page before.
    if let count, !isPartial, !pages.hidden, count == occurrences, found.passedRepeats == 0 { return nil }
    if let count, !isPartial, count < sum && !isTotalPassed || count > occurrences && !pages.hidden {
      return "the pages hold \(sum.counted(as: "record")) of \(name), upstream reports \(count)"
    }
    let repeats = found.repeats + found.passedRepeats
    guard repeats > 0, pages.style.kind.isPositional else { return nil }
    return "\(repeats.counted(as: "key")) of \(name) found twice"
  }

  private func incrementalDrift(_ found: ResourceComparison, count: Int?) -> String? {
    if let count, found.received != count {
      return "the pages hold \(found.received.counted(as: "record")) of \(name), upstream reports \(count)"
    }
    // A record may change twice, and then a list of keys has it twice.
    if found.isAsked { return nil }
    if found.keptRepeats > 0 {
      return "\(found.keptRepeats.counted(as: "key")) of \(name) on an unchanged page and on a changed one"
    }
    switch since?.listing.pages.style.kind.step {
    case .counts: break
    // A delta feed may list a record once for each of its changes.
    case .follows: if since?.token != nil { return nil }
    case .sends, .stops, nil: return nil
    }
    return found.acrossPages > 0 ? "\(found.acrossPages.counted(as: "key")) of \(name) on two pages" : nil
  }
}

extension Resource {
  /// The common property of records of unknown key, for missing keys and for keys of another type.
  fileprivate var lackOfKey: String {
    let isText = columns.contains { $0.at == key && $0.type.isText }
    return "have no \(isText ? "string" : "integer of 64 bits") as their key at \(key)"
  }
}
