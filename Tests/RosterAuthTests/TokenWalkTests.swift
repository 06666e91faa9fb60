import FoundationEssentials
import RosterModel
import RosterTestSupport
import Testing

@testable import RosterAuth

struct TokenWalkTests {
  /// TokenWorld asserts the invariants after each step.
  @Test("T1.2, T4.1, T7.1, T13.6: the invariants hold for random events in random order")
  func walks() {
    let walks = ProcessInfo.processInfo.environment["ROSTER_WALKS"].flatMap { UInt64($0) } ?? 2000
    for seed in 0..<walks {
      var generator = SeededDice(seed: seed)
      var walk = Walk(&generator)
      for _ in 0..<100 { walk.step(&generator) }
      walk.settle()
      #expect(walk.world.waiting.isEmpty, "seed \(seed): a request waits for ever")
    }
  }

  private struct Walk {
    var world: TokenWorld
    private let flow: Flow

    init(_ generator: inout SeededDice) {
      let flows = [Flow.oauth2Refresh, .oauth2ClientCredentials, .bearerRefresh, .bearerRenew, .exchange]
      flow = flows.randomElement(using: &generator) ?? .oauth2Refresh
      world = TokenWorld(
        flow, access: Bool.random(using: &generator) || flow == .bearerRenew ? "a0" : nil,
        life: Bool.random(using: &generator) ? 90 : nil)
    }

    mutating func step(_ generator: inout SeededDice) {
      world.pass(Double.random(in: 0...10, using: &generator))
      let generation = Int.random(
        in: max(0, world.machine.generation - 2)...world.machine.generation, using: &generator)
      switch Int.random(in: 0..<100, using: &generator) {
      case 0..<25: _ = world.wanted()
      case 25..<40: _ = world.rejected(generation == 0 ? nil : generation)
      case 40..<48: world.machine.accepted(generation)
      case 48..<50: world.refusedAgain(generation)
      case 50..<52: world.loggedOut(generation)
      case 52..<56: if let waiter = world.waiting.sorted().randomElement(using: &generator) { world.cancel(waiter) }
      case 56..<62: _ = world.syncBegan()
      case 62..<64: world.reload(world.machine.settings.flow, files: newFiles(&generator))
      case 64..<66: world.machine.requestRetry()
      case 66..<69: world.reload(world.machine.settings.flow == .none ? flow : .none, files: world.files)
      case 69: if Int.random(in: 0..<5, using: &generator) == 0 { world.stop() }
      case 70: world.abandon()
      case 71: world.now.date += Double.random(in: -100...100, using: &generator)
      default: finish(&generator)
      }
    }

    private func newFiles(_ generator: inout SeededDice) -> Credentials {
      let bytes = "f\(UInt64.random(in: 0...UInt64.max, using: &generator))"
      var files = world.files
      files.refreshToken = Secret(bytes)
      if flow == .exchange, Bool.random(using: &generator) {
        files.refreshToken = nil
        files.password = Secret(bytes)
      }
      files.accessToken = Bool.random(using: &generator) ? Secret(bytes) : nil
      return files
    }

    /// One end of what is under way.
    private mutating func finish(_ generator: inout SeededDice) {
      if world.isWaiting { return world.due() }
      if world.writing != nil {
        return Int.random(in: 0..<4, using: &generator) == 0 ? world.writeFailed() : world.wrote()
      }
      guard world.isSending else { return }
      switch Int.random(in: 0..<11, using: &generator) {
      case 0..<5:
        world.granted(
          rotates: Bool.random(using: &generator), life: [nil, 5, 60, 3600].randomElement(using: &generator) ?? nil)
      case 5: world.failed(.refused(TokenMachine.Fault.ending))
      case 6: world.failed(.incomplete(TokenMachine.Fault.ending))
      case 7: world.failed(.other(TokenMachine.Fault.failure))
      case 8: world.failed(.malformed(TokenMachine.Fault.failure))
      default: world.failed(.passing(again: Bool.random(using: &generator), answered: Bool.random(using: &generator)))
      }
    }

    mutating func settle() {
      world.stop()
      while world.isBusy {
        if world.isWaiting { world.due() } else if world.isSending { world.granted() } else { world.wrote() }
      }
      #expect(!world.machine.isUnstored, "T4: what was granted is on disk")
    }
  }
}
