import FoundationEssentials
import RosterCore
import Testing

@testable import RosterCache

struct HeldUntilTests {
  let folder = Folder()

  @Test("25: the time that upstream asked for is known after a restart, and belongs to that upstream")
  func survives() async throws {
    let cache = try await folder.define()
    #expect(try await cache.retryAfterHold() == nil)
    let hold = RetryAfterHold(setAt: noon - 60, until: noon)
    try await cache.keep(hold)
    await cache.close()
    let next = try await folder.define()
    #expect(try await next.retryAfterHold() == hold)
    await next.close()
    let other = try await folder.define(upstream: "http://other")
    #expect(try await other.retryAfterHold() == nil)
    await other.close()
  }
}
