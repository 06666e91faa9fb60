import RosterCore
import RosterFetch
import Testing

@testable import RosterSync

private func paging(_ style: Resource.Style, count: Resource.AnswerPlace? = nil, beyond: [Int] = []) -> Paging {
  var resource = Resource.character
  resource.pages = .init(style, count: count, beyond: beyond)
  return Paging(resource, baseURL: "http://up")
}

private let place = Resource.AnswerPlace.body(at("x"))
private let parallel = paging(.number(last: place), count: place)
private let cursor = paging(.cursor(param: .query("c"), at: place))

/// A plan whose mutating calls a macro can hold.
private final class Planned {
  private var plan: PullPlan

  init(_ lists: [Paging], maxPages: Int = 1000) { plan = PullPlan(lists, maxPages: maxPages) }

  func ask(_ concurrency: Int = 8) -> PullPlan.PageJob? { plan.next(concurrency: concurrency) }

  func asked() throws -> PullPlan.PageJob { try #require(ask()) }

  func came(
    _ job: PullPlan.PageJob, facts: ListFacts, from source: PullPlan.PageSource = .answer, waiting: Int = 0,
    likeness: Int? = nil, links: NextLinks = .sameOrigin
  ) throws -> Bool {
    let records = likeness.map { RepeatedPages.Page(likeness: $0, keys: [$0]) }
    return try plan.came(
      job, facts: facts, from: source, waiting: waiting, records: records, links: { links })
  }

  /// Answers the page that the plan requests next.
  func answer(_ facts: ListFacts, from source: PullPlan.PageSource = .answer, waiting: Int = 0) throws -> Bool {
    let job = try asked()
    return try came(job, facts: facts, from: source, waiting: waiting)
  }

  func wasMissing(_ job: PullPlan.PageJob) { plan.wasMissing(job) }
  func failed() { plan.failed() }
  func staged(_ bytes: Int) { plan.staged(bytes) }
  func pages(in list: Int) -> Int? { plan.pages(in: list) }
  func outcome(of list: Int) -> PullOutcome { plan.outcome(of: list) }
  var isIdle: Bool { plan.isIdle }
}

@Suite struct PullPlanTests {
  @Test("27: after the first page all announced pages are requested, at most `concurrency` at a time")
  func parallelPages() throws {
    let plan = Planned([parallel])
    let first = try plan.asked()
    #expect(plan.ask() == nil)
    #expect(try plan.came(first, facts: ListFacts(records: 2, count: 9, last: 5)))
    #expect(plan.pages(in: 0) == 5)
    let asked = [plan.ask(3), plan.ask(3), plan.ask(3)].compactMap(\.self)
    #expect(asked.map(\.page.number) == [2, 3, 4])
    #expect(asked.map(\.isAnnounced) == [true, true, true])
    #expect(plan.ask(3) == nil)
    #expect(try plan.came(asked[1], facts: ListFacts(records: 2, count: 9, last: 5)))
    #expect(plan.ask(3)?.page.number == 5)
    #expect(plan.ask(8) == nil)
  }

  @Test("27: a list whose pages follow each other is pulled beside the others, and first")
  func sideBySide() throws {
    let plan = Planned([parallel, cursor])
    let one = try plan.asked()
    let other = try plan.asked()
    #expect([one.list, other.list] == [0, 1])
    #expect(try plan.came(one, facts: ListFacts(records: 2, count: 9, last: 5)))
    #expect(try plan.came(other, facts: ListFacts(records: 2, next: .text("a"))))
    #expect(plan.ask()?.list == 1)
    #expect(plan.ask()?.list == 0)
    #expect(plan.pages(in: 1) == nil)
  }

  @Test("18: a page that reports another count or number of pages is drift and ends its list")
  func drift() throws {
    let plan = Planned([parallel])
    let first = try plan.asked()
    #expect(try plan.came(first, facts: ListFacts(records: 2, count: 9, last: 5)))
    let second = try plan.asked()
    #expect(try !plan.came(second, facts: ListFacts(records: 2, count: 8, last: 5)))
    #expect(plan.outcome(of: 0).drift == "page 2 reports 8 records on 5 pages, page 1 reports 9 records on 5 pages")
    #expect(plan.ask() == nil)
    #expect(plan.isIdle)
  }

