import RosterCore
import RosterFetch
import Synchronization
import Testing

@Suite struct RedirectTests {
  private static let post = Request(
    .post, "http://upstream/api/search", headers: [.init("Content-Type", "application/json"), .init("X-Team", "blue")],
    body: Array("{}".utf8))

  /// The requests to a server that answers the first one with this status and a Location.
  private func requests(
    after status: Int, to first: Request, location: String = "/api/results?page=1"
  ) async throws -> [Request] {
    let sent = Mutex<[Request]>([])
    let send = Interceptor.chain([.redirects]) { request in
      sent.withLock { $0.append(request) }
      let isFirst = sent.withLock { $0.count == 1 }
      return isFirst
        ? Response(status: status, headers: [.init("Location", location)]) : Response(status: 200)
    }
    #expect(try await send(first).status == 200)
    return sent.withLock { $0 }
  }

  @Test("24: a 303 to a POST is followed by a GET without body and Content-Type (RFC 9110 §15.4.4)")
  func seeOther() async throws {
    let sent = try await requests(after: 303, to: Self.post)
    #expect(sent.count == 2)
    #expect(sent.last == Request(.get, "http://upstream/api/results?page=1", headers: [.init("X-Team", "blue")]))
  }

  @Test("24: any other redirect of a POST is followed by the same POST", arguments: [301, 302, 307, 308])
  func repeated(status: Int) async throws {
    var repeated = Self.post
    repeated.url = "http://upstream/api/results?page=1"
    #expect(try await requests(after: status, to: Self.post) == [Self.post, repeated])
  }

  @Test("9: the time of a stored body is not sent to where a temporary redirect leads", arguments: [302, 303, 307])
  func time(status: Int) async throws {
    let first = Request(.get, "http://upstream/api/latest", headers: [.init("If-Modified-Since", "Mon")])
    #expect(try await requests(after: status, to: first).last?.headers.isEmpty == true)
    #expect(try await requests(after: 301, to: first).last?.headers.count == 1)
  }

  @Test("19: a byte that must be escaped changes no escape of a Location")
  func escapes() async throws {
    let sent = try await requests(
      after: 302, to: Request(.get, "http://upstream/api"), location: "/x?page[number]=2&tag=C%2B%2B")
    #expect(sent.last?.url == "http://upstream/x?page%5Bnumber%5D=2&tag=C%2B%2B")
  }

  @Test("24: a GET stays a GET with its conditions after each redirect", arguments: [301, 302, 303, 307, 308])
  func get(status: Int) async throws {
    let first = Request(.get, "http://upstream/api/things", headers: [.init("If-None-Match", "\"a\"")])
    var next = first
    next.url = "http://upstream/api/results?page=1"
    #expect(try await requests(after: status, to: first) == [first, next])
  }
}
