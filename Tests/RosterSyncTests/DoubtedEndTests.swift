import RosterCore
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterSync

/// Ends of a list that the answer or the cache contradicts, and others that look like faults, at the level of whole
/// syncs.
@Suite struct DoubtedEndTests {
  private static func ids(_ bench: SyncBench) throws -> [Int] {
    try bench.ask("SELECT id FROM items ORDER BY id").compactMap { Int($0) }
  }

  @Test(
    "11, 19: if a page by number has no records any more, the page after it, which the cache has, shows the end",
    arguments: [WrittenList.Kind.number, .offset])
  func ahead(kind: WrittenList.Kind) async throws {
    for status in [nil, 404] as [Int?] {
      let bench = try SyncBench([:])
      var list = WrittenList(kind: kind, pages: [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]])
      if let status { list.beyond = { _ in Response(status: status) } }
      var resource = list.resource
      if status != nil { resource.pages.beyond = [404] }
      resource.pages.size = .init(2)
      list.serve(bench)
      #expect(try await bench.sync([resource]).added == 10)
      let whole = list
      bench.shelf.answer { _, target in
        let answer = whole.answer(target)
        if answer.body != whole.answer(page: 1).body { return answer }
        return status.map { Response(status: $0) } ?? Response(json: #"{"data":[]}"#, headers: [Shelf.date])
      }
      for round in 1...3 {
        let record = try await bench.sync([resource], allowRemoval: true, after: Double(round))
        #expect(record.exit == (status == nil ? 0 : 65), "\(record)")
        let why = "page 2 is not there, and page 3 after it has records"
        #expect(status == nil || record.error?.contains(why) == true, "\(record)")
      }
      #expect(try Self.ids(bench) == (status == nil ? [1, 2, 5, 6, 7, 8, 9, 10] : Array(1...10)))
      // A shorter list needs one more request, once.
      list.pages = [[1, 2]]
      list.serve(bench)
      for (round, requests) in [(4, 3), (5, 2), (6, 2)] {
        _ = bench.asked()
        let record = try await bench.sync([resource], allowRemoval: true, after: Double(round))
        #expect(record.exit == 0 && bench.asked().count == requests, "\(record)")
      }
      #expect(try Self.ids(bench) == [1, 2])
    }
  }

