import FoundationEssentials
import Logging
import RosterCore
import RosterDefinition
import RosterSimulator
import RosterSync
import RosterTestSupport

@testable import RosterCache
@testable import RosterDaemon

/// The real parts of rosterd with one folder and a simulated upstream. Each `sync` is a start of rosterd, one sync, and
/// a stop.
struct Bench: Sendable {
  let upstream: Simulator
  let workspace: Workspace
  let configuration: Configuration

  var cachePath: String { configuration.cache.path }

  func start(_ clock: WallClock = .system) async throws -> Runtime {
    try await Runtime.open(
      configuration, clock: clock, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  func with<Result>(
    _ clock: WallClock = .system, body: (Runtime) async throws -> Result
  ) async throws -> Result {
    let runtime = try await start(clock)
    do {
      let result = try await body(runtime)
      await runtime.close()
      return result
    } catch {
      await runtime.close()
      throw error
    }
  }

  @discardableResult
  func sync(_ wish: SyncRequest = SyncRequest(), clock: WallClock = .system) async throws -> SyncRecord {
    try await with(clock) { await $0.sync(wish).run() }
  }

  /// The requests after that number: page, condition, answer.
  func requests(after count: Int) -> [Seen] { Array(upstream.counts.pageRequests.dropFirst(count)) }

  /// All characters in the cache, ordered by id.
  func cached() throws -> [RosterSimulator.Character] {
    let database = try Database(path: cachePath, access: .readOnly)
    return try database.rows("SELECT * FROM characters ORDER BY id") { row in
      let episodes = try database.rows(
        "SELECT url FROM character_episodes WHERE character_id = ? ORDER BY position", .integer(row.integer(0))
      ) { $0.text(0) }
      return RosterSimulator.Character(
        id: row.integer(0), name: row.text(1), status: row.text(2), species: row.text(3), type: row.text(4),
        gender: row.text(5), origin: .init(name: row.text(6), url: row.text(7)),
        location: .init(name: row.text(8), url: row.text(9)), image: row.text(10), url: row.text(11),
        created: row.text(12), episodes: episodes, extra: row.optionalText(13))
    }
  }

  /// Upstream's characters in the form in which a reader of the cache sees them.
  var expected: [RosterSimulator.Character] { upstream.characters.sorted { $0.id < $1.id } }

  func write(_ credentials: SimulatedCredentials) throws {
    for (name, text) in credentials.files { try workspace.write(text, to: "credentials/\(name)") }
  }
}

/// 140 characters, which are seven pages. Each of them can be the one that fails.
let sevenPages = Characters.made(140)

func withBench(
  _ scenario: Scenario = Scenario(characters: sevenPages), concurrency: Int = 1, environment: [String: String] = [:],
  file text: String = "",
  upstreamTime: @escaping @Sendable () -> Date = { Date() }, body: (Bench) async throws -> Void
) async throws {
  let upstream = try await Simulator.start(scenario, now: upstreamTime)
  do {
    let workspace = Workspace()
    try FileManager.default.createDirectory(atPath: workspace.path("credentials"), withIntermediateDirectories: true)
    let flow = scenario.tokens.flow
    let settings = [
      "ROSTERD_UPSTREAM_BASE_URL": upstream.baseURL, "ROSTERD_SYNC_CONCURRENCY": "\(concurrency)",
      "ROSTERD_RETRY_BASE_DELAY": "0s", "ROSTERD_RETRY_MAX_DELAY": "0s", "ROSTERD_RETRY_JITTER": "0s",
      "ROSTERD_CACHE_PATH": workspace.path("state/roster.db"),
      "ROSTERD_STATUS_SOCKET": workspace.path("run/status.sock"), "ROSTERD_AUTH_FLOW": flow.rawValue,
      "ROSTERD_AUTH_TOKEN_URL": flow.refreshes ? "/token" : "",
      "ROSTERD_AUTH_CREDENTIALS_DIR": workspace.path("credentials"),
      "ROSTERD_AUTH_TOKEN_STORE": workspace.path("state/token.json"),
    ].merging(environment) { $1 }
    let file = try workspace.write(text)
    let configuration = try Configuration.load(file: file, environment: settings, isRoot: true).configuration
    let bench = Bench(upstream: upstream, workspace: workspace, configuration: configuration)
    try bench.write(upstream.credentials)
    try await body(bench)
  } catch {
    await upstream.stop()
    throw error
  }
  await upstream.stop()
}
