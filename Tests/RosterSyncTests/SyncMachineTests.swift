import RosterCore
import Testing

@testable import RosterCache
@testable import RosterSync

private let asking = Resource.character
private let twice = resource("b") { $0.removal = .twice }
private let never = resource("c") { $0.removal = .never }

private func resource(_ name: String, change: (inout Resource) -> Void = { _ in }) -> Resource {
  var resource = Resource.character
  resource.name = name
  change(&resource)
  return resource
}

private func found(
  _ resource: Resource = asking, distinct: Int = 9, repeats: Int = 0, rejected: Int = 0, unknown: Int = 0,
  skipped: Int = 0, missing: Int = 0, missingTwice: Int = 0, snapshot: Int = 9
) -> ResourceComparison {
  var found = ResourceComparison(resource: resource.name)
  found.distinct = distinct
  found.repeats = repeats
  found.rejected = rejected
  found.rejectedUnknown = unknown
  found.skipped = skipped
  found.missing = missing
  found.missingTwice = missingTwice
  found.snapshot = snapshot
  return found
}

private func machine(_ state: SyncMachine.State, resources: [Resource] = [asking]) -> SyncMachine {
  var machine = SyncMachine(upstream: "http://up", resources: resources)
  if state == .pulling { return machine }
  try? machine.pulled()
  if state == .asking { _ = machine.compared(found(missing: 1, snapshot: 10)) }
  if state == .decided { _ = machine.compared(found()) }
  if state == .ended { machine.ended() }
  return machine
}

/// The step after a pull.
private enum AfterPull: Equatable {
  case publish, ask
  /// The resources that are pulled again, and the reasons.
  case again([String: String])
  case fail(Failure)
}

extension SyncMachine {
  fileprivate mutating func compared(_ found: ResourceComparison..., count: Int? = nil, allow: Bool = false)
    -> AfterPull
  {
    let counts = count.map { count in Dictionary(uniqueKeysWithValues: found.map { ($0.resource, count) }) }
    return after([:], found, counts: counts ?? [:], allow: allow)
  }

  fileprivate mutating func drifted(_ drifts: [String: String], ignoring: Set<String> = []) -> AfterPull {
    try? pulled()
    return after(drifts, [], ignoring: ignoring)
  }

  /// The steps of a sync after the pull of lists without a parent.
  fileprivate mutating func after(
    _ drifts: [String: String], _ found: [ResourceComparison], counts: [String: Int] = [:],
    ignoring: Set<String> = [], allow: Bool = false
  ) -> AfterPull {
    let incremental = Set(found.filter(\.isIncremental).map(\.resource))
    let compared = found.map { ($0.resource, drift($0, count: counts[$0.resource])) }
    let reasons = drifts.merging(compared.compactMap { name, why in why.map { (name, $0) } }) { $1 }
    do throws(Failure) {
      let lists = reasons.map { name, why in
        (name, [ListDrift(place: ListPlace(), reason: why, isIncremental: incremental.contains(name))])
      }
      let again = try drifted(Dictionary(uniqueKeysWithValues: lists), ignoring: ignoring).filter { $0.after == .again }
      if !again.isEmpty {
        try pullsAgain()
        return .again(Dictionary(uniqueKeysWithValues: again.map { ($0.resource, $0.list.reason) }))
      }
      try self.compared(found, counts: counts, maxRemoval: 20, allowRemoval: allow)
      return state == .asking ? .ask : .publish
    } catch { return .fail(error) }
  }
}

/// Answers without one to any question.
private let unanswered: KeyAnswers = {
  var answers = KeyAnswers()
  answers.failure = Failure(.unreachable, step: "a", subject: "b", cause: "c")
  return answers
}()

private func exit(_ after: AfterPull) -> Failure.Kind? {
  if case .fail(let failure) = after { failure.kind } else { nil }
}

@Suite struct SyncMachineTests {
  @Test("13, 33: if the session ends among the questions and is tried once more, the steps begin again")
  func restarts() throws {
    var machine = machine(.asking)
    try machine.asked("character", answers: unanswered, allowRemoval: false)
    machine.restarts()
    #expect(machine.state == .pulling && machine.shortcoming == nil && !machine.asks(for: "character"))
    try machine.pulled()
    #expect(machine.compared(found()) == .publish)
  }

  @Test("17: a pull that adds up to `count` is published with the proof `count`")
  func publishes() {
    var machine = machine(.comparing)
    #expect(machine.compared(found(distinct: 6, rejected: 1, skipped: 2), count: 9) == .publish)
    #expect(machine.state == .decided)
    #expect(machine.decisions["character"] == RemovalDecision(.asDefined, proof: .count))
  }

