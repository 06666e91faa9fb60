import FoundationEssentials
import RosterModel
import Testing

@testable import RosterAuth

/// Four requests against an upstream that kills tokens, in every order in which their steps can fall.
struct TokenInterleavingTests {
  /// One request as Authorize runs it: sent again at most once with the current and once with a fresh token (T3).
  private enum Stage: Equatable {
    case fresh
    case waiting(Int)
    case sent(Token)
    case done
    case failed(Failure)
  }

  private struct Process: Equatable {
    var stage = Stage.fresh
    var usedCurrent = false
    var usedFresh = false
  }

  private struct Scene: Equatable {
    var world: TokenWorld
    var processes: [Process]
    /// The one access token that upstream takes now; nil: none.
    var accepted: Secret?
    var killsLeft: Int

    /// Every scene that one more step can lead to.
    func next() -> [Scene] {
      var scenes = processes.indices.compactMap { step($0) }
      if world.isSending {
        scenes.append(
          changed {
            $0.world.granted()
            $0.accepted = $0.world.writing?.access?.access
          })
      }
      if world.writing != nil {
        scenes.append(
          changed {
            $0.world.wrote()
            $0.resume()
          })
      }
      if killsLeft > 0, accepted != nil {
        scenes.append(
          changed {
            $0.accepted = nil
            $0.killsLeft -= 1
          })
      }
      return scenes
    }

    private func changed(_ change: (inout Scene) -> Void) -> Scene {
      var scene = self
      change(&scene)
      return scene
    }

    private func step(_ index: Int) -> Scene? {
      switch processes[index].stage {
      case .fresh: changed { scene in scene.take(index, scene.world.wanted()) }
      case .sent(let token): changed { $0.answer(index, token) }
      case .waiting, .done, .failed: nil
      }
    }

    private mutating func answer(_ index: Int, _ token: Token) {
      if token.access == accepted {
        world.machine.accepted(token.generation)
        processes[index].stage = .done
      } else if processes[index].usedFresh {
        world.refusedAgain(token.generation)
        resume()
        processes[index].stage = world.machine.failure.map { .failed($0) } ?? .done
      } else {
        let isLate = world.machine.isLate(token.generation)
        processes[index].usedFresh = !isLate || processes[index].usedCurrent
        processes[index].usedCurrent = true
        take(index, world.rejected(token.generation))
      }
    }

    private mutating func take(_ index: Int, _ answer: (waiter: Int, outcome: TokenWorld.Outcome)) {
      switch answer.outcome {
      case .waits: processes[index].stage = .waiting(answer.waiter)
      case .token(let token?): processes[index].stage = .sent(token)
      case .token(nil): Issue.record("a request goes without a token")
      case .failed(let failure): processes[index].stage = .failed(failure)
      }
      resume()
    }

    private mutating func resume() {
      for index in processes.indices {
        guard case .waiting(let waiter) = processes[index].stage, let outcome = world.released[waiter] else { continue }
        take(index, (waiter, outcome))
      }
    }
  }

  /// Every end that can be reached. Scenes that differ in the names of the requests only are one.
  private func ends(kills: Int, access: String? = "a0") -> [Scene] {
    var open = [
      Scene(
        world: TokenWorld(access: access), processes: Array(repeating: Process(), count: 4), accepted: nil,
        killsLeft: kills)
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
        case .failed: "x"
        }
      return "\(stage)\(process.usedCurrent)\(process.usedFresh)"
    }
    let machine = scene.world.machine
    return """
      \(processes.sorted()) \(scene.accepted?.reveal() ?? "-") \(scene.killsLeft) \(scene.world.sent) \
      \(scene.world.isSending) \(scene.world.writing != nil) \(machine.token?.generation ?? 0) \(machine.generation) \
      \(machine.barred != nil) \(machine.isUnproven)
      """
  }

  @Test("T1: however four requests meet one dead token, one refresh is sent and all of them succeed")
  func oneRefresh() {
    let ends = ends(kills: 0)
    #expect(!ends.isEmpty)
    for end in ends {
      #expect(end.processes.allSatisfy { $0.stage == .done })
      #expect(end.world.sent == 1)
    }
  }

  @Test("T1: the same without any token at first")
  func noToken() {
    for end in ends(kills: 0, access: nil) {
      #expect(end.processes.allSatisfy { $0.stage == .done })
      #expect(end.world.sent == 1)
    }
  }

  @Test("T1, T3: when the fresh token is killed too, a second refresh or the one failure, and never a third")
  func twoRefreshes() {
    let ends = ends(kills: 1)
    var refreshes: Set<Int> = []
    for end in ends {
      refreshes.insert(end.world.sent)
      for process in end.processes {
        switch process.stage {
        case .done: break
        case .failed(let failure): #expect(failure.exit == .refused)
        case .fresh, .waiting, .sent: Issue.record("a request is left behind")
        }
      }
    }
    #expect(refreshes == [1, 2])
  }
}