  @Test("18: an announced page that is missing is drift")
  func vanished() throws {
    let plan = Planned([parallel])
    let first = try plan.asked()
    #expect(try plan.came(first, facts: ListFacts(records: 2, count: 9, last: 5)))
    plan.wasMissing(try plan.asked())
    #expect(plan.outcome(of: 0).drift == "page 2, which was announced, is not there")
  }

  @Test("9, 18: an unchanged page may differ from the count and number of pages that the first page reports now")
  func unchanged() throws {
    let plan = Planned([parallel])
    let first = try plan.asked()
    #expect(try plan.came(first, facts: ListFacts(records: 2, count: 9, last: 5)))
    #expect(try plan.answer(ListFacts(records: 2, count: 8, last: 4), from: .confirmation))
    #expect(plan.outcome(of: 0) == PullOutcome(drift: nil, count: 9, hasPages: true, hasSeveralPages: true))
  }

  @Test(
    "19: a cursor that occurred before fails the sync with 65 on known records, also if it leads to the first page")
  func circle() throws {
    let plan = Planned([cursor])
    for (next, likeness) in [("a", 1), ("b", 2), ("a", 3)] {
      #expect(try plan.came(plan.asked(), facts: ListFacts(records: 2, next: .text(next)), likeness: likeness))
    }
    let fourth = try plan.asked()
    let failure = #expect(throws: Failure.self) {
      try plan.came(fourth, facts: ListFacts(records: 2, next: .text("b")), likeness: 2)
    }
    #expect(failure?.kind == .badAnswer)
    let back = Planned([paging(.next(at: place))])
    let facts = ListFacts(records: 2, next: .text("/character"))
    #expect(try back.came(back.asked(), facts: facts, likeness: 7))
    let second = try back.asked()
    #expect(throws: Failure.self) { try back.came(second, facts: facts, likeness: 7) }
  }

