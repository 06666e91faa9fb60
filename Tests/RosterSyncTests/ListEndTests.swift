import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterSync

/// A list that a test writes down page by page, in any page style.
struct WrittenList: Sendable {
  enum Kind: String, Sendable, CaseIterable, CustomTestStringConvertible {
    case number, offset, cursor, next, link, after
    var testDescription: String { rawValue }
  }

  var kind: Kind
  /// Keys of the records of each page.
  var pages: [[Int]]
  /// Records on a full page, by which offsets are counted.
  var size = 2
  /// Further members of the answer of a page, by its index.
  var members: @Sendable (_ page: Int) -> String = { _ in "" }
  /// The answer beyond the last page; nil for an empty one.
  var beyond: (@Sendable (_ page: Int) -> Response)?
  /// True if the last page has a next value like the others.
  var isLastLinked = false

  var resource: Resource {
    let place = Resource.AnswerPlace.body(at("next"))
    let style: Resource.Style =
      switch kind {
      case .number: .number()
      case .offset: .offset(param: .query("skip"))
      case .cursor: .cursor(param: .query("c"), at: place)
      case .next: .next(at: place)
      case .link: .link
      case .after: .after(param: .query("after"), at: at("id"))
      }
    var resource = Resource(
      name: "item", path: "/items", records: at("data"), table: "items", pages: .init(style),
      columns: [.init("id", at: at("id"), .integer)])
    resource.removal = .twice
    return resource
  }

  func serve(_ bench: SyncBench) { bench.shelf.answer { _, target in answer(target) } }

  func answer(_ target: String) -> Response {
    let value = target.split(separator: "=").last.flatMap { Int($0) }
    let index =
      switch (kind, target.contains("?")) {
      case (_, false): 0
      case (.number, _): (value ?? 1) - 1
      case (.offset, _): (value ?? 0) / size
      case (.cursor, _), (.next, _), (.link, _): value ?? 0
      case (.after, _): pages.firstIndex { $0.contains { $0 > value ?? 0 } } ?? pages.count
      }
    return answer(page: index)
  }

  func answer(page index: Int) -> Response {
    if index >= pages.count, let beyond { return beyond(index) }
    let ids = index < pages.count ? pages[index] : []
    let isLinked = index < pages.count - 1 || isLastLinked
    var members = #""data":[\#(ids.map { #"{"id":\#($0)}"# }.joined(separator: ","))]\#(members(index))"#
    var headers = [Shelf.date]
    if isLinked {
      switch kind {
      case .cursor: members += #","next":\#(index + 1)"#
      case .next: members += #","next":"/items?c=\#(index + 1)""#
      case .link: headers.append(.init("Link", "</items?c=\(index + 1)>; rel=\"next\""))
      case .number, .offset, .after: break
      }
    }
    return Response(json: "{\(members)}", headers: headers)
  }
}

/// The end of a list, at the level of whole syncs.
@Suite struct ListEndTests {
  private static func ids(_ bench: SyncBench) throws -> [Int] {
    try bench.ask("SELECT id FROM items ORDER BY id").compactMap { Int($0) }
  }

  private static func proof(_ bench: SyncBench) throws -> [String] { try bench.ask("SELECT proof FROM resources") }

