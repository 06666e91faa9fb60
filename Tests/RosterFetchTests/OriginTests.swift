import RosterFetch
import Testing

@Suite struct OriginTests {
  @Test("T8: an origin reads as it is written in a URL, an IPv6 address in its brackets (RFC 3986 §3.2.2)")
  func description() {
    #expect(Origin(url: "http://[::1]:8080/api")?.description == "http://[::1]:8080")
    #expect(Origin(url: "https://[2001:DB8::1]/")?.description == "https://[2001:db8::1]:443")
    #expect(Origin(url: "HTTP://Example.org/")?.description == "http://example.org:80")
    #expect(Origin(url: "http://127.0.0.1:1/")?.description == "http://127.0.0.1:1")
  }

  @Test("T8: a port too long for a number is not the scheme's own")
  func longPort() {
    let port = String(repeating: "7", count: 20)
    for host in ["api.example", "user@api.example", "[::1]"] {
      #expect(Origin(url: "https://\(host):\(port)/v1") == nil)
      #expect(Origin(url: "https://\(host):/v1") == Origin(url: "https://\(host):443"))
    }
  }

  @Test("an IPv6 host is bare: what a connection is made to")
  func host() {
    #expect(Origin(url: "http://[::1]:8080/api")?.host == "::1")
  }
}