  @Test("19: two spellings of one letter in the bodies of a chain are two pages")
  func spellings() throws {
    var resource = Resource.character
    resource.method = .post
    resource.pages = .init(.after(param: .body(at("after")), at: at("id")))
    let plan = Planned([Paging(resource, baseURL: "http://up")])
    for (next, likeness) in [("\u{e9}", 1), ("e\u{301}", 2)] {
      #expect(try plan.came(plan.asked(), facts: ListFacts(records: 2, next: .text(next)), likeness: likeness))
    }
    let third = try plan.asked()
    #expect(throws: Failure.self) {
      try plan.came(third, facts: ListFacts(records: 2, next: .text("\u{e9}")), likeness: 2)
    }
  }

  @Test("52: an object that occurred before fails the sync with 65")
  func objectCircle() throws {
    let plan = Planned([paging(.cursor(param: .everyMember, at: place))])
    func facts(_ value: String) -> ListFacts {
      ListFacts(records: 2, next: .members([.init("a", .text(value)), .init("b", .number("1"))]))
    }
    for value in 1...2 { #expect(try plan.came(plan.asked(), facts: facts("\(value)"), likeness: value)) }
    let third = try plan.asked()
    #expect(third.page.request.url == "http://up/character?a=2&b=1")
    let failure = #expect(throws: Failure.self) { try plan.came(third, facts: facts("1"), likeness: 1) }
    #expect(failure?.kind == .badAnswer && failure?.cause == "it leads to a page that was requested before")
  }

  @Test("17: a later page of a chain without a count goes on; another count is drift")
  func countedOnce() throws {
    let plan = Planned([paging(.cursor(param: .query("c"), at: place), count: place)])
    #expect(try plan.answer(ListFacts(records: 2, count: 6, next: .text("a"))))
    #expect(try plan.answer(ListFacts(records: 2, next: .text("b"))))
    #expect(try !plan.answer(ListFacts(records: 2, count: 7)))
    #expect(plan.outcome(of: 0).drift == "page 3 reports 7 records, page 1 reports 6 records")
    #expect(plan.outcome(of: 0).count == 6)
  }

  @Test("18: a page by number with another number of records than count and page 1 predict is drift")
  func unpredicted() throws {
    for (records, isDrift) in [([2, 2, 1], false), ([2, 1, 1], true), ([2, 2, 2], false), ([2, 0, 1], true)] {
      let plan = Planned([paging(.number(), count: place)])
      for records in records where plan.outcome(of: 0).drift == nil {
        _ = try plan.answer(ListFacts(records: records, count: 5))
      }
      #expect((plan.outcome(of: 0).drift != nil) == isDrift, "\(records)")
      // More records than the total leaves for the last page: the total may be capped.
      #expect((plan.ask() == nil) == (records != [2, 2, 2]))
    }
  }

  @Test("18: an announced page with the records of page 1 is drift: upstream ignores the parameter")
  func ignored() throws {
    for style in [paging(.number(), count: place), parallel, paging(.offset(param: .query("o")), count: place)] {
      let plan = Planned([style])
      let facts = ListFacts(records: 2, count: 9, last: 5)
      #expect(try plan.came(plan.asked(), facts: facts, likeness: 7))
      #expect(try !plan.came(plan.asked(), facts: facts, likeness: 7))
      #expect(plan.outcome(of: 0).drift == "page 2 has the same records as page 1")
      #expect(plan.outcome(of: 0).isParameterIgnored && plan.ask() == nil)
    }
    // One page that differs proves that upstream knows the parameter.
    let plan = Planned([parallel])
    for likeness in [7, 8, 7] {
      #expect(try plan.came(plan.asked(), facts: ListFacts(records: 2, count: 9, last: 5), likeness: likeness))
    }
  }

  @Test("19: a cursor or `after` value that upstream ignores fails the sync with 65 and names the parameter")
  func ignoredCursor() throws {
    let object = paging(.cursor(param: .everyMember, at: place))
    let after = paging(.after(param: .query("c"), at: at("id")))
    for (style, param) in [(cursor, "c"), (object, "*"), (after, "c")] {
      let plan = Planned([style])
      let next: ListFacts.Value = param == "*" ? .members([.init("a", .text("x"))]) : .text("a")
      #expect(try plan.came(plan.asked(), facts: ListFacts(records: 2, next: next), likeness: 7))
      let second = try plan.asked()
      let failure = #expect(throws: Failure.self) {
        try plan.came(second, facts: ListFacts(records: 2, next: next), likeness: 7)
      }
      #expect(failure?.trouble == .ignoredParameter && failure?.kind == .badAnswer)
      #expect(failure?.cause.hasSuffix("upstream ignores the parameter \(param)") == true)
    }
  }

  @Test("18, 19: pages that repeat without end fail the sync even if each cursor is new")
  func endless() throws {
    let circle = Planned([cursor])
    for page in 1...2 {
      #expect(try circle.came(circle.asked(), facts: ListFacts(records: 2, next: .integer(page)), likeness: 7))
    }
    let third = try circle.asked()
    let failure = #expect(throws: Failure.self) {
      try circle.came(third, facts: ListFacts(records: 2, next: .integer(3)), likeness: 7)
    }
    #expect(failure?.kind == .badAnswer)

    let numbered = Planned([paging(.number())])
    for _ in 1...3 { #expect(try numbered.came(numbered.asked(), facts: ListFacts(records: 2), likeness: 7)) }
    #expect(numbered.ask() == nil)
    #expect(numbered.outcome(of: 0).drift == "pages 1 to 3 have the same records")
  }

  @Test("A list longer than sync.max_pages fails with 65 and names the key; a list of exactly that length is pulled")
  func tooLong() throws {
    for (style, most) in [(cursor, 3), (paging(.number()), 3), (parallel, 5)] {
      for isTooLong in [false, true] {
        let plan = Planned([style], maxPages: isTooLong ? most - 1 : most)
        let end = Result {
          while let job = plan.ask() {
            let isLast = job.page.number == most
            _ = try plan.came(
              job,
              facts: ListFacts(
                records: isLast ? 0 : 2, count: style === parallel ? 9 : nil, last: style === parallel ? 5 : nil,
                next: isLast ? nil : .integer(job.page.number)))
          }
        }
        guard isTooLong else {
          try end.get()
          continue
        }
        let failure = #expect(throws: Failure.self) { try end.get() }
        #expect(failure?.kind == .badAnswer && failure?.description.contains("sync.max_pages (\(most - 1))") == true)
      }
    }
  }

  @Test(
    "19: a list that ends with page sync.max_pages is pulled, and a message says if only one more page shows the end",
    arguments: [
      (ListFacts(records: 2, more: false), nil), (ListFacts(records: 1), nil), (ListFacts(records: 0), nil),
      (ListFacts(records: 2), "no answer says whether the list ends here"),
      (ListFacts(records: 2, more: true), "the list has more pages than sync.max_pages (2)"),
    ] as [(ListFacts, String?)])
  func exactlyTheLimit(last: ListFacts, message: String?) throws {
    var resource = Resource.character
    resource.pages = .init(.number(), size: .init(2, param: nil), short: true)
    let plan = Planned([Paging(resource, baseURL: "https://a.example")], maxPages: 2)
    let first = ListFacts(records: 2, more: last.more.map { _ in true })
    #expect(try plan.came(plan.asked(), facts: first))
    let end = Result { try plan.came(plan.asked(), facts: last) }
    guard let message else {
      _ = try end.get()
      #expect(plan.ask() == nil)
      return
    }
    let failure = #expect(throws: Failure.self) { try end.get() }
    #expect(failure?.kind == .badAnswer && failure?.description.contains(message) == true, "\(failure as Any)")
    #expect(failure?.description.contains("sync.max_pages (2)") == true)
  }

  @Test("19: a few pages that repeat because records moved do not end the pull")
  func repeated() throws {
    let plan = Planned([cursor])
    for (page, likeness) in [1, 1, 2, 3, 3].enumerated() {
      #expect(try plan.came(plan.asked(), facts: ListFacts(records: 2, next: .integer(page + 1)), likeness: likeness))
    }
    #expect(try plan.came(plan.asked(), facts: ListFacts(records: 2), likeness: 4))
    #expect(plan.ask() == nil && plan.outcome(of: 0).drift == nil)
  }

  @Test("39: a next page on another origin fails the sync with 65 and says what to do; links = rebase follows it")
  func elsewhere() throws {
    let facts = ListFacts(records: 2, next: .text("https://public.example/character?c=a"))
    let plan = Planned([paging(.link)])
    let job = try plan.asked()
    let failure = #expect(throws: Failure.self) { try plan.came(job, facts: facts) }
    #expect(failure?.kind == .badAnswer && failure?.hint?.contains("upstream.links = \"rebase\"") == true)
    let rebased = Planned([paging(.link)])
    let first = try rebased.asked()
    #expect(try rebased.came(first, facts: facts, links: .rebase))
    #expect(try rebased.asked().page.request.url == "http://up/character?c=a")
    let circle = Planned([paging(.link)])
    let back = ListFacts(records: 2, next: .text("https://public.example/character"))
    #expect(try circle.came(circle.asked(), facts: back, likeness: 7, links: .rebase))
    let page = try circle.asked()
    #expect(throws: Failure.self) { try circle.came(page, facts: back, likeness: 7, links: .rebase) }
  }

  @Test("40: if upstream no longer knows the address after a kept page, the list begins again")
  func forgotten() throws {
    let plan = Planned([cursor])
    #expect(try plan.answer(ListFacts(records: 2, next: .text("a")), from: .confirmation))
    let second = try plan.asked()
    #expect(second.isFromKept)
    plan.wasMissing(second)
    #expect(plan.outcome(of: 0).drift == "upstream does not know the address any more that page 1 led to")
  }

  @Test("27: pages that wait to be stored delay further requests by their size in bytes")
  func backlog() throws {
    let plan = Planned([parallel])
    let large = 5 << 20
    #expect(try plan.answer(ListFacts(records: 2, count: 9, last: 5), waiting: large))
    #expect(plan.ask() == nil)
    plan.staged(large)
    #expect(plan.ask() != nil)
  }

  @Test("No request follows a failure")
  func failure() throws {
    let plan = Planned([parallel, cursor])
    _ = plan.ask()
    plan.failed()
    #expect(plan.ask() == nil)
    #expect(plan.isIdle)
  }
}
