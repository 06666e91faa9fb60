import Testing

@testable import RosterStatusClient

@Suite struct WebRequestTests {
  private func read(_ head: String) throws -> WebRequest { try WebRequest(head: Array(head.utf8)) }

  @Test("A head is read into method, path, query, fields and cookies")
  func head() throws {
    let request = try read(
      "GET /v1/syncs?limit=100&token=a%20b HTTP/1.1\r\nHost:127.0.0.1:8080 \r\nCookie: x=1; rosterd-8080=abc; y=é")
    #expect(request.method == "GET" && request.path == "/v1/syncs" && request.isHTTP11)
    #expect(request.query == ["limit=100", "token=a%20b"] && request.parameters("token") == ["a%20b"])
    #expect(request["host"] == "127.0.0.1:8080" && request["accept"] == nil)
    #expect(request.cookie("rosterd-8080") == "abc" && request.cookie("rosterd") == nil && request.cookie("y") == "é")
    let old = try read("HEAD /? HTTP/1.0")
    #expect(!old.isHTTP11 && old.path == "/" && old.query.isEmpty)
  }

  @Test("A field that occurs twice is ignored")
  func twice() throws {
    #expect(try read("GET / HTTP/1.1\r\nHost: a\r\nHOST: b")["host"] == nil)
  }

  @Test(
    "An ambiguous request is refused",
    arguments: [
      "", "GET /", "GET / HTTP/2.0", "GET  / HTTP/1.1", "get / HTTP/1.1", " GET / HTTP/1.1", "GET http://a/ HTTP/1.1",
      "GET * HTTP/1.1", "GET /#a HTTP/1.1", "GET /a b HTTP/1.1", "GET /é HTTP/1.1", "GET /\u{7F} HTTP/1.1",
      "GET / HTTP/1.1\nHost: a", "GET / HTTP/1.1\r\nHost : a", "GET / HTTP/1.1\r\n Host: a", "GET / HTTP/1.1\r\nHost",
      "GET / HTTP/1.1\r\n: a", "GET / HTTP/1.1\r\nHost: a\rb", "GET / HTTP/1.1\r\nHost: a\u{0}",
      "GET / HTTP/1.1\r\nHost: a\nX: b",
    ])
  func malformed(head: String) {
    #expect(throws: WebRequest.Malformed.self) { try read(head) }
  }
}
