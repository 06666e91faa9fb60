import RosterCore
import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite("Configuration: reading the configuration")
struct ConfigurationReaderTests {
  let workspace = Workspace()

  @Test("An empty file, and no file, leave the defaults")
  func defaults() throws {
    var expected = Configuration()
    expected.fillIn(.system)
    #expect(
      try Configuration.load(file: nil, environment: ["CONFIGURATION_DIRECTORY": workspace.folder], isRoot: true).0.sync
        == expected.sync)
    expected.path = workspace.path("rosterd.toml")
    #expect(try workspace.load("") == expected)
  }

  @Test("Every value of the file is read, in any form of tables")
  func everyValue() throws {
    let text = """
      upstream = { base_url = "http://localhost:8080/api/", headers = { X-Tenant = "blue" }, timeout = "2.5s" }
      retry.max_retries = 0
      retry.base_delay = "0s"
      [sync]
      interval = '2h'
      concurrency = 64
      [auth]
      flow = "bearer_refresh"
      token_url = "/token"
      logout_status = [
        403, # forbidden
        410,
      ]
      [status]
      socket_mode = "600"
      [log]
      level = "trace"
      format = "json"
      """
    let configuration = try workspace.load(text)
    #expect(configuration.upstream.baseURL == "http://localhost:8080/api")
    #expect(configuration.upstream.headers == [Request.Header("X-Tenant", "blue")])
    #expect(configuration.upstream.timeout == .milliseconds(2500))
    #expect(configuration.retry.maxRetries == 0)
    #expect(configuration.retry.baseDelay == .zero)
    #expect(configuration.sync.interval == .seconds(7200))
    #expect(configuration.sync.concurrency == 64)
    #expect(configuration.auth.flow == .bearerRefresh)
    #expect(configuration.resolvedTokenURL == "http://localhost:8080/token")
    #expect(configuration.auth.logoutStatus == [403, 410])
    #expect(configuration.status.socketMode == 0o600)
    #expect("\(configuration.log.level)" == "trace")
    #expect("\(configuration.log.format)" == "json")
  }
}
