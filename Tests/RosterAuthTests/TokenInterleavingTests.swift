import FoundationEssentials
import RosterCore
import Testing

@testable import RosterAuth

/// A few requests against an upstream that kills tokens, with reloads and a stop, in every order in which all these can
/// fall.
struct TokenInterleavingTests {
  /// One request as Authorize runs it: sent again until its answer counts or the sync fails.
  private enum Stage: Equatable {
    case fresh
    case waiting(Int)
    case sent(Token)
    case done
    /// Its refusal counts as the list's.
    case blamed
    case failed(Failure)
  }

  private struct Process: Equatable {
    var stage = Stage.fresh
    /// True if its token came after a refusal of its own.
    var isFresh = false
    var trial: Int?
  }

  /// An event of the daemon meanwhile.
  private enum Happening: String {
    /// SIGHUP with `auth.flow` "none", and with the flow that was.
    case off, on
    /// SIGHUP with other credentials.
    case credentials
    case stop
  }

  private struct Scene: Equatable {
    var flow: Flow
    var world: TokenWorld
    var processes: [Process]
    /// The only access token that upstream accepts now; nil if it accepts no token.
    var accepted: Secret?
    var killsLeft: Int
    /// Events in their order.
    var happenings: [Happening] = []
    /// Upstream takes no refresh token.
    var refusesRefreshes = false

    /// Every scene that one more step can lead to.
    func next() -> [Scene] {
      var scenes = processes.indices.compactMap { step($0) }
      func add(_ change: (inout Scene) -> Void) { scenes.append(changed(change)) }
      if world.isWaiting { add { $0.world.due() } }
      if let next = happenings.first {
        add {
          $0.happenings.removeFirst()
          $0.happen(next)
          $0.resume()
        }
      }
      if refusesRefreshes, let attempt = world.sending, !attempt.session.logsIn(attempt.setup.settings) {
        add { $0.refuse() }
      } else if world.isSending {
        add {
          $0.world.granted()
          $0.accepted = $0.world.writing?.access?.access
        }
      }
      if world.writing != nil {
        add {
          $0.world.wrote()
          $0.resume()
        }
      }
      if killsLeft > 0, accepted != nil {
        add {
          $0.accepted = nil
          $0.killsLeft -= 1
        }
      }
      return scenes
    }

    private mutating func refuse() {
      world.failed(.refused(TokenMachine.Fault.ending))
      resume()
    }

    private mutating func happen(_ happening: Happening) {
      var files = world.files
      switch happening {
      case .off: world.reload(.none, files: files)
      case .on: world.reload(flow, files: files)
      case .credentials:
        if flow == .bearerRenew { files.accessToken = Secret("f") } else { files.refreshToken = Secret("f") }
        world.reload(flow, files: files)
      case .stop: world.stop()
      }
    }

    private func changed(_ change: (inout Scene) -> Void) -> Scene {
      var scene = self
      change(&scene)
      return scene
    }

    private func step(_ index: Int) -> Scene? {
      switch processes[index].stage {
      case .fresh: changed { scene in scene.take(index, answer: scene.world.wanted()) }
      case .sent(let token): changed { $0.answer(index, token: token) }
      case .waiting, .done, .blamed, .failed: nil
      }
    }

    private mutating func answer(_ index: Int, token: Token) {
      if token.access == accepted {
        world.accepted(token.generation)
        processes[index] = Process(stage: .done)
        resume()
      } else {
        let process = processes[index]
        let isLate = world.machine.isLate(token.generation)
        let answer = world.rejected(token.generation, isFresh: process.isFresh, trial: process.trial)
        processes[index].isFresh = !isLate
        take(index, answer: answer)
      }
    }

    private mutating func take(_ index: Int, answer: (waiter: Int, outcome: TokenWorld.Outcome)) {
      switch answer.outcome {
      case .waits: processes[index].stage = .waiting(answer.waiter)
      case .token(let token?): processes[index].stage = .sent(token)
      case .token(nil):
        if world.machine.settings.flow != .none { Issue.record("a request goes without a token") }
        // Upstream asks for one: what follows is Authorize's.
        processes[index].stage = .failed(.notRenewable(world.machine.settings))
      case .failed(let failure): processes[index].stage = .failed(failure)
      case .probes(let trial):
        processes[index].trial = trial
        processes[index].stage = world.machine.token.map { .sent($0) } ?? .done
      case .verifies: Issue.record("no request has succeeded")
      case .blamed: processes[index].stage = .blamed
      }
      resume()
    }

    private mutating func resume() {
      for index in processes.indices {
        guard case .waiting(let waiter) = processes[index].stage, let outcome = world.released[waiter] else { continue }
        take(index, answer: (waiter, outcome))
      }
    }
  }

  /// Every end that can be reached. Scenes that differ in the names of the requests only are one.
  private func ends(
    _ flow: Flow = .oauth2Refresh, kills: Int, access: String? = "a0", requests: Int = 4,
    happenings: [Happening] = [], refusesRefreshes: Bool = false
  ) -> [Scene] {
    var open = [
      Scene(
        flow: flow, world: TokenWorld(flow, access: access), processes: Array(repeating: Process(), count: requests),
        accepted: nil,
        killsLeft: kills, happenings: happenings, refusesRefreshes: refusesRefreshes)
    ]
    var seen: Set<String> = []
    var ends: [Scene] = []
    while let scene = open.popLast() {
      guard seen.insert(key(scene)).inserted else { continue }
      let next = scene.next()
      if next.isEmpty { ends.append(scene) }
      open += next
    }
    return ends
  }

