import FoundationEssentials
import Logging
import RosterCache
import RosterConfiguration
import RosterModel
import RosterSimulator
import RosterSync
import RosterTestSupport

@testable import RosterDaemon

/// The real parts of rosterd on one folder, against a simulated upstream. Each `sync` is a start of rosterd, one sync, and its end.
struct Bench: Sendable {
  let upstream: Simulator
  let workspace: Workspace
  let configuration: Configuration

  var cachePath: String { configuration.cache.path }

  func start() async throws -> Instance {
    try await Instance.open(
      configuration, clock: .system, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  func with<Result>(_ body: (Instance) async throws -> Result) async throws -> Result {
    let instance = try await start()
    do {
      let result = try await body(instance)
      await instance.close()
      return result
    } catch {
      await instance.close()
      throw error
    }
  }

  @discardableResult
  func sync(_ wish: SyncWish = SyncWish()) async throws -> SyncReport {
    try await with { await $0.syncer(wish).run() }
  }

  /// What the requests since then asked for: page, condition, answer.
  func requests(after count: Int) -> [Seen] { Array(upstream.counts.pageRequests.dropFirst(count)) }

  /// Everybody in the cache, by id.
  func cached() throws -> [RosterModel.Character] {
    let reader = try CacheReader(path: cachePath)
    let pages = try reader.characters().pages
    return try (0..<pages).flatMap { try reader.characters(page: $0 + 1).characters.map(\.character) }
  }

  /// What upstream has, as a reader of the cache sees it.
  var expected: [RosterModel.Character] { upstream.characters.sorted { $0.id < $1.id } }

  func write(_ credentials: SimulatedCredentials) throws {
    for (name, text) in credentials.files { try workspace.write(text, to: "credentials/\(name)") }
  }
}

/// A hundred and forty characters are seven pages: each of them can be the one that breaks.
let sevenPages = Characters.made(140)

func withBench(
  _ scenario: Scenario = Scenario(characters: sevenPages), concurrency: Int = 1, environment: [String: String] = [:],
  upstreamTime: @escaping @Sendable () -> Date = { Date() }, _ body: (Bench) async throws -> Void
) async throws {
  let upstream = try await Simulator.start(scenario, now: upstreamTime)
  do {
    let workspace = try Workspace()
    try FileManager.default.createDirectory(
      atPath: workspace.path("credentials"), withIntermediateDirectories: true)
    let flow = scenario.tokens.flow
    let settings = [
      "ROSTERD_UPSTREAM_BASE_URL": upstream.baseURL, "ROSTERD_SYNC_CONCURRENCY": "\(concurrency)",
      "ROSTERD_RETRY_BASE_DELAY": "0s", "ROSTERD_RETRY_MAX_DELAY": "0s", "ROSTERD_RETRY_JITTER": "0s",
      "ROSTERD_CACHE_PATH": workspace.path("state/roster.db"),
      "ROSTERD_STATUS_SOCKET": workspace.path("run/status.sock"), "ROSTERD_AUTH_FLOW": flow.rawValue,
      "ROSTERD_AUTH_TOKEN_URL": flow == .none || flow == .fixed ? "" : "/token",
      "ROSTERD_AUTH_CREDENTIALS_DIR": workspace.path("credentials"),
      "ROSTERD_AUTH_TOKEN_STORE": workspace.path("state/token.json"),
    ].merging(environment) { $1 }
    let file = try workspace.write("")
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
