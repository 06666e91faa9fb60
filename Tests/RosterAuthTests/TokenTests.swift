import FoundationEssentials
import RosterModel
import Testing

@testable import RosterAuth

struct TokenTests {
  private let start = Date(timeIntervalSince1970: 1_700_000_000)

  private func token(life: Double?, knownStart: Bool = true) -> Token {
    let issued = IssuedToken(
      access: Secret("a"), obtainedAt: knownStart ? start : nil, expiresAt: life.map { start + $0 })
    return Token(issued, generation: 1)
  }

  @Test(
    "T2: early_refresh before the end, or half of a life no longer than twice that",
    arguments: [(3600.0, 3540.0), (121, 61), (120, 60), (100, 50), (2, 1)])
  func due(life: Double, due: Double) {
    let token = token(life: life)
    #expect(!token.isDue(start + (due - 0.001), early: .seconds(60)))
    #expect(token.isDue(start + due, early: .seconds(60)))
    #expect(!token.isExpired(start + (life - 0.001)))
    #expect(token.isExpired(start + life))
  }

  @Test("Without a known expiry it is never due, without a known start early_refresh alone counts")
  func unknown() {
    #expect(!token(life: nil).isDue(.distantFuture, early: .seconds(60)))
    #expect(!token(life: nil).isExpired(.distantFuture))
    #expect(token(life: 50, knownStart: false).isDue(start, early: .seconds(60)))
  }

  @Test("The header is RFC 6750's")
  func header() {
    #expect(token(life: nil).authorization == Request.Header("Authorization", "Bearer a"))
  }
}
