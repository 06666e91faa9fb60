import FoundationEssentials
import Glibc
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterAuth

/// A shutdown waits for answers, and stores them.
@Suite(.timeLimit(.minutes(1)))
struct TokenKeeperDrainTests {
  @Test("31: a shutdown tries once more to store an answer that could not be stored")
  func unstoredAtShutdown() async throws {
    let (bench, request) = try await Bench.refreshing()
    try bench.breakStore()
    bench.endpoint.grant("a1", refresh: "r1")
    _ = await failure { try await request.value }
    try bench.mendStore()
    #expect(await bench.keeper.drain())
    #expect(bench.stored?.refreshToken == "r1")
  }

  @Test("31: if a shutdown cannot store the answer either, the log says that the token is lost")
  func lostAtShutdown() async throws {
    let lines = Recorder<String>()
    let (bench, request) = try await Bench.refreshing(lines: lines)
    try bench.breakStore()
    bench.endpoint.grant("a1", refresh: "r1")
    _ = await failure { try await request.value }
    #expect(await bench.keeper.drain())
    #expect(lines.all.contains { $0.contains("it is lost") && $0.contains("refresh_token") })
  }

  @Test("32: a shutdown waits for the refresh in flight and stores its answer")
  func drain() async throws {
    let (bench, request) = try await Bench.refreshing()
    request.cancel()
    let keeper = bench.keeper
    let drained = Task { await keeper.drain() }
    bench.endpoint.grant("a1", refresh: "r1")
    #expect(await drained.value)
    #expect(bench.stored?.refreshToken == "r1")
  }

  @Test("32: a shutdown that cannot wait longer reports it, and starts no further attempt")
  func drainTimesOut() async throws {
    let lines = Recorder<String>()
    let (bench, request) = try await Bench.refreshing(lines: lines)
    let keeper = bench.keeper
    let drained = Task { await keeper.drain() }
    drained.cancel()
    #expect(await drained.value == false)
    #expect(lines.all.contains { $0.contains(bench.settings.mayHaveRotated) })
    #expect(bench.stored?.unanswered == true)
    #expect(!bench.endpoint.sawCancellation)
    bench.endpoint.answer(503)
    #expect(await failure { try await request.value }?.kind == .unreachable)
    #expect(bench.clock.pending.isEmpty)
  }

  @Test("32: a shutdown between two attempts waits for nothing")
  func drainCoolingDown() async throws {
    let bench = try await Bench().inSync()
    let request = bench.requests(1)[0]
    bench.endpoint.answer(503, headers: [.init("Retry-After", "5")])
    await bench.clock.sleepers(1)
    #expect(await bench.keeper.drain())
    #expect(await failure { try await request.value }?.kind == .cancelled)
    #expect(bench.endpoint.requests.all.count == 1)
  }

  @Test("31: an answer at the end of a shutdown is not overwritten by the note that it is missing")
  func answerAtTheEndOfADrain() async throws {
    for _ in 0..<100 {
      let (bench, request) = try await Bench.refreshing()
      let keeper = bench.keeper
      let drained = Task { await keeper.drain() }
      drained.cancel()
      bench.endpoint.grant("a1", refresh: "r1")
      _ = await drained.value
      _ = try? await request.value
      #expect(bench.stored?.refreshToken == "r1" && bench.stored?.unanswered == nil)
    }
  }
}
