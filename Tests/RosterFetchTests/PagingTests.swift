import RosterCore
import RosterDecode
import Testing

@testable import RosterFetch

private let base = "https://api.example/v1"

private func paging(
  _ style: Resource.Style, size: Resource.Size? = nil, more: Resource.AnswerPlace? = nil,
  count: Resource.AnswerPlace? = nil,
  short: Bool = false, empty: Resource.EmptyPage = .noSign, hidden: Bool = false, query: [Resource.Parameter] = [],
  method: Resource.Method = .get,
  body: JSONValue = .object([])
) -> Paging {
  Paging(
    Resource(
      name: "thing", path: "/things", query: query, method: method, body: body,
      pages: .init(style, size: size, more: more, count: count, short: short, empty: empty, hidden: hidden),
      columns: [.init("id", at: JSONPointer(segments: ["id"]), .integer)]), baseURL: base)
}

private let member = JSONPointer(segments: ["next"])
private let at = Resource.AnswerPlace.body(member)
private let cursor = Resource.Style.cursor(param: .query("after"), at: at)

/// The sequence of addresses of a list, below base_url, or its end.
private func walk(_ paging: Paging, answers: [ListFacts]) throws -> [String] {
  var page = paging.first()
  var way = [page.address]
  for facts in answers {
    switch try paging.next(after: page, facts) {
    case .page(let next):
      page = next
      way.append(page.address)
    case .announced(let pages):
      return way
        + (1...pages).dropFirst().map {
          paging.page($0, announcedBy: facts).address
        }
    case .end: return way + ["end"]
    }
  }
  return way
}

/// The page after the first one, by the facts of the first one.
private func second(
  of paging: Paging, _ facts: ListFacts, links: () -> NextLinks = { .sameOrigin }
) throws -> PageRequest {
  guard case .page(let next) = try paging.next(after: paging.first(), facts, links: links) else { throw NoPage() }
  return next
}

