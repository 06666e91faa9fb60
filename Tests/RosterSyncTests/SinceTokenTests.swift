import FoundationEssentials
import RosterCore
import RosterSync
import Synchronization
import Testing

/// Whole syncs of a resource with a delta token, and of one whose incremental list has keys only.
struct SinceTokenTests {
  private static let columns: [Resource.Column] = [.init("id", at: at("id"), .integer), .init("name", at: at("name"))]

  private static func tokens(_ param: Resource.RequestPlace? = .query("token")) -> Resource {
    var resource = Resource(
      name: "item", path: "/items", records: at("results"), table: "items",
      conditions: [.init(at("gone"), .absent)], removal: .twice, pages: .init(.next(at: .body(at("next")))),
      columns: columns)
    resource.since = Since(token: .body(at("token")), param: param, listing: resource.listing)
    return resource
  }

  /// Whole pulls list the records; incremental ones list events with the keys of records.
  private static func feed(form: TimeForm = .number, overlap: Since.Overlap = .number(1)) -> Resource {
    var resource = Resource(
      name: "item", path: "/items", records: at("results"), table: "items",
      conditions: [.init(at("gone"), .absent)], byKey: "/items/{key}", removal: .ask,
      pages: .init(.next(at: .body(at("next")))), columns: columns)
    var listing = resource.listing
    listing.path = "/events"
    listing.key = at("object")
    resource.since = Since(
      at: at("time"), param: .query("since"), form: form, overlap: overlap, asks: true, listing: listing)
    return resource
  }

  private static func item(_ id: Int, name: String = "", isGone: Bool = false) -> String {
    #"{"id":\#(id),"time":10,"name":"\#(name)"\#(isGone ? ",\"gone\":true" : "")}"#
  }