  /// Members and headers that say whether the list goes on after a page, and that no key names.
  private static let unnamed: [String: @Sendable (_ goesOn: Bool, _ page: Int) -> (String, Request.Header?)] = [
    "has_more": { goesOn, _ in (#""has_more":\#(goesOn)"#, nil) },
    "hasNextPage": { goesOn, _ in (#""pageInfo":{"hasNextPage":\#(goesOn)}"#, nil) },
    "isLast": { goesOn, _ in (#""isLast":\#(!goesOn)"#, nil) },
    "next": { goesOn, page in (#""next":\#(goesOn ? "\"/items?page=\(page + 1)\"" : "null")"#, nil) },
    "links": { goesOn, page in (#""links":[\#(goesOn ? #"{"rel":"next","href":"/x"}"# : "")]"#, nil) },
    "total_pages": { _, _ in (#""meta":{"total_pages":4}"#, nil) },
    "Link": { goesOn, _ in (#""a":1"#, goesOn ? .init("Link", #"</items?x>; rel="next""#) : nil) },
    "X-Next-Page": { goesOn, page in (#""a":1"#, .init("X-Next-Page", goesOn ? "\(page + 1)" : "")) },
    "X-Total-Pages": { _, _ in (#""a":1"#, .init("X-Total-Pages", "4")) },
  ]

  private static func serve(_ list: WrittenList, sign: String, in bench: SyncBench) {
    var lists: [WrittenList] = []
    for index in list.pages.indices {
      var list = list
      let member = unnamed[sign]?(index < list.pages.count - 1, index + 1).0 ?? ""
      list.members = { _ in ",\(member)" }
      lists.append(list)
    }
    let answers = lists
    bench.shelf.answer { _, target in
      let plain = list.answer(target)
      guard let index = answers.indices.first(where: { list.answer(page: $0).body == plain.body }) else { return plain }
      let header = unnamed[sign]?(index < answers.count - 1, index + 1).1
      var answer = answers[index].answer(target)
      if let header { answer.headers.append(header) }
      return answer
    }
  }

  @Test(
    "19: a short page does not end a list whose answer says that it goes on, in a place that no key names",
    arguments: [WrittenList.Kind.number, .after], unnamed.keys.sorted())
  func unnamedMore(kind: WrittenList.Kind, sign: String) async throws {
    let bench = try SyncBench([:])
    var list = WrittenList(kind: kind, pages: [[1, 2], [3, 4], [5, 6], [7]])
    var resource = list.resource
    (resource.pages.short, resource.pages.size) = (true, .init(2))
    Self.serve(list, sign: sign, in: bench)
    #expect(try await bench.sync([resource]).added == 7)
    #expect(bench.asked().count == 4)
    list.pages[1] = [3]
    Self.serve(list, sign: sign, in: bench)
    for round in 1...3 {
      let record = try await bench.sync([resource], allowRemoval: true, after: Double(round))
      #expect(record.exit == 0 && !record.isDegraded, "\(record)")
    }
    #expect(try Self.ids(bench) == [1, 2, 3, 5, 6, 7])
  }

  @Test("19: a member that always says that the list goes on costs one request after a short page")
  func alwaysMore() async throws {
    for beyond in [Response(json: #"{"data":[],"has_more":true}"#, headers: [Shelf.date]), Response(status: 404)] {
      let bench = try SyncBench([:])
      var list = WrittenList(kind: .number, pages: [[1, 2], [3]])
      list.members = { _ in #","has_more":true"# }
      list.beyond = { _ in beyond }
      var resource = list.resource
      (resource.pages.short, resource.pages.size) = (true, .init(2))
      list.serve(bench)
      for round in 0...1 {
        let record = try await bench.sync([resource], after: Double(round))
        #expect(record.exit == 0 && !record.isDegraded, "\(record)")
        #expect(bench.asked().count == 3)
      }
    }
  }

  @Test("19: a number of records that are left is a sign beside an end, also of more")
  func left() async throws {
    for (sign, hasMore) in [
      (#""remainingCount":3,"more":false"#, true), (#""metadata":{"remainingItemCount":3}"#, false),
      (#""metadata":{"continue":"x"}"#, false),
    ] {
      let bench = try SyncBench([:])
      var list = WrittenList(kind: .cursor, pages: [[1, 2]])
      var resource = list.resource
      if hasMore { resource.pages.more = .body(at("more")) }
      list.members = { _ in hasMore ? #","remainingCount":0,"more":false"# : "" }
      list.serve(bench)
      #expect(try await bench.sync([resource]).isDegraded == false)
      list.members = { _ in ",\(sign)" }
      list.pages = [[1]]
      list.serve(bench)
      for round in 1...3 {
        let record = try await bench.sync([resource], allowRemoval: true, after: Double(round))
        #expect(record.isDegraded && record.removed == 0, "\(record)")
      }
    }
  }

  @Test(
    "17, 19: an empty last page may have the total 0, and beside a reached total a record may be on two pages"
  )
  func reachedTotal() async throws {
    for (kind, pages, total) in [
      (WrittenList.Kind.cursor, [[1, 2], [3, 4], []], 4), (.number, [[1, 2], [2, 3], [4]], 4),
      (.number, [[9, 1], [9, 2], [9, 3]], 4),
    ] {
      let bench = try SyncBench([:])
      var list = WrittenList(kind: kind, pages: pages)
      list.members = { #","total":\#(pages[$0].isEmpty ? 0 : total)"# }
      list.beyond = { _ in Response(status: 404) }
      var resource = list.resource
      resource.pages.count = .body(at("total"))
      list.serve(bench)
      for round in 0...1 {
        let record = try await bench.sync([resource], after: Double(round))
        #expect(record.exit == 0 && !record.isDegraded, "\(record)")
      }
      #expect(try Self.ids(bench) == Set(pages.flatMap(\.self)).sorted())
      list.members = { #","total":\#(pages[$0].isEmpty ? 0 : total + 1)"# }
      list.serve(bench)
      #expect(try await bench.sync([resource], after: 2).exit == 65)
    }
  }

  @Test("19: a last page that is not full, has only known records and leads to itself is the end; a full one is not")
  func leadsToItself() async throws {
    func serve(_ ids: [Int], in bench: SyncBench) {
      bench.shelf.answer { _, target in
        let from = target.split(separator: "=").last.flatMap { Int($0) } ?? 0
        let page = ids.filter { $0 >= from }.prefix(3)
        let records = page.map { #"{"id":\#($0)}"# }.joined(separator: ",")
        return Response(
          json: #"{"data":[\#(records)],"next":"/items?from=\#(page.last ?? from)"}"#, headers: [Shelf.date])
      }
    }
    let bench = try SyncBench([:])
    let resource = WrittenList(kind: .next, pages: []).resource
    for (round, last) in [6, 7, 8].enumerated() {
      serve(Array(1...last), in: bench)
      let record = try await bench.sync([resource], after: Double(round))
      #expect(record.exit == 0 && !record.isDegraded, "\(record)")
      #expect(try Self.ids(bench) == Array(1...last))
    }
    // More records than a page has are at one place: nothing leads past them.
    bench.shelf.answer { _, target in
      let records = (target.contains("=") ? [4, 5, 6] : [1, 2, 3]).map { #"{"id":\#($0)}"# }.joined(separator: ",")
      return Response(json: #"{"data":[\#(records)],"next":"/items?from=4"}"#, headers: [Shelf.date])
    }
    #expect(try await bench.sync([resource], after: 9).exit == 65)
    #expect(try Self.ids(bench) == Array(1...8))
  }

  /// Lists of one page that leads to itself, with their signs of an end.
  private static let onlyPages: [(kind: WrittenList.Kind, size: Int?, hasTotal: Bool, records: Int, isEnd: Bool)] = [
    (.next, 5, false, 3, true), (.next, nil, false, 3, false), (.next, nil, true, 10, true),
    (.next, nil, false, 10, false),
    (.cursor, nil, true, 3, true), (.cursor, 5, false, 3, true), (.cursor, nil, false, 3, false),
    (.cursor, nil, true, 10, false), (.after, 5, false, 1, true), (.after, nil, false, 1, false),
  ]

  @Test("19: the only page may lead to itself, unless upstream may give it for each value", arguments: onlyPages)
  func onlyPage(kind: WrittenList.Kind, size: Int?, hasTotal: Bool, records count: Int, isEnd: Bool) async throws {
    let bench = try SyncBench([:])
    var resource = WrittenList(kind: kind, pages: []).resource
    resource.pages.size = size.map { .init($0) }
    if hasTotal { resource.pages.count = .body(at("total")) }
    let records = Mutex(count)
    bench.shelf.answer { _, _ in
      let ids = 1...records.withLock(\.self)
      let list = ids.map { #"{"id":\#($0)}"# }.joined(separator: ",")
      let next = kind == .next ? #""/items?from=x""# : #""x""#
      return Response(json: #"{"data":[\#(list)],"total":\#(ids.count),"next":\#(next)}"#, headers: [Shelf.date])
    }
    for round in 1...3 {
      let record = try await bench.sync([resource], after: Double(round * 60))
      #expect(record.exit == (isEnd ? 0 : 65), "\(record)")
      #expect(try Self.ids(bench) == (isEnd ? Array(1...count) : []))
      if !isEnd { #expect(record.error?.contains("set size or count") == true, "\(record)") }
    }
    records.withLock { $0 += 1 }
    if isEnd, count < 10 { #expect(try await bench.sync([resource], after: 300).added == 1) }
  }
}
