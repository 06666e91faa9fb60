import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterAuth

struct TokenWalkTests {
  /// TokenWorld asserts the invariants after each step.
  @Test("29, 31, 32, 36: the invariants hold for random events in random order")
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
      case 25..<40:
        let list = ["items", "tags"].randomElement(using: &generator) ?? "items"
        _ = world.rejected(
          generation == 0 ? nil : generation, list: list, isFresh: Int.random(in: 0..<4, using: &generator) == 0)
      case 40..<48: world.accepted(generation)
      case 48..<50: tryAgain(&generator)
      case 50..<52: world.loggedOut(generation)
      case 52..<56: if let waiter = world.waiting.sorted().randomElement(using: &generator) { world.cancel(waiter) }
      case 56..<62: _ = world.syncBegan()
      case 62..<64: world.reload(world.machine.settings.flow, files: newFiles(&generator))
      case 64..<66: world.requestRetry()
      case 66..<69: world.reload(world.machine.settings.flow == .none ? flow : .none, files: world.files)
      case 69: if Int.random(in: 0..<5, using: &generator) == 0 { world.stop() }
      case 70: world.abandon()
      case 71: world.requestNewToken()
      case 72:
        world.reload(
          world.machine.settings.flow, files: world.files, scope: ["", "more"].randomElement(using: &generator))
      case 73: world.now.date += Double.random(in: -100...100, using: &generator)
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

    /// One step of the request that tries a brand-new token.
    private mutating func tryAgain(_ generator: inout SeededDice) {
      guard let trial = world.machine.trial else { return }
      switch Int.random(in: 0..<6, using: &generator) {
      case 0: world.trialEnded(trial)
      case 1: world.accepted(world.machine.generation)
      default:
        _ = world.rejected(
          world.machine.generation, isFresh: true, trial: trial, hasWitness: Bool.random(using: &generator))
      }
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
      default:
        let answer = Self.answers.randomElement(using: &generator)
        world.answered(answer ?? .failure(Failure(.unreachable, cause: "test", reason: .timeout)))
      }
    }

    /// Every kind of answer that grants nothing.
    private static let answers: [Result<Response, Failure>] = {
      let table = TokenAnswerTableTests.self
      let responses = (table.final + table.unexplained + table.passing + table.useless.filter { $0.body.count < 1000 })
        .map {
          Response(status: $0.status, headers: $0.headers, body: Array($0.body.utf8))
        }
      let lost = [408, 429, 500, 502, 504, 524].map { Response(status: $0, body: Array("<html>".utf8)) }
      let faults = [Failure.Reason.connection, .timeout, .truncated, .dns].map { reason in
        var fault = Failure(.unreachable, cause: "test", reason: reason)
        fault.exchange?.isUnsent = reason == .dns
        return fault
      }
      return (responses + lost).map { .success($0) } + faults.map { .failure($0) }
    }()

    mutating func settle() {
      world.stop()
      if let trial = world.machine.trial { world.trialEnded(trial) }
      while world.isBusy {
        if world.isWaiting { world.due() } else if world.isSending { world.granted() } else { world.wrote() }
      }
      #expect(world.machine.storeFailure == nil, "31: what was granted is on disk")
    }
  }
}
