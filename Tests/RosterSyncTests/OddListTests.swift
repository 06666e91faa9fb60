import FoundationEssentials
import RosterCore
import Synchronization
import Testing

@testable import RosterSync

/// Lists of upstreams that repeat a cursor or a page, or that never end.
@Suite struct OddListTests {
  private static func ids(_ bench: SyncBench) throws -> [Int] {
    try bench.ask("SELECT id FROM items ORDER BY id").compactMap { Int($0) }
  }

  private static func body(_ ids: some Sequence<Int>, _ rest: String = "") -> Response {
    Response(
      json: #"{"data":[\#(ids.map { #"{"id":\#($0)}"# }.joined(separator: ","))]\#(rest)}"#, headers: [Shelf.date])
  }

  /// Serves the pages of a scroll: each request with the cursor brings the next page, and each without it begins again.
  /// - Parameter failing: The request, counted from 1, that is answered with 503 after the scroll has moved.
  private static func scroll(
    _ pages: [[Int]], failing: Int = 0, flag: @escaping @Sendable (Int) -> String = { _ in "" }, in bench: SyncBench
  ) {
    let state = Mutex((place: 0, requests: 0))
    bench.shelf.answer { _, target in
      let (place, request) = state.withLock { state in
        state.requests += 1
        state.place = target.contains("?") ? state.place + 1 : 0
        return (state.place, state.requests)
      }
      if request == failing { return Response(status: 503) }
      return body(place < pages.count ? pages[place] : [], #","next":"scroll"\#(flag(place))"#)
    }
  }

  private static let scrolled = WrittenList(kind: .cursor, pages: []).resource

  @Test("19: a cursor stays the same while the pages differ, and an empty page is the end")
  func scroll() async throws {
    let bench = try SyncBench([:])
    Self.scroll([[1, 2], [3, 4], [5, 6], [7]], in: bench)
    #expect(try await bench.sync([Self.scrolled]).added == 7)
    #expect(try await bench.sync([Self.scrolled], after: 1).outcome == .unchanged)
    Self.scroll([[1, 2], [3, 4], [6], [7, 8]], in: bench)
    for round in 2...3 { _ = try await bench.sync([Self.scrolled], allowRemoval: true, after: Double(round)) }
    #expect(try Self.ids(bench) == [1, 2, 3, 4, 6, 7, 8])
    #expect(try bench.ask("SELECT proof FROM resources") == ["weak"])
  }

  @Test("19: a failed page of such a list is not asked for again, because that would bring the page after it")
  func failedScroll() async throws {
    let bench = try SyncBench([:])
    Self.scroll([[1, 2], [3, 4], [5, 6], [7]], failing: 3, in: bench)
    #expect(try await bench.sync([Self.scrolled], after: 1).exit == 0)
    #expect(try Self.ids(bench) == Array(1...7))
  }

  @Test("19: a cursor that stays the same on an empty page with more = true, or on known records, is 65")
  func circle() async throws {
    let bench = try SyncBench([:])
    var resource = Self.scrolled
    resource.pages.more = .body(at("more"))
    Self.scroll([[1, 2], [3, 4]], flag: { _ in #","more":true"# }, in: bench)
    #expect(try await bench.sync([resource]).exit == 65)
    Self.scroll([[1, 2], [3, 4], [3, 4], [3, 4]], in: bench)
    #expect(try await bench.sync([Self.scrolled], after: 1).exit == 65)
  }

  /// Serves pages by number or offset where a page after the last one is the last page again.
  private static func clamp(_ kind: WrittenList.Kind, _ pages: [[Int]], rest: String = "", in bench: SyncBench) {
    bench.shelf.answer { _, target in
      let value = target.split(separator: "=").last.flatMap { Int($0) } ?? 0
      let index = kind == .number ? value - 1 : value / 2
      return body(pages[min(index, pages.count - 1)], rest.isEmpty ? "" : #","asked":\#(index)"#)
    }
  }

  @Test(
    "19: the last page again is the end, in later syncs too",
    arguments: [WrittenList.Kind.number, .offset], ["", "page"])
  func clamped(kind: WrittenList.Kind, rest: String) async throws {
    for pages in [[[1, 2], [3, 4], [5]], [[1, 2], [3, 4]]] {
      let bench = try SyncBench([:])
      let resource = WrittenList(kind: kind, pages: []).resource
      Self.clamp(kind, pages, rest: rest, in: bench)
      let count = pages.flatMap(\.self).count
      #expect(try await bench.sync([resource]).added == count)
      #expect(try await bench.sync([resource], after: 1).outcome == .unchanged)
      Self.clamp(kind, [[0, 1]] + pages.dropFirst(), rest: rest, in: bench)
      #expect(try await bench.sync([resource], after: 2).exit == 0)
      #expect(try Self.ids(bench).count == count + 1)
    }
  }

  @Test("19: the first page again is the end only if it has fewer records than size; else the parameter is ignored")
  func ignored() async throws {
    for (size, exit) in [(nil, 65), (2, 65), (3, 0)] as [(Int?, Int32)] {
      let bench = try SyncBench([:])
      var resource = WrittenList(kind: .number, pages: []).resource
      resource.pages.size = size.map { .init($0) }
      Self.clamp(.number, [[1, 2]], in: bench)
      let record = try await bench.sync([resource])
      #expect(record.exit == exit)
      if exit == 65 { #expect(record.trouble?.kind == .ignoredParameter) }
    }
  }

  @Test("19: the first page again, twice, is the end", arguments: [WrittenList.Kind.number, .offset], [5, 6])
  func startsOver(kind: WrittenList.Kind, count: Int) async throws {
    let bench = try SyncBench([:])
    let all = Array(1...count)
    bench.shelf.answer { _, target in
      let value = target.split(separator: "=").last.flatMap { Int($0) } ?? 0
      let start = kind == .number ? (value - 1) * 2 : value
      return Self.body(all.dropFirst(start < count ? start : 0).prefix(2))
    }
    let resource = WrittenList(kind: kind, pages: []).resource
    #expect(try await bench.sync([resource]).added == count)
    #expect(try await bench.sync([resource], after: 1).outcome == .unchanged)
    #expect(try Self.ids(bench) == all)
  }

  @Test(
    "19: a next value that leads back is the end where the total is reached, and a circle where it is not",
    arguments: [WrittenList.Kind.cursor, .next], [1, 2])
  func leadsBack(kind: WrittenList.Kind, target: Int) async throws {
    for (total, exit) in [(5, 0), (6, 65)] as [(Int, Int32)] {
      let bench = try SyncBench([:])
      bench.shelf.answer { _, address in
        let page = address.split(separator: "=").last.flatMap { Int($0) } ?? 0
        let next = page < 2 ? page + 1 : target
        let value = kind == .next ? #""/items?c=\#(next)""# : "\"\(next)\""
        return Self.body(Array(1...5).dropFirst(page * 2).prefix(2), #","total":\#(total),"next":\#(value)"#)
      }
      var resource = WrittenList(kind: kind, pages: []).resource
      resource.pages.count = .body(at("total"))
      for round in 0...1 {
        let record = try await bench.sync([resource], after: Double(round))
        #expect(record.exit == exit, "\(record)")
      }
      if exit == 0 { #expect(try Self.ids(bench) == Array(1...5)) }
    }
  }

  @Test(
    "52: a list or an object is sent whole in a body, as DynamoDB's last key",
    arguments: ["[1,null]", #"{"id":{"N":"2"}}"#])
  func wholeCursor(key: String) async throws {
    let bench = try SyncBench([:])
    var resource = WrittenList(kind: .cursor, pages: []).resource
    resource.listing.method = .post
    resource.pages.style = .cursor(param: .body(at("start")), at: .body(at("last")))
    bench.shelf.answer { request, _ in
      let body = String(decoding: request.body, as: UTF8.self)
      return body.contains(#""start":\#(key)"#) ? Self.body([3]) : Self.body([1, 2], #","last":\#(key)"#)
    }
    #expect(try await bench.sync([resource]).added == 3)
    #expect(try await bench.sync([resource], after: 1).outcome == .unchanged)
  }

  @Test(
    "15: a record that a later page of a chain calls deleted is not stored",
    arguments: [WrittenList.Kind.cursor, .next])
  func deletedLater(kind: WrittenList.Kind) async throws {
    let bench = try SyncBench([:])
    var resource = WrittenList(kind: kind, pages: []).resource
    resource.conditions = [.init(at("deleted"), .absent)]
    resource.maxRemoval = 100
    func serve(_ pages: [String]) {
      bench.shelf.answer { _, target in
        let page = target.split(separator: "=").last.flatMap { Int($0) } ?? 0
        let next =
          page + 1 < pages.count ? kind == .next ? #","next":"/items?c=\#(page + 1)""# : #","next":\#(page + 1)"# : ""
        return Response(json: #"{"data":[\#(pages[page])]\#(next)}"#, headers: [Shelf.date])
      }
    }
    let gone = #"{"id":4,"deleted":true}"#
    serve([#"{"id":1},{"id":4}"#, #"{"id":2},\#(gone),{"id":3}"#])
    #expect(try await bench.sync([resource]).exit == 0)
    #expect(try Self.ids(bench) == [1, 2, 3])
    // It is there again, and was called deleted before that.
    serve([#"{"id":1},\#(gone)"#, #"{"id":2},{"id":4}"#])
    #expect(try await bench.sync([resource], after: 1).exit == 0)
    #expect(try Self.ids(bench) == [1, 2, 3, 4])
    serve([#"{"id":1},{"id":4}"#, #"{"id":2},\#(gone)"#])
    for round in 2...4 { #expect(try await bench.sync([resource], after: Double(round)).exit == 0) }
    #expect(try Self.ids(bench) == [1, 2])
    #expect(try bench.ask("SELECT records FROM resources") == ["2"])
  }

  @Test("17: totals of the first page count for pages without one", arguments: [false, true])
  func totalsOnce(isLast: Bool) async throws {
    let bench = try SyncBench([:])
    let count = Mutex(6)
    bench.shelf.answer { _, target in
      let page = target.split(separator: "=").last.flatMap { Int($0) } ?? 1
      let all = count.withLock { Array(1...$0) }
      let totals = isLast ? #","last":\#((all.count + 1) / 2)"# : #","count":\#(all.count)"#
      return Self.body(all.dropFirst(page * 2 - 2).prefix(2), page == 1 ? totals : "")
    }
    var resource = WrittenList(kind: .number, pages: []).resource
    if isLast { resource.pages.style.last = .body(at("last")) } else { resource.pages.count = .body(at("count")) }
    for (round, number) in [6, 7].enumerated() {
      count.withLock { $0 = number }
      #expect(try await bench.sync([resource], after: Double(round)).error == nil)
      #expect(try Self.ids(bench) == Array(1...number))
    }
    if isLast { #expect(bench.asked().suffix(4).sorted() == (1...4).map { "/items?page=\($0)" }) }
  }

  @Test("19: the number of the last page may count from 0, as the pages do", arguments: [4, 5, 6])
  func lastIndex(count: Int) async throws {
    let bench = try SyncBench([:])
    bench.shelf.answer { _, target in
      let page = target.split(separator: "=").last.flatMap { Int($0) } ?? 0
      return Self.body(Array(1...count).dropFirst(page * 2).prefix(2), #","last":\#((count - 1) / 2)"#)
    }
    var resource = WrittenList(kind: .number, pages: []).resource
    resource.pages.style = .number(first: 0, last: .body(at("last")))
    #expect(try await bench.sync([resource]).error == nil)
    #expect(try Self.ids(bench) == Array(1...count))
  }

  /// The header that tells where a list ends, which the 304 of some servers lacks.
  enum EndHeader: CaseIterable { case nextPage, lastPage, total, more }

  @Test(
    "20: a full last page whose 304 tells no end is transferred, because a page may follow it now",
    arguments: EndHeader.allCases)
  func silentEnd(header: EndHeader) async throws {
    let bench = try SyncBench([:])
    let count = Mutex(10)
    bench.shelf.answer { request, target in
      let number = target.split(separator: "=").last.flatMap { Int($0) }
      let page = header == .nextPage ? number ?? 0 : (number ?? 1) - 1
      let count = count.withLock(\.self)
      let ids = Array(1...count).dropFirst(page * 5).prefix(5)
      let isLast = count <= page * 5 + 5
      let tag = "\"\(ids.map(String.init).joined(separator: "-"))\""
      let headers = [Shelf.date, .init("ETag", tag)]
      if request.headers.contains(where: { $0.name == "If-None-Match" && $0.value == tag }) {
        return Response(status: 304, headers: headers)
      }
      let end: Request.Header =
        switch header {
        case .nextPage: .init(isLast ? "X-Link" : "Link", "</items?c=\(page + 1)>; rel=\"next\"")
        case .lastPage: .init("X-WP-TotalPages", "\((count + 4) / 5)")
        case .total: .init("X-Total-Count", "\(count)")
        case .more: .init("X-More", "\(!isLast)")
        }
      return Response(status: 200, headers: headers + [end], body: Self.body(ids).body)
    }
    var resource = WrittenList(kind: header == .nextPage ? .link : .number, pages: []).resource
    resource.pages.size = .init(5)
    switch header {
    case .nextPage: break
    case .lastPage: resource.pages.style.last = .header("X-WP-TotalPages")
    case .total: resource.pages.count = .header("X-Total-Count")
    case .more: resource.pages.more = .header("X-More")
    }
    #expect(try await bench.sync([resource]).added == 10)
    count.withLock { $0 = 11 }
    #expect(try await bench.sync([resource], after: 1).added == 1)
    _ = bench.asked()
    // The last page is not full: no page is requested twice.
    #expect(try await bench.sync([resource], after: 2).outcome == .unchanged)
    #expect(bench.shelf.asked().map(\.status) == [304, 304, 304])
  }

  @Test("20: an upstream that refuses validators is asked without them", arguments: [412, 400, 501])
  func refusedConditions(status: Int) async throws {
    let bench = try SyncBench([:])
    let name = Mutex("a")
    bench.shelf.answer { request, _ in
      if request.headers.contains(where: { $0.name == "If-None-Match" }) { return Response(status: status) }
      let tag = Request.Header("ETag", "\"\(name.withLock(\.self))\"")
      return Response(
        json: #"{"data":[{"id":1},{"id":\#(name.withLock(\.self).utf8.count + 1)}]}"#, headers: [Shelf.date, tag])
    }
    var resource = Self.scrolled
    (resource.pages, resource.maxRemoval) = (.init(.one), 100)
    #expect(try await bench.sync([resource]).added == 2)
    name.withLock { $0 = "bb" }
    for round in 1...2 { #expect(try await bench.sync([resource], after: Double(round)).exit == 0) }
    #expect(try Self.ids(bench).contains(3))
  }

  @Test("19: records that move onto the next page during the pull are no end of the list")
  func moved() async throws {
    let bench = try SyncBench([:])
    let resource = WrittenList(kind: .number, pages: []).resource
    let requests = Mutex(0)
    bench.shelf.answer { _, target in
      let page = target.split(separator: "=").last.flatMap { Int($0) } ?? 1
      let request = requests.withLock { requests in
        requests += 1
        return requests
      }
      // Two records arrive at the beginning, while page 2 is on its way.
      let all = request > 2 ? [8, 9] + Array(1...6) : Array(1...6)
      return Self.body(all.dropFirst((page - 1) * 2).prefix(2))
    }
    #expect(try await bench.sync([resource]).added == 8)
  }

  @Test("19: a list goes on over 999 empty pages, and ends with 65 after 1,000; a child's list after 20")
  func empty() async throws {
    let resource = Self.scrolled
    for (count, exit) in [(999, 0), (1000, 65)] as [(Int, Int32)] {
      let bench = try SyncBench([:])
      bench.shelf.answer { _, target in
        let page = target.split(separator: "=").last.flatMap { Int($0) } ?? 0
        return Self.body(page == 0 || page > count ? [page + 1] : [], page > count ? "" : #","next":\#(page + 1)"#)
      }
      let record = try await bench.sync([resource])
      #expect(record.exit == exit)
      if exit == 65 { #expect(record.error?.contains(#"pages.empty = "end""#) == true) }
    }
  }

  @Test("19: 10,000 empty pages with new cursors are asked for 1,000 times")
  func endless() async throws {
    let bench = try SyncBench([:])
    bench.shelf.answer { _, target in
      let page = target.split(separator: "=").last.flatMap { Int($0) } ?? 0
      return Self.body([], page < 10_000 ? #","next":\#(page + 1)"# : "")
    }
    #expect(try await bench.sync([Self.scrolled]).exit == 65)
    #expect(bench.asked().count == 1000)
  }

  @Test("19: the list of one parent with too many empty pages fails, and the others are published")
  func emptyChild() async throws {
    let bench = try SyncBench([:])
    bench.shelf.answer { _, target in
      if target == "/parents" { return Response(json: #"[{"id":1},{"id":2},{"id":3}]"#, headers: [Shelf.date]) }
      let page = target.split(separator: "=").last.flatMap { Int($0) } ?? 0
      let isFirst = target.hasPrefix("/parents/1/")
      let last = isFirst ? 40 : 19
      return Self.body(page == last ? [7] : [], page < last ? #","next":\#(page + 1)"# : "")
    }
    let parent = Resource(
      name: "parent", path: "/parents", pages: .init(.one), columns: [.init("id", at: at("id"), .integer)])
    var child = Self.scrolled
    child.path = "/parents/{parent.id}/items"
    child.each = Each(of: "parent")
    let record = try await bench.sync([parent, child])
    #expect(record.exit == 0 && record.isDegraded && record.error?.contains("1 of 3 lists") == true)
    #expect(bench.asked().filter { $0.hasPrefix("/parents/1/") }.count == 20)
    #expect(try Self.ids(bench) == [7, 7])
  }

  @Test(
    "19: short ends no list whose page size upstream has lowered", arguments: [[5, 5, 3], [10, 10], [10, 10, 4]])
  func lowered(lengths: [Int]) async throws {
    for kind in [WrittenList.Kind.number, .offset, .after] {
      let bench = try SyncBench([:])
      var next = 1
      let pages = lengths.map { length in
        defer { next += length }
        return Array(next..<next + length)
      }
      var list = WrittenList(kind: kind, pages: pages, size: lengths[0])
      list.beyond = { _ in Response(status: 404) }
      var resource = list.resource
      resource.pages.size = .init(lengths[0] == 5 ? 5 : 100)
      resource.pages.short = true
      list.serve(bench)
      #expect(try await bench.sync([resource]).exit == 0)
      #expect(try Self.ids(bench).count == next - 1)
    }
  }

  @Test("17: after with an at that is not the key proves little")
  func ties() async throws {
    let bench = try SyncBench([:])
    var resource = WrittenList(kind: .after, pages: []).resource
    resource.columns.append(.init("ts", at: at("ts"), .integer))
    resource.pages.style = .after(param: .query("after"), at: at("ts"))
    bench.serve(["/items": #"{"data":[{"id":1,"ts":5}]}"#, "/items?after=5": #"{"data":[]}"#])
    #expect(try await bench.sync([resource]).exit == 0)
    #expect(try bench.ask("SELECT proof FROM resources") == ["weak"])
  }

  @Test("19: hidden rows are no drift, and the proof is weak", arguments: [WrittenList.Kind.number, .offset])
  func hidden(kind: WrittenList.Kind) async throws {
    for (pages, hasTotal) in [
      ([[1, 2], [3], [5, 6], [7]], true), ([[1, 2], [3], [5, 6], [7]], false), ([[1], [3, 4], [], [7]], true),
    ] {
      let bench = try SyncBench([:])
      var list = WrittenList(kind: kind, pages: pages)
      list.members = { _ in #","total":7"# }
      var resource = list.resource
      resource.pages.size = .init(2)
      resource.pages.hidden = true
      if hasTotal { resource.pages.count = .body(at("total")) }
      list.serve(bench)
      for round in 0...1 { #expect(try await bench.sync([resource], after: Double(round)).exit == 0) }
      #expect(try Self.ids(bench) == pages.flatMap(\.self))
      #expect(try bench.ask("SELECT proof FROM resources") == ["weak"])
    }
  }

  @Test("19: a full page without a next value is reported, and the sync is no failure")
  func unseenNext() async throws {
    for (count, isReported) in [(10, true), (7, false)] {
      let bench = try SyncBench([:])
      bench.serve(["/items": #"{"data":[\#((1...count).map { #"{"id":\#($0)}"# }.joined(separator: ","))]}"#])
      let record = try await bench.sync([Self.scrolled])
      #expect(record.exit == 0 && !record.isDegraded)
      #expect((record.trouble?.kind == .unseenNext) == isReported)
      #expect(try bench.ask("SELECT proof FROM resources") == [isReported ? "weak" : "end"])
    }
  }

  @Test("19: by one, a page of size records is reported, and no other page is")
  func fullPage() async throws {
    for (count, size, isReported) in [(10, 10, true), (11, 10, false), (9, 10, false), (10, nil, false)]
      as [(Int, Int?, Bool)]
    {
      let bench = try SyncBench([:])
      var resource = Self.scrolled
      resource.pages = .init(.one)
      resource.pages.size = size.map { .init($0) }
      bench.shelf.answer { _, _ in Self.body(1...count) }
      for round in 0...1 {
        let record = try await bench.sync([resource], after: Double(round))
        #expect(record.exit == 0 && !record.isDegraded && record.added == (round == 0 ? count : 0))
        #expect((record.trouble?.kind == .fullPage) == isReported)
        #expect(bench.logged().contains { $0.contains("is full") } == (isReported && round == 0) || round == 1)
      }
    }
  }

  @Test(
    "19: by one, a page with a header of a next page is reported, also if it is unchanged", arguments: [true, false],
    [
      Request.Header("Link", "</items?page=2>; rel=\"next\""), .init("Link", "</items?page=2>; rel='next'"),
      .init("X-Next-Page", "2"), .init("X-Has-More", "true"), .init("X-Total-Pages", "3"),
      .init("x-ms-continuation", "10"), .init("Next-Range", "id ]5..; max=5"),
    ])
  func nextHeader(hasTag: Bool, header: Request.Header) async throws {
    let bench = try SyncBench([:])
    var resource = Self.scrolled
    resource.pages = .init(.one)
    bench.serve(
      ["/items": #"{"data":[{"id":1},{"id":2}]}"#], headers: [Shelf.date, header], tag: hasTag ? "\"a\"" : nil)
    for round in 0...2 {
      let record = try await bench.sync([resource], after: Double(round))
      #expect(record.exit == 0 && record.trouble?.kind == .fullPage, "\(record)")
    }
  }

  @Test(
    "19: false, an empty list and an empty object are no next value",
    arguments: [#"false"#, "[]", "{}", #""""#], [WrittenList.Kind.cursor, .next])
  func noNext(value: String, kind: WrittenList.Kind) async throws {
    let bench = try SyncBench([:])
    var resource = WrittenList(kind: kind, pages: []).resource
    resource.pages.size = .init(100)
    bench.serve(["/items": #"{"data":[{"id":1}],"next":\#(value)}"#])
    #expect(try await bench.sync([resource]).exit == 0)
  }

  @Test("18: 201 and 203 are answers like 200", arguments: [201, 203])
  func otherSuccess(status: Int) async throws {
    let bench = try SyncBench([:])
    let list = WrittenList(kind: .next, pages: [[1, 2], [3]])
    bench.shelf.answer { _, target in
      let answer = list.answer(target)
      return Response(status: status, headers: answer.headers, body: answer.body)
    }
    #expect(try await bench.sync([list.resource]).exit == 0)
    #expect(try Self.ids(bench) == [1, 2, 3])
  }

  @Test("38: a user and a password in a next link are neither used nor stored")
  func userInfo() async throws {
    let bench = try SyncBench([:])
    let home = Shelf.baseURL.replacing("://", with: "://me:pass-word@")
    bench.serve([
      "/items": #"{"data":[{"id":1}],"next":"\#(home)/items?c=1"}"#, "/items?c=1": #"{"data":[{"id":2}]}"#,
    ])
    #expect(try await bench.sync([WrittenList(kind: .next, pages: []).resource]).exit == 0)
    #expect(try Self.ids(bench) == [1, 2])
    #expect(try bench.ask("SELECT count(*) FROM cache_pages WHERE address LIKE '%pass-word%'") == ["0"])
  }

  @Test("19: a flag may be a word", arguments: [("yes", "no"), ("Y", "N"), ("True", "False")])
  func words(isTrue: String, isFalse: String) async throws {
    var list = WrittenList(kind: .number, pages: [[1, 2], [3, 4], [5]])
    list.members = { #","more":"\#($0 < 2 ? isTrue : isFalse)""# }
    var resource = list.resource
    resource.pages.more = .body(at("more"))
    let bench = try SyncBench([:])
    list.serve(bench)
    for round in 0...1 { #expect(try await bench.sync([resource], after: Double(round)).exit == 0) }
    #expect(try Self.ids(bench) == Array(1...5))
  }

  @Test("17: an equal page that reports another total than page 1 contradicts the count")
  func staleTotal() async throws {
    var list = WrittenList(kind: .number, pages: [[1, 2], [3, 4], [5, 6], [7]])
    list.members = { _ in #","total":7"# }
    var resource = list.resource
    (resource.pages.count, resource.maxRemoval) = (.body(at("total")), 100)
    let bench = try SyncBench([:])
    list.serve(bench)
    #expect(try await bench.sync([resource]).added == 7)
    // Record 3 was removed, and a shared cache still answers with the old page 2. Record 5 is on no page.
    var later = WrittenList(kind: .number, pages: [[1, 2], [3, 4], [6, 7]])
    later.members = { $0 == 1 ? #","total":7"# : #","total":6"# }
    later.serve(bench)
    for round in 1...3 {
      let record = try await bench.sync([resource], allowRemoval: true, after: Double(60 * round))
      #expect(record.exit == 65 && record.removed == 0, "\(record)")
    }
    #expect(try Self.ids(bench) == Array(1...7))
  }

  @Test("19: full lists of children are reported if no list ever had a next value")
  func unseenNextOfChildren() async throws {
    let shop = Resource(
      name: "shop", path: "/shops", records: at("data"), table: "shops", pages: .init(.one),
      columns: [.init("id", at: at("id"), .integer)])
    var item = Self.scrolled
    item.path = "/shops/{shop.id}/items"
    item.each = Each(of: "shop", wholeEvery: .every(.seconds(86_400)))
    for (lengths, hasNext) in [([10, 3], false), ([4, 3], false), ([10, 10, 3], true)] {
      let bench = try SyncBench([:])
      let next = Mutex(hasNext)
      bench.shelf.answer { _, target in
        if target == "/shops" { return Self.body(lengths.indices.map { $0 + 1 }) }
        let shop = Int(target.split(separator: "/")[1]) ?? 1
        if target.contains("c=") { return Self.body([shop * 100 + 50]) }
        let rest = shop == 1 && next.withLock(\.self) ? #","next":"x""# : ""
        return Self.body((1...lengths[shop - 1]).map { shop * 100 + $0 }, rest)
      }
      let isReported = lengths[0] == 10 && !hasNext
      for round in 0...1 {
        let record = try await bench.sync([shop, item], isFresh: true, after: Double(round))
        #expect(record.exit == 0 && !record.isDegraded)
        #expect((record.trouble?.kind == .unseenNext) == isReported, "\(lengths) \(round)")
        // The published pages of the last sync still have the next value.
        next.withLock { $0 = false }
      }
    }
  }

  @Test(
    "19: pages shorter than size make the proof weak, and are reported once, if upstream knows the next position",
    arguments: [WrittenList.Kind.cursor, .next, .link], [false, true])
  func lowered(kind: WrittenList.Kind, isLastLinked: Bool) async throws {
    for (size, pages, isShort) in [
      (100, [[1, 2], [5, 6], [7]], true), (2, [[1, 2], [5, 6], [7]], false), (100, [[1, 2]], false),
    ] {
      let bench = try SyncBench([:])
      var list = WrittenList(kind: kind, pages: pages, isLastLinked: isLastLinked)
      list.beyond = { _ in Response(json: #"{"data":[]}"#, headers: [Shelf.date]) }
      var resource = list.resource
      resource.pages.size = .init(size)
      list.serve(bench)
      for round in 0...1 {
        let record = try await bench.sync([resource], after: Double(round))
        #expect(record.exit == 0 && !record.isDegraded)
        #expect((record.trouble?.kind == .shortPages) == isShort)
        #expect(try Self.ids(bench) == pages.flatMap(\.self))
        #expect(try bench.ask("SELECT proof FROM resources") == [isShort ? "weak" : "end"])
      }
    }
  }

  @Test("19: a total that fits proves that no record was skipped; hidden by offset counts from size too")
  func loweredOtherwise() async throws {
    for (kind, total, isHidden, isShort) in [
      (WrittenList.Kind.next, 6, false, false), (.offset, nil, true, true), (.offset, nil, false, false),
    ] as [(WrittenList.Kind, Int?, Bool, Bool)] {
      let bench = try SyncBench([:])
      var list = WrittenList(kind: kind, pages: [[1, 2], [5, 6], [7, 8]], size: isHidden ? 100 : 2)
      if let total { list.members = { _ in #","total":\#(total)"# } }
      var resource = list.resource
      resource.pages.size = .init(100)
      resource.pages.hidden = isHidden
      if total != nil { resource.pages.count = .body(at("total")) }
      list.serve(bench)
      let record = try await bench.sync([resource])
      #expect(record.exit == 0 && (record.trouble?.kind == .shortPages) == isShort)
      #expect(try bench.ask("SELECT proof FROM resources") == [total == nil ? "weak" : "count"])
    }
  }

  @Test(
    "52: a list of values at at is sent whole in a body, so that records with equal first values are not skipped",
    arguments: [(WrittenList.Kind.after, true), (.after, false), (.cursor, true)])
  func listOfValues(kind: WrittenList.Kind, isFull: Bool) async throws {
    let bench = try SyncBench([:])
    let records = (0..<(isFull ? 9 : 7)).map { (id: $0 + 1, sort: #"[\#($0 / 4 + 9_007_199_254_740_993),"d\#($0)"]"#) }
    bench.shelf.answer { request, _ in
      let body = String(decoding: request.body, as: UTF8.self)
      let last = records.firstIndex { body.contains(#""after":\#($0.sort)"#) }
      let page = records.dropFirst(last.map { $0 + 1 } ?? 0).prefix(3)
      let items = page.map { #"{"id":\#($0.id),"sort":\#($0.sort)}"# }.joined(separator: ",")
      let next = page.count == 3 ? page.last.map { #","next":\#($0.sort)"# } : nil
      return Response(json: #"{"data":[\#(items)]\#(next ?? #","next":[]"#)}"#, headers: [Shelf.date])
    }
    var resource = WrittenList(kind: kind, pages: []).resource
    resource.method = .post
    resource.pages.style.param = .body(at("after"))
    resource.pages.style.at = .body(at(kind == .after ? "sort" : "next"))
    #expect(try await bench.sync([resource]).added == records.count)
    #expect(try await bench.sync([resource], after: 1).outcome == .unchanged)
    #expect(try Self.ids(bench) == records.map(\.id))
  }

  @Test("19: an upstream that alternates between forms of its answers loses no record")
  func alternating() async throws {
    for kind in [WrittenList.Kind.number, .offset, .cursor, .next, .link] {
      let bench = try SyncBench([:])
      var resource = WrittenList(kind: kind, pages: []).resource
      resource.pages.more = .body(at("more"))
      resource.pages.omitsFalse = true
      for round in 0...5 {
        var list = WrittenList(kind: kind, pages: [[1, 2], round.isMultiple(of: 2) ? [] : [3, 8], [4, 7], [5, 6]])
        let (yes, no) = [("true", #","more":false"#), ("1", ""), (#""true""#, #","more":null"#)][round % 3]
        list.members = { $0 < 3 ? #","more":\#(yes)"# : no }
        list.serve(bench)
        #expect(try await bench.sync([resource], allowRemoval: true, after: Double(round)).exit == 0)
        #expect(try Self.ids(bench).filter { ![3, 8].contains($0) } == [1, 2, 4, 5, 6, 7])
      }
    }
  }

  @Test("19: a total outweighs more = false by after, on unchanged pages too")
  func totalAgainstMore() async throws {
    var resource = WrittenList(kind: .after, pages: []).resource
    (resource.pages.more, resource.pages.count) = (.body(at("more")), .body(at("total")))
    let bench = try SyncBench([:])
    bench.shelf.answer { request, target in
      let page = ["/items": [1, 2], "/items?after=2": [3, 4], "/items?after=4": [5]][target] ?? []
      let records = page.map { #"{"id":\#($0)}"# }.joined(separator: ",")
      return Response(
        json: #"{"data":[\#(records)],"total":5,"more":false}"#, headers: [Shelf.date], tag: "\"\(page.first ?? 0)\"",
        to: request)
    }
    for round in 0...3 {
      #expect(try await bench.sync([resource], allowRemoval: true, after: Double(60 * round)).error == nil)
      #expect(try Self.ids(bench) == [1, 2, 3, 4, 5])
      #expect(bench.shelf.asked().map(\.status) == Array(repeating: round == 0 ? 200 : 304, count: 3))
    }
  }
}
