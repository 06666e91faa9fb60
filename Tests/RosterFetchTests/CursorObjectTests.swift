import RosterCore
import RosterDecode
import Testing

@testable import RosterFetch

/// A cursor of several parameters, as MediaWiki's `continue` is (`param = "*"`).
@Suite struct CursorObjectTests {
  private let paging: Paging
  private let plan: RecordPlan

  init() throws {
    let resource = Resource(
      name: "page", path: "/api.php",
      query: [.init("action", .text("query")), .init("continue", .text("")), .init("format", .text("json"))],
      records: JSONPointer(segments: ["list"]),
      pages: .init(.cursor(param: .everyMember, at: .body(JSONPointer(segments: ["continue"])))),
      columns: [.init("id", at: JSONPointer(segments: ["id"]), .integer)])
    paging = Paging(resource, baseURL: "https://wiki.example")
    plan = try RecordPlan(resource)
  }

  private func facts(_ cursor: String, token: Response.SentToken? = nil) throws -> ListFacts {
    let body = Array(#"{"continue":\#(cursor),"list":[{"id":1}]}"#.utf8)
    var response = Response(status: 200, body: body)
    response.token = token
    var decoder = RecordDecoder(plan)
    return try paging.facts(in: try decoder.scan(page: body), of: response, page: 1)
  }

  /// The address of the second page; nil if the list ends with the first.
  private func second(_ cursor: String, token: Response.SentToken? = nil) throws -> String? {
    guard case .page(let next) = try paging.next(after: paging.first(), try facts(cursor, token: token)) else {
      return nil
    }
    return next.address
  }

  @Test("52: all members are sent, encoded, and replace the parameters of the same name in `query`")
  func replaced() throws {
    #expect(paging.first().address == "/api.php?action=query&continue=&format=json")
    #expect(
      try second(#"{"gapcontinue":"B&é","continue":"gapcontinue||","n":20,"deep":true}"#)
        == "/api.php?action=query&format=json&continue=gapcontinue%7C%7C&deep=true&gapcontinue=B%26%C3%A9&n=20")
  }

  @Test("52: the object replaces `query`, not the object before it")
  func notAccumulated() throws {
    guard case .page(let second) = try paging.next(after: paging.first(), try facts(#"{"a":"1"}"#)),
      case .page(let third) = try paging.next(after: second, try facts(#"{"b":"2"}"#))
    else {
      Issue.record("no third page")
      return
    }
    #expect(third.address == "/api.php?action=query&continue=&format=json&b=2")
  }

  @Test("52: with POST the members are query parameters too, and the body is unchanged")
  func post() throws {
    var resource = paging.resource
    resource.method = .post
    resource.body = .object([.init("q", .text("x"))])
    let post = Paging(resource, baseURL: "https://wiki.example")
    guard case .page(let next) = try post.next(after: post.first(), try facts(#"{"a":"1"}"#)) else {
      Issue.record("no second page")
      return
    }
    #expect(next.request.url == "https://wiki.example/api.php?action=query&continue=&format=json&a=1")
    #expect(next.request.body == Array(#"{"q":"x"}"#.utf8))
  }

  @Test("39, 52: a member named like auth.send's parameter is not sent; one that repeats the token is refused")
  func token() throws {
    let token = Response.SentToken(["s3cret-t0ken"], parameters: ["api_key"])
    let start = "/api.php?action=query&continue=&format=json"
    #expect(try second(#"{"api_key":"s3cret-t0ken","a":"1"}"#, token: token) == "\(start)&a=1")
    #expect(try second(#"{"api_key":"other","a":"1"}"#, token: token) == "\(start)&a=1")
    // No parameter is left to send, so the next request is the first page again. That is an endless repetition, and
    // must not end the list silently.
    #expect(try second(#"{"api_key":"s3cret-t0ken"}"#, token: token) == start)
    for repeated in [#"{"a":"s3cret-t0ken"}"#, #"{"s3cret-t0ken":1}"#, #"{"a":"s3cret%2Dt0ken"}"#] {
      #expect(throws: UndefinedAnswer.self) { try facts(repeated, token: token) }
    }
  }

  @Test("52: an absent, null or empty object ends the list; any other value is malformed")
  func ends() throws {
    for end in ["null", "{}", #"{"a":null}"#] { #expect(try second(end) == nil) }
    for odd in [#""x""#, "7", "true", "[]", #"[{"a":1}]"#] {
      #expect(throws: UndefinedAnswer(reason: "/continue is not an object")) { try facts(odd) }
    }
    for part in ["[]", "{}"] { #expect(throws: (any Error).self) { try facts(#"{"a":\#(part)}"#) } }
  }

  @Test("52: the same members in another order are the same object")
  func order() throws {
    #expect(try second(#"{"a":"1","b":"2"}"#) == second(#"{"b":"2","a":"1"}"#))
  }

  @Test("40: a kept page leads to the same object, whatever its members contain")
  func kept() throws {
    let told = try facts(#"{"a":"x\"\u0301:","b":12,"c":1.50,"d":true,"e":""}"#)
    let kept = ListFacts(records: 1, count: nil, last: nil, continuation: told.continuation)
    #expect(kept == told)
    #expect(told.continuation?.hasPrefix("members:{") == true)
  }
}
