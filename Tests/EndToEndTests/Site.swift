import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterStatusClient
import Testing

/// One rosterd for a test: its upstream, a folder, and settings that keep all files there.
struct Site: Sendable {
  let upstream: Simulator
  let folder: String
  /// Settings by the names of environment variables. Settings that a test does not choose have fast values.
  var settings: [String: String]
  /// The program that `withDaemon` starts.
  var daemon = "rosterd"

  var cache: String { "\(folder)/state/roster.db" }
  var socket: String { "\(folder)/status.sock" }
  var tokenStore: String { "\(folder)/state/token.json" }

  init(
    _ scenario: Scenario, settings: [String: String], upstreamTime: @escaping @Sendable () -> Date
  ) async throws {
    var template = Array("\(FileManager.default.temporaryDirectory.path)/rosterd-XXXXXX".utf8CString)
    folder = String(cString: try #require(mkdtemp(&template)))
    upstream = try await Simulator.start(scenario, now: upstreamTime)
    self.settings = [
      "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "", "STATE_DIRECTORY": "\(folder)/state",
      "RUNTIME_DIRECTORY": folder, "CREDENTIALS_DIRECTORY": folder, "CONFIGURATION_DIRECTORY": "\(folder)/etc",
      "ROSTERD_UPSTREAM_BASE_URL": upstream.baseURL, "ROSTERD_SYNC_INTERVAL": "1h", "ROSTERD_SYNC_JITTER": "0s",
      "ROSTERD_RETRY_BASE_DELAY": "0s", "ROSTERD_RETRY_JITTER": "0s", "ROSTERD_LOG_FORMAT": "text",
    ].merging(settings) { $1 }
    for (name, secret) in upstream.credentials.files {
      try Data(secret.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
    }
    let flow = scenario.tokens.flow
    if flow != .none, settings["ROSTERD_AUTH_FLOW"] == nil {
      self.settings["ROSTERD_AUTH_FLOW"] = flow.rawValue
      if flow == .exchange {
        self.settings.merge(Self.exchange) { $1 }
      } else if flow.refreshes {
        self.settings["ROSTERD_AUTH_TOKEN_URL"] = "/token"
      }
      if scenario.tokens.place != .bearer { self.settings["ROSTERD_AUTH_SEND"] = scenario.tokens.place.text }
    }
  }

  /// The configuration for Django's simplejwt.
  private static let exchange = [
    "ROSTERD_AUTH_LOGIN_URL": "/token",
    "ROSTERD_AUTH_LOGIN_BODY": #"{ username = "{username}", password = "{password}" }"#,
    "ROSTERD_AUTH_REFRESH_URL": "/token", "ROSTERD_AUTH_REFRESH_BODY": #"{ refresh = "{refresh_token}" }"#,
    "ROSTERD_AUTH_ANSWER_ACCESS": "/access", "ROSTERD_AUTH_ANSWER_REFRESH": "/refresh",
  ]

  func remove() async {
    await upstream.stop()
    try? FileManager.default.removeItem(atPath: folder)
  }

  // MARK: Programs

  func rosterd(_ arguments: String..., with more: [String: String] = [:]) async throws -> Program.Outcome {
    try await Program.run(
      try Program.built("rosterd"), arguments: arguments, environment: settings.merging(more) { $1 })
  }

  func start(_ arguments: String...) throws -> Program {
    try Program(try Program.built("rosterd"), arguments: arguments, environment: settings)
  }

  func rosterctl(_ arguments: String...) async throws -> Program.Outcome {
    try await Program.run(
      try Program.built("rosterctl"), arguments: arguments, environment: ["ROSTERD_STATUS_SOCKET": socket])
  }

  /// Runs one sync and returns its row.
  func sync(exit: Int32 = 0, with more: [String: String] = [:]) async throws -> SyncRecord {
    let outcome = try await rosterd("sync", "--json", with: more)
    try #require(outcome.exit == exit, "\(outcome.error)")
    return try JSONDecoder().decode(SyncRecord.self, from: Data(outcome.output.utf8))
  }

  /// Runs `body` after the daemon has reported READY. A daemon that still runs at the end of `body` is killed.
  /// - Parameter starting: runs before that report.
  func withDaemon(
    _ arguments: [String] = ["run"], starting: (Program) throws -> Void = { _ in },
    body: (Program, NotifySocket) async throws -> Void
  ) async throws {
    let path = "\(folder)/notify-\(UInt32.random(in: 0 ... .max))"
    let notify = try NotifySocket(path: path)
    defer { notify.close() }
    let daemon = try Program(
      try Program.built(daemon), arguments: arguments, environment: settings.merging(["NOTIFY_SOCKET": path]) { $1 },
      ended: notify.close)
    try starting(daemon)
    try #require(await notify.first { $0.contains("READY=1") } != nil, "\(daemon.complaints)")
    try await body(daemon, notify)
  }

  func status() async throws -> DaemonStatus {
    let answer = try await StatusClient(socket: socket).send("GET", target: "/v1/status")
    return try JSONDecoder().decode(DaemonStatus.self, from: Data(answer.body))
  }

  func curl(_ target: String) async throws -> (body: String, status: String) {
    let arguments = ["-sS", "-w", "\n%{http_code}", "--unix-socket", socket, "http://localhost\(target)"]
    let lines = try await Program.run(try Program.tool("curl"), arguments: arguments).output
      .split(separator: "\n", omittingEmptySubsequences: false)
    return (lines.dropLast().joined(separator: "\n"), String(lines.last ?? ""))
  }

  // MARK: The cache, as other tools read it

  /// Rows of texts; NULL is `NULL`.
  func rows(_ sql: String, of path: String? = nil) async throws -> [[String]] {
    let arguments = [
      "-readonly", "-list", "-separator", Self.unit, "-newline", Self.record, "-nullvalue", "NULL", path ?? cache,
      ".timeout 5000", sql,
    ]
    let outcome = try await Program.run(try Program.tool("sqlite3"), arguments: arguments)
    try #require(outcome.exit == 0 && outcome.error.isEmpty, "\(outcome.error)")
    return outcome.output.split(separator: Self.record).map {
      $0.split(separator: Self.unit, omittingEmptySubsequences: false).map(String.init)
    }
  }

  /// Expects that the cache contains exactly upstream's characters, with all columns and episodes.
  func expectUpstream(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let characters = upstream.characters.sorted { $0.id < $1.id }
    let found = try await rows(
      """
      SELECT id, name, status, species, type, gender, origin_name, origin_url, location_name, location_url, image, url,
        created, extra FROM characters ORDER BY id
      """)
    #expect(found == characters.map(\.row), sourceLocation: sourceLocation)
    let episodes = try await rows("SELECT * FROM character_episodes ORDER BY character_id, position")
    let expected = characters.flatMap { character in
      character.episodes.enumerated().map { ["\(character.id)", "\($0.offset)", $0.element] }
    }
    #expect(episodes == expected, sourceLocation: sourceLocation)
  }

  /// All data for readers except `syncs`.
  func snapshot() async throws -> [[String]] {
    var all: [[String]] = []
    for table in ["characters", "character_episodes", "changes", "rejects", "cache_info"] {
      all += try await rows("SELECT * FROM \(table)")
    }
    return all
  }

  // ASCII's separator characters, which occur in no text of the tests.
  private static let unit = "\u{1F}"
  private static let record = "\u{1E}"
}

extension Character {
  fileprivate var row: [String] {
    [
      "\(id)", name, status, species, type, gender, origin.name, origin.url, location.name, location.url, image, url,
      created, extra ?? "NULL",
    ]
  }
}

/// A site that is removed with all its processes when `body` returns.
func withSite(
  _ scenario: Scenario = Scenario(), settings: [String: String] = [:],
  upstreamTime: @escaping @Sendable () -> Date = { Date() }, body: (Site) async throws -> Void
) async throws {
  let site = try await Site(scenario, settings: settings, upstreamTime: upstreamTime)
  do { try await body(site) } catch {
    await site.remove()
    throw error
  }
  await site.remove()
}

/// The same with a daemon that has reported READY. If there is a file, it is the daemon's configuration.
func withDaemon(
  _ scenario: Scenario = Scenario(), settings: [String: String] = [:], file: String? = nil,
  body: (Site, Program, NotifySocket) async throws -> Void
) async throws {
  try await withSite(scenario, settings: settings) { site in
    guard let file else { return try await site.withDaemon { try await body(site, $0, $1) } }
    try await site.withFile(file) { try await body(site, $0, $1) }
  }
}

extension Scenario {
  /// A scenario with this number of full pages of 20.
  static func pages(_ count: Int, tokens: Tokens = Tokens(), rules: [Rule] = []) -> Scenario {
    Scenario(characters: Characters.made(count * 20), tokens: tokens, rules: rules)
  }
}
