import FoundationEssentials
import RosterCore
import Testing

@testable import RosterAuth

struct TokenTests {
  private let start = Date(timeIntervalSince1970: 1_700_000_000)

  private func token(life: Double?, knownStart: Bool = true) -> Token {
    var issued = IssuedToken(
      access: Secret("a"), obtainedAt: knownStart ? start : nil, expiresAt: life.map { start + $0 })
    issued.start(at(0))
    return Token(generation: 1, issued: issued)
  }

  /// A reading this number of seconds later, after the clock was set by `set` seconds.
  private func at(_ seconds: Double, set: Double = 0) -> ClockReading {
    ClockReading(date: start + seconds + set, uptime: .seconds(1000 + seconds))
  }

  @Test(
    "30: a refresh is due early_refresh before the end, or at half of a life no longer than twice that",
    arguments: [(3600.0, 3540.0), (121, 61), (120, 60), (100, 50), (2, 1)])
  func due(life: Double, due: Double) {
    let token = token(life: life)
    #expect(!token.isDue(at(due - 0.001), early: .seconds(60)))
    #expect(token.isDue(at(due), early: .seconds(60)))
    #expect(!token.isExpired(at(life - 0.001)))
    #expect(token.isExpired(at(life)))
  }

  @Test("A token without a known expiry is never due; without a known start early_refresh alone counts")
  func unknown() {
    #expect(!token(life: nil).isDue(at(1e9), early: .seconds(60)))
    #expect(!token(life: nil).isExpired(at(1e9)))
    #expect(token(life: 50, knownStart: false).isDue(at(0), early: .seconds(60)))
  }

  @Test("30: a clock that is set back does not prolong the life of a token")
  func setBack() {
    #expect(!token(life: 100).isExpired(at(99.9, set: -3600)))
    #expect(token(life: 100).isExpired(at(100, set: -3600)))
    #expect(token(life: 100).isDue(at(50, set: -3600), early: .seconds(60)))
  }

  @Test("30: a clock that was ahead when an earlier process got the token does not prolong its life")
  func obtainedInTheFuture() {
    var issued = IssuedToken(access: Secret("a"), obtainedAt: start + 86400, expiresAt: start + 86500)
    issued.start(at(0))
    #expect(Token(generation: 1, issued: issued).isExpired(at(100)))
  }
}
