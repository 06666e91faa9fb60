import RosterCore
import RosterDecode
import Testing

@testable import RosterFetch

private func at(_ pointer: String) -> JSONPointer { JSONPointer(pointer) ?? JSONPointer() }

private let base = "https://api.example/v1"

private func child(
  path: String = "/pages/{page.id}/blocks", query: [Resource.Parameter] = [], body: JSONValue = .object([]),
  conditions: [Resource.Condition] = [], byKey: String? = nil, pages: Resource.Pages = .init(.one)
) -> Resource {
  Resource(
    name: "block", path: path, query: query, method: body == .object([]) ? .get : .post, body: body,
    conditions: conditions, byKey: byKey, pages: pages, columns: [.init("id", at: at("/id"))],
    each: Each(of: "page"))
}

private func values(_ id: Resource.Scalar?, _ name: Resource.Scalar? = .text("n")) -> ParentValues {
  ParentValues([.init(ParentColumn("page", "id"), id), .init(ParentColumn("page", "name"), name)])
}

@Suite struct ParentFillingTests {
  @Test(
    "52: a value is one encoded segment of a path",
    arguments: [
      ("a/b", "a%2Fb"), ("%2F", "%252F"), ("a\nb", "a%0Ab"), ("é?#&=", "%C3%A9%3F%23%26%3D"), ("...", "..."),
      ("{page.name}", "%7Bpage.name%7D"), ("{key}", "%7Bkey%7D"), ("a b", "a%20b"),
    ])
  func path(value: String, encoded: String) throws {
    let filled = try child(byKey: "/b/{page.id}/{key}?p={page.id}").filled(with: values(.text(value)))
    #expect(filled.path == "/pages/\(encoded)/blocks")
    #expect(filled.byKey == "/b/\(encoded)/{key}?p=\(encoded)")
    #expect(filled.parentColumns.isEmpty)
  }