  private func key(_ scene: Scene) -> String {
    let processes = scene.processes.map { process -> String in
      let stage =
        switch process.stage {
        case .fresh: "f"
        case .waiting: "w"
        case .sent(let token): "s\(token.generation)"
        case .done: "d"
        case .blamed: "b"
        case .failed: "x"
        }
      return "\(stage)\(process.isFresh)\(process.trial != nil)"
    }
    let world = scene.world
    let machine = world.machine
    return """
      \(processes.sorted()) \(scene.accepted?.reveal() ?? "-") \(scene.killsLeft) \(scene.happenings) \
      \(world.sent) \(world.isWaiting) \(world.isSending) \(world.writing?.refreshToken?.reveal() ?? "-") \
      \(world.disk?.refreshToken?.reveal() ?? "-") \(machine.generation) \(machine.sync) \(phase(machine)) \
      \(machine.session.binding.flow) \(machine.session.refreshToken?.reveal() ?? "-") \
      \(machine.session.access?.access.reveal() ?? "-") \(world.deferred.map(\.name))
      """
  }

  /// The phase without the names of the requests.
  private func phase(_ machine: TokenMachine) -> String {
    guard case .busy(let work, let sequel) = machine.phase else { return "" }
    let pauses = if case .proving(let trial) = work { trial.pauses.count } else { -1 }
    return "\(pauses) \(sequel.hasNote) \(sequel.waiters.count)"
  }

  @Test(
    "29: in every order four requests with a dead token or none cause one refresh, and all of them succeed",
    arguments: ["a0", nil])
  func oneRefresh(access: String?) {
    let ends = ends(kills: 0, access: access)
    #expect(!ends.isEmpty)
    for end in ends { #expect(end.processes.allSatisfy { $0.stage == .done } && end.world.sent == 1) }
  }

  @Test("29, 34: if the fresh token dies too, there is a second refresh or one failure, and never a third refresh")
  func twoRefreshes() {
    let ends = ends(kills: 1)
    var refreshes: Set<Int> = []
    for end in ends {
      refreshes.insert(end.world.sent)
      for process in end.processes {
        switch process.stage {
        case .done, .blamed: break
        case .failed(let failure): #expect(failure.kind == .refused)
        case .fresh, .waiting, .sent: Issue.record("a request is left behind")
        }
      }
    }
    #expect(refreshes == [1, 2])
  }

  /// TokenWorld asserts at each step what must hold; in the end the store has the last refresh token that was granted.
  private func expectSound(_ ends: [Scene]) {
    #expect(!ends.isEmpty)
    for end in ends {
      for process in end.processes {
        switch process.stage {
        case .done, .blamed, .failed: break
        case .fresh, .waiting, .sent: Issue.record("a request is left behind")
        }
      }
      #expect(!end.world.isBusy)
      let left = end.world.disk?.refreshToken
      // A session of other credentials may have been noted since.
      let isOther = end.world.machine.session.refreshToken == Secret("f") && left == Secret("f")
      let granted = Secret(end.flow == .bearerRenew ? "a\(end.world.sent)" : "r\(end.world.sent)")
      #expect(end.world.sent == 0 || left == granted || isOther)
    }
  }

  @Test("31, 32: a reload that removes the flow at any moment loses no refresh token", arguments: [0, 1])
  func flowOff(kills: Int) {
    expectSound(ends(kills: kills, requests: 2, happenings: [.off]))
  }

  @Test(
    "31, 32: a reload that restores the flow, before or after the answer, loses no refresh token",
    arguments: ["a0", nil])
  func flowOffAndOn(access: String?) {
    let ends = ends(kills: 0, access: access, requests: 2, happenings: [.off, .on])
    expectSound(ends)
    for end in ends { #expect(end.world.machine.session.refreshToken == end.world.disk?.refreshToken ?? Secret("r0")) }
    expectSound(self.ends(kills: 1, access: access, requests: 2, happenings: [.off, .on, .off, .on]))
  }

  @Test(
    "29, 35: other credentials at any moment cause at most one token request of their own", arguments: ["a0", nil])
  func otherCredentials(access: String?) {
    let ends = ends(kills: 0, access: access, requests: 2, happenings: [.credentials])
    expectSound(ends)
    for end in ends { #expect(end.world.sent <= 2) }
  }

  @Test(
    "29, 31, 32, 36: bearer_renew and an exchange send each token once and lose none, also with reloads",
    arguments: [Flow.bearerRenew, .exchange])
  func renewed(flow: Flow) {
    for end in ends(flow, kills: 0) {
      #expect(end.processes.allSatisfy { $0.stage == .done } && end.world.sent == 1)
    }
    for happenings: [Happening] in [[.off], [.off, .on], [.credentials], [.stop], [.off, .on, .stop]] {
      expectSound(ends(flow, kills: 0, requests: 2, happenings: happenings))
    }
    expectSound(ends(flow, kills: 1, requests: 2, happenings: [.off, .on]))
  }

  @Test("36: one login follows a refused refresh, in whatever order four requests wait, and all of them succeed")
  func loggedInAgain() {
    let ends = ends(.exchange, kills: 0, refusesRefreshes: true)
    #expect(!ends.isEmpty)
    for end in ends {
      #expect(end.processes.allSatisfy { $0.stage == .done } && end.world.sent == 2)
      #expect(end.world.disk?.refreshToken == Secret("r1"))
    }
  }

  @Test("41: no token request begins after a stop, in any order of events")
  func stop() {
    expectSound(ends(kills: 1, requests: 3, happenings: [.stop]))
    expectSound(ends(kills: 0, requests: 2, happenings: [.off, .on, .stop]))
    expectSound(ends(kills: 0, requests: 2, happenings: [.credentials, .stop]))
  }
}