  private static func event(_ object: Int, time: Int) -> String { #"{"object":\#(object),"time":\#(time)}"# }

  private static func page(_ records: [String], next: String? = nil, token: String? = nil) -> String {
    let places = [("next", next), ("token", token)].compactMap { name, text in text.map { #""\#(name)":"\#($0)","# } }
    return "{\(places.joined())\"results\":[\(records.joined(separator: ","))]}"
  }

  private static let whole = [
    "/items": page([item(1), item(2)], next: "/items?p=2"), "/items?p=2": page([item(3)], token: "first"),
  ]

  // MARK: Delta tokens

  @Test("15, 17, 21: the token of the last page starts the next pull, and moves with its records")
  func token() async throws {
    let next = [
      "/items?token=first": Self.page([Self.item(2, name: "new")], next: "/items?q=2"),
      "/items?q=2": Self.page([Self.item(3, isGone: true), Self.item(4)], token: "second"),
      "/items?token=second": Self.page([], token: "second"),
    ]
    let bench = try SyncBench(answers: Self.whole.merging(next) { $1 })
    #expect(try await bench.sync([Self.tokens()]).added == 3)
    _ = bench.asked()
    let record = try await bench.sync([Self.tokens()], allowRemoval: true, after: 1)
    #expect(record.added == 1 && record.changed == 1 && record.removed == 1)
    #expect(try await bench.sync([Self.tokens()], after: 2).outcome == .unchanged)
    #expect(bench.asked() == ["/items?token=first", "/items?q=2", "/items?token=second"])
    let resource = try #require(try await bench.facts([Self.tokens()]).resources.first)
    #expect(resource.proof == "since" && resource.missed == nil && resource.wholeAt != nil)
    #expect(try bench.ask("SELECT coalesce(mark, 'none') FROM resource_lists") == ["none"])
  }

  @Test("9, 21: the token in a header of a page with a known body starts the next pull", arguments: [true, false])
  func headerToken(hasTags: Bool) async throws {
    var resource = Self.tokens()
    resource.since?.token = .header("X-Delta")
    let bench = try SyncBench([:])
    func serve(_ newest: String, from forgotten: String? = nil) {
      bench.shelf.answer { request, _ in
        if let forgotten, request.url.hasSuffix("token=\(forgotten)") { return Response(status: 410) }
        let body = request.url.hasSuffix("/items") ? Self.page([Self.item(1)]) : Self.page([])
        return Response(json: body, headers: [.init("X-Delta", newest)], tag: hasTags ? "\"same\"" : nil, to: request)
      }
    }
    serve("a")
    _ = try await bench.sync([resource])
    // The whole pull after a forgotten token finds its only page unchanged.
    serve("b", from: "a")
    _ = try await bench.sync([resource], after: 1)
    _ = bench.asked()
    for (newest, start, isSame) in [("b", "b", false), ("b", "b", true), ("c", "b", false), ("d", "c", false)] {
      serve(newest)
      #expect(try await bench.sync([resource], after: 2).error == nil)
      let asked = bench.shelf.asked()
      #expect(asked.first?.target == "/items?token=\(start)" && (!isSame || asked.count == 1))
    }
  }

  @Test("9, 21: a whole pull by number whose pages all have a new token transfers only the last page again")
  func headerTokenOfNumbers() async throws {
    var resource = Self.tokens()
    resource.pages = .init(.number(last: .body(at("last"))))
    resource.since = Since(token: .header("X-Delta"), param: .query("token"), listing: resource.listing)
    let bench = try SyncBench([:])
    let answered = Mutex(0)
    bench.shelf.update {
      $0.answers = { request in
        let number = request.url.hasSuffix("page=2") ? 2 : 1
        let isKnown = request.headers.contains { $0.name == "If-None-Match" }
        let body = #"{"last":2,"results":[\#(Self.item(number))]}"#
        let token = answered.withLock { count in
          count += 1
          return "token\(count)"
        }
        if request.url.contains("token=") { return Response(status: 410) }
        return Response(
          status: isKnown ? 304 : 200, headers: [.init("ETag", "\"\(number)\""), .init("X-Delta", token)],
          body: isKnown ? [] : Array(body.utf8))
      }
    }
    #expect(try await bench.sync([resource]).error == nil)
    _ = bench.shelf.asked()
    // The token is forgotten each time, so that the pull is whole.
    #expect(try await bench.sync([resource], after: 1).error == nil)
    #expect(bench.shelf.asked().map(\.status) == [410, 304, 304, 200])
  }

  @Test(
    "21: the new token of an unchanged last page starts the next pull, whatever ends the list",
    arguments: [
      Resource.Pages(.number(), beyond: [404]),
      Resource.Pages(.after(param: .query("page"), at: at("id")), size: .init(2), short: true),
    ])
  func headerTokenOfEnd(pages: Resource.Pages) async throws {
    var resource = Self.tokens()
    resource.pages = pages
    resource.since = Since(token: .header("X-Delta"), param: .query("token"), listing: resource.listing)
    let bench = try SyncBench([:])
    func serve(_ newest: String) {
      bench.shelf.answer { request, _ in
        if request.url.contains("token=old") { return Response(status: 410) }
        let number = request.url.hasSuffix("page=2") ? 2 : 1
        if request.url.hasSuffix("page=3") { return Response(status: 404) }
        let records = number == 1 ? [Self.item(1), Self.item(2)] : [Self.item(3)]
        return Response(
          json: Self.page(records), headers: [.init("X-Delta", newest)], tag: "\"\(number)\"", to: request)
      }
    }
    serve("old")
    _ = try await bench.sync([resource])
    serve("new")
    let whole = try await bench.sync([resource], after: 1)
    #expect(whole.error == nil, "\(whole.error ?? "") \(bench.asked())")
    _ = bench.asked()
    _ = try await bench.sync([resource], after: 2)
    #expect(bench.asked().first?.contains("token=new") == true)
  }

  @Test("19, 21: an empty page without a token is not the last one: Microsoft Graph has such pages")
  func emptyPage() async throws {
    let answers = [
      "/items": Self.page([Self.item(1)], next: "/items?p=2"), "/items?p=2": Self.page([], next: "/items?p=3"),
      "/items?p=3": Self.page([], next: "/items?p=4"), "/items?p=4": Self.page([Self.item(2)], token: "first"),
      "/items?token=first": Self.page([], next: "/items?q=2"),
      "/items?q=2": Self.page([Self.item(3)], token: "second"),
    ]
    let bench = try SyncBench(answers: answers)
    let first = try await bench.sync([Self.tokens()])
    #expect(first.error == nil && first.records == 2, "\(first.error ?? "")")
    let second = try await bench.sync([Self.tokens()], after: 1)
    #expect(second.error == nil && second.added == 1, "\(second.error ?? "")")
  }

  @Test("21: a delta token that is an address keeps its query on further pages by cursor")
  func addressWithCursor() async throws {
    var resource = Self.tokens(nil)
    resource.listing.pages = .init(.cursor(param: .query("p"), at: .body(at("next"))))
    resource.since?.listing.pages = resource.listing.pages
    let bench = try SyncBench(answers: [
      "/items": Self.page([Self.item(1), Self.item(2)], token: "/delta?t=1"),
      "/delta?t=1": Self.page([Self.item(1, name: "new")], next: "2"),
      "/delta?t=1&p=2": Self.page([Self.item(2, name: "new")], token: "/delta?t=2"),
    ])
    _ = try await bench.sync([resource])
    let record = try await bench.sync([resource], after: 1)
    #expect(record.error == nil && record.changed == 2, "\(record.error ?? "")")
  }

  @Test("21: a delta feed that lists a record on two pages is pulled once, and the later one wins")
  func repeatedItem() async throws {
    let next = [
      "/items?token=first": Self.page([Self.item(2, name: "new")], next: "/items?q=2"),
      "/items?q=2": Self.page([Self.item(2, name: "newer")], token: "second"),
    ]
    let bench = try await SyncBench.synced([Self.tokens()], answers: Self.whole.merging(next) { $1 })
    #expect(try await bench.sync([Self.tokens()], after: 1).changed == 1)
    #expect(bench.asked() == ["/items?token=first", "/items?q=2"])
    #expect(try bench.ask("SELECT name FROM items WHERE id = 2") == ["newer"])
    #expect(try await bench.facts([Self.tokens()]).resources.map(\.proof) == ["since"])
  }

  @Test(
    "21: a pull with a key on an unchanged page and on a changed one is repeated, and the right record wins",
    arguments: [true, false])
  func unchangedPage(hasMark: Bool) async throws {
    func item(_ name: String, at time: Int) -> String { #"{"id":1,"time":\#(time),"name":"\#(name)"}"# }
    var resource = Self.tokens()
    if hasMark {
      resource.pages = .init(.cursor(param: .query("p"), at: .body(at("next"))))
      resource.since = Since(
        at: at("time"), param: .query("token"), form: .number, overlap: .number(1), listing: resource.listing)
    }
    let (start, next) = hasMark ? ("9", "2") : ("first", "/items?token=first&p=2")
    // The newer record is on the unchanged page with a mark, and on the changed page with a token.
    let first = Self.page([item("first", at: 9)], next: next)
    var answers = [
      "/items": Self.page([Self.item(1), Self.item(2)], token: "first"), "/items?token=\(start)": first,
      "/items?token=\(start)&p=2": Self.page([Self.item(2)], token: "first"),
      "/items?token=second": Self.page([], token: "second"),
    ]
    let bench = try await SyncBench.synced([resource], answers: answers)
    #expect(try await bench.sync([resource], after: 1).changed == 1)
    _ = bench.asked()
    answers["/items?token=\(start)&p=2"] = Self.page([item("second", at: 8)], token: "second")
    bench.serve(answers)
    #expect(try await bench.sync([resource], after: 2).error == nil && bench.shelf.asked().count == 4)
    #expect(try bench.ask("SELECT name FROM items WHERE id = 1") == [hasMark ? "first" : "second"])
    #expect(try await bench.sync([resource], after: 3).changed == 0)
  }

  @Test("21: many events of one record are no circle")
  func manyEvents() async throws {
    var answers = Self.whole.merging(["/items/1": Self.item(1, name: "new")]) { $1 }
    for page in 0..<8 {
      let events = [Self.event(1, time: 11 + page), Self.event(1, time: 11 + page)]
      answers[page == 0 ? "/events?since=9" : "/events?p=\(page)"] = Self.page(
        events, next: page == 7 ? nil : "/events?p=\(page + 1)")
    }
    let bench = try await SyncBench.synced([Self.feed()], answers: answers)
    let record = try await bench.sync([Self.feed()], after: 1)
    #expect(record.error == nil && record.changed == 1, "\(record.error ?? "")")
    #expect(try bench.ask("SELECT mark FROM resource_lists") == ["18"])
  }

  @Test(
    "21, 47, 48: a forgotten token leads to a whole pull in the same sync, which is explained",
    arguments: [400, 404, 409, 410, 412, 422])
  func forgotten(status: Int) async throws {
    let bench = try await SyncBench.synced([Self.tokens()], answers: Self.whole)
    bench.serve(Self.whole, ["/items?token=first": "\(status)"])
    _ = bench.reported()
    let record = try await bench.sync([Self.tokens()], after: 1)
    #expect(record.outcome == .unchanged && !record.isDegraded && record.trouble?.kind == .listReset)
    #expect(record.trouble?.what.hasSuffix("(\(status))") == true)
    #expect(bench.asked() == ["/items?token=first", "/items", "/items?p=2"])
    let events = bench.reported().filter { $0.name == .listReset }
    #expect(events.map(\.resource) == ["item"] && events.map(\.reason) == ["token"])
  }

  @Test("1, 20: a fresh sync uses no delta token, and the token stays if it fails")
  func freshFailure() async throws {
    let bench = try await SyncBench.synced([Self.tokens()], answers: Self.whole)
    bench.serve(["/items?token=first": Self.page([Self.item(2, name: "new")], token: "second")])
    #expect(try await bench.sync([Self.tokens()], isFresh: true, after: 1).outcome == .failed)
    #expect(try await bench.sync([Self.tokens()], after: 2).changed == 1)
    #expect(bench.asked() == ["/items", "/items?token=first"])
  }

  @Test("1, 21: nothing is dropped if the whole pull after a forgotten token fails")
  func forgottenAndFailed() async throws {
    let bench = try await SyncBench.synced([Self.tokens()], answers: Self.whole)
    bench.serve(["/items?token=first": "410", "/items": "500"])
    #expect(try await bench.sync([Self.tokens()], after: 1).exit == 69)
    #expect(try bench.ask("SELECT name || id FROM items ORDER BY id") == ["1", "2", "3"])
    bench.serve(["/items?token=first": Self.page([Self.item(2, name: "new")], token: "second")])
    #expect(try await bench.sync([Self.tokens()], after: 2).changed == 1)
  }

  @Test("21: a last page without a token is malformed (65), and since.token is named")
  func missing() async throws {
    let bench = try SyncBench(answers: ["/items": Self.page([Self.item(1)])])
    let record = try await bench.sync([Self.tokens()])
    #expect(record.exit == 65 && record.error?.contains("since.token") == true, "\(record.error ?? "")")
  }

  @Test("21, 39: a token that is an address is followed; one of another origin is refused before a request")
  func address() async throws {
    let own = "\(Shelf.baseURL)/items/delta?t=1"
    let bench = try SyncBench(answers: [
      "/items": Self.page([Self.item(1)], token: own),
      "/items/delta?t=1": Self.page([Self.item(1, name: "new")], token: "https://elsewhere.example/items?t=2"),
    ])
    #expect(try await bench.sync([Self.tokens(nil)]).added == 1)
    let record = try await bench.sync([Self.tokens(nil)], after: 1)
    #expect(record.exit == 65 && record.trouble?.kind == .foreignLink)
    #expect(bench.asked() == ["/items", "/items/delta?t=1"])
  }

  @Test(
    "38: the message and the concerned items of a failed request do not show the token", arguments: [true, false])
  func hidden(isAddress: Bool) async throws {
    let secret = isAddress ? "\(Shelf.baseURL)/items/secret-token?t=secret-token" : "secret-token"
    let bench = try SyncBench(answers: ["/items": Self.page([Self.item(1)], token: secret)])
    let resource = Self.tokens(isAddress ? nil : .query("cursor"))
    _ = try await bench.sync([resource])
    bench.shelf.update { $0.answers = { _ in Response(status: 500) } }
    let record = try await bench.sync([resource], after: 1)
    #expect(record.exit == 69)
    let told = "\(record.error ?? "") \(record.trouble.map { "\($0)" } ?? "")"
    #expect(!told.contains("secret-token"), "\(told)")
    #expect(told.contains("***"))
  }

  @Test("15: in a list with delta tokens the last record of a key counts, also on one page and if it is a removal")
  func removedOnPage() async throws {
    let gone = Self.item(2, isGone: true)
    let records = [
      Self.item(1), Self.item(2), gone, Self.item(1, name: "new"), Self.item(3, isGone: true), Self.item(3),
    ]
    let pages: [[String: String]] = [
      ["/items": Self.page(records, token: "first")],
      [
        "/items": Self.page([Self.item(2)], next: "/items?p=2"),
        "/items?p=2": Self.page(Array(records.dropFirst(2)), token: "first"),
      ],
    ]
    for answers in pages {
      let bench = try SyncBench(answers: answers.merging(["/items?token=first": Self.page([], token: "first")]) { $1 })
      for round in 0...1 { #expect(try await bench.sync([Self.tokens()], after: Double(round)).error == nil) }
      #expect(try bench.ask("SELECT id || name FROM items ORDER BY id") == ["1new", "3"])
      #expect(try bench.ask("SELECT count(*) FROM rejects") == ["0"])
    }
  }

  @Test("15, 21: a record that is missing after a lost delta token is removed by the next sync, which is whole too")
  func missingAfterReset() async throws {
    let bench = try SyncBench(answers: Self.whole)
    #expect(try await bench.sync([Self.tokens()]).added == 3)
    bench.serve([
      "/items": Self.page([Self.item(1), Self.item(3)], token: "next"),
      "/items?token=next": Self.page([], token: "next"),
    ])
    #expect(try await bench.sync([Self.tokens()], allowRemoval: true, after: 1).removed == 0)
    #expect(try await bench.sync([Self.tokens()], allowRemoval: true, after: 2).removed == 1)
    _ = bench.asked()
    #expect(try await bench.sync([Self.tokens()], after: 3).outcome == .unchanged)
    #expect(bench.asked() == ["/items?token=next"])
  }

  // MARK: Lists of keys

  @Test("21: an event without a key is about no record", arguments: ["null", #"{"time":12}"#, #"{"object":null}"#])
  func eventWithoutKey(event: String) async throws {
    let bench = try await SyncBench.synced([Self.feed()], answers: Self.all)
    bench.serve(
      Self.all,
      [
        "/events?since=9": Self.page([event, Self.event(1, time: 13), Self.event(2, time: 13)]),
        "/items/1": Self.item(1, name: "new"),
      ])
    let record = try await bench.sync([Self.feed()], allowRemoval: true, after: 1)
    #expect(record.changed == 1 && record.removed == 1 && record.error == nil && !record.isDegraded, "\(record)")
  }

  private static let all = ["/items": page((1...4).map { item($0) })]

  @Test("15, 21: each key of the incremental list is asked for once, and where applies to the answer")
  func asked() async throws {
    let bench = try await SyncBench.synced([Self.feed()], answers: Self.all)
    let feed = [
      "/events?since=9": Self.page(
        [Self.event(1, time: 11), Self.event(5, time: 12), Self.event(1, time: 13)], next: "/events?p=2"),
      "/events?p=2": Self.page([Self.event(2, time: 14), Self.event(3, time: 15), Self.event(4, time: 16)]),
      "/events?since=15": Self.page([Self.event(4, time: 16)]),
      "/items/1": Self.item(1, name: "new"), "/items/2": Self.item(2), "/items/3": Self.item(3, isGone: true),
      "/items/5": Self.item(5),
    ]
    bench.serve(Self.all, feed)
    let record = try await bench.sync([Self.feed()], allowRemoval: true, after: 1)
    #expect(record.added == 1 && record.changed == 1 && record.removed == 2 && record.error == nil)
    let targets = bench.asked()
    #expect(targets.prefix(2) == ["/events?since=9", "/events?p=2"])
    #expect(targets.dropFirst(2).sorted() == (1...5).map { "/items/\($0)" })
    #expect(try bench.ask("SELECT id || name FROM items ORDER BY id") == ["1new", "2", "5"])
    #expect(try await bench.sync([Self.feed()], after: 2).outcome == .unchanged)
    #expect(bench.asked().first == "/events?since=15")
  }

  @Test("21: a key on an unchanged page is asked for again if it is on a changed page too")
  func askedOnChangedPage() async throws {
    var resource = Self.feed()
    let listing = try #require(resource.since?.listing)
    resource.since = Since(token: .body(at("token")), param: .query("token"), asks: true, listing: listing)
    let (first, second) = (Self.event(1, time: 11), Self.event(2, time: 12))
    var answers = [
      "/items": Self.page([Self.item(1), Self.item(2)], token: "same"),
      "/events?token=same": Self.page([first], next: "/events?token=same&p=2"),
      "/events?token=same&p=2": Self.page([second], token: "same"), "/items/1": Self.item(1), "/items/2": Self.item(2),
    ]
    let bench = try SyncBench(answers: answers)
    for time in [0.0, 1] { #expect(try await bench.sync([resource], after: time).error == nil) }
    answers["/items/1"] = Self.item(1, name: "new")
    answers["/events?token=same&p=2"] = Self.page([second, first], token: "same")
    bench.serve(answers)
    _ = bench.asked()
    #expect(try await bench.sync([resource], after: 2).changed == 1)
    #expect(bench.asked().filter { $0.hasPrefix("/items") }.sorted() == ["/items/1", "/items/2"])
  }

  @Test("21: a key is asked for again while its record may change within the same time stamp")
  func coarseTimes() async throws {
    let feed = Self.feed(form: .unix, overlap: .time(.seconds(10)))
    let bench = try SyncBench(answers: Self.all)
    let start = Int(bench.shelf.now.timeIntervalSince1970)
    let all = ["/items": Self.page((1...4).map { #"{"id":\#($0),"time":\#(start - 60),"name":""}"# })]
    // Without a Date, an answer has the time of rosterd's clock.
    bench.serve(all, headers: [])
    _ = try await bench.sync([feed])
    func events(_ name: String) -> [String: String] {
      var answers = ["/items/1": Self.item(1, name: name)]
      for since in [start - 70, start - 9] {
        answers["/events?since=\(since)"] = Self.page([Self.event(1, time: start + 1)])
      }
      return answers
    }
    for (name, seconds) in [("first", 1.2), ("second", 1.8), ("third", 2), ("last", 12)] {
      bench.serve(events(name), headers: [])
      #expect(try await bench.sync([feed], after: seconds).changed == 1)
      #expect(try bench.ask("SELECT name FROM items WHERE id = 1") == [name])
    }
    _ = bench.asked()
    #expect(try await bench.sync([feed], after: 60).outcome == .unchanged)
    #expect(bench.asked() == ["/events?since=\(start - 9)"])
  }

  @Test("5, 21: a record that is rejected in two answers in a row has the reject of the latest one")
  func rejectedTwice() async throws {
    let bench = try await SyncBench.synced([Self.feed()], answers: Self.all)
    let feed = ["/events?since=9": Self.page([Self.event(1, time: 11)]), "/items/1": #"{"id":1,"name":7}"#]
    bench.serve(feed)
    #expect(try await bench.sync([Self.feed()], after: 1).rejected == 1)
    let event = Self.page([Self.event(1, time: 12)])
    bench.serve(["/events?since=10": event, "/events?since=11": event, "/items/1": #"{"id":1,"name":8}"#])
    let record = try await bench.sync([Self.feed()], after: 2)
    #expect(record.error?.contains("rejects") == true && record.exit == 0, "\(record.error ?? "")")
    #expect(try bench.ask("SELECT page || ' ' || document FROM rejects") == [#"0 {"id":1,"name":8}"#])
    #expect(try await bench.sync([Self.feed()], after: 3).outcome == .unchanged)
    #expect(try bench.ask("SELECT count(*) FROM rejects") == ["1"])
  }

  @Test("13, 21: a whole pull that could not ask for all missing records is due again")
  func unasked() async throws {
    var resource = Self.feed()
    resource.since?.asks = false
    resource.since?.listing = resource.listing
    let bench = try await SyncBench.synced([resource], answers: Self.all)
    let short = [
      "/items": Self.page((1...3).map { Self.item($0) }), "/items/1": Self.item(1), "/items/3": Self.item(3),
    ]
    bench.serve(short, ["/items/4": "403"])
    let unasked = try await bench.sync([resource], allowRemoval: true, after: 90_000)
    #expect(unasked.trouble?.kind == .unasked && unasked.removed == 0)
    _ = bench.asked()
    bench.serve(short)
    #expect(try await bench.sync([resource], allowRemoval: true, after: 90_060).removed == 1)
    #expect(bench.asked().first == "/items")
  }

  @Test("13, 21: a whole pull whose control question failed is due again, after a forgotten token too")
  func failedControl() async throws {
    var resource = Self.tokens()
    (resource.byKey, resource.removal) = ("/items/{key}", .ask)
    let bench = try await SyncBench.synced([resource], answers: Self.whole)
    let short = ["/items?token=first": "410", "/items": Self.page([Self.item(1)], token: "second")]
    bench.serve(short)
    let wrong = try await bench.sync([resource], allowRemoval: true, after: 60)
    #expect(wrong.trouble?.kind == .wrongByKey && wrong.removed == 0)
    let next = ["/items/1": Self.item(1), "/items?token=second": Self.page([], token: "third")]
    bench.serve(short, next)
    _ = bench.asked()
    let right = try await bench.sync([resource], allowRemoval: true, after: 120)
    #expect(right.removed == 2 && right.error == nil)
    #expect(bench.asked().first == "/items")
    _ = try await bench.sync([resource], after: 180)
    #expect(bench.asked() == ["/items?token=second"])
  }

  @Test(
    "13, 47: if a key cannot be asked for, its record and the mark stay, and the next sync asks again",
    arguments: [403, 500])
  func unanswered(_ status: Int) async throws {
    let bench = try await SyncBench.synced([Self.feed()], answers: Self.all)
    let feed = [
      "/events?since=9": Self.page([Self.event(1, time: 11), Self.event(2, time: 12)]),
      "/items/2": Self.item(2, name: "new"),
    ]
    bench.serve(feed, ["/items/1": "\(status)"])
    let record = try await bench.sync([Self.feed()], after: 1)
    #expect(record.isDegraded && record.trouble?.kind == .unasked && record.removed == 0)
    #expect(record.error?.hasPrefix("not all changed records of item could be asked for: ") == true)
    #expect(try bench.ask("SELECT name FROM items WHERE id < 3") == ["", "new"])
    _ = bench.asked()
    bench.serve(feed, ["/items/1": Self.item(1, name: "new")])
    #expect(try await !bench.sync([Self.feed()], after: 2).isDegraded && bench.asked().first == "/events?since=9")
    #expect(try bench.ask("SELECT name FROM items WHERE id < 3") == ["new", "new"])
  }

  @Test("13: the control question is the latest record; if it is not found, nothing is removed")
  func control() async throws {
    let bench = try await SyncBench.synced([Self.feed()], answers: Self.all)
    let feed = ["/events?since=9": Self.page([Self.event(4, time: 11)])]
    bench.serve(feed)
    let wrong = try await bench.sync([Self.feed()], allowRemoval: true, after: 1)
    #expect(wrong.trouble?.kind == .wrongByKey && wrong.removed == 0)
    #expect(bench.asked() == ["/events?since=9", "/items/4", "/items/3"])
    bench.serve(feed, ["/items/3": Self.item(3)])
    let right = try await bench.sync([Self.feed()], allowRemoval: true, after: 2)
    #expect(right.removed == 1 && right.error == nil)
  }

  @Test(
    "13: the control question prefers the latest record that the last whole pull did not miss",
    arguments: [false, true])
  func controlBesideAbsent(areAllAbsent: Bool) async throws {
    var feed = Self.feed()
    feed.removal = .never
    let bench = try await SyncBench.synced([feed], answers: Self.all)
    bench.serve(["/items": Self.page((areAllAbsent ? 1...1 : 1...3).map { Self.item($0) })])
    #expect(try await bench.sync([feed], allowRemoval: true, isFresh: true, after: 1).removed == 0)
    _ = bench.asked()
    bench.serve(["/events?since=9": Self.page([Self.event(1, time: 11)]), "/items/3": Self.item(3)])
    let record = try await bench.sync([feed], allowRemoval: true, after: 2)
    let control = areAllAbsent ? "/items/4" : "/items/3"
    #expect(bench.asked() == ["/events?since=9", "/items/1", control])
    #expect(record.removed == (areAllAbsent ? 0 : 1) && record.isDegraded == areAllAbsent)
  }

  @Test("12, 15: the guard holds for records that by_key does not find, and the mark stays")
  func guarded() async throws {
    let bench = try await SyncBench.synced([Self.feed()], answers: Self.all)
    let feed = [
      "/events?since=9": Self.page([Self.event(1, time: 11), Self.event(2, time: 12)]), "/items/1": Self.item(1),
    ]
    bench.serve(feed)
    let held = try await bench.sync([Self.feed()], after: 1)
    #expect(held.exit == 65 && held.trouble?.kind == .guarded)
    #expect(try bench.ask("SELECT count(*) FROM items") == ["4"])
    #expect(try await bench.sync([Self.feed()], allowRemoval: true, after: 2).removed == 1)
  }
}
