import FoundationEssentials
import RosterCore
import RosterSimulator
import RosterTestSupport
import Testing

/// `upstream.proxy` and the environment's through the real program.
@Suite(.serialized, .timeLimit(.minutes(1))) struct ProxyTests {
  /// A site whose upstream has a name that only the proxy can resolve.
  private func withProxy(
    _ settings: [String: String] = [:], tokens: Scenario.Tokens = .init(),
    body: (Site, ForwardProxy) async throws -> Void
  ) async throws {
    try await withSite(.pages(3, tokens: tokens), settings: ["ROSTERD_RETRY_MAX_RETRIES": "1"]) { site in
      try await ForwardProxy.run { proxy in
        proxy.configure { [port = Int(site.upstream.origin.split(separator: ":").last ?? "")] in $0.target = port }
        var site = site
        site.settings["ROSTERD_UPSTREAM_BASE_URL"] = "http://upstream.invalid/api"
        site.settings["ROSTERD_UPSTREAM_PROXY"] = proxy.url
        site.settings.merge(settings) { $1 }
        try await body(site, proxy)
      }
    }
  }

  @Test("38: pages and token requests go through upstream.proxy, and no output has its password")
  func configured() async throws {
    let settings = ["ROSTERD_LOG_LEVEL": "trace", "ROSTERD_SYNC_CONCURRENCY": "1"]
    try await withProxy(settings, tokens: .init(flow: .oauth2Refresh, uses: [1])) { site, proxy in
      let credentials = Data("roster:geheim".utf8).base64EncodedString()
      proxy.configure { $0.credentials = credentials }
      var site = site
      site.settings["ROSTERD_UPSTREAM_PROXY"] = "http://roster:geheim@127.0.0.1:\(proxy.port)"
      let done = try await site.rosterd("sync", "--json")
      #expect(done.exit == 0, "\(done.error)")
      try await site.expectUpstream()
      #expect(proxy.requests.contains("POST http://upstream.invalid/token"))
      #expect(proxy.requests.count == 5 && site.upstream.counts.pageRequests.count == 4)
      let checked = try await site.rosterd("check")
      #expect(checked.output.contains("proxy = \"http://***@127.0.0.1:\(proxy.port)\""))
      proxy.configure { $0.credentials = "another" }
      let refused = try await site.rosterd("sync", "--json")
      #expect(refused.exit == 69 && refused.output.contains("refuses the user and the password (407)"))
      for text in [done, checked, refused].flatMap({ [$0.output, $0.error] }) {
        #expect(!text.contains("geheim") && !text.contains(credentials))
      }
    }
  }

  @Test("An empty upstream.proxy uses HTTP_PROXY and NO_PROXY, loopback included, as curl does; \"none\" ignores them")
  func environment() async throws {
    try await withProxy(["ROSTERD_UPSTREAM_PROXY": ""]) { site, proxy in
      #expect(try await site.sync(with: ["HTTP_PROXY": proxy.url]).requests == 3)
      #expect(proxy.requests.count == 3 && proxy.requests.allSatisfy { $0.hasPrefix("GET http://upstream.invalid/") })
      let local = ["ROSTERD_UPSTREAM_BASE_URL": site.upstream.baseURL, "http_proxy": "127.0.0.1:\(proxy.port)"]
      _ = try await site.sync(with: local)
      #expect(proxy.requests.count == 6)
      for direct in [["NO_PROXY": "127.0.0.1"], ["no_proxy": "*"], ["ROSTERD_UPSTREAM_PROXY": "none"]] {
        _ = try await site.sync(with: local.merging(direct) { $1 })
      }
      #expect(proxy.requests.count == 6)
      let curl = try await Program.run(
        try Program.tool("curl"), arguments: ["-sS", "-o", "/dev/null", "\(site.upstream.baseURL)/character"],
        environment: ["http_proxy": proxy.url])
      #expect(curl.exit == 0 && proxy.requests.count == 7)
      let socks = try await site.rosterd("sync", with: ["HTTP_PROXY": "socks5://roster:geheim@127.0.0.1:1"])
      #expect(socks.exit == 78 && socks.error.contains("HTTP_PROXY: ") && !socks.error.contains("geheim"))
    }
  }

  @Test("24: a proxy that cannot be reached is 69 after the retries, and the message names it and the setting")
  func unreachable() async throws {
    let settings = ["ROSTERD_UPSTREAM_PROXY": "http://127.0.0.1:1"]
    try await withProxy(settings, tokens: .init(flow: .oauth2ClientCredentials)) { site, _ in
      let report = try await site.sync(exit: 69)
      #expect(report.error?.contains("the proxy http://127.0.0.1:1 is out of reach") == true, "\(report.error ?? "")")
      #expect(report.error?.contains("whether upstream.proxy is right") == true)
    }
    try await withProxy(settings) { site, _ in
      let report = try await site.sync(exit: 69)
      #expect(report.retries == 1 && report.error?.contains("(2 attempts)") == true, "\(report.error ?? "")")
      #expect(report.error?.contains("the proxy http://127.0.0.1:1 is out of reach") == true)
    }
  }
}