  @Test("18: if every page has the same records, the sync fails after two repeats and names the parameter")
  func ignoredParameter() throws {
    var machine = machine(.pulling)
    var after = AfterPull.publish
    for _ in 1...3 {
      after = machine.drifted(["character": "page 2 has the same records as page 1"], ignoring: ["character"])
    }
    guard case .fail(let failure) = after else {
      Issue.record("\(after)")
      return
    }
    #expect(failure.kind == .badAnswer && failure.trouble == .ignoredParameter)
    #expect(
      failure.cause
        == "page 2 has the same records as page 1, 3 times in a row: upstream ignores the parameter page")
    #expect(machine.drifted == ["character"])
  }

  @Test("17: a list that follows its answers is proven by its end; a list by number without `count` is weak")
  func proofs() {
    let link = resource("link") { $0.pages = .init(.link) }
    let number = resource("number") { $0.pages = .init(.number()) }
    var machine = machine(.comparing, resources: [link, number])
    #expect(machine.compared(found(link), found(number)) == .publish)
    #expect(machine.decisions["link"]?.proof == .end)
    #expect(machine.decisions["number"]?.proof == .weak)
  }

  @Test("18, 40: drifted pages are pulled again twice, then the sync fails with 65 and drops only them")
  func driftWhilePulling() {
    var machine = machine(.pulling, resources: [asking, twice])
    #expect(machine.drifted(["character": "x"]) == .again(["character": "x"]))
    #expect(machine.drifted(["character": "x"]) == .again(["character": "x"]))
    #expect(exit(machine.drifted(["character": "x"])) == .badAnswer)
    #expect(machine.drifted == ["character"])
    #expect(machine.state == .ended)
  }

  @Test("18: a count that does not add up is drift; each resource has its own two repeats")
  func driftWhileComparing() {
    var machine = machine(.comparing, resources: [asking, twice])
    #expect(machine.compared(found(), found(twice), count: 9) == .publish)
    machine = Self.comparing([asking, twice])
    #expect(
      machine.after([:], [found(), found(twice)], counts: ["b": 10])
        == .again(["b": "the pages hold 9 records of b, upstream reports 10"]))
    #expect(machine.drifted(["character": "x"]) == .again(["character": "x"]))
    #expect(machine.drifted(["b": "x"]) == .again(["b": "x"]))
    #expect(exit(machine.drifted(["b": "x"])) == .badAnswer)
  }

  @Test("17, 18: a duplicate key is drift by number or offset; in other styles the last occurrence wins")
  func repeats() {
    let cursor = resource("list") { $0.pages = .init(.link) }
    let offset = resource("list") { $0.pages = .init(.offset(param: .query("skip"))) }
    var machine = Self.comparing([cursor])
    #expect(machine.compared(found(cursor, repeats: 1)) == .publish)
    machine = Self.comparing([offset])
    #expect(machine.compared(found(offset, repeats: 1)) == .again(["list": "1 key of list found twice"]))
    // The key occurs once as skipped and once as a record to store: the sum has it twice, as if no record was missing.
    var moved = found(offset)
    moved.passedRepeats = 1
    machine = Self.comparing([offset])
    #expect(machine.compared(moved) == .again(["list": "1 key of list found twice"]))
    moved.resource = cursor.name
    machine = Self.comparing([cursor])
    #expect(machine.compared(moved) == .publish)
    // Upstream may count both records or one of them.
    for count in [8, 9] {
      machine = Self.comparing([cursor])
      #expect(machine.compared(moved, count: count) == .publish)
    }
    machine = Self.comparing([cursor])
    #expect(
      machine.compared(moved, count: 10) == .again(["list": "the pages hold 8 records of list, upstream reports 10"]))
    // The same holds for each of several records.
    moved.passedRepeats = 3
    for count in 5...10 {
      machine = Self.comparing([cursor])
      #expect((machine.compared(moved, count: count) == .publish) == (6...9).contains(count), "\(count)")
    }
    moved.passedRepeats = 1
    machine = Self.comparing([offset])
    #expect(machine.compared(moved, count: 9) == .again(["list": "1 key of list found twice"]))
  }

  @Test("12: more than max_removal percent missing publishes nothing; exactly max_removal percent are asked for")
  func guarded() {
    var machine = machine(.comparing)
    #expect(exit(machine.compared(found(missing: 21, snapshot: 100))) == .badAnswer)
    #expect(machine.isGuarded)
    var exact = Self.comparing()
    #expect(exact.compared(found(missing: 20, snapshot: 100)) == .ask)
    #expect(exact.asks(for: "character"))
    #expect(!exact.isGuarded)
  }

  @Test("12: a definition's own max_removal wins; `twice` counts removals of now, `never` has no guard")
  func guards() {
    let strict = resource("strict") { $0.maxRemoval = 0 }
    var machine = Self.comparing([strict])
    #expect(exit(machine.compared(found(strict, missing: 1, snapshot: 100))) == .badAnswer)
    machine = Self.comparing([twice])
    #expect(machine.compared(found(twice, missing: 90, missingTwice: 20, snapshot: 100)) == .publish)
    machine = Self.comparing([twice])
    #expect(exit(machine.compared(found(twice, missing: 90, missingTwice: 21, snapshot: 100))) == .badAnswer)
    // A reject of unknown key prevents all removals.
    machine = Self.comparing([twice])
    #expect(
      machine.compared(found(twice, rejected: 1, unknown: 1, missing: 90, missingTwice: 90, snapshot: 100)) == .publish)
    machine = Self.comparing([never])
    #expect(machine.compared(found(never, missing: 100, snapshot: 100)) == .publish)
  }

  @Test("12: --allow-removal lets the sync ask for all missing keys")
  func allowed() {
    var machine = Self.comparing()
    #expect(machine.compared(found(distinct: 0, missing: 100, snapshot: 100), count: 0, allow: true) == .ask)
  }

  @Test("11, 13: missing records are removed only if each of them could be asked for")
  func asked() throws {
    var asked = machine(.asking)
    try asked.asked("character", answers: KeyAnswers(), allowRemoval: false)
    #expect(asked.decisions["character"]?.removal == .notFound)
    #expect(asked.shortcoming == nil)
    var failed = machine(.asking)
    try failed.asked("character", answers: unanswered, allowRemoval: false)
    #expect(failed.decisions["character"]?.removal == .keepsAll)
    #expect(failed.shortcoming?.contains("no character was removed") == true)
    try failed.publishes()
  }

  @Test("47: the trouble of a sync names rejected records beside records that could not be asked for")
  func severalTroubles() throws {
    var machine = Self.comparing()
    #expect(machine.compared(found(distinct: 8, rejected: 1, missing: 1, snapshot: 10)) == .ask)
    #expect(machine.trouble?.kind == .rejects && machine.trouble?.others == nil)
    try machine.asked("character", answers: unanswered, allowRemoval: false)
    #expect(machine.trouble?.kind == .unasked && machine.trouble?.others?.map(\.kind) == [.rejects])
  }

  @Test("14: a reject of unknown key prevents all removals of the resource; a reject of known key does not")
  func rejects() {
    var unknown = Self.comparing()
    #expect(unknown.compared(found(distinct: 8, rejected: 1, unknown: 1, missing: 1, snapshot: 10)) == .publish)
    #expect(unknown.decisions["character"]?.removal == .keepsAll)
    #expect(
      unknown.shortcoming == "1 record could not be stored; no character can be removed, "
        + "because 1 of them has no known key; rosterctl rejects shows why")
    var known = Self.comparing()
    #expect(known.compared(found(distinct: 8, rejected: 1, missing: 1, snapshot: 10)) == .ask)
  }

  @Test("14: beside a reject of unknown key the guard counts no record of an incremental pull")
  func rejectsOfChanges() {
    var machine = Self.comparing([twice])
    var held = found(twice, rejected: 1, unknown: 1, missing: 90, snapshot: 100)
    held.isIncremental = true
    #expect(machine.compared(held) == .publish)
    held.rejectedUnknown = 0
    machine = Self.comparing([twice])
    #expect(exit(machine.compared(held)) == .badAnswer)
  }

  @Test("5: a record that is rejected in the answer of by_key is reported with the other rejects")
  func rejectsByKey() throws {
    var machine = Self.comparing()
    #expect(machine.compared(found(distinct: 8, rejected: 1, missing: 1, snapshot: 10)) == .ask)
    var answers = KeyAnswers()
    answers.rejected = 1
    try machine.asked("character", answers: answers, allowRemoval: false)
    #expect(machine.decisions["character"]?.removal == .notFound)
    #expect(machine.shortcoming == "2 records could not be stored; rosterctl rejects shows why")
  }

  @Test("1, 5: if all records of a resource are rejected, the sync fails with 65 and publishes no resource")
  func allRejected() {
    var machine = Self.comparing([asking, never])
    #expect(exit(machine.compared(found(), found(never, distinct: 0, rejected: 9))) == .badAnswer)
    #expect(!machine.isGuarded)
  }

  @Test("An upstream without records is drift or a removal, and never replaces a snapshot silently")
  func empty() {
    var machine = Self.comparing()
    #expect(exit(machine.compared(found(distinct: 0, missing: 9), count: 0)) == .badAnswer)
  }

  @Test(
    "An event that does not belong to the state publishes and removes nothing",
    arguments: [SyncMachine.State.pulling, .comparing, .asking, .decided, .ended])
  func outOfOrder(state: SyncMachine.State) {
    var machine = machine(state)
    if state != .pulling {
      #expect(throws: Failure.self) { try machine.pulled() }
      machine = RosterSyncTests.machine(state)
    }
    if state != .comparing {
      #expect(exit(machine.compared(found())) == .defect)
      machine = RosterSyncTests.machine(state)
    }
    if state != .asking {
      #expect(throws: Failure.self) { try machine.asked("character", answers: KeyAnswers(), allowRemoval: false) }
    }
    machine = RosterSyncTests.machine(state)
    if state != .asking, state != .decided { #expect(throws: Failure.self) { try machine.publishes() } }
  }

  private static func comparing(_ resources: [Resource] = [asking]) -> SyncMachine {
    machine(.comparing, resources: resources)
  }
}
