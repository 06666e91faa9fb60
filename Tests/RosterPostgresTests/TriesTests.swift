import RosterCore
import Testing

@testable import RosterPostgres

@Suite("The tries of rosterd-postgres run")
struct TriesTests {
  private let start = ContinuousClock.now

  private func follows(_ tries: inout Tries, _ kind: Failure.Kind, after seconds: Int) -> Bool {
    let failure = Failure(kind, step: "open the schema", subject: "rosterd", cause: "a test")
    return tries.mayFollow(failure, at: start + .seconds(seconds))
  }

  @Test("59: another owner of the schema ends run after 60 s")
  func taken() {
    var tries = Tries()
    for seconds in [0, 30, 59] {
      #expect(follows(&tries, .owned, after: seconds))
    }
    #expect(!follows(&tries, .owned, after: 60))
  }

  @Test("59: the 60 s of a taken schema begin again after another failure")
  func takenAgain() {
    var tries = Tries()
    #expect(follows(&tries, .owned, after: 0))
    #expect(follows(&tries, .refused, after: 30))
    #expect(follows(&tries, .owned, after: 66))
    #expect(!follows(&tries, .owned, after: 126))
  }

  @Test("49: a wrong configuration ends run at once, and pauses double up to 30 s, or to 5 s for a taken schema")
  func pauses() {
    var tries = Tries()
    #expect(!follows(&tries, .configuration, after: 0))
    #expect((1...7).map { _ in tries.pause() } == [1, 2, 4, 8, 16, 30, 30])
    #expect(follows(&tries, .owned, after: 0))
    #expect(tries.pause() == 5)
  }

  @Test("59: the server has lost a snapshot if it has an older one, or one of a former feed")
  func lost() {
    let last = ReplicaPosition(feed: "b", change: 9, snapshot: 3, sync: 4)
    #expect(!last.lacks(last, newest: last))
    #expect(!ReplicaPosition(feed: "b", change: 9, snapshot: 4, sync: 5).lacks(last, newest: last))
    #expect(ReplicaPosition(feed: "b", change: 5, snapshot: 2, sync: 3).lacks(last, newest: last))
    let other = ReplicaPosition(feed: "a", change: 5, snapshot: 1, sync: 2)
    #expect(other.lacks(last, newest: last))
    // Another program has copied the new feed meanwhile.
    #expect(!other.lacks(last, newest: other))
  }
}
