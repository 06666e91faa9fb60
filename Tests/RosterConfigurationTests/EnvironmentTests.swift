import RosterCore
import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite("Configuration: the environment")
struct EnvironmentTests {
  let workspace = Workspace()

  @Test("The environment wins over the file: strings bare, lists and tables in TOML")
  func wins() throws {
    let configuration = try workspace.load(
      "[upstream]\nbase_url = \"https://file\"\n[sync]\nconcurrency = 1\ninterval = \"1m\"",
      environment: [
        "ROSTERD_UPSTREAM_BASE_URL": "http://127.0.0.1:8080", "ROSTERD_SYNC_CONCURRENCY": "2",
        "ROSTERD_AUTH_LOGOUT_STATUS": "[403]", "ROSTERD_UPSTREAM_HEADERS": "{ X-Tenant = 'blue' }",
        "ROSTERD_STATUS_SOCKET": "/tmp/s", "ROSTERD_LOG_FORMAT": "json",
      ])
    #expect(configuration.upstream.baseURL == "http://127.0.0.1:8080")
    #expect(configuration.sync.concurrency == 2)
    #expect(configuration.sync.interval == .seconds(60))
    #expect(configuration.auth.logoutStatus == [403])
    #expect(configuration.upstream.headers == [Request.Header("X-Tenant", "blue")])
    #expect(configuration.status.socket == "/tmp/s")
    #expect("\(configuration.log.format)" == "json")
  }

  @Test("An empty variable sets a string to the empty text")
  func empty() throws {
    let configuration = try workspace.load(
      "auth.scope = \"read\"\ncache.path = \"/x\"", environment: ["ROSTERD_AUTH_SCOPE": "", "ROSTERD_CACHE_PATH": ""])
    #expect(configuration.auth.scope.isEmpty)
    #expect(configuration.cache.path == "/var/lib/rosterd/roster.db")
  }

  @Test(
    "53: a fault names the environment variable",
    arguments: [
      (["ROSTERD_SYNC_CONCURRENCY": "100"], "ROSTERD_SYNC_CONCURRENCY: 100 is out of range; allowed: 1 to 64"),
      (
        ["ROSTERD_SYNC_CONCURRENCY": ""],
        "ROSTERD_SYNC_CONCURRENCY: is not an integer in TOML's notation; allowed: 1 to 64"
      ),
      (
        ["ROSTERD_SYNC_INTERVAL": "900"],
        "ROSTERD_SYNC_INTERVAL: \"900\" is not a duration; allowed: 100ms to 100 years, with a unit: ms s m h d"
      ),
      (
        ["ROSTERD_UPSTREAM_HEADERS": "{ X-Key = \"geheim\\n\" }"],
        "ROSTERD_UPSTREAM_HEADERS: X-Key: its value holds CR or LF; allowed: one line of text"
      ),
      (
        ["ROSTERD_AUTH_FLOW": "bearer_refresh"],
        "ROSTERD_AUTH_FLOW: the flow \"bearer_refresh\" needs a token_url; allowed: a URL or a path in auth.token_url"
      ),
      (
        ["ROSTERD_AUTH_TOKEN_URL": "http://host/token"],
        "ROSTERD_AUTH_TOKEN_URL: an http address does not go with an https base_url; allowed: an https URL or a path"
      ),
    ])
  func faults(environment: [String: String], sentence: String) throws {
    #expect(try workspace.faults("", environment: environment) == [sentence])
  }

  @Test("A valid variable does not repair an invalid file, and conflicts include the variable")
  func both() throws {
    #expect(try workspace.faults("sync.concurrency = 0", environment: ["ROSTERD_SYNC_CONCURRENCY": "2"]).count == 1)
    #expect(try workspace.faults("retry.base_delay = \"20s\"", environment: ["ROSTERD_RETRY_MAX_DELAY": "30s"]).isEmpty)
  }

  @Test("53: an unknown variable is a warning")
  func unknown() throws {
    let environment = [
      "ROSTERD_SYNC_INTERVALL": "1m", "ROSTERD_UPSTREAM_TLS": "x", "OTHER": "x", "ROSTERD_RESOURCE_ISSUE_PATH": "/x",
    ]
    let (_, warnings) = try Configuration.load(
      file: try workspace.write("upstream.base_url = \"http://localhost:1\"\n"), environment: environment, isRoot: true)
    #expect(
      warnings == [
        "ROSTERD_RESOURCE_ISSUE_PATH names no key of rosterd and is ignored",
        "ROSTERD_SYNC_INTERVALL names no key of rosterd and is ignored",
        "ROSTERD_UPSTREAM_TLS names no key of rosterd and is ignored",
      ])
  }

  @Test("Every key has its own variable")
  func variables() {
    #expect(Set(ConfigurationKey.all.map(\.variable)).count == ConfigurationKey.all.count)
    #expect(ConfigurationKey.all.contains { $0.variable == "ROSTERD_UPSTREAM_TLS_CA_FILE" })
  }
}
