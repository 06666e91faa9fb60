import FoundationEssentials
import Glibc
import RosterModel
import Synchronization
import Testing

@testable import RosterCache

struct RedefinitionCutShortTests {
  let folder = Folder()

  @Test("C6.2: killed at any moment, the cache has the old or the new definition, and readers see nothing between")
  func killed() async throws {
    await (try folder.mirrored((0..<20).map { page in (1...100).map { person(Int64(page * 100 + $0)) } })).close()
    let folder = folder
    let copies = Mutex<[Folder]>([])
    let next = try await folder.define([ranked]) {
      let seen = try? folder.ask("SELECT count(*) FROM characters WHERE gender = 'unknown'")
      #expect(seen == ["2000"])
      if let copy = try? folder.copy() { copies.withLock { $0.append(copy) } }
    }
    await next.close()
    let killed = copies.withLock { $0 }
    #expect(killed.count > 2)
    for copy in killed {
      #expect(try copy.ask("SELECT count(*) FROM characters WHERE gender = 'unknown'") == ["2000"])
      await (try copy.define([ranked])).close()
      #expect(try copy.ask("SELECT count(*) FROM characters WHERE extra ->> '$.gender' = 'unknown'") == ["2000"])
      try copy.expectSound([ranked])
    }
  }

  @Test("C6.2: after SIGKILL during a redefinition the next start begins it again")
  func sigkill() async throws {
    await (try folder.mirrored((0..<20).map { page in (1...100).map { person(Int64(page * 100 + $0)) } })).close()
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.cache as String] in
      _ = try await Cache.open(
        path: path, upstream: upstream, resources: [ranked], now: noon, logger: quiet,
        tick: { kill(getpid(), SIGKILL) })
    }
    #expect(try folder.ask("SELECT count(*) FROM characters WHERE gender = 'unknown'") == ["2000"])
    try await folder.redefine(ranked)
    #expect(try folder.ask("SELECT count(*) FROM characters WHERE extra ->> '$.gender' = 'unknown'") == ["2000"])
  }

  @Test("S4.9: a large cache reports progress: a start may take longer than TimeoutStartSec=")
  func large() async throws {
    let thousands = Int(ProcessInfo.processInfo.environment["ROSTER_REDEFINED"] ?? "") ?? 3
    let cache = try await folder.define()
    _ = try await cache.mirror((0..<thousands * 5).map { page in (1...200).map { person(Int64(page * 200 + $0)) } })
    await cache.close()
    let ticks = Mutex(0)
    let started = ContinuousClock.now
    let next = try await folder.define([ranked]) { ticks.withLock { $0 += 1 } }
    let duration = ContinuousClock.now - started
    await next.close()
    let told = ticks.withLock { $0 }
    #expect(told > thousands * 3, "\(told) ticks in \(duration)")
    if thousands > 3 { print("redefined \(thousands),000 records in \(duration), \(told) ticks") }
    #expect(try folder.ask("SELECT count(*) FROM characters") == ["\(thousands * 1000)"])
  }
}
