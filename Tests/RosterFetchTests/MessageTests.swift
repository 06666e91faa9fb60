import NIOHTTP1
import RosterCore
import Testing

@testable import RosterFetch

private func message(
  _ url: String, headers: [Request.Header] = [], method: Request.Method = .get, proxies: ProxyRules = ProxyRules()
) throws -> Message {
  let target = try #require(RequestTarget(url))
  let route = try #require(Routes(proxies).route(to: target))
  return try Message(Request(method, url, headers: headers), target: target, by: route)
}

@Suite struct MessageTests {
  @Test(
    "A request keeps path and query unchanged and encodes only what no URL may contain",
    arguments: [
      ("http://h", "/"), ("http://h/", "/"), ("http://h?a=1", "/?a=1"), ("http://h#p", "/"),
      ("http://u:p@h:1/a/../b?c=d%2F&e[]=1#f", "/a/../b?c=d%2F&e[]=1"), ("http://h/a b", "/a%20b"),
      ("http://h/\u{E9}?q=\u{FC}", "/%C3%A9?q=%C3%BC"), ("http://h/a?b=\r\nX: y", "/a?b=%0D%0AX:%20y"),
    ])
  func target(url: String, path: String) throws {
    #expect(try message(url).head.uri == path)
  }

  @Test("A text that is not an address is refused", arguments: ["", "h/a", "/a", "http:/a"])
  func none(url: String) {
    #expect(RequestTarget(url) == nil)
  }

  @Test(
    "Host is without the scheme's own port, user and password (RFC 9110 §7.2)",
    arguments: [
      ("http://h:80/", "h"), ("https://h:443/", "h"), ("http://h:443/", "h:443"), ("https://H.example/", "h.example"),
      ("http://[::1]:8080/", "[::1]:8080"), ("http://[::1]/", "[::1]"), ("http://u:p@h/", "h"),
    ])
  func host(url: String, host: String) throws {
    #expect(try message(url).head.headers["Host"] == [host])
  }

  @Test("A proxy gets the whole address for a plain server, and a CONNECT for an https server")
  func proxy() throws {
    let proxy = ProxyServer(
      host: "proxy", port: 3128, authorization: ProxyAuthorization(user: "u", password: "p"), setting: "upstream.proxy")
    let rules = ProxyRules(http: proxy, https: proxy)
    let plain = try message("http://h:8080/a?b", proxies: rules)
    #expect(plain.head.uri == "http://h:8080/a?b" && plain.head.headers["Proxy-Authorization"] == ["Basic dTpw"])
    let tunnelled = try message("https://h/a?b", proxies: rules)
    #expect(tunnelled.head.uri == "/a?b" && tunnelled.head.headers["Proxy-Authorization"].isEmpty)
  }

  @Test("Each POST has Content-Length, also without a body (RFC 9110 §8.6), and no GET has one")
  func length() throws {
    #expect(try message("http://h/", method: .post).head.headers["Content-Length"] == ["0"])
    #expect(try message("http://h/").head.headers["Content-Length"].isEmpty)
  }

  @Test("A header that would start another header is not sent", arguments: ["a\r\nX: y", "a\nb", "\u{0}"])
  func injection(value: String) {
    #expect(throws: Failure.unusableRequest) {
      try message("http://h/", headers: [.init("Authorization", value)])
    }
    #expect(throws: Failure.unusableRequest) { try message("http://h/", headers: [.init("X\(value)", "a")]) }
  }
}
