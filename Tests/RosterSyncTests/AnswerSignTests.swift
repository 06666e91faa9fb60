import RosterCore
import RosterFetch
import Synchronization
import Testing

@testable import RosterCache

/// Syncs by a definition without `expect` and `partial`, whose answers call themselves partial or failed.
struct AnswerSignTests {
  private static let thing = Resource(
    name: "thing", path: "/things", records: at("data"), maxRemoval: 100, pages: .init(.one),
    columns: [.init("id", at: at("id"), .integer), .init("size", at: at("size"), .integer)])

  private static func thing(_ change: (inout Resource) -> Void) -> Resource {
    var resource = thing
    change(&resource)
    return resource
  }

  private static func answer(_ ids: some Sequence<Int>, _ members: String = "") -> String {
    #"{"data":[\#(ids.map { #"{"id":\#($0)}"# }.joined(separator: ","))]\#(members)}"#
  }

  private static func ids(_ bench: SyncBench) throws -> [String] { try bench.ask("SELECT id FROM thing ORDER BY id") }

  static let failed = [
    #""success":false,"errors":[{"code":9109,"message":"down"}]"#, #""ok":false,"error":"ratelimited""#,
    #""error":{"code":"ServiceUnavailable","message":"down"}"#, #""error":true"#, #""errors":[{"message":"down"}]"#,
    #""status":"error","code":"INTERNAL_ERROR","message":"down""#, #""status":503"#, #""code":"500","msg":"busy""#,
    #""meta":{"status":"timeout"}"#, #""status":{"success":"false"}"#, #""errcode":-1,"errmsg":"system busy""#,
    #""exception":"Code: 241. Memory limit exceeded""#, #""Response":{"Error":{"Code":"InternalError"}}"#,
    #""result":"PartialFailure""#, #""responseHeader":{"status":500}"#, #""retcode":-1"#, #""ReturnCode":"9001""#,
    #""stat":"fail""#, #""Ack":"Failure""#, #""failure":"crash""#, #""messages":{"resultCode":"Error"}"#,
    #""status":"NOTOK""#,
  ]

  /// These members say nothing beside records.
  static let unready = [
    #""status":"processing""#, #""state":"IN_PROGRESS""#, #""meta":{"status":"Queued"}"#, #""ready":false"#,
    #""message":"not ready""#, #""isPending":true"#, #""status":{"state":"PENDING"}"#, #""reason":"timed out""#,
    #""returnMessage":"System busy: try again""#,
  ]

  static let partial = [
    #""incomplete_results":true"#, #""timed_out":true"#, #""isTimeout":true"#,
    #""_shards":{"total":5,"successful":3,"failed":2}"#,
    #""partial":true"#, #""isPartial":true"#, #""responseHeader":{"status":0,"partialResults":true}"#,
    #""_clusters":{"total":3,"partial":1}"#, #""response":{"status":{"partial":true}}"#,
    #""id":"async","is_partial":true"#, #""query":{"incomplete_results":true}"#, #""stats":{"partialResults":1}"#,
    #""extensions":{"success":false}"#, #""incompleteSearch":true"#, #""isPartialPage":"true""#,
    #""request_status":{"type":"incomplete","incomplete_reason":"limit"}"#,
    #""_shards":{"total":5,"successful":3,"skipped":0,"failed":0}"#, #""_nodes":{"total":3,"successful":2}"#,
    #""numServersQueried":3,"numServersResponded":2"#, #""jobComplete":false"#,
  ]

  static let lacking = [
    #""unreachable":["locations/eu-1"]"#, #""warningMessages":["The value 'X' does not exist for 'project'"]"#,
    #""UnprocessedKeys":{"t":[1]}"#, #""terminated_early":true"#, #""warnings":["store 3: context timed out"]"#,
    #""partialFailureError":{"code":3}"#, #""id":"20240101_1","error":{"message":"down"}"#,
    #""_clusters":{"skipped":1}"#, #""search":{"terminated_early":true}"#, #""state":"PARTIAL""#,
    #""shards":{"unreachable":["b"]}"#, #""remark":"runtime error: Query timed out after 25 seconds.""#,
    #""exceptions":[{"errorCode":427,"message":"1 servers not responded"}]"#, #""warnings":["The query was limited"]"#,
    #""coverage":{"coverage":57,"full":false}"#, #""node_failures":[{"node":"b"}]"#, #""sampled":true"#,
    #""state":"GATHERING RESULTS""#,
  ]

