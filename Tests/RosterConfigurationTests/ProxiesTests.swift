import RosterCore
import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite("Configuration: upstream.proxy and the environment's")
struct ProxiesTests {
  let workspace = Workspace()

  private func proxy(
    _ text: String = "", environment: [String: String] = [:], scheme: String = "https", host: String = "h"
  ) throws -> ProxyServer? {
    try workspace.load(text, environment: environment).proxies.proxy(scheme: scheme, host: host, port: 1)
  }

  private static let both = ["HTTPS_PROXY": "http://secure:1", "HTTP_PROXY": "http://plain:2", "NO_PROXY": "direct"]

  @Test("An empty upstream.proxy uses the environment by scheme; lower case wins, and an empty variable is not set")
  func environment() throws {
    #expect(try proxy() == nil)
    #expect(try proxy("", environment: Self.both)?.url == "http://secure:1")
    #expect(try proxy("", environment: Self.both, scheme: "http")?.url == "http://plain:2")
    #expect(try proxy("", environment: Self.both, scheme: "http")?.setting == "HTTP_PROXY")
    #expect(try proxy("", environment: Self.both, host: "direct") == nil)
    let lower = Self.both.merging(["https_proxy": "http://lower:3", "no_proxy": "other", "http_proxy": ""]) { $1 }
    #expect(try proxy("", environment: lower)?.url == "http://lower:3")
    #expect(try proxy("", environment: lower)?.setting == "https_proxy")
    #expect(try proxy("", environment: lower, scheme: "http")?.url == "http://plain:2")
    #expect(try proxy("", environment: lower, host: "direct")?.url == "http://lower:3")
    #expect(try proxy("", environment: Self.both, host: "127.0.0.1")?.url == "http://secure:1")
  }

  @Test("A variable needs no scheme and no port, as with curl", arguments: ["proxy", "http://proxy", "http://proxy/"])
  func short(value: String) throws {
    #expect(try proxy("", environment: ["https_proxy": value])?.url == "http://proxy:1080")
  }

  @Test("A URL or \"none\" applies to all servers, whatever the environment says")
  func configured() throws {
    #expect(try proxy("upstream.proxy = 'none'", environment: Self.both) == nil)
    let named = "upstream.proxy = 'http://roster:ge%20heim@[::1]:3128'"
    for scheme in ["http", "https"] {
      let proxy = try proxy(named, environment: Self.both, scheme: scheme, host: "direct")
      #expect(proxy?.host == "::1" && proxy?.port == 3128 && proxy?.setting == "upstream.proxy")
      #expect(proxy?.authorization == ProxyAuthorization(user: "roster", password: "ge heim"))
    }
    #expect(try proxy("", environment: ["ROSTERD_UPSTREAM_PROXY": "http://p:1"])?.url == "http://p:1")
  }

  @Test("A variable with an unusable proxy is 78 only if a server is to be asked through it")
  func unusable() throws {
    let socks = ["HTTPS_PROXY": "socks5://user:geheim@h:1"]
    let fault =
      "HTTPS_PROXY: names a proxy that is not spoken to in plain HTTP, the only kind that rosterd knows; allowed: http://[USER:PASSWORD@]HOST[:PORT]; or upstream.proxy = \"none\""
    #expect(try workspace.faults("", environment: socks) == [fault])
    #expect(try workspace.faults("upstream.proxy = 'none'", environment: socks).isEmpty)
    #expect(try workspace.faults("upstream.base_url = 'http://h'", environment: socks).isEmpty)
    #expect(
      try workspace.faults("upstream.base_url = 'http://h'\nauth.token_url = 'https://t/token'", environment: socks)
        == [fault])
    let port =
      "HTTPS_PROXY: has a port that is not 1 to 65535; allowed: http://[USER:PASSWORD@]HOST[:PORT]; or upstream.proxy = \"none\""
    #expect(try workspace.faults("", environment: ["HTTPS_PROXY": "h:99999999999999999999"]) == [port])
    #expect(try workspace.faults("", environment: socks.merging(["NO_PROXY": "rickandmortyapi.com"]) { $1 }).isEmpty)
  }

  @Test("ALL_PROXY is a warning if it is the only variable that names a proxy")
  func allProxy() throws {
    func warnings(_ text: String, environment: [String: String]) throws -> [String] {
      try workspace.warnings(text, environment: environment).filter { $0.contains("is ignored, so upstream") }
    }
    let alone = ["ALL_PROXY": "http://user:geheim@proxy:1"]
    let warning =
      "ALL_PROXY is ignored, so upstream is asked without a proxy; set HTTPS_PROXY and HTTP_PROXY, or upstream.proxy (\"none\" to confirm)"
    #expect(try warnings("", environment: alone) == [warning])
    #expect(
      try warnings("", environment: ["all_proxy": "socks5://proxy"]) == [
        warning.replacing("ALL_PROXY", with: "all_proxy")
      ])
    #expect(try warnings("", environment: alone.merging(["https_proxy": "proxy"]) { $1 }).isEmpty)
    #expect(try warnings("upstream.proxy = 'none'", environment: alone).isEmpty)
    #expect(try warnings("", environment: ["ALL_PROXY": ""]).isEmpty)
  }
}