@Suite struct PagingTests {
  @Test("27: `last` announces the pages by number, and the address of each is known at once")
  func announcedNumbers() throws {
    let style = Resource.Style.number(last: at)
    #expect(
      try walk(paging(style), answers: [.init(records: 20, last: 3)]) == [
        "/things?page=1", "/things?page=2", "/things?page=3",
      ])
    #expect(try walk(paging(style), answers: [.init(records: 0, last: 0)]) == ["/things?page=1", "end"])
    let zeroBased = Resource.Style.number(param: .query("p"), first: 0, last: at)
    #expect(try walk(paging(zeroBased), answers: [.init(records: 20, last: 2)]) == ["/things?p=0", "/things?p=1"])
  }

  @Test("52: value surrounds what names the page, encoded in a query, and is a text in a body")
  func template() throws {
    func resource(_ style: Resource.Style, value: String, method: Resource.Method = .get) -> Resource {
      var resource = paging(style, method: method).resource
      resource.pages.value = Resource.ValueTemplate(value, placeholder: style.kind.placeholder ?? "")
      return resource
    }
    func addresses(_ resource: Resource, answer: ListFacts) throws -> [String] {
      try walk(Paging(resource, baseURL: base), answers: [answer])
    }
    #expect(
      try addresses(resource(.number(param: .query("p")), value: "(page:{page},n:5)"), answer: .init(records: 2))
        == ["/things?p=%28page%3A1%2Cn%3A5%29", "/things?p=%28page%3A2%2Cn%3A5%29"])
    #expect(
      try addresses(resource(.offset(param: .query("p")), value: "o={offset}"), answer: .init(records: 2))
        == ["/things?p=o%3D0", "/things?p=o%3D2"])
    let start = Resource.Style.cursor(param: .query("c"), start: "*", at: at)
    #expect(
      try addresses(resource(start, value: "<{cursor}>"), answer: .init(records: 2, next: .integer(7)))
        == ["/things?c=%3C%2A%3E", "/things?c=%3C7%3E"])
    #expect(
      try addresses(
        resource(.after(param: .query("a"), at: member), value: "id>{cursor}"),
        answer: .init(records: 2, next: .integer(7)))
        == ["/things", "/things?a=id%3E7"])
    let body = JSONPointer(segments: ["page"])
    #expect(
      try addresses(resource(.number(param: .body(body)), value: "p{page}", method: .post), answer: .init(records: 2))
        == ["/things\n{\"page\":\"p1\"}", "/things\n{\"page\":\"p2\"}"])
    #expect(
      try addresses(paging(.number(param: .body(body)), method: .post).resource, answer: .init(records: 0)) == [
        "/things\n{\"page\":1}", "end",
      ])
    for odd in ["page", "{page}{page}", "{offset}", ""] {
      #expect(Resource.ValueTemplate(odd, placeholder: "{page}") == nil)
    }
  }

  @Test("27: `count` announces offset pages, with the page size that upstream lowered")
  func announcedOffsets() throws {
    let style = paging(.offset(param: .query("offset")), size: .init(100, param: .query("limit")), count: at)
    #expect(
      try walk(style, answers: [.init(records: 50, count: 120)]) == [
        "/things?limit=100&offset=0", "/things?limit=100&offset=50", "/things?limit=100&offset=100",
      ])
    #expect(try walk(style, answers: [.init(records: 0, count: 0)]) == ["/things?limit=100&offset=0", "end"])
  }

  @Test("19, 27: without announced pages, one page is requested after the other, until the list ends")
  func ends() throws {
    let full = ListFacts(records: 2)
    #expect(
      try walk(paging(.number()), answers: [full, full, .init(records: 0)]) == [
        "/things?page=1", "/things?page=2", "/things?page=3", "end",
      ])
    #expect(
      try walk(paging(.number(), size: .init(2), short: true), answers: [full, .init(records: 1)]) == [
        "/things?page=1", "/things?page=2", "end",
      ])
    #expect(
      try walk(paging(.number(), count: at), answers: [.init(records: 2, count: 2), .init(records: 0, count: 2)])
        == ["/things?page=1", "/things?page=2", "end"])
    #expect(
      try walk(paging(.offset(param: .query("skip"), first: 5)), answers: [full, .init(records: 3), .init(records: 0)])
        == [
          "/things?skip=5", "/things?skip=7", "/things?skip=10", "end",
        ])
    #expect(
      try walk(paging(cursor), answers: [.init(records: 2, next: .text("a b")), full]) == [
        "/things", "/things?after=a%20b", "end",
      ])
    #expect(
      try walk(paging(cursor, more: at), answers: [.init(records: 2, more: false, next: .text("a"))]) == [
        "/things", "end",
      ])
    #expect(
      try walk(
        paging(.after(param: .query("starting_after"), at: member)),
        answers: [.init(records: 2, next: .integer(7)), full])
        == ["/things", "/things?starting_after=7", "end"])
    #expect(try walk(paging(.one), answers: [full]) == ["/things", "end"])
  }

  @Test("19: a next value or more = true outweighs an empty page, unless empty = end; kept pages too")
  func emptyInTheMiddle() throws {
    let full = ListFacts(records: 2, next: .text("b"))
    for empty in [ListFacts(records: 0, more: true, next: .text("a")), .init(records: 0, next: .text("a"))] {
      let kept = ListFacts(records: 0, count: nil, last: nil, continuation: empty.continuation)
      let place = empty.more == nil ? nil : at
      for facts in [empty, kept] {
        #expect(
          try walk(paging(cursor, more: place), answers: [facts, full]) == [
            "/things", "/things?after=a", "/things?after=b",
          ])
        #expect(try walk(paging(cursor, more: place, empty: .end), answers: [facts]) == ["/things", "end"])
      }
    }
    let over = ListFacts(records: 0, more: false, next: .text("a"))
    let keptOver = ListFacts(records: 0, count: nil, last: nil, continuation: over.continuation)
    #expect(try walk(paging(cursor, more: at), answers: [keptOver]) == ["/things", "end"])
    // A total may outweigh `more`, so that the next value is kept too.
    for next in [ListFacts.Value.integer(3), .text("é:x"), nil] {
      let last = ListFacts(records: 1, more: false, next: next)
      #expect(ListFacts(records: 1, count: nil, last: nil, continuation: last.continuation) == last)
    }
    let empty = ListFacts(records: 0, more: true)
    let kept = ListFacts(records: 0, count: nil, last: nil, continuation: empty.continuation)
    // An older version kept such a page without its sign.
    let old = ListFacts(records: 0, count: nil, last: nil, continuation: nil)
    for facts in [empty, kept, old] {
      #expect(
        try walk(paging(.number(), more: at), answers: [.init(records: 2, more: true), facts])
          == ["/things?page=1", "/things?page=2", "/things?page=3"])
    }
  }

  @Test("19: by offset an empty page takes as many positions as a full one, and hidden rows take theirs")
  func offsets() throws {
    let style = Resource.Style.offset(param: .query("skip"))
    let answers = [ListFacts(records: 4, more: true), .init(records: 0, more: true), .init(records: 3, more: true)]
    #expect(
      try walk(paging(style, more: at), answers: answers) == [
        "/things?skip=0", "/things?skip=4", "/things?skip=8", "/things?skip=11",
      ])
    #expect(
      try walk(paging(style, size: .init(5), more: at), answers: answers) == [
        "/things?skip=0", "/things?skip=4", "/things?skip=9", "/things?skip=12",
      ])
    #expect(
      try walk(paging(style, size: .init(5), more: at, hidden: true), answers: answers) == [
        "/things?skip=0", "/things?skip=5", "/things?skip=10", "/things?skip=15",
      ])
    #expect(throws: Failure.noPageWidth) {
      try walk(paging(style, more: at), answers: [.init(records: 0, more: true)])
    }
  }

  @Test(
    "19: only a total that nothing else supports is doubted, and only after a full page",
    arguments: [
      // A full first page, with an undeclared size, a declared one, and one that upstream lowered.
      (nil, false, [2], 2, true), (2, false, [2], 2, true), (100, false, [50], 50, true), (100, false, [7], 7, false),
      (nil, false, [2, 2], 4, true), (nil, false, [2, 1], 3, false), (nil, false, [2, 2, 2], 5, true),
      // In a child's list only round totals are doubted, and totals that equal the page.
      (nil, true, [2], 2, true), (nil, true, [2, 2], 4, false), (nil, true, [50, 50], 100, true),
    ] as [(Int?, Bool, [Int], Int, Bool)])
  func doubted(size: Int?, isChild: Bool, pages: [Int], total: Int, isTried: Bool) throws {
    for style in [Resource.Style.number(), .offset(param: .query("skip")), .after(param: .query("a"), at: member)] {
      var resource = paging(style, size: size.map { .init($0) }, count: at).resource
      if isChild { resource.each = Each(of: "parent") }
      let list = Paging(resource, baseURL: base)
      var page = list.first()
      for (index, records) in pages.enumerated() {
        let facts = ListFacts(records: records, count: total, next: .integer(index))
        if index == pages.count - 1 {
          #expect((list.verdict(after: page, facts) == .isTried) == isTried)
          let isOver = ListFacts(records: records, count: total, more: false, next: .integer(index))
          #expect(list.verdict(after: page, isOver) == .ends)
        } else {
          page.number += 1
          page.recordsBefore += records
          (page.longest, page.total) = (max(page.longest, records), total)
        }
      }
    }
  }

  @Test("19: short ends a list at a page that is not full; a lowered size is tried")
  func short() throws {
    func pages(_ records: Int...) throws -> [Int] {
      let list = paging(.number(), size: .init(100), short: true)
      var (page, tried) = (list.first(), [Int]())
      for records in records {
        guard case .page(let next) = try list.next(after: page, .init(records: records)) else { return tried }
        tried.append(next.isTrial ? -next.number : next.number)
        page = next
      }
      return tried
    }
    #expect(try pages(100, 100, 99) == [2, 3])
    #expect(try pages(7) == [])
    #expect(try pages(50, 50, 49) == [-2, -3])
    #expect(try pages(50, 0) == [-2])
    #expect(try pages(0) == [])
  }

  @Test("19: an address is resolved against its page and requested unchanged")
  func addresses() throws {
    let style = paging(.link, query: [.init("state", .text("all"))])
    #expect(
      try walk(
        style,
        answers: [
          .init(records: 2, next: .text("/v1/x?p=2")), .init(records: 2, next: .text("?p=3")), .init(records: 1),
        ])
        == ["/things?state=all", "/x?p=2", "/x?p=3", "end"])
  }

  @Test(
    "19: of an address only the bytes are escaped that RFC 3986 does not allow",
    arguments: [
      ("/v1/x?page[number]=2&tag=C%2B%2B", "/x?page%5Bnumber%5D=2&tag=C%2B%2B"),
      ("?a=100%&b=%20", "/things?a=100%25&b=%20"),
      ("/v1/x y/%C3%A9?q=é|%7C", "/x%20y/%C3%A9?q=%C3%A9%7C%7C"),
      ("https://api.example/v1/x?f[a]=%5B#b", "/x?f%5Ba%5D=%5B#b"),
    ])
  func escaped(address: String, requested: String) throws {
    let answers = [ListFacts(records: 2, next: .text(address)), ListFacts(records: 1)]
    #expect(try walk(paging(.link), answers: answers) == ["/things", requested, "end"])
  }

  @Test(
    "38: of an address that upstream's values make, messages show what the definition says, and no value",
    arguments: [
      (cursor, ListFacts.Value.text("a b"), "/things?state=all&after=***"),
      (.after(param: .query("since"), at: member), .integer(4711), "/things?state=all&since=***"),
      (.link, .text("/v1/things?state=all&page=2&4711"), "/things?state=all&page=***&***"),
      (.next(at: at), .text("https://api.example/v1/things/after/4711"), "https://api.example/***"),
      (.next(at: at), .text("?state=all"), "/things?state=all"),
    ] as [(Resource.Style, ListFacts.Value, String)])
  func keyless(style: Resource.Style, value: ListFacts.Value, shown: String) throws {
    let list = paging(style, query: [.init("state", .text("all"))])
    #expect(list.first().request.keylessURL == nil)
    let next = try second(of: list, .init(records: 1, next: value))
    #expect(next.request.shownURL == (shown.hasPrefix("/") ? base + shown : shown))
    #expect(paging(.number()).page(2, announcedBy: .init(records: 1)).request.shownURL == base + "/things?page=2")
  }

  @Test(
    "39: an address at another origin is refused",
    arguments: ["https://evil.example/v1/things", "http://api.example/v1"])
  func elsewhere(address: String) throws {
    let style = paging(.next(at: at))
    #expect(throws: Failure.foreignPage) {
      try style.next(after: style.first(), .init(records: 1, next: .text(address)))
    }
  }

  @Test(
    "upstream.links = rebase requests path and query of a foreign address from base_url's origin, without its path",
    arguments: [
      ("https://public.example/v1/things?page=2", "https://api.example/v1/things?page=2"),
      ("http://api.example/v1/things?a=b%20c&d=%2F#part", "https://api.example/v1/things?a=b%20c&d=%2F"),
      ("https://user:geheim@public.example:8443/things", "https://api.example/things"),
      ("//public.example?page=2", "https://api.example?page=2"), ("?page=2", "https://api.example/v1/things?page=2"),
      ("https://api.example:443/v1/x", "https://api.example:443/v1/x"),
    ])
  func rebased(address: String, asked: String) throws {
    let style = paging(.next(at: at))
    let facts = ListFacts(records: 1, next: .text(address))
    let next = try second(of: style, facts, links: { .rebase })
    #expect(next.request.url == asked)
  }

  @Test("upstream.links = rebase accepts addresses only", arguments: ["ftp://x/y", "mailto:a@b", "http://"])
  func notRebased(address: String) throws {
    let style = paging(.next(at: at))
    let facts = ListFacts(records: 1, next: .text(address))
    #expect(throws: Failure.self) { try style.next(after: style.first(), facts, links: { .rebase }) }
  }

  @Test(
    "38: a token that upstream repeats in an address is removed from it, in headers and in the body",
    arguments: [
      ("/v1/things?page=2&api_key=geheim", "/v1/things?page=2"), ("?api_key=geheim", ""),
      ("?api%5Fkey=geheim&page=2&api_key=geheim", "?page=2"),
      ("?\u{301}&api_key=geheim", "?\u{301}"), ("?page=2&my_api_key=x", "?page=2&my_api_key=x"),
    ])
  func withoutToken(address: String, kept: String) throws {
    let left: ListFacts.Value? = kept.isEmpty ? nil : .text(kept)
    for (style, headers) in [
      (Resource.Style.link, [Request.Header("Link", "<\(address)>; rel=next")]),
      (.next(at: .header("X-Next")), [Request.Header("X-Next", address)]), (.next(at: at), []),
    ] {
      var response = Response(status: 200, headers: headers)
      response.token = .init(["geheim"], parameters: ["api_key"])
      var scan = PageScan()
      scan.at = PointedValue(.text(address))
      let facts = try paging(style).facts(in: scan, of: response, page: 1)
      #expect(facts.next == left)
      #expect(facts.continuation?.contains("geheim") != true)
      #expect(paging(style).agrees(response, with: ListFacts(records: 0, next: left)))
    }
  }

  @Test(
    "38: a token in another parameter or a fragment is removed; in the next page's path it is malformed",
    arguments: [
      ("/v1/things?page=2&k=s3cret%2Dt0ken", "/v1/things?page=2"), ("?k=Bearer+s3cret-t0ken&page=2", "?page=2"),
      ("?page=2#s3cret-t0ken", "?page=2"), ("/v1/s3cret-t0ken/things?page=2", nil),
    ])
  func withoutRepeatedToken(address: String, kept: String?) throws {
    var response = Response(status: 200)
    response.token = .init(["s3cret-t0ken"])
    var scan = PageScan()
    scan.at = PointedValue(.text(address))
    let next = try? paging(.next(at: at)).facts(in: scan, of: response, page: 1).next
    #expect(next == kept.map(ListFacts.Value.text))
    scan.at = PointedValue(.text("s3cret-t0ken"))
    let cursor = paging(.cursor(param: .query("c"), at: at))
    #expect(throws: UndefinedAnswer.self) { try cursor.facts(in: scan, of: response, page: 1) }
    // Such a short token may occur in any address by chance.
    response.token = .init(["page"])
    scan.at = PointedValue(.text("?page=2"))
    #expect(try paging(.next(at: at)).facts(in: scan, of: response, page: 1).next == .text("?page=2"))
  }

  @Test("A POST has the page's value in its body, and missing objects on the way are made")
  func bodies() throws {
    let style = Resource.Style.cursor(param: .body(JSONPointer(segments: ["page", "cursor"])), at: at)
    let post = paging(
      style, size: .init(100, param: .body(JSONPointer(segments: ["page_size"]))), method: .post,
      body: .object([.init("filter", .text("x"))]))
    #expect(String(decoding: post.first().request.body, as: UTF8.self) == #"{"filter":"x","page_size":100}"#)
    let next = try second(of: post, .init(records: 1, next: .text("c")))
    #expect(
      String(decoding: next.request.body, as: UTF8.self)
        == #"{"filter":"x","page_size":100,"page":{"cursor":"c"}}"#)
    #expect(next.address != post.first().address)
    #expect(next.request.concern.body == String(decoding: next.request.body, as: UTF8.self))
    let secret = paging(
      .one, method: .post, body: .object([.init("api_key", .text("s3cret")), .init("q", .text("x"))]))
    #expect(secret.first().request.concern.body == #"{"api_key":"***","q":"x"}"#)
  }

  @Test("52: a place in a list of the body is set in its element, and the other elements stay")
  func bodyElements() throws {
    let post = paging(
      .cursor(param: .body(JSONPointer(segments: ["params", "1", "cursor"])), at: at),
      size: .init(5, param: .body(JSONPointer(segments: ["params", "0"]))), method: .post,
      body: .object([.init("params", .list([.text("x"), .object([.init("a", .boolean(true))])]))]))
    let next = try second(of: post, .init(records: 1, next: .text("c")))
    #expect(String(decoding: next.request.body, as: UTF8.self) == #"{"params":[5,{"a":true,"cursor":"c"}]}"#)
  }

  @Test("14, 19: an answer without what its definition names is malformed")
  func declared() {
    let counted = paging(.number(last: at), more: at, count: at)
    var scan = PageScan()
    scan.records = 1
    scan.count = PointedValue(.integer(1))
    scan.last = PointedValue(.integer(1))
    #expect(throws: UndefinedAnswer.self) { try counted.facts(in: scan, of: Response(status: 200), page: 1) }
    scan.more = PointedValue(.boolean(true))
    #expect(throws: Never.self) { try counted.facts(in: scan, of: Response(status: 200), page: 1) }
    scan.last = PointedValue(.integer(2))
    #expect(throws: UndefinedAnswer(reason: "it announces 2 pages for 1 records")) {
      try counted.facts(in: scan, of: Response(status: 200), page: 1)
    }
    scan.last = PointedValue(.text("one"))
    #expect(throws: UndefinedAnswer.self) { try counted.facts(in: scan, of: Response(status: 200), page: 1) }
  }

  @Test("14: a count of more records or pages than a cache could hold is malformed")
  func tooMany() throws {
    var scan = PageScan()
    scan.records = 2
    let styles: [Resource.Style] = [.offset(param: .query("at")), .number(last: .header("X-Count"))]
    for style in styles.map({ paging($0, count: .header("X-Count")) }) {
      for number in [Int.max, 1_000_000_000_001] {
        let response = Response(status: 200, headers: [Request.Header("X-Count", "\(number)")])
        #expect(throws: UndefinedAnswer.self) { try style.facts(in: scan, of: response, page: 1) }
      }
      let response = Response(status: 200, headers: [Request.Header("X-Count", "1000000000000")])
      #expect(try style.facts(in: scan, of: response, page: 1).count == 1_000_000_000_000)
    }
  }

  @Test(
    "40: a kept page leads to the same next page, whatever its cursor begins with",
    arguments: ["\u{301}a", ":", "a:b", "\r"])
  func keptCursor(cursor: String) {
    let kept = ListFacts(
      records: 1, count: nil, last: nil, continuation: ListFacts(records: 1, next: .text(cursor)).continuation)
    #expect(kept.next == .text(cursor))
  }

  @Test("9: a page that `more` ends is unchanged, although one of its headers has a next address")
  func endsAndLeadsOn() throws {
    let headers = [Request.Header("Link", "<?page=9>; rel=next"), Request.Header("Next", "?page=9")]
    for style in [Resource.Style.link, .next(at: .header("Next")), .cursor(param: .query("c"), at: .header("Next"))] {
      let told = paging(style, more: .header("X-More"))
      let response = Response(status: 200, headers: headers + [Request.Header("X-More", "false")])
      let facts = try told.facts(in: PageScan(), of: response, page: 1)
      let kept = ListFacts(records: 0, count: nil, last: nil, continuation: facts.continuation)
      #expect(told.agrees(response, with: kept))
      #expect(!told.agrees(Response(status: 200, headers: headers + [Request.Header("X-More", "true")]), with: kept))
    }
  }

  @Test(
    "14, 19: an address in a Link header without its closing > makes the page malformed, and ends no list",
    arguments: ["<https://a.example/x?page=2; rel=\"next\"", "<a>; rel=\"last\", <b; rel=next", "<x"])
  func unclosedLink(header: String) throws {
    let told = paging(.link)
    let response = Response(status: 200, headers: [Request.Header("Link", header)])
    #expect(throws: UndefinedAnswer.self) { try told.facts(in: PageScan(), of: response, page: 1) }
    #expect(!told.agrees(response, with: ListFacts(records: 1)))
  }

  @Test(
    "9, 21: only the last page of a list by number or offset is another one if its delta token is new",
    arguments: [
      (Resource.Style.number(), false), (.number(), true), (.number(last: at), false),
      (.offset(param: .query("o")), false), (.offset(param: .query("o")), true),
    ])
  func tokenInHeader(style: Resource.Style, hasCount: Bool) throws {
    var resource = paging(style, size: .init(2, param: .query("n")), count: hasCount ? at : nil, short: true).resource
    resource.since = Since(token: .header("X-Delta"), param: .query("d"), listing: resource.listing)
    let told = Paging(resource, baseURL: base)
    let hasLast = style == .number(last: at)
    let isAnnounced = hasCount || hasLast
    var full = ListFacts(records: 2, count: hasCount ? 5 : nil, last: hasLast ? 3 : nil)
    full.token = "old"
    var short = full
    short.records = 1
    let response = Response(status: 304, headers: [.init("X-Delta", "new")])
    let first = told.first()
    #expect(told.agrees(response, with: full, on: first))
    var (second, third) = (told.page(2, announcedBy: full), told.page(3, announcedBy: full))
    if !isAnnounced, case .page(let next) = try told.next(after: first, full) { (second, third) = (next, next) }
    #expect(told.agrees(response, with: full, on: second))
    #expect(!told.agrees(response, with: short, on: third))
    var only = full
    (only.records, only.count, only.last) = (1, only.count.map { _ in 1 }, only.last.map { _ in 1 })
    #expect(!told.agrees(response, with: only, on: first))
  }

  @Test("18, 19: last, count and more may be headers, and an answer without them is malformed")
  func headers() throws {
    let style = Resource.Style.number(last: .header("X-WP-TotalPages"))
    let told = paging(style, more: .header("X-More"), count: .header("X-WP-Total"))
    var scan = PageScan()
    scan.records = 2
    func facts(_ headers: KeyValuePairs<String, String>) throws -> ListFacts {
      try told.facts(
        in: scan, of: Response(status: 200, headers: headers.map { Request.Header($0.key, $0.value) }), page: 1)
    }
    let found = try facts(["x-wp-total": "5", "X-WP-TotalPages": "3", "X-More": "true"])
    #expect(found == ListFacts(records: 2, count: 5, last: 3, more: true))
    #expect(try walk(told, answers: [found]).count == 3)
    #expect(try facts(["X-WP-Total": "5", "X-WP-TotalPages": "3", "X-More": "false"]).more == false)
    let bad: [KeyValuePairs<String, String>] = [
      [:], ["X-WP-Total": "5", "X-WP-TotalPages": "3"], ["X-WP-TotalPages": "3", "X-More": "true"],
      ["X-WP-Total": "five", "X-WP-TotalPages": "3", "X-More": "true"],
      ["X-WP-Total": "-1", "X-WP-TotalPages": "3", "X-More": "true"],
      ["X-WP-Total": "5", "X-WP-TotalPages": "3", "X-More": "perhaps"],
      ["X-WP-Total": "5", "X-WP-TotalPages": "6", "X-More": "true"],
    ]
    for headers in bad { #expect(throws: UndefinedAnswer.self, "\(headers)") { try facts(headers) } }
  }
}

