import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterStatusClient
import RosterTestSupport
import Testing

/// Resource use of a daemon after many failed syncs.
@Suite struct SoakTests {
  /// `make soak`: 1,000.
  private static let rounds = ProcessInfo.processInfo.environment["ROSTER_SOAK"].flatMap(Int.init) ?? 60
  /// Syncs until all intended caches are full: the latest 1,024 events, SQLite's pages, malloc's arenas. That takes
  /// some 1,300 syncs, independent of the number of measured ones.
  private static let warmUp = rounds
  private static let maxGrowth = 2 << 20
  /// The request and the event stream by which a test detects a sync's end. The daemon may not have noticed yet that
  /// they are closed.
  private static let ownConnections = 2

  private static let faults: [Fault] = [
    .status(503), .status(400), .status(401), .drop, .html(), .vanished, .cut(after: .half, .reset),
    .cut(after: .head, .close), .cut(after: .nothing, .stall), .cut(after: .half, .stall),
    .redirect(to: "http://127.0.0.1:1/"),
  ]

  @Test("Failed and timed-out syncs in one daemon leave no descriptor, no connection and at most 2 MB")
  func nothingIsLeft() async throws {
    let timeout = Sanitizer.isPresent ? "1s" : "200ms"
    let settings = [
      "ROSTERD_UPSTREAM_TIMEOUT": timeout, "ROSTERD_AUTH_TIMEOUT": timeout, "ROSTERD_RETRY_MAX_RETRIES": "1",
    ]
    try await withDaemon(.pages(7), settings: settings) { site, daemon, _ in
      #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
      try await fail(site, times: Self.warmUp)
      let before = try await rest(site, daemon: daemon)
      try await fail(site, times: Self.rounds)
      let after = try await rest(site, daemon: daemon)
      #expect(after.connections <= before.connections + Self.ownConnections)
      #expect(after.files == before.files)
      let grown = after.memory - before.memory
      #expect(grown <= Self.maxGrowth || Sanitizer.isPresent, "\(before.memory) bytes before, \(after.memory) after")
    }
  }

  private func fail(_ site: Site, times: Int) async throws {
    for round in 0..<times {
      site.upstream.update { characters in characters = characters.map { $0.marked(round) } }
      let fault = Self.faults[round % Self.faults.count]
      site.upstream.configure { $0.rules = [.on(.page(round % 7 + 1), fault)] }
      #expect(try await ending(site) == .syncFailed, "\(fault)")
    }
  }

  /// Requests a sync and returns its final event.
  private func ending(_ site: Site) async throws -> Event.Name? {
    let client = StatusClient(socket: site.socket)
    var ending: String?
    try await client.follow {
      try await client.send("POST", target: "/v1/sync").status == 202
    } each: { event in
      ending = event.name
      return !Self.endings.contains(event.name)
    }
    return ending.flatMap(Event.Name.init)
  }

  private static let endings = [Event.Name.syncFailed, .syncPublished, .syncUnchanged, .syncCancelled].map(\.rawValue)

  /// Measures after every connection to upstream was closed and one request was sent on a new one.
  private func rest(
    _ site: Site, daemon: Program
  ) async throws -> (connections: Int, files: [String: Int], memory: Int) {
    await site.upstream.disconnect()
    site.upstream.configure { $0.rules = [.on(.page(1), .status(400))] }
    _ = try await ending(site)
    var files = try openFiles(of: "\(daemon.pid)")
    let connections = files.removeValue(forKey: "socket:[") ?? 0
    // proc_pid_statm(5): the second number is in pages.
    let numbers = try String(contentsOf: URL(filePath: "/proc/\(daemon.pid)/statm"), encoding: .utf8)
      .split(separator: " ").compactMap { Int($0) }
    return (connections, files, try #require(numbers.dropFirst().first) * sysconf(Int32(_SC_PAGESIZE)))
  }
}
