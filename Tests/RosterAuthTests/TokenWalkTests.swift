import FoundationEssentials
import RosterModel
import RosterTestSupport
import Testing

@testable import RosterAuth

struct TokenWalkTests {
  /// TokenWorld asserts the invariants after each step.
  @Test("T1, T4, T6: whatever happens in whatever order, the invariants hold")
  func walks() {
    let walks = ProcessInfo.processInfo.environment["ROSTER_WALKS"].flatMap { UInt64($0) } ?? 2000
    for seed in 0..<walks {
      var generator = SeededDice(seed: seed)
      var walk = Walk(&generator)
      for _ in 0..<100 { walk.step(&generator) }
      walk.settle()
      #expect(walk.world.waiting.isEmpty, "seed \(seed): somebody waits for ever")
    }
  }

  private struct Walk {
    var world: TokenWorld

    init(_ generator: inout SeededDice) {
      let flow = [Flow.oauth2Refresh, .oauth2ClientCredentials, .bearerRefresh].randomElement(using: &generator)
      world = TokenWorld(
        flow ?? .oauth2Refresh, access: Bool.random(using: &generator) ? "a0" : nil,
        life: Bool.random(using: &generator) ? 90 : nil)
    }

    mutating func step(_ generator: inout SeededDice) {
      world.now += Double.random(in: 0...10, using: &generator)
      let generation = Int.random(
        in: max(0, world.machine.generation - 2)...world.machine.generation, using: &generator)
      switch Int.random(in: 0..<100, using: &generator) {
      case 0..<25: _ = world.wanted()
      case 25..<40: _ = world.rejected(generation == 0 ? nil : generation)
      case 40..<48: world.machine.accepted(generation)
      case 48..<50: world.refusedAgain(generation)
      case 50..<52: world.cutShort { $0.loggedOut(generation, TokenMachine.Fault.ending) }
      case 52..<56: if let waiter = world.waiting.sorted().randomElement(using: &generator) { world.cancel(waiter) }
      case 56..<62: _ = world.syncBegan()
      case 62..<64: changeCredential(&generator)
      case 64..<66: if world.machine.session.ending != nil { world.machine.lifted() }
      default: finish(&generator)
      }
    }

    private mutating func changeCredential(_ generator: inout SeededDice) {
      let bytes = "f\(Int.random(in: 0..<1_000_000, using: &generator))"
      let files = Credentials(
        refreshToken: Secret(bytes), accessToken: Bool.random(using: &generator) ? Secret(bytes) : nil)
      let next = Session(world.machine.settings, files)
      let now = world.now
      world.filesAccess = next.access?.access
      world.cutShort { $0.credentialChanged(next, now: now) }
    }

    /// One end of what is under way.
    private mutating func finish(_ generator: inout SeededDice) {
      if world.isCoolingDown { return world.due() }
      if world.writing != nil {
        return Int.random(in: 0..<4, using: &generator) == 0 ? world.writeFailed() : world.wrote()
      }
      guard world.isSending else { return }
      switch Int.random(in: 0..<10, using: &generator) {
      case 0..<5:
        world.granted(
          rotates: Bool.random(using: &generator), life: [nil, 5, 60, 3600].randomElement(using: &generator) ?? nil)
      case 5: world.failed(.refused(TokenMachine.Fault.ending))
      case 6: world.failed(.incomplete(TokenMachine.Fault.ending))
      case 7: world.failed(.other(TokenMachine.Fault.failure))
      default: world.failed(.passing(again: Bool.random(using: &generator), answered: Bool.random(using: &generator)))
      }
    }

    mutating func settle() {
      world.cutShort { $0.stopped() }
      while world.isSending || world.writing != nil || world.isCoolingDown {
        if world.isCoolingDown { world.due() } else if world.writing != nil { world.wrote() } else { world.granted() }
      }
    }
  }
}
