import RosterCore
import RosterDecode
import Testing

@testable import RosterFetch

/// Totals that an answer declares: `count` and `last`.
@Suite struct TotalTests {
  private static let next = Resource.AnswerPlace.body(JSONPointer(segments: ["next"]))
  private static let chains: [Resource.Style] = [
    .cursor(param: .query("c"), at: next), .next(at: next), .link,
    .after(param: .query("a"), at: JSONPointer(segments: ["id"])),
  ]

  private func paging(_ style: Resource.Style, count: Resource.AnswerPlace?) -> Paging {
    let id = Resource.Column("id", at: JSONPointer(segments: ["id"]), .integer)
    let resource = Resource(name: "thing", path: "/things", pages: .init(style, count: count), columns: [id])
    return Paging(resource, baseURL: "http://up")
  }

  private func scan(_ count: PointedValue.Kind) -> PageScan {
    var scan = PageScan()
    scan.records = 20
    scan.count = PointedValue(count)
    return scan
  }

  @Test("17: the first page of a chain must have a declared count, later pages may lack it", arguments: chains)
  func chain(style: Resource.Style) throws {
    let paging = paging(style, count: Self.next)
    func count(_ kind: PointedValue.Kind, isFirst: Bool) throws -> Int? {
      try paging.facts(in: scan(kind), of: Response(status: 200), page: isFirst ? 1 : 2).count
    }
    #expect(try count(.integer(7), isFirst: true) == 7 && count(.integer(7), isFirst: false) == 7)
    #expect(try count(.absent, isFirst: false) == nil && count(.null, isFirst: false) == nil)
    for kind in [PointedValue.Kind.absent, .null] {
      #expect(throws: UndefinedAnswer.self) { try count(kind, isFirst: true) }
    }
    #expect(try count(.text("7"), isFirst: false) == 7)
    #expect(throws: UndefinedAnswer.self) { try count(.text("7 things"), isFirst: false) }
  }

  @Test(
    "17: by number and offset, the first page and an empty one must have the count, later ones may lack it",
    arguments: [false, true])
  func numbered(isOffset: Bool) throws {
    let paging = paging(isOffset ? .offset(param: .query("from")) : .number(), count: Self.next)
    #expect(try paging.facts(in: scan(.absent), of: Response(status: 200), page: 2).count == nil)
    var empty = scan(.absent)
    empty.records = 0
    for (scan, isFirst) in [(scan(.absent), true), (empty, false), (empty, true)] {
      #expect(throws: UndefinedAnswer(reason: "/next (count) is absent", absentTotal: "count")) {
        try paging.facts(in: scan, of: Response(status: 200), page: isFirst ? 1 : 2)
      }
    }
    var none = scan(.null)
    none.records = 0
    #expect(try paging.facts(in: none, of: Response(status: 200), page: 1).count == nil)
  }

  @Test("17: another count on a later page contradicts the first page, a missing one does not")
  func contradicts() {
    let first = ListFacts(records: 20, count: 50, last: 3)
    #expect(!ListFacts(records: 20).contradicts(first, before: 20))
    #expect(!ListFacts(records: 20, count: 50).contradicts(first, before: 20))
    #expect(ListFacts(records: 20, count: 51).contradicts(first, before: 20))
    #expect(ListFacts(records: 20, last: 4).contradicts(first, before: 20))
    let none = ListFacts(records: 0, count: 0)
    #expect(none.contradicts(first, before: 20) && !none.contradicts(.init(records: 20, count: 20), before: 20))
  }

  @Test(
    "52: the count of a Content-Range is the number after the slash; `*` is absent",
    arguments: [
      ("0-24/3573458", 3_573_458), ("items 0-9/10", 10), ("*/0", 0), ("0-24/*", nil), ("*", nil), ("0-24/x", nil),
      ("0-24/-1", nil), ("0-24/", nil),
    ] as [(String, Int?)])
  func contentRange(value: String, count: Int?) throws {
    for name in ["Content-Range", "content-range"] {
      let paging = paging(.offset(param: .query("offset")), count: .header(name))
      let response = Response(status: 206, headers: [.init("Content-Range", value)])
      #expect((try? paging.facts(in: PageScan(), of: response, page: 1))?.count == count)
      if let count { #expect(paging.agrees(response, with: ListFacts(records: 20, count: count))) }
      #expect(!paging.agrees(response, with: ListFacts(records: 20, count: 7)))
    }
    let star = Response(status: 206, headers: [.init("Content-Range", "0-24/*")])
    let paging = paging(.offset(param: .query("offset")), count: .header("Content-Range"))
    #expect(throws: UndefinedAnswer(reason: "header:Content-Range (count) is absent", absentTotal: "count")) {
      try paging.facts(in: PageScan(), of: star, page: 1)
    }
  }

  @Test("done ends the list where it is true; an answer without it is malformed")
  func done() throws {
    var resource = paging(.number(), count: nil).resource
    for place in [Self.next, .header("X-Done")] {
      resource.pages.done = place
      let paging = Paging(resource, baseURL: "http://up")
      func facts(_ flag: String) throws -> ListFacts {
        var scan = scan(.absent)
        if case .body = place { scan.more = PointedValue(flag == "true" ? .boolean(true) : .boolean(false)) }
        return try paging.facts(in: scan, of: Response(status: 200, headers: [.init("X-Done", flag)]), page: 1)
      }
      let (last, other) = (try facts("true"), try facts("false"))
      #expect(last.more == false && other.more == true)
      #expect(try paging.next(after: paging.first(), last) == .end)
      #expect(try paging.next(after: paging.first(), other) != .end)
      #expect(paging.agrees(Response(status: 200, headers: [.init("X-Done", "true")]), with: last))
    }
    let paging = Paging(resource, baseURL: "http://up")
    #expect(!paging.agrees(Response(status: 200, headers: [.init("X-Done", "true")]), with: ListFacts(records: 1)))
    #expect(
      throws: UndefinedAnswer(
        reason: "header:X-Done (done) is absent: if upstream leaves it out where it is false, set omits_false = true")
    ) {
      try paging.facts(in: scan(.absent), of: Response(status: 200), page: 1)
    }
  }

  @Test("18: `number` with `count` and without `last` announces count / records of page 1, rounded up")
  func announced() throws {
    let paging = paging(.number(), count: Self.next)
    func pages(_ records: Int, count: Int) throws -> Int? {
      let facts = ListFacts(records: records, count: count)
      guard case .announced(let pages) = try paging.next(after: paging.first(), facts) else { return nil }
      return pages
    }
    #expect(
      try pages(20, count: 2000) == 100 && pages(20, count: 2001) == 101 && pages(20, count: 7) == nil
        && pages(0, count: 0) == nil)
    #expect(paging.page(3, announcedBy: ListFacts(records: 20, count: 50)).address == "/things?page=3")
  }

  @Test("18: each page but the last has as many records as page 1, and the last at least the rest")
  func predicted() {
    let first = ListFacts(records: 20, count: 45, last: 3)
    let numbers = paging(.number(), count: Self.next)
    #expect(
      (1...4).map { numbers.predictedRecords(on: $0, isLast: false, announcedBy: first) }
        == [20...20, 20...20, 5...5, 0...0])
    #expect(numbers.predictedRecords(on: 3, isLast: true, announcedBy: first) == 5...20)
    let last = paging(.number(last: Self.next), count: Self.next)
    let offset = paging(.offset(param: .query("o")), count: Self.next)
    for other in [last, offset] {
      #expect(other.predictedRecords(on: 1, isLast: false, announcedBy: first) == nil)
    }
  }
}