@Suite struct LinkHeaderTests {
  @Test(
    "The first link with the relation `next` counts, in one header or in several (RFC 8288)",
    arguments: [
      (["<https://a/?p=2>; rel=\"next\", <https://a/?p=9>; rel=\"last\""], "https://a/?p=2"),
      (["<https://a/?p=9>; rel=\"last\"", "</x>;rel=next"], "/x"),
      (["<x>; title=\"a, <b>; \\\"c\"; rel=\"prev NEXT\""], "x"),
      (["<x>; rel=next; anchor=\"/other\", <y>; rel=next"], "y"), (["<x>; rel=prev; rel=next"], nil), (["<x>"], nil),
      (["</l?p=2>; rel=next; anchor=\"https://a/l\""], "/l?p=2"), (["<?p=2>; rel=next; anchor=\"?p=1\""], "?p=2"),
      (["<https://a/l?p=2>; rel=next; anchor=\"#top\""], "https://a/l?p=2"),
      (["x; rel=next"], nil), ([""], nil),
      (["<x>; rel=\"next\"; results=\"false\""], nil), (["<x>; rel=\"next\"; results=\"true\""], "x"),
      (["<x>; rel=next, <y; rel=last"], "x"),
    ] as [([String], String?)])
  func next(headers: [String], target: String?) throws {
    #expect(try LinkHeader.next(in: headers.map { Request.Header("link", $0) }) == target)
  }

  @Test(
    "19: a link whose anchor is another list is not the next page, and not the end of this list",
    arguments: ["</l?p=2>; rel=next; anchor=\"/m\"", "<?p=2>; rel=next; anchor=\"https://a/m?x\", <y>; rel=last"])
  func foreignAnchor(header: String) {
    #expect(throws: LinkHeader.Fault.self) { try LinkHeader.next(in: [Request.Header("Link", header)]) }
  }
}
