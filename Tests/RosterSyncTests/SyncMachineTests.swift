import RosterModel
import RosterSync
import Testing

private func machine(_ state: SyncMachine.State) -> SyncMachine {
  var machine = SyncMachine(upstream: "http://up")
  if state == .pulling { return machine }
  _ = machine.pulled(drift: nil)
  if state == .comparing { return machine }
  if state == .asking {
    _ = machine.compared(
      Comparison(distinct: 9, missing: 1, snapshot: 10), count: 9, maxRemoval: 20, allowRemoval: false)
  }
  if state == .publishing { _ = machine.compared(whole, count: 9, maxRemoval: 20, allowRemoval: false) }
  if state == .ended { machine.ended() }
  return machine
}

private let whole = Comparison(distinct: 9, snapshot: 9)

extension SyncMachine {
  fileprivate mutating func compared(_ found: Comparison, count: Int = 9, allow: Bool = false) -> AfterComparison {
    compared(found, count: count, maxRemoval: 20, allowRemoval: allow)
  }
}

private func exit(_ after: SyncMachine.AfterComparison) -> Failure.Exit? {
  if case .fail(let failure) = after { failure.exit } else { nil }
}

@Suite struct SyncMachineTests {
  @Test("P7: what adds up to info.count is published")
  func publishes() {
    var machine = machine(.comparing)
    #expect(machine.compared(whole) == .publish(.nobody))
    #expect(machine.state == .publishing)
    #expect(machine.shortcoming == nil)
  }

  @Test("P7: pages that differ are pulled again twice, then the sync fails with 65")
  func driftWhilePulling() {
    var machine = machine(.pulling)
    #expect(machine.pulled(drift: "x") == .again("x"))
    #expect(machine.pulled(drift: "x") == .again("x"))
    guard case .fail(let failure) = machine.pulled(drift: "x") else {
      Issue.record("a third repeat")
      return
    }
    #expect(failure.exit == .badAnswer)
    #expect(machine.state == .ended)
  }

  @Test("P7: a count that does not add up is drift, and both kinds share the two repeats")
  func driftWhileComparing() {
    var machine = machine(.pulling)
    #expect(machine.pulled(drift: "x") == .again("x"))
    _ = machine.pulled(drift: nil)
    #expect(machine.compared(whole, count: 10) == .again("the pages hold 9 characters, upstream tells of 10"))
    _ = machine.pulled(drift: nil)
    #expect(exit(machine.compared(whole, count: 10)) == .badAnswer)
  }

  @Test("P8: more than max_removal percent missing publishes nothing; exactly as many are asked for")
  func guarded() {
    var machine = machine(.comparing)
    #expect(exit(machine.compared(Comparison(distinct: 9, missing: 21, snapshot: 100))) == .badAnswer)
    #expect(machine.isGuarded)
    var exact = Self.comparing()
    #expect(exact.compared(Comparison(distinct: 9, missing: 20, snapshot: 100)) == .ask)
    #expect(!exact.isGuarded)
  }

  @Test("P8: --allow-removal lets the sync ask for all")
  func allowed() {
    var machine = Self.comparing()
    #expect(machine.compared(Comparison(distinct: 0, missing: 100, snapshot: 100), count: 0, allow: true) == .ask)
  }

  @Test("P8: missing characters are removed only when each could be asked for")
  func asked() {
    var asked = machine(.asking)
    #expect(asked.asked(.success(0)) == .missing)
    #expect(asked.shortcoming == nil)
    var unanswered = machine(.asking)
    #expect(unanswered.asked(.failure(Failure(.unreachable, step: "a", subject: "b", cause: "c"))) == .nobody)
    #expect(unanswered.shortcoming?.contains("nobody was removed") == true)
  }

  @Test("P9: a reject of unknown id removes nobody, one of known id may")
  func rejects() {
    var unknown = Self.comparing()
    let found = Comparison(distinct: 8, rejected: 1, rejectedUnknown: 1, missing: 1, snapshot: 10)
    #expect(unknown.compared(found) == .publish(.nobody))
    #expect(unknown.shortcoming == "1 record could not be stored; `rosterctl rejects` tells why")
    var known = Self.comparing()
    #expect(known.compared(Comparison(distinct: 8, rejected: 1, missing: 1, snapshot: 10)) == .ask)
  }

  @Test("P8, P9: a record that could not be stored when its id was asked for is told with the others")
  func rejectsByID() {
    var machine = Self.comparing()
    #expect(machine.compared(Comparison(distinct: 8, rejected: 1, missing: 1, snapshot: 10)) == .ask)
    #expect(machine.asked(.success(1)) == .missing)
    #expect(machine.shortcoming == "2 records could not be stored; `rosterctl rejects` tells why")
  }

  @Test("P9: a sync whose records are all rejected fails with 65")
  func allRejected() {
    var machine = Self.comparing()
    #expect(exit(machine.compared(Comparison(distinct: 0, rejected: 9, snapshot: 9))) == .badAnswer)
    #expect(!machine.isGuarded)
  }

  @Test("an upstream without characters is drift or a removal, never a silent publish over a snapshot")
  func empty() {
    var machine = Self.comparing()
    #expect(exit(machine.compared(Comparison(distinct: 0, missing: 9, snapshot: 9), count: 0)) == .badAnswer)
  }

  @Test(
    "an event that does not belong to the state publishes and removes nothing",
    arguments: [SyncMachine.State.pulling, .comparing, .asking, .publishing, .ended])
  func outOfOrder(state: SyncMachine.State) {
    if state != .pulling {
      var machine = machine(state)
      guard case .fail(let failure) = machine.pulled(drift: nil) else {
        Issue.record("pulled in \(state)")
        return
      }
      #expect(failure.exit == .defect)
    }
    if state != .comparing {
      var machine = machine(state)
      #expect(exit(machine.compared(whole)) == .defect)
    }
    if state != .asking {
      var machine = machine(state)
      #expect(machine.asked(.success(0)) == .nobody)
    }
  }

  private static func comparing() -> SyncMachine { machine(.comparing) }
}