  static let unfollowed = [
    #""has_more":true"#, #""next":"/things?page=2""#, #""isLast":false"#, #""meta":{"complete":false}"#,
    #""paging":{"next":{"after":"x"}}"#, #""_links":{"next":{"href":"/things?page=2"}}"#, #""truncated":"true""#,
    #""search_cutoff":true"#, #""moreResultsAvailable":true"#, #""maxRecordsReached":true"#,
    #""hitsTruncated":true"#, #""hasMoreResults":true"#, #""limit_exceeded":true"#, #""nextOffset":20"#,
    #""current_page":1,"last_page":3"#, #""meta":{"pagination":{"totalPages":2}}"#, #""page":0,"pages":2"#,
    #""links":[{"rel":"self","href":"/things"},{"rel":"next","href":"/things?p=2"}]"#,
    #""link":[{"relation":"next","url":"/things?p=2"}]"#,
  ]

  static let contraryTotals: [String] = [
    #""totalResults":9"#, #""pagination":{"total":9}"#, #""meta":{"pagination":{"total":9}}"#, #""total":250"#,
    #""count":"9""#, #""page":{"totalElements":9}"#, #""total":{"value":250,"relation":"gte"}"#,
    #""result_info":{"count":2,"total_count":9}"#, #""pages":{"total":9}"#,
    #""recordsFiltered":9"#, #""numberMatched":9,"numberReturned":2"#, #""counts":{"returned":2,"total":9}"#,
    #""total":{"value":2,"relation":"gte"}"#,
  ]

  static let innocent =
    [
      #""has_more":false,"next":null,"next_page_token":"","_links":{"next":{"href":null}},"totalResults":2"#,
      #""id":7,"more":true,"next":"/things/8""#, #""total":2,"done":true,"last":"x","links":{"next":""}"#,
      #""id":7,"total":9"#, #""total":99.5"#, #""price":{"total":9}"#, #""_clusters":{"total":9}"#, #""total":"many""#,
      #""query":{"status":"failed","success":false}"#, #""host":{"id":7,"unreachable":["x"],"timed_out":true}"#,
      #""success":true,"errors":[],"messages":[]"#, #""ok":true,"warning":"superfluous_charset""#,
      #""error":null,"errors":null,"warnings":[]"#, #""error":{"code":0,"message":"OK"}"#, #""error":false"#,
      #""error":"","errcode":0,"errmsg":"ok""#, #""errors":3"#, #""code":0,"message":"ok""#, #""code":"200""#,
      #""status":"success","message":"3 found""#, #""status":"open""#, #""status":200"#, #""result":1"#,
      #""incomplete_results":false,"partial":false,"timed_out":false"#,
      #""_shards":{"total":5,"failed":0,"skipped":4}"#,
      #""id":7,"status":"failed","success":false,"result":"error""#, #""name":"b","failed":true,"partial":true"#,
      #""unreachable":[]"#, #""warning":"No matching index found, create one to optimize query time""#,
      #""warnings":{"main":"Unrecognized parameter: limit"}"#, #""failed":3"#, #""errors":[null],"error":[{}]"#,
      #""meta":{"errors":0,"failed":2}"#, #""message":"All failed jobs""#, #""info":{"id":3,"name":"error"}"#,
      #""stats":{"success":false,"errors":[1]}"#, #""success":false,"success":true"#,
      #""total":{"value":2,"relation":"eq"}"#, #""incompleteOrders":1"#, #""partialMatch":true"#,
      #""request_status":{"type":"complete"}"#, #""hasMoreUsers":false,"nextOffset":null"#,
      #""recordsTotal":900,"recordsFiltered":2"#,
      #""total":9,"meta":{"filtered_count":"2"}"#,
      #""_shards":{"total":5,"successful":5}"#, #""coverage":{"coverage":100,"full":true}"#, #""exceptions":[]"#,
      #""jobComplete":true,"numServersQueried":3,"numServersResponded":3"#, #""remark":"All is well""#,
      #""moreResults":3"#, #""retcode":0,"ReturnCode":"0000","stat":"ok","ack":"Success","failure":false"#,
      #""total_pages":1,"pages":[1,2,3],"links":[{"rel":"self","href":"/things"},"next"]"#,
    ] + unready

