import FoundationEssentials
import Logging
import RosterModel
import RosterSync
import RosterTestSupport
import Synchronization
import Testing

/// Steps that write down that they were taken.
private final class Script: Sendable {
  struct State {
    var taken: [String] = []
    var ended: [SyncReport] = []
    var drifts: [String?] = []
    var found = Comparison(distinct: 9, snapshot: 9)
    var failures: [String: any Error] = [:]
  }

  let state = Mutex(State())

  var taken: [String] { state.withLock { $0.taken } }
  var ended: [SyncReport] { state.withLock { $0.ended } }

  func edit(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

  private func take(_ step: String) throws {
    let failure = state.withLock { state in
      state.taken.append(step)
      return state.failures[step]
    }
    if let failure { throw failure }
  }

  var steps: Syncer.Steps {
    Syncer.Steps(
      begin: { date throws(NotBegun) in
        do { try self.take("begin") } catch { throw NotBegun(id: 7, cause: error) }
        return SyncReport(id: 7, startedAt: date.rfc3339)
      },
      begun: { _, _ in }, phase: { _ in }, prepare: { _ in try self.take("prepare") },
      discover: { _, tally in
        try self.take("discover")
        tally.update {
          $0.pagesDone += 1
          $0.characters += 9
          $0.requests += 1
        }
        return (9, 2)
      },
      pull: { _, _, _ in
        try self.take("pull")
        return self.state.withLock { $0.drifts.isEmpty ? nil : $0.drifts.removeFirst() }
      },
      discard: { try self.take($0 ? "discard" : "discard pages") },
      compare: { _ in
        try self.take("compare")
        return self.state.withLock { $0.found }
      },
      ask: { _, _ in
        try self.take("ask")
        return 0
      },
      publish: { report, _, removal in
        try self.take("publish \(removal)")
        var report = report
        report.outcome = .published
        return report
      },
      end: { _ in try self.take("end") },
      ended: { report in self.edit { $0.ended.append(report) } })
  }

  func run(maxRemoval: Int = 20) async -> SyncReport {
    let syncer = Syncer(
      upstream: "http://up", maxRemoval: maxRemoval, allowRemoval: false, steps: steps, clock: ManualClock().wallClock,
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    return await syncer.run()
  }
}

private let broken = Failure(.unreachable, step: "reach", subject: "x", cause: "y")

@Suite struct SyncerTests {
  @Test("a sync takes its steps in order and tells of its end last")
  func order() async {
    let script = Script()
    let report = await script.run()
    #expect(script.taken == ["begin", "prepare", "discover", "pull", "compare", "publish nobody"])
    #expect(report.outcome == .published)
    #expect((report.exit, report.requests, report.characters) == (0, 1, 9))
    #expect(script.ended == [report])
  }

  @Test(
    "P3: a step that fails publishes nothing, keeps what was pulled, and ends the row with the exit code",
    arguments: ["prepare", "discover", "pull", "compare", "publish nobody"])
  func failure(step: String) async {
    let script = Script()
    script.edit { $0.failures[step] = broken }
    let report = await script.run()
    #expect(report.outcome == .failed)
    #expect(report.exit == 69)
    #expect(report.error == "cannot reach (x): y")
    #expect(script.taken.last == "end")
    #expect(!script.taken.contains("discard"))
    #expect(script.ended == [report])
  }

  @Test("P4: a cancelled sync keeps what was pulled and says that it was cancelled")
  func cancelled() async {
    let script = Script()
    script.edit { $0.failures["pull"] = CancellationError() }
    let report = await script.run()
    #expect((report.outcome, report.exit) == (.cancelled, 1))
    #expect(script.taken == ["begin", "prepare", "discover", "pull", "end"])
  }

  @Test("P7: drift drops what was pulled before each repeat and at the end")
  func drift() async {
    let script = Script()
    script.edit { $0.drifts = ["a", "b", "c"] }
    let report = await script.run()
    #expect(report.exit == 65)
    #expect(script.taken.filter { $0 == "discard" }.count == 3)
    #expect(script.taken.filter { $0 == "pull" }.count == 3)
  }

  @Test("T6, P12: a request that joins and asks to retry the session gets that, also after the session met its end")
  func joinsToRetry() async {
    let syncer = Mutex<Syncer?>(nil)
    let retries = Mutex<[Bool]>([])
    var steps = Script().steps
    steps.prepare = { retry in retries.withLock { $0.append(retry) } }
    steps.pull = { _, _, _ in
      guard retries.withLock({ $0.count }) == 1 else { return nil }
      syncer.withLock { $0 }?.joined(allowRemoval: false, retrySession: true)
      throw Failure(.refused, step: "refresh the token", subject: "http://up", cause: "refused")
    }
    let running = Syncer(
      upstream: "http://up", maxRemoval: 20, allowRemoval: false, steps: steps, clock: ManualClock().wallClock,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    syncer.withLock { $0 = running }
    #expect(await running.run().outcome == .published)
    #expect(retries.withLock { $0 } == [false, true])
  }

  @Test("P7: a pull that fits together after a drift is published")
  func driftOnce() async {
    let script = Script()
    script.edit { $0.drifts = ["a", nil] }
    #expect(await script.run().outcome == .published)
    #expect(script.taken.suffix(2) == ["compare", "publish nobody"])
  }

  @Test("P8: missing characters are asked for, then removed; where that fails nobody is, and the sync says so")
  func missing() async {
    let script = Script()
    script.edit { $0.found = Comparison(distinct: 9, missing: 1, snapshot: 10) }
    #expect(await script.run().error == nil)
    #expect(script.taken.suffix(2) == ["ask", "publish missing"])
    script.edit { $0.failures["ask"] = broken }
    let report = await script.run()
    #expect(report.error?.hasPrefix("nobody was removed") == true)
    #expect((report.outcome, report.exit) == (.published, 0))
    #expect(script.taken.suffix(2) == ["ask", "publish nobody"])
  }

  @Test("P6, P8: a guarded sync drops what was pulled; published pages keep their validators")
  func guarded() async {
    let script = Script()
    script.edit { $0.found = Comparison(distinct: 9, missing: 9, snapshot: 10) }
    let report = await script.run()
    #expect(report.exit == 65)
    #expect(script.taken.suffix(2) == ["discard pages", "end"])
  }

  @Test("a sync whose row cannot be written fails with 73 and pulls nothing")
  func noRow() async {
    let script = Script()
    script.edit { $0.failures["begin"] = Failure(.cannotWrite, step: "write", subject: "x", cause: "y") }
    let report = await script.run()
    #expect((report.id, report.outcome, report.exit) == (7, .failed, 73))
    #expect(script.taken == ["begin", "end"])
    #expect(script.ended == [report])
  }
}