  @Test("52: a text that is only a placeholder has the column's type; a query value is encoded with the request")
  func types() throws {
    let body = JSONValue.object([
      .init("id", .text("{page.id}")), .init("text", .text("{page.id}!")),
      .init("{page.id}", .list([.text("{page.name}")])),
    ])
    let resource = child(
      query: [.init("q", .text("{page.id}-{page.name}")), .init("n", .integer(1))], body: body,
      conditions: [
        .init(at("/p"), .equal(.text("{page.id}"))),
        .init(at("/q"), .differs([.text("{page.name}"), .text("{page.id}.")])),
        .init(at("/r"), .absent),
      ])
    let filled = try resource.filled(with: values(.integer(-5), .text("a&b")))
    #expect(filled.query == [.init("q", .text("-5-a&b")), .init("n", .integer(1))])
    #expect(
      filled.body
        == .object([
          .init("id", .integer(-5)), .init("text", .text("-5!")), .init("{page.id}", .list([.text("a&b")])),
        ]))
    #expect(
      filled.conditions == [
        .init(at("/p"), .equal(.integer(-5))), .init(at("/q"), .differs([.text("a&b"), .text("-5.")])),
        .init(at("/r"), .absent),
      ])
    #expect(Paging(filled, baseURL: base).first().address.hasPrefix("/pages/-5/blocks?q=-5-a%26b&n=1\n"))
  }

  @Test("52: the question of an incremental pull is filled too")
  func since() throws {
    var resource = child(path: "/p")
    var listing = resource.listing
    listing.path = "/changes/{page.id}"
    listing.query = [.init("of", .text("{page.name}"))]
    resource.since = Since(at: at("/at"), param: .query("since"), listing: listing)
    let filled = try resource.filled(with: values(.integer(7), .text("x")))
    #expect(filled.since?.listing.path == "/changes/7" && filled.since?.listing.query == [.init("of", .text("x"))])
  }

  @Test("52: a column that is NULL or '' means an empty list, wherever its placeholder is")
  func empty() {
    let id = ParentColumn("page", "id")
    for value in [nil, Resource.Scalar.text("")] {
      for resource in [
        child(), child(path: "{page.id}"), child(path: "/", query: [.init("q", .text("x{page.id}"))]),
        child(path: "/", byKey: "/b/{page.id}/{key}"),
        child(path: "/", conditions: [.init(at("/p"), .equal(.text("{page.id}")))]),
      ] {
        #expect(throws: ParentValueFault.empty(id)) { try resource.filled(with: values(value)) }
      }
    }
    #expect(throws: Never.self) { try child(path: "/").filled(with: values(nil, nil)) }
  }

  @Test(
    "52: a whole segment of dots fails, beside other text or in a query it does not",
    arguments: [
      ("/pages/{page.id}", nil, "..", true), ("/pages/{page.id}/x", nil, ".", true),
      ("/{page.id}{page.name}", nil, ".", true),
      ("/pages/{page.id}", nil, "...", false), ("/pages/x{page.id}", nil, "..", false),
      ("/pages", "/b/{page.id}/{key}", "..", true), ("/pages", "/b/{key}?p=/{page.id}/", "..", false),
    ])
  func dots(path: String, byKey: String?, value: String, fails: Bool) throws {
    let resource = child(path: path, byKey: byKey)
    let found = values(.text(value), .text("."))
    if fails {
      #expect(throws: ParentValueFault.dots(ParentColumn("page", "id"))) { try resource.filled(with: found) }
    } else {
      _ = try resource.filled(with: found)
    }
  }

  @Test("52: a path that is only a placeholder is an address, which is followed like next")
  func address() throws {
    let template = child(
      path: "{page.name}", query: [.init("state", .text("all"))], pages: .init(.number(), size: .init(2)))
    func start(_ address: String, _ links: NextLinks = .sameOrigin, _ resource: Resource? = nil) throws -> Paging {
      let filled = try (resource ?? template).filled(with: values(.integer(1), .text(address)))
      #expect(filled.listing.pathColumn == ParentColumn("page", "name"))
      return try Paging(filled, baseURL: base, template: resource ?? template).startingAt(
        address: address, links: links)
    }
    let paging = try start("\(base)/x?state=open&a=1")
    #expect(paging.first().request.url == "\(base)/x?state=open&a=1")
    #expect(paging.first().request.keylessURL == "{page.name}")
    guard case .page(let second) = try paging.next(after: paging.first(), ListFacts(records: 2)) else {
      Issue.record("there is no second page")
      return
    }
    #expect(second.request.url == "\(base)/x?state=open&a=1&page=2" && second.address == "/x?state=open&a=1&page=2")
    let plain = child(path: "{page.name}", pages: .init(.link))
    #expect(try start("/y?b=%2F", .sameOrigin, plain).first().request.url == "https://api.example/y?b=%2F")
    #expect(try start("z", .sameOrigin, plain).first().request.url == "\(base)/z")
    #expect(throws: Failure.foreignPage) { try start("https://other.example/y") }
    #expect(throws: Failure.noPageAddress) { try start("http://[") }
    #expect(
      try start("https://other.example/y?b=1", .rebase, plain).first().request.url == "https://api.example/y?b=1")
  }

  @Test("21, 52: since.param is set in an address of the parent, also on the next page")
  func sinceInAddress() throws {
    var template = child(path: "{page.name}", query: [.init("state", .text("all"))], pages: .init(.number()))
    template.since = Since(
      at: at("/t"), param: .query("since"), form: .number, overlap: .number(1), listing: template.listing)
    let filled = try template.filled(with: values(.integer(1), .text("/x?a=1&since=0")))
    let mark = try #require(template.since?.mark("9"))
    let starting = try #require(filled.readIncrementally.starting(from: .mark(mark)))
    let paging = try Paging(starting, baseURL: base, isIncremental: true, template: template)
      .startingAt(address: "/x?a=1&since=0", links: .sameOrigin)
    let first = paging.first()
    #expect(first.request.url == "https://api.example/x?a=1&since=8" && first.request.keylessURL == "{page.name}")
    guard case .page(let second) = try paging.next(after: first, ListFacts(records: 2)) else {
      Issue.record("there is no second page")
      return
    }
    #expect(second.request.url == "https://api.example/x?a=1&since=8&page=2")
    let whole = try Paging(filled, baseURL: base, template: template)
      .startingAt(address: "/x?a=1&since=0", links: .sameOrigin)
    #expect(whole.first().request.url == "https://api.example/x?a=1&since=0")
  }

  @Test("38: the addresses of a child show placeholders in the place of a parent's values")
  func keyless() throws {
    let template = child(
      query: [.init("q", .text("{page.id}"))], byKey: "/b/{page.id}/{key}",
      pages: .init(.cursor(param: .query("c"), at: .body(at("/next")))))
    let filled = try template.filled(with: values(.text("geheim")))
    let paging = Paging(filled, baseURL: base, template: template)
    #expect(paging.first().request.url.contains("geheim"))
    #expect(paging.first().request.keylessURL == "\(base)/pages/{page.id}/blocks")
    let next = try paging.next(after: paging.first(), ListFacts(records: 1, next: .text("c")))
    guard case .page(let page) = next else {
      Issue.record("there is no next page")
      return
    }
    #expect(page.request.keylessURL == "\(base)/pages/{page.id}/blocks")
    let lookup = KeyRequests(filled, baseURL: base, template: template)?.requests(for: ["a"]).first
    #expect(lookup?.request.url == "\(base)/b/geheim/a" && lookup?.request.keylessURL == "\(base)/b/{page.id}/{key}")
  }

  @Test("52: by_key of a child asks for keys of one parent")
  func keys() throws {
    let asked = try #require(KeyRequests(child(byKey: "/b?id={keys}"), baseURL: base))
    let made = asked.requests(for: ["a/b", "5", "c,d"])
    #expect(made.map(\.request.url) == ["\(base)/b?id=a%2Fb,5", "\(base)/b?id=c%2Cd"])
    #expect(made.map(\.keys) == [["a/b", "5"], ["c,d"]])
    let one = try #require(KeyRequests(child(byKey: "/b/{key}"), baseURL: base))
    #expect(one.requests(for: ["..", "x"]).map(\.canBeAsked) == [false, true])
  }

  @Test("Values of a parent are one JSON object, with null for NULL")
  func json() throws {
    let text = #"{"page.id":5,"page.name":null,"page.url":"a\"b","page.size":1.5,"page.big":9223372036854775807}"#
    let read = try #require(ParentValues(json: text.utf8))
    #expect(read[ParentColumn("page", "id")] == .integer(5) && read[ParentColumn("page", "name")] == nil)
    #expect(read[ParentColumn("page", "url")] == .text("a\"b") && read[ParentColumn("page", "size")] == .real(1.5))
    #expect(read.json == text && ParentValues(json: read.json.utf8) == read)
    for odd in ["[]", "{", #"{"page":1}"#, #"{"page.id":[]}"#] { #expect(ParentValues(json: odd.utf8) == nil) }
  }
}