  private static func more(_ list: WrittenList) -> WrittenList {
    var list = list
    let last = list.pages.count - 1
    list.members = { #","more":\#($0 < last)"# }
    return list
  }

  @Test(
    "19: a list goes on after an empty page if a sign says so, and no record is removed",
    arguments: [
      (.number, true), (.offset, true), (.cursor, true), (.next, true), (.link, true), (.cursor, false), (.next, false),
      (.link, false),
    ] as [(WrittenList.Kind, Bool)])
  func emptyInTheMiddle(kind: WrittenList.Kind, hasMore: Bool) async throws {
    let bench = try SyncBench([:])
    let all = WrittenList(kind: kind, pages: [[1, 2], [3, 4], [5, 6], [7]])
    var hidden = all
    hidden.pages[1...2] = [[], []]
    var resource = all.resource
    if hasMore { resource.pages.more = .body(at("more")) }
    (hasMore ? Self.more(all) : all).serve(bench)
    #expect(try await bench.sync([resource]).added == 7)
    (hasMore ? Self.more(hidden) : hidden).serve(bench)
    for round in 1...3 { _ = try await bench.sync([resource], allowRemoval: true, after: Double(round)) }
    #expect(try Self.ids(bench) == [1, 2, 7])
    #expect(try Self.proof(bench) == [[.number, .offset].contains(kind) ? "weak" : "end"])
  }

  @Test("19: with empty = end an empty page ends the list, whatever its answer says", arguments: [true, false])
  func emptyIsTheEnd(hasMore: Bool) async throws {
    for kind in [WrittenList.Kind.number, .cursor, .next, .link] where hasMore || kind != .number {
      let bench = try SyncBench([:])
      let list = WrittenList(kind: kind, pages: [[1, 2], [], [3]])
      var resource = list.resource
      if hasMore { resource.pages.more = .body(at("more")) }
      resource.pages.empty = .end
      (hasMore ? Self.more(list) : list).serve(bench)
      #expect(try await bench.sync([resource]).added == 2)
      #expect(bench.asked().count == 2)
    }
  }

  @Test(
    "18, 19: records after a capped total are pulled, and the proof is not count",
    arguments: WrittenList.Kind.allCases)
  func capped(kind: WrittenList.Kind) async throws {
    let bench = try SyncBench([:])
    var list = WrittenList(kind: kind, pages: [[1, 2], [3, 4], [5, 6], [7]])
    list.members = { _ in #","total":4"# }
    var resource = list.resource
    resource.pages.count = .body(at("total"))
    list.serve(bench)
    for round in 0...2 { #expect(try await bench.sync([resource], after: Double(round)).exit == 0) }
    #expect(try Self.ids(bench) == Array(1...7))
    #expect(try Self.proof(bench) == [[.number, .offset].contains(kind) ? "weak" : "end"])
  }

  @Test("19: a total that is the length of its page is found out", arguments: [WrittenList.Kind.number, .offset])
  func pageLength(kind: WrittenList.Kind) async throws {
    let bench = try SyncBench([:])
    var list = WrittenList(kind: kind, pages: [[1, 2], [3, 4], [5, 6]])
    list.members = { #","total":\#($0 < 3 ? 2 : 0)"# }
    var resource = list.resource
    resource.pages.count = .body(at("total"))
    list.serve(bench)
    #expect(try await bench.sync([resource]).added == 6)
    list.pages.append([7])
    list.members = { #","total":\#($0 < 3 ? 2 : 1)"# }
    list.serve(bench)
    let record = try await bench.sync([resource], after: 1)
    #expect(record.exit == 65 && record.error?.contains("is the length of the page and not the total") == true)
  }

  /// Ways to say that there is no page after the last one.
  private static let ends = [
    "empty", "first", "last", "no list", "null", "204", "400", "404", "410", "416", "422",
  ]

  private static func answer(_ end: String, of list: WrittenList) -> Response {
    switch end {
    case "empty": list.answer(page: 9)
    case "first": list.answer(page: 0)
    case "last": list.answer(page: 1)
    case "no list": Response(json: #"{"start":4,"total":4}"#)
    case "null": Response(json: "null")
    default: Response(status: Int(end) ?? 404)
    }
  }

  @Test(
    "19: after a full last page any answer without new records is the end, is not retried, and is no drift",
    arguments: ends)
  func trial(end: String) async throws {
    for kind in [WrittenList.Kind.number, .offset, .after] {
      let bench = try SyncBench([:])
      var list = WrittenList(kind: kind, pages: [[1, 2], [3, 4]])
      list.members = { _ in #","total":4"# }
      let known = list
      list.beyond = { _ in Self.answer(end, of: known) }
      var resource = list.resource
      resource.pages.count = .body(at("total"))
      list.serve(bench)
      for round in 0...2 {
        let record = try await bench.sync([resource], after: Double(round))
        #expect(record.exit == 0 && !record.isDegraded)
        #expect(bench.asked().count == 3)
      }
      #expect(try Self.ids(bench) == Array(1...4))
      #expect(try Self.proof(bench) == ["count"])
    }
  }

  @Test(
    "14, 19: an answer that calls itself partial is not the end after a full last page, and removes nothing",
    arguments: [WrittenList.Kind.number, .offset, .after], [#"{"data":[],"partial":true}"#, #"{"partial":true}"#])
  func partialTrial(kind: WrittenList.Kind, answer: String) async throws {
    let bench = try SyncBench([:])
    var list = WrittenList(kind: kind, pages: [[1, 2], [3, 4], [5]])
    // The total is capped.
    list.members = { _ in #","total":4"# }
    var resource = list.resource
    resource.pages.count = .body(at("total"))
    list.serve(bench)
    #expect(try await bench.sync([resource]).added == 5)
    var failing = list
    failing.pages = [[1, 2], [3, 4]]
    failing.beyond = { _ in Response(json: answer, headers: [Shelf.date]) }
    failing.serve(bench)
    for round in 1...3 {
      #expect(try await bench.sync([resource], allowRemoval: true, after: Double(round)).exit == 65)
    }
    #expect(try Self.ids(bench) == Array(1...5))
  }

  @Test("19: a page that is not full, more = false and last need no further request")
  func untried() async throws {
    for (pages, setting) in [([[1, 2], [3]], ""), ([[1, 2], [3, 4]], "more"), ([[1, 2], [3, 4]], "last")] {
      let bench = try SyncBench([:])
      var list = WrittenList(kind: .number, pages: pages)
      let count = pages.flatMap(\.self).count
      list.members = { #","total":\#(count),"last":2,"more":\#($0 < 1)"# }
      var resource = list.resource
      resource.pages.count = .body(at("total"))
      if setting == "more" { resource.pages.more = .body(at("more")) }
      if setting == "last" { resource.pages.style = .number(last: .body(at("last"))) }
      list.serve(bench)
      #expect(try await bench.sync([resource]).exit == 0)
      #expect(bench.asked().count == 2)
      #expect(try Self.proof(bench) == ["count"])
    }
  }

  @Test(
    "19: a page that more, done or count promises is no end, although its status is in beyond",
    arguments: ["more", "done", "total"])
  func promised(sign: String) async throws {
    let bench = try SyncBench([:])
    var list = WrittenList(kind: sign == "total" ? .after : .number, pages: [[1, 2], [3, 4], [5]])
    list.members = { page in #","more":\#(page < 2),"done":\#(page == 2),"total":5"# }
    var resource = list.resource
    resource.pages.beyond = [404]
    switch sign {
    case "more": resource.pages.more = .body(at("more"))
    case "done": resource.pages.done = .body(at("done"))
    default: resource.pages.count = .body(at("total"))
    }
    list.serve(bench)
    #expect(try await bench.sync([resource]).added == 5)
    var cut = list
    cut.pages.removeLast(2)
    cut.beyond = { _ in Response(status: 404) }
    cut.serve(bench)
    for round in 1...3 {
      let record = try await bench.sync([resource], allowRemoval: true, after: Double(round))
      #expect(record.exit == 65, "\(record)")
      #expect(record.error?.contains("page 2 is not there, although page 1 says") == true, "\(record)")
    }
    #expect(try Self.ids(bench) == Array(1...5))
  }

  @Test(
    "19: a list that more or last ends before the total of its answers lacks records, and none is removed",
    arguments: ["more", "last"], [WrittenList.Kind.number, .offset, .cursor])
  func endsBeforeTotal(sign: String, kind: WrittenList.Kind) async throws {
    if sign == "last", kind != .number { return }
    let bench = try SyncBench([:])
    var list = WrittenList(kind: kind, pages: [[1, 2], [3, 4], [5]])
    list.members = { #","total":5,"last":3,"more":\#($0 < 2)"# }
    var resource = list.resource
    if sign == "more" { resource.pages.more = .body(at("more")) }
    if sign == "last" { resource.pages.style = .number(last: .body(at("last"))) }
    list.serve(bench)
    #expect(try await bench.sync([resource]).isDegraded == false)
    list.pages.removeLast()
    list.members = { #","total":5,"last":2,"more":\#($0 < 1)"# }
    list.serve(bench)
    for round in 1...3 {
      let record = try await bench.sync([resource], allowRemoval: true, after: Double(round))
      #expect(record.isDegraded && record.removed == 0, "\(record)")
    }
    #expect(try Self.ids(bench) == Array(1...5))
  }

  @Test(
    "18: a total that only the first page has, and that is 0 on the others, counts",
    arguments: WrittenList.Kind.allCases)
  func uncounted(kind: WrittenList.Kind) async throws {
    let bench = try SyncBench([:])
    var list = WrittenList(kind: kind, pages: [[1, 2], [3, 4], [5]])
    list.members = { #","total":\#($0 == 0 ? 5 : 0)"# }
    var resource = list.resource
    resource.pages.count = .body(at("total"))
    list.serve(bench)
    for round in 0...1 { #expect(try await bench.sync([resource], after: Double(round)).exit == 0) }
    #expect(try Self.ids(bench) == Array(1...5))
    #expect(try Self.proof(bench) == ["count"])
    list.pages = [[1, 2], [3]]
    list.members = { #","total":\#($0 == 0 ? 4 : 0)"# }
    list.serve(bench)
    #expect(try await bench.sync([resource], after: 2).exit == 65)
  }

  @Test(
    "18, 19: a total that calls itself the least number promises a page after it",
    arguments: [WrittenList.Kind.number, .offset, .after],
    [#""total":{"value":4,"relation":"gte"}"#, #""total":{"value":4},"numFoundExact":false"#])
  func lowerBound(kind: WrittenList.Kind, total: String) async throws {
    let bench = try SyncBench([:])
    var list = WrittenList(kind: kind, pages: [[1, 2], [3, 4], [5]])
    list.members = { _ in ",\(total)" }
    var resource = list.resource
    resource.pages.count = .body(JSONPointer(segments: ["total", "value"]))
    list.serve(bench)
    #expect(try await bench.sync([resource]).added == 5)
    var cut = list
    cut.pages = [[1, 2], [3, 4]]
    cut.beyond = { _ in Response(status: 400) }
    cut.serve(bench)
    for round in 1...3 {
      #expect(try await bench.sync([resource], allowRemoval: true, after: Double(round)).exit == 65)
    }
    #expect(try Self.ids(bench) == Array(1...5))
    cut.beyond = nil
    cut.serve(bench)
    for round in 4...5 {
      #expect(try await bench.sync([resource], allowRemoval: true, after: Double(round)).exit == 0)
    }
    #expect(try Self.ids(bench) == Array(1...4))
  }

  @Test("18, 40: if the total of the last kept page is a lower bound, the list has a page after it")
  func resumedLowerBound() async throws {
    let bench = try SyncBench([:])
    var list = WrittenList(kind: .after, pages: [[1, 2], [3, 4], [5]])
    list.members = { _ in #","total":{"value":4,"relation":"gte"}"# }
    var resource = list.resource
    resource.pages.count = .body(JSONPointer(segments: ["total", "value"]))
    var failing = list
    failing.pages.removeLast()
    for status in [503, 422] {
      failing.beyond = { _ in Response(status: status) }
      failing.serve(bench)
      #expect(try await bench.sync([resource]).outcome == .failed)
    }
    list.serve(bench)
    _ = bench.asked()
    #expect(try await bench.sync([resource]).added == 5)
    #expect(bench.asked() == ["/items", "/items?after=4"])
  }

  @Test(
    "51: a page that an answer led to, and that upstream does not know, may have expired", arguments: [400, 404, 410])
  func expired(status: Int) async throws {
    for kind in [WrittenList.Kind.cursor, .next, .link, .after] {
      let bench = try SyncBench([:])
      var list = WrittenList(kind: kind, pages: [[1, 2]])
      list.isLastLinked = true
      list.beyond = { _ in Response(status: status) }
      list.serve(bench)
      let record = try await bench.sync([list.resource])
      #expect(record.exit == 65 && record.trouble?.kind == .expiredPage)
      #expect(record.error?.contains("has expired, the next sync begins at the first page") == true, "\(record)")
      #expect(record.error?.contains("set beyond = [\(status)]") == true)
    }
  }

  /// Serves a list by offset whose pages have four records at first, and three later.
  private static func serveShrinking(_ ids: [Int], in bench: SyncBench) {
    bench.shelf.answer { _, target in
      let start = target.split(separator: "=").last.flatMap { Int($0) } ?? 0
      let page = ids.dropFirst(start).prefix(start < 4 ? 4 : 3)
      let records = page.map { #"{"id":\#($0)}"# }.joined(separator: ",")
      return Response(json: #"{"data":[\#(records)],"total":\#(ids.count)}"#, headers: [Shelf.date])
    }
  }

  @Test("18: if announced pages do not fit together, each page begins where the one before it ends")
  func shrinkingPages() async throws {
    let bench = try SyncBench([:])
    var resource = WrittenList(kind: .offset, pages: []).resource
    resource.pages.count = .body(at("total"))
    Self.serveShrinking(Array(1...13), in: bench)
    #expect(try await bench.sync([resource]).added == 13)
    Self.serveShrinking([0] + Array(2...14), in: bench)
    for round in 1...2 {
      #expect(try await bench.sync([resource], allowRemoval: true, after: Double(round)).exit == 0)
    }
    #expect(try Self.ids(bench) == [0] + Array(2...14))
    #expect(try Self.proof(bench) == ["count"])
  }

  @Test("18: fewer records than the total are drift", arguments: [WrittenList.Kind.cursor, .number, .after])
  func fewer(kind: WrittenList.Kind) async throws {
    let bench = try SyncBench([:])
    var list = WrittenList(kind: kind, pages: [[1, 2], [3]])
    list.members = { _ in #","total":5"# }
    var resource = list.resource
    resource.pages.count = .body(at("total"))
    list.serve(bench)
    #expect(try await bench.sync([resource]).exit == 65)
  }

  @Test(
    "19: numbers and flags of another type are read",
    arguments: [
      (#""4""#, #""true""#, #""false""#), ("4.0", "1", "0"), (#"" 4 ""#, #""1""#, #""0""#), ("4e0", "true", "null"),
      (#""4.0""#, "1.0", "0.0"),
    ])
  func loose(total: String, yes: String, no: String) async throws {
    for pages in [[[1, 2], [3, 4]], [[1, 2], [], [3, 4]]] {
      let bench = try SyncBench([:])
      var list = WrittenList(kind: .number, pages: pages)
      list.members = { #","total":\#(total),"more":\#($0 < pages.count - 1 ? yes : no)"# }
      var resource = list.resource
      resource.pages.more = .body(at("more"))
      if pages.count == 2 { resource.pages.count = .body(at("total")) }
      list.serve(bench)
      #expect(try await bench.sync([resource]).exit == 0)
      #expect(try Self.ids(bench) == [1, 2, 3, 4])
    }
    var list = WrittenList(kind: .number, pages: [[1, 2], [3, 4]])
    let pages = total.replacing("4", with: "2")
    list.members = { _ in #","last":\#(pages)"# }
    var resource = list.resource
    resource.pages.style = .number(last: .body(at("last")))
    let bench = try SyncBench([:])
    list.serve(bench)
    #expect(try await bench.sync([resource]).added == 4)
    #expect(bench.asked().count == 2)
  }

  @Test("19: more and done may be left out where they are false: after the first page, or by omits_false")
  func leftOut() async throws {
    for (pages, omits, exit) in [
      ([[1, 2], [3]], false, 0), ([[1]], false, 65), ([[1]], true, 0), ([[]], true, 0),
    ] as [([[Int]], Bool, Int32)] {
      let bench = try SyncBench([:])
      var list = WrittenList(kind: .number, pages: pages)
      list.members = { $0 < pages.count - 1 ? #","more":true"# : "" }
      var resource = list.resource
      resource.pages.more = .body(at("more"))
      resource.pages.omitsFalse = omits
      list.serve(bench)
      let record = try await bench.sync([resource])
      #expect(record.exit == exit)
      #expect(try Self.ids(bench) == (exit == 0 ? pages.flatMap(\.self) : []))
      if exit != 0 { #expect(record.error?.contains("set omits_false = true") == true) }
    }
    let bench = try SyncBench([:])
    var list = WrittenList(kind: .cursor, pages: [[1, 2], [3]], isLastLinked: true)
    list.members = { $0 == 1 ? #","done":1"# : "" }
    var resource = list.resource
    resource.pages.done = .body(at("done"))
    resource.pages.omitsFalse = true
    list.serve(bench)
    #expect(try await bench.sync([resource]).added == 3)
  }

  @Test(
    "19: more = true without a next value is malformed, and done = false too",
    arguments: [WrittenList.Kind.cursor, .next, .link, .after], [true, false])
  func lostNext(kind: WrittenList.Kind, isMore: Bool) async throws {
    let bench = try SyncBench([:])
    var list = WrittenList(kind: kind, pages: [[1, 2], kind == .after ? [] : [3]])
    list.members = { _ in #","flag":\#(isMore)"# }
    var resource = list.resource
    if isMore { resource.pages.more = .body(at("flag")) } else { resource.pages.done = .body(at("flag")) }
    list.serve(bench)
    let record = try await bench.sync([resource])
    #expect(record.exit == 65 && record.error?.contains(isMore ? "(more) is true" : "(done) is false") == true)
  }

  @Test("19: number and offset go on by more alone, to the page without it")
  func onByMore() async throws {
    for kind in [WrittenList.Kind.number, .offset] {
      let bench = try SyncBench([:])
      let list = WrittenList(kind: kind, pages: [[1, 2], [], [], [3, 4], []])
      var resource = list.resource
      resource.pages.more = .body(at("more"))
      Self.more(list).serve(bench)
      #expect(try await bench.sync([resource]).added == 4)
      #expect(bench.asked().count == 5)
    }
  }
}