  @Test(
    "14: an answer that calls itself failed or partial as a whole fails its list, and removes nothing",
    arguments: failed + partial)
  func failure(members: String) async throws {
    let bench = try await SyncBench.synced([Self.thing], answers: ["/things": Self.answer(1...4)])
    bench.serve(["/things": Self.answer(1...2, ",\(members)")])
    for _ in 0..<3 {
      let record = try await bench.sync([Self.thing], allowRemoval: true, after: 60)
      if members.contains("ratelimited") {
        #expect(record.exit == 69 && record.error?.contains("a rate limit is exceeded") == true, "\(record)")
        continue
      }
      #expect(record.exit == 65 && record.error?.contains("calls itself partial or failed") == true, "\(record)")
      #expect(record.error?.contains(#" = "any" }"#) == true && record.error?.contains("set partial = ") == true)
    }
    #expect(try Self.ids(bench) == ["1", "2", "3", "4"])
  }

  @Test("14: an empty list that upstream has not made yet is not an answer", arguments: unready)
  func notMade(members: String) async throws {
    let bench = try await SyncBench.synced([Self.thing], answers: ["/things": Self.answer(1...2)])
    bench.serve(["/things": Self.answer([], ",\(members)")])
    for _ in 0..<2 {
      let record = try await bench.sync([Self.thing], allowRemoval: true, after: 60)
      #expect(record.exit == 65 && record.error?.contains("calls itself partial or failed") == true, "\(record)")
    }
    #expect(try Self.ids(bench) == ["1", "2"])
    bench.serve(["/things": Self.answer([], #","status":"closed","state":"done","message":"nothing","ready":true"#)])
    for _ in 0..<2 { #expect(try await bench.sync([Self.thing], allowRemoval: true, after: 60).error == nil) }
    #expect(try Self.ids(bench).isEmpty)
  }

  @Test("14: an answer that names what it lacks is stored, and nothing is removed", arguments: lacking)
  func lack(members: String) async throws {
    let bench = try await SyncBench.synced([Self.thing], answers: ["/things": Self.answer(1...4)])
    bench.serve(["/things": Self.answer(2...5, ",\(members)")])
    for _ in 0..<3 {
      let record = try await bench.sync([Self.thing], allowRemoval: true, after: 60)
      #expect(record.outcome != .failed && record.isDegraded && record.removed == 0, "\(record)")
      #expect(try bench.ask("SELECT reason FROM rejects").first?.contains(#" = "any" }"#) == true)
    }
    #expect(try Self.ids(bench) == ["1", "2", "3", "4", "5"])
    bench.serve(["/things": Self.answer(2...5)])
    for _ in 0..<2 { #expect(try await bench.sync([Self.thing], after: 120).isDegraded == false) }
    #expect(try Self.ids(bench) == ["2", "3", "4", "5"])
  }

  @Test(
    "19: a sign of further pages that the definition does not follow is reported, and no record is removed",
    arguments: unfollowed)
  func goesOn(members: String) async throws {
    let bench = try await SyncBench.synced([Self.thing], answers: ["/things": Self.answer(1...4)])
    bench.serve(["/things": Self.answer(1...2, ",\(members)")])
    for _ in 0..<3 {
      let record = try await bench.sync([Self.thing], allowRemoval: true, after: 60)
      #expect(record.outcome != .failed && record.isDegraded && record.removed == 0, "\(record)")
      #expect(try bench.ask("SELECT reason FROM rejects").first?.contains("that the list goes on") == true)
    }
    #expect(try Self.ids(bench) == ["1", "2", "3", "4"])
  }

  @Test(
    "14: an empty list beside words of a failure is no end of a list",
    arguments: [
      #""code":40101,"msg":"token expired""#, #""code":10005,"msg":"Too many requests""#,
      #""message":"Rate limited, please try again""#, #""detail":"API under maintenance""#,
    ])
  func emptyFailure(members: String) async throws {
    let resource = Self.thing { $0.pages = .init(.number()) }
    let pages = ["/things?page=1": Self.answer(1...4), "/things?page=2": Self.answer(5...7)]
    let last = ["/things?page=3": Self.answer([], #","code":0,"msg":"ok""#)]
    let bench = try SyncBench([:])
    bench.serve(pages, last)
    #expect(try await bench.sync([resource]).added == 7)
    bench.serve(pages, last, ["/things?page=2": Self.answer([], ",\(members)")])
    for round in 1...2 {
      let record = try await bench.sync([resource], allowRemoval: true, after: Double(60 * round))
      let isLimit = members.contains("Too many") || members.contains("Rate")
      #expect(record.exit == (isLimit ? 69 : 65) && record.removed == 0, "\(record)")
    }
    bench.serve(pages, last)
    #expect(try await bench.sync([resource], after: 180).exit == 0)
    #expect(try Self.ids(bench).count == 7)
  }

  @Test(
    "19: a total in a header that no key names is a total of the answer",
    arguments: [
      ("X-Total-Count", "9"), ("Content-Range", "items 0-1/9"), ("X-WP-Total", "9"), ("Pagination-Count", "9"),
      ("X-Total", "9"),
    ])
  func headerTotal(name: String, value: String) async throws {
    let bench = try await SyncBench.synced([Self.thing], answers: ["/things": Self.answer(1...4)])
    bench.serve(["/things": Self.answer(1...2)], headers: [Shelf.date, .init(name, value)])
    for _ in 0..<3 {
      let record = try await bench.sync([Self.thing], allowRemoval: true, after: 60)
      #expect(record.outcome != .failed && record.isDegraded && record.removed == 0, "\(record)")
      #expect(try bench.ask("SELECT reason FROM rejects").first?.contains("header:NAME") == true)
    }
    for header in [("X-Total-Count", "2"), ("Content-Range", "bytes 0-20/999"), ("X-Count", "9")] {
      bench.serve(["/things": Self.answer(1...2)], headers: [Shelf.date, .init(header.0, header.1)])
      for _ in 0..<2 { #expect(try await bench.sync([Self.thing], after: 120).isDegraded == false) }
    }
    #expect(try Self.ids(bench) == ["1", "2"])
    // It counts records that upstream does not list.
    bench.serve(["/things": Self.answer([1])], headers: [Shelf.date, .init(name, value)])
    let hiding = Self.thing { $0.pages.hidden = true }
    for _ in 0..<2 { #expect(try await bench.sync([hiding], allowRemoval: true, after: 180).isDegraded == false) }
    #expect(try Self.ids(bench) == ["1"])
  }

  @Test("19: so is a total above the number of records that no key names", arguments: contraryTotals)
  func contraryTotal(members: String) async throws {
    let bench = try await SyncBench.synced([Self.thing], answers: ["/things": Self.answer(1...4)])
    bench.serve(["/things": Self.answer(1...2, ",\(members)")])
    for _ in 0..<3 {
      let record = try await bench.sync([Self.thing], allowRemoval: true, after: 60)
      #expect(record.outcome != .failed && record.isDegraded && record.removed == 0, "\(record)")
      #expect(record.error?.hasPrefix("not all records of thing were sent: page 1: the list ends before") == true)
      #expect(
        try bench.ask("SELECT reason FROM rejects").first?.contains("before the total of the answer at /") == true)
    }
    #expect(try Self.ids(bench) == ["1", "2", "3", "4"])
    let place = members.split(separator: "\"").first.map(String.init) ?? ""
    var accepting = Self.thing
    accepting.answers.expect = [.init(at(place), .any)]
    for _ in 0..<3 { _ = try await bench.sync([accepting], allowRemoval: true, after: 120) }
    #expect(try Self.ids(bench).count == (members.contains("{") ? 4 : 2))
  }

  @Test(
    "19: a list in pages that ends before such a total loses no record: empty page, 404, short, lost next",
    arguments: ["empty", "404", "short", "cursor", "link"])
  func totalInPages(end: String) async throws {
    let resource = Self.thing {
      switch end {
      case "cursor": $0.pages = .init(.cursor(param: .query("page"), at: .body(at("next"))))
      case "link": $0.pages = .init(.link)
      default: $0.pages = .init(.number())
      }
      if end == "404" { $0.pages.beyond = [404] }
      if end == "short" { ($0.pages.short, $0.pages.size) = (true, .init(5, param: .query("size"))) }
    }
    let bench = try SyncBench([:])
    let isBroken = Mutex(false)
    bench.shelf.answer { _, target in
      let page = target.split(separator: "=").last.flatMap { Int($0) } ?? 1
      let isCut = isBroken.withLock(\.self)
      if page > 3 || isCut && end == "404" && page == 2 {
        return Response(status: end == "404" ? 404 : 200, body: Array(#"{"data":[]}"#.utf8))
      }
      let ids =
        isCut && end == "empty" && page == 2
        ? [] : isCut && end == "short" && page == 1 ? [1] : [2 * page - 1, 2 * page]
      var members = #","total":6"#
      var headers = [Shelf.date]
      if page < 3, !(isCut && page == 1) {
        if end == "cursor" { members += #","next":\#(page + 1)"# }
        if end == "link" { headers.append(.init("Link", "</things?page=\(page + 1)>; rel=\"next\"")) }
      }
      if isCut, end == "short", page > 1 { return Response(status: 404) }
      return Response(json: Self.answer(ids, members), headers: headers)
    }
    let first = try await bench.sync([resource])
    #expect(first.error == nil && first.added == 6, "\(first)")
    isBroken.withLock { $0 = true }
    for round in 1...3 {
      let record = try await bench.sync([resource], allowRemoval: true, after: Double(60 * round))
      #expect(record.removed == 0 && (record.exit == 65 || record.isDegraded), "\(record)")
      if record.exit == 65 {
        #expect(record.error?.contains("page 2 is not there, although page 1 says") == true, "\(record)")
      }
    }
    #expect(try Self.ids(bench).count == 6)
    isBroken.withLock { $0 = false }
    #expect(try await bench.sync([resource], after: 300).error == nil)
  }

  @Test(
    "19: an unchanged last page is judged again if the pages before it have fewer records", arguments: [true, false])
  func totalOnUnchangedPage(hasTags: Bool) async throws {
    let resource = Self.thing { $0.pages = .init(.link) }
    let bench = try SyncBench([:])
    let first = Mutex([1, 2, 3, 4])
    bench.shelf.answer { request, target in
      let isFirst = target == "/things"
      let ids = isFirst ? first.withLock(\.self) : [5, 6]
      let link = isFirst ? [Request.Header("Link", "</things?page=2>; rel=\"next\"")] : []
      return Response(
        json: Self.answer(ids, #","total":6"#), headers: [Shelf.date] + link, tag: hasTags ? "\"\(ids.count)\"" : nil,
        to: request)
    }
    #expect(try await bench.sync([resource]).error == nil)
    first.withLock { $0 = [1] }
    for round in 1...3 {
      let record = try await bench.sync([resource], allowRemoval: true, after: Double(round))
      #expect(record.isDegraded && record.removed == 0 && record.outcome != .failed, "\(record)")
    }
    #expect(try Self.ids(bench).count == 6)
    first.withLock { $0 = [1, 2, 3, 4] }
    for round in 4...5 { #expect(try await bench.sync([resource], after: Double(round)).error == nil) }
  }

  @Test("19: so does a chain whose next value is elsewhere now, and a list by number whose empty page goes on")
  func goesOnInPages() async throws {
    let chain = Self.thing { $0.pages = .init(.cursor(param: .query("c"), at: .body(at("next")))) }
    let bench = try await SyncBench.synced(
      [chain], answers: ["/things": Self.answer(1...2, #","next":"a""#), "/things?c=a": Self.answer(3...4)])
    bench.serve(["/things": Self.answer(1...2, #","next_cursor":"a","has_more":true"#)])
    for _ in 0..<3 {
      let record = try await bench.sync([chain], allowRemoval: true, after: 60)
      #expect(record.isDegraded && record.removed == 0, "\(record)")
    }
    #expect(try Self.ids(bench).count == 4)
    let number = Self.thing { $0.pages = .init(.number()) }
    let numbered = try await SyncBench.synced(
      [number],
      answers: [
        "/things?page=1": Self.answer(1...2), "/things?page=2": Self.answer(3...4),
        "/things?page=3": Self.answer([], #","next_page":4"#),
      ])
    #expect(try Self.ids(numbered).count == 4 && numbered.ask("SELECT count(*) FROM rejects") == ["0"])
    for sign in [#","has_more":true"#, #","done":false"#] {
      numbered.serve(["/things?page=1": Self.answer(1...2), "/things?page=2": Self.answer([], sign)])
      for _ in 0..<3 {
        let record = try await numbered.sync([number], allowRemoval: true, after: 60)
        #expect(record.isDegraded && record.removed == 0, "\(sign): \(record)")
      }
    }
    #expect(try Self.ids(numbered).count == 4)
  }

  @Test("14: members that say that all is well, counts, and the data of a record are no signs", arguments: innocent)
  func innocence(members: String) async throws {
    for body in [Self.answer(1...2, ",\(members)"), "{\(members),\(Self.answer(1...2).dropFirst())"] {
      let bench = try SyncBench(answers: ["/things": body])
      let record = try await bench.sync([Self.thing])
      #expect(record.error == nil && record.added == 2, "\(record)")
    }
  }

  @Test(
    "14: a list of whole answers, a list of one, a map and a record may have members of these names",
    arguments: [
      (thing { $0.records = JSONPointer() }, #"[{"id":1,"success":false,"errors":["x"]}]"#),
      (
        thing {
          $0.records = JSONPointer()
          $0.answers.isListOfOne = true
        }, #"{"id":1,"error":"x","partial":true}"#
      ),
      (
        thing {
          ($0.records, $0.shape) = (JSONPointer(), .map)
          $0.columns = [.init("id", at: at("@key")), .init("size", at: at("size"), .integer)]
          $0.key = at("@key")
        }, #"{"error":{"size":1}}"#
      ),
      (thing { $0.records = at("errors") }, #"{"errors":[{"id":1,"error":"x"}]}"#),
      (
        thing { $0.pages = .init(.number(), more: .body(at("partial"))) }, #"{"data":[{"id":1}],"partial":false}"#
      ),
      (thing { $0.pages.count = .body(at("errors")) }, #"{"data":[{"id":1}],"errors":1}"#),
    ])
  func ownMembers(resource: Resource, body: String) async throws {
    let bench = try SyncBench(answers: ["/things": body, "/things?page=1": body])
    let record = try await bench.sync([resource])
    #expect(record.error == nil && record.added == 1, "\(record)")
  }

  @Test(
    "14: a place that expect names is no sign, and partial decides how one of the others counts",
    arguments: [
      (#""success":false"#, "success"), (#""errors":[{"message":"forbidden"}]"#, "errors"),
      (#""status":"error""#, "status"),
      (#""meta":{"timed_out":true}"#, "meta/timed_out"), (#""unreachable":["eu"]"#, "unreachable"),
    ])
  func override(members: String, place: String) async throws {
    let place = JSONPointer(segments: place.split(separator: "/").map(String.init))
    let accepting = Self.thing { $0.answers.expect = [.init(place, .any)] }
    let bench = try await SyncBench.synced([accepting], answers: ["/things": Self.answer(1...3)])
    bench.serve(["/things": Self.answer(1...2, ",\(members)")])
    for _ in 0..<2 { #expect(try await bench.sync([accepting], after: 60).error == nil) }
    #expect(try Self.ids(bench) == ["1", "2"])
    #expect(bench.logged().allSatisfy { !$0.hasPrefix("warning") })
    let storing = Self.thing { $0.answers.partial = [place] }
    bench.serve(["/things": Self.answer(2...3, ",\(members)")])
    for _ in 0..<3 {
      let record = try await bench.sync([storing], after: 120)
      #expect(record.isDegraded && record.outcome != .failed && record.removed == 0, "\(record)")
    }
    #expect(try Self.ids(bench) == ["1", "2", "3"])
  }

  @Test(
    "14: children, details and answers of by_key are read as lists are",
    arguments: [
      #""success":false"#, #""incomplete_results":true"#, #""unreachable":["eu"]"#, #""meta":{"partial":true}"#,
    ])
  func others(members: String) async throws {
    let asking = Self.thing { ($0.byKey, $0.byKeyRecords, $0.removal) = ("/things/{key}", at("data"), .ask) }
    let found = (1...4).reduce(into: [:]) { $0["/things/\($1)"] = #"{"data":{"id":\#($1)}}"# }
    let bench = try await SyncBench.synced([asking], answers: found.merging(["/things": Self.answer(1...4)]) { $1 })
    bench.serve(found, ["/things": Self.answer(1...3), "/things/4": #"{"data":null,\#(members)}"#])
    for _ in 0..<3 {
      let record = try await bench.sync([asking], after: 60)
      #expect(record.removed == 0 && record.isDegraded, "\(record)")
    }
    #expect(try Self.ids(bench).count == 4)

    let parent = Resource(
      name: "doc", path: "/docs", maxRemoval: 100, pages: .init(.one), columns: [.init("id", at: at("id"), .integer)])
    for isDetail in [false, true] {
      let child = Self.thing {
        ($0.path, $0.each) = ("/docs/{doc.id}", Each(of: "doc"))
        if isDetail { ($0.pages, $0.columns) = (.init(.record), [.init("size", at: at("size"), .integer)]) }
      }
      func list(_ size: Int) -> String {
        isDetail ? #"{"data":{"size":\#(size)}}"# : #"{"data":[{"id":\#(size)}]}"#
      }
      let docs = ["/docs": #"[{"id":1},{"id":2}]"#]
      let family = try await SyncBench.synced(
        [parent, child], answers: docs.merging(["/docs/1": list(7), "/docs/2": list(8)]) { $1 })
      let bad = isDetail ? #"{"data":null,\#(members)}"# : #"{"data":[],\#(members)}"#
      family.serve(docs, ["/docs/1": list(7), "/docs/2": bad])
      for _ in 0..<3 {
        let record = try await family.sync([parent, child], allowRemoval: true, after: 1000)
        #expect(record.isDegraded || record.outcome == .failed, "\(record)")
        #expect(record.removed == 0, "\(record)")
      }
      #expect(try family.ask("SELECT count(*) FROM thing") == ["2"])
    }
  }

  @Test(
    "14: of a server that is partial on every second request, the second answer counts",
    arguments: [#","incomplete_results":true"#, #","_shards":{"failed":1}"#, #","error":"down""#])
  func alternating(members: String) async throws {
    var bench = try SyncBench([:])
    bench.maxRetries = 2
    let asked = Mutex(0)
    let rest = Mutex(Array(1...4))
    bench.shelf.answer { request, _ in
      let isPartial = asked.withLock { asked in
        asked += 1
        return asked % 2 == 1
      }
      let ids = rest.withLock(\.self)
      let body = isPartial ? Self.answer(ids.prefix(1), members) : Self.answer(ids)
      return Response(json: body, headers: [Shelf.date], tag: nil, to: request)
    }
    for round in 0..<4 {
      if round == 2 { rest.withLock { $0 = [2, 3, 4] } }
      let record = try await bench.sync([Self.thing], after: Double(round * 60))
      #expect(record.error == nil && !record.isDegraded, "\(record)")
    }
    #expect(try Self.ids(bench) == ["2", "3", "4"])
  }

  @Test(
    "14, 19: an empty list beside a message of a fault, or a total above zero, is not empty",
    arguments: [#""message":"upstream timed out""#, #""total":4"#, #""meta":{"count":4}"#])
  func emptyList(members: String) async throws {
    let bench = try await SyncBench.synced([Self.thing], answers: ["/things": Self.answer(1...4)])
    bench.serve(["/things": Self.answer([], ",\(members)")])
    for _ in 0..<3 {
      let record = try await bench.sync([Self.thing], allowRemoval: true, after: 60)
      #expect(record.removed == 0 && (record.outcome == .failed || record.isDegraded), "\(record)")
    }
    #expect(try Self.ids(bench).count == 4)
    bench.serve(["/things": Self.answer([], #","message":"no records found","total":0"#)])
    for _ in 0..<2 { #expect(try await bench.sync([Self.thing], allowRemoval: true, after: 120).error == nil) }
    #expect(try Self.ids(bench).isEmpty)
  }

  @Test(
    "14: an error instead of a detail is no answer, unless it has a value of a column",
    arguments: [#"{"error":"down","code":500}"#, #"{"message":"no such thing"}"#, #"{"errors":[{"title":"x"}]}"#])
  func errorAsDetail(body: String) async throws {
    let parent = Resource(
      name: "doc", path: "/docs", maxRemoval: 100, pages: .init(.one), columns: [.init("id", at: at("id"), .integer)])
    var detail = Self.thing {
      ($0.path, $0.records, $0.each, $0.pages) = ("/docs/{doc.id}", JSONPointer(), Each(of: "doc"), .init(.record))
      $0.columns = [.init("size", at: at("size"), .integer)]
    }
    let docs = ["/docs": #"[{"id":1},{"id":2}]"#, "/docs/1": #"{"size":7,"error":"x"}"#]
    let bench = try await SyncBench.synced(
      [parent, detail], answers: docs.merging(["/docs/2": #"{"size":8}"#]) { $1 })
    bench.serve(docs, ["/docs/2": body])
    for _ in 0..<3 {
      let record = try await bench.sync([parent, detail], allowRemoval: true, after: 1000)
      #expect(record.listsFailed == 1, "\(record)")
    }
    #expect(try bench.ask("SELECT size FROM thing ORDER BY size") == ["7", "8"])
    detail.columns.append(.init("error", at: at("error"), .json))
    bench.serve(docs, ["/docs/2": #"{"error":"down"}"#])
    #expect(try await bench.sync([parent, detail], after: 2000).error == nil)
  }

  @Test("14: an empty answer of by_key with a total above zero is no absence")
  func totalByKey() async throws {
    let asking = Self.thing { ($0.byKey, $0.byKeyRecords, $0.removal) = ("/things?id={key}", at("data"), .ask) }
    let bench = try await SyncBench.synced([asking], answers: ["/things": Self.answer(1...4)])
    let found = (1...3).reduce(into: [:]) { $0["/things?id=\($1)"] = Self.answer([$1], #","total":1"#) }
    bench.serve(found, ["/things": Self.answer(1...3), "/things?id=4": Self.answer([], #","total":1"#)])
    for _ in 0..<2 {
      let record = try await bench.sync([asking], after: 60)
      #expect(record.removed == 0 && record.isDegraded, "\(record)")
    }
    bench.serve(found, ["/things": Self.answer(1...3), "/things?id=4": Self.answer([], #","total":0"#)])
    #expect(try await bench.sync([asking], after: 120).removed == 1)
  }

  @Test(
    "14: in place of a map, a text or an object without a column at the name of a fault is no answer",
    arguments: [
      #"{"error":"down"}"#, #"{"error":{"code":503,"message":"down"}}"#, #"{"a":{"size":1},"errors":["x"]}"#,
      #"{"status":500,"Fault":"down"}"#,
    ])
  func mapOfFault(body: String) async throws {
    let map = Self.thing {
      ($0.records, $0.shape, $0.key) = (JSONPointer(), .map, at("@key"))
      $0.columns = [.init("id", at: at("@key")), .init("size", at: at("size"), .integer, isNullable: true)]
    }
    let bench = try await SyncBench.synced([map], answers: ["/things": #"{"a":{"size":1},"error":{"size":2}}"#])
    #expect(try Self.ids(bench) == ["a", "error"])
    bench.serve(["/things": body])
    for _ in 0..<3 {
      let record = try await bench.sync([map], allowRemoval: true, after: 60)
      #expect(record.exit == 65 && record.error?.contains("instead of a record") == true, "\(record)")
    }
    #expect(try Self.ids(bench) == ["a", "error"])
  }

  @Test("14: a Warning header that says that the answer is partial holds back removals, others do not")
  func warningHeader() async throws {
    for (warning, total, isPartial) in [
      (#"199 - "partial results: shard 3 timed out""#, "", true), (#"299 - "Incomplete""#, #","total":2"#, true),
      (#"299 - "v1beta1 is deprecated, unavailable in v2""#, "", false), (#"110 - "Response is Stale""#, "", false),
    ] {
      let bench = try await SyncBench.synced([Self.thing], answers: ["/things": Self.answer(1...4, #","total":4"#)])
      bench.serve(["/things": Self.answer(1...2, total)], headers: [Shelf.date, .init("Warning", warning)])
      for _ in 0..<3 {
        let record = try await bench.sync([Self.thing], after: 60)
        #expect(record.isDegraded == isPartial && record.outcome != .failed, "\(record)")
        #expect(record.error?.contains("page 1: its Warning header says") ?? false == isPartial, "\(record)")
      }
      #expect(try Self.ids(bench).count == (isPartial ? 4 : 2))
      bench.serve(["/things": Self.answer(1...2, #","total":2"#)])
      for _ in 0..<3 { _ = try await bench.sync([Self.thing], after: 120) }
      #expect(try Self.ids(bench).count == 2)
    }
  }

  @Test("5: records of a map that share a key and differ are named")
  func mapOfOneKey() async throws {
    let map = Self.thing { $0.shape = .map }
    let bench = try SyncBench(answers: [
      "/things": #"{"data":{"a":{"id":1,"size":1},"b":{"id":1,"size":2},"c":{"id":2}}}"#
    ])
    let record = try await bench.sync([map])
    #expect(record.added == 2 && record.rejected == 1, "\(record)")
  }

  @Test("14, 17: the total of an answer that lacks records is not compared, and a partial list alone is no drift")
  func totals() async throws {
    let resource = Self.thing { $0.pages.count = .body(at("total")) }
    let bench = try await SyncBench.synced([resource], answers: ["/things": Self.answer(1...4, #","total":4"#)])
    for (ids, total) in [([2, 3], 4), ([2, 3], 2), ([], 0)] {
      bench.serve(["/things": Self.answer(ids, #","total":\#(total),"unreachable":["eu"]"#)])
      let record = try await bench.sync([resource], after: 60)
      #expect(record.isDegraded && record.removed == 0 || record.exit == 65, "\(record)")
    }
    #expect(try Self.ids(bench).count == 4)
  }
}
