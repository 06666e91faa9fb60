import Testing

@testable import RosterCore

@Suite struct ProxyRulesTests {
  private let proxy = ProxyServer(host: "proxy", port: 3128, setting: "upstream.proxy")

  private func isProxied(_ list: String, host: String, port: Int = 443) -> Bool {
    ProxyRules(https: proxy, exceptions: ProxyException.list(list)).proxy(scheme: "https", host: host, port: port)
      != nil
  }

  @Test("Each scheme has its proxy, or none")
  func schemes() {
    let other = ProxyServer(host: "other", port: 1, setting: "HTTP_PROXY")
    let rules = ProxyRules(http: other, https: proxy)
    #expect(rules.proxy(scheme: "https", host: "h", port: 443) == proxy)
    #expect(rules.proxy(scheme: "http", host: "h", port: 80) == other)
    #expect(ProxyRules(https: proxy).proxy(scheme: "http", host: "h", port: 80) == nil)
  }

  @Test(
    "NO_PROXY has hosts with all below them, addresses and blocks, with or without a port; loopback only by name",
    arguments: [
      ("", "localhost", true), ("*", "localhost", false), ("a,*", "127.0.0.1", false), ("*:443", "x", false),
      ("*:80", "x", true), ("example.com", "example.com", false), ("example.com", "API.Example.com", false),
      ("example.com", "notexample.com", true), (".example.com", "example.com", false),
      (".example.com", "a.b.example.com", false), ("a, example.com\tb", "example.com", false),
      ("example.com:443", "example.com", false), ("example.com:8443", "example.com", true),
      ("127.0.0.1", "127.0.0.1", false), ("127.0.0.1", "127.0.0.10", true), ("0.0.1", "127.0.0.1", true),
      ("127.0.0.1:443", "127.0.0.1", false), ("10.0.0.0/8", "10.255.0.1", false), ("10.0.0.0/8", "11.0.0.1", true),
      ("10.0.0.0/9", "10.128.0.1", true), ("0.0.0.0/0", "8.8.8.8", false), ("10.0.0.0/33", "10.0.0.0", true),
      ("::1", "::1", false), ("[::1]", "0:0::1", false), ("[::1]:443", "::1", false), ("[::1]:444", "::1", true),
      ("*.example.com", "api.example.com", false), ("*.example.com", "example.com", false),
      ("*.example.com", "notexample.com", true), ("*example.com", "api.example.com", true),
      ("example.com.", "example.com", false), ("example.com", "api.example.com.", false),
      ("*.example.com.:443", "api.example.com", false), ("*.", "a", true),
      ("fd00::/8", "fd12::1", false), ("fd00::/8", "fe12::1", true), ("0.0.0.0/0", "::1", true), (".", "a", true),
    ])
  func exceptions(list: String, host: String, isProxied: Bool) {
    #expect(self.isProxied(list, host: host) == isProxied)
  }

  @Test("38: no way of printing a proxy shows its user and password")
  func redacted() {
    let secret = ProxyServer(
      host: "::1", port: 1, authorization: .init(user: "roster", password: "geheim"), setting: "upstream.proxy")
    var dumped = ""
    dump(secret, to: &dumped)
    for text in ["\(secret)", String(reflecting: secret), "\(ProxyRules(http: secret))", secret.url, dumped] {
      #expect(!text.contains("geheim") && !text.contains("roster"))
    }
    #expect(secret.url == "http://[::1]:1")
    #expect(secret.authorization?.reveal() == "cm9zdGVyOmdlaGVpbQ==")
  }
}
