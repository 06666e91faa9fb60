import RosterFetch
import Testing

@Suite struct OriginTests {
  @Test("39: an origin is written as in a URL, with an IPv6 address in brackets (RFC 3986 §3.2.2)")
  func description() {
    #expect(Origin(url: "http://[::1]:8080/api")?.description == "http://[::1]:8080")
    #expect(Origin(url: "https://[2001:DB8::1]/")?.description == "https://[2001:db8::1]:443")
    #expect(Origin(url: "HTTP://Example.org/")?.description == "http://example.org:80")
    #expect(Origin(url: "http://127.0.0.1:1/")?.description == "http://127.0.0.1:1")
  }

  @Test("39: a port that is too long for a number is not the scheme's own")
  func longPort() {
    let port = String(repeating: "7", count: 20)
    for host in ["api.example", "user@api.example", "[::1]"] {
      #expect(Origin(url: "https://\(host):\(port)/v1") == nil)
      #expect(Origin(url: "https://\(host):/v1") == Origin(url: "https://\(host):443"))
    }
  }

  @Test("The IPv6 host of a connection has no brackets")
  func host() {
    #expect(Origin(url: "http://[::1]:8080/api")?.host == "::1")
  }
}
