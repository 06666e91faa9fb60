import RosterCore
import RosterDecode
import RosterFetch
import RosterSimulator
import Testing

/// The meaning of answers for a known page, for a missing page, and for records by key.
@Suite struct PageAnswerTests {
  // MARK: What is known

  @Test("9: a validator is sent, and a 304 is unchanged with the validator of that answer")
  func notModified() async throws {
    try await withBench { upstream, bench in
      let known = try await bench.page().validator
      #expect(known.etag != nil)
      guard case .unchanged(let validator, answered: _, isTransferred: false) = try await bench.fetch(validator: known)
      else {
        throw NoPage()
      }
      #expect(validator == known)
      #expect(upstream.counts.pageRequests.last?["If-None-Match"] == known.etag)
    }
  }

  @Test("9: If-None-Match wins over If-Modified-Since; a Last-Modified of the same second is no validator")
  func validators() async throws {
    let dates = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nLast-Modified: Sun, 06 Nov 1994 08:49:3"
    let same = headed("200 OK", headers: dates + "7 GMT\r\n", body: emptyPage)
    let older = headed("200 OK", headers: dates + "6 GMT\r\n", body: emptyPage)
    try await RawServer.run(same, older) { server in
      try await withBench(at: "http://127.0.0.1:\(server.port)") { bench in
        let validators = [try await bench.page().validator, try await bench.page().validator]
        #expect(validators == [Validator(), Validator(lastModified: "Sun, 06 Nov 1994 08:49:36 GMT")])
      }
    }
    try await withBench { upstream, bench in
      let date = "Sun, 06 Nov 1994 08:49:36 GMT"
      _ = try await bench.fetch(validator: Validator(lastModified: date))
      _ = try await bench.fetch(validator: Validator(etag: "\"a\"", lastModified: date))
      let requests = upstream.counts.pageRequests
      #expect(requests.map { $0["If-Modified-Since"] } == [date, nil])
      #expect(requests.map { $0["If-None-Match"] } == [nil, "\"a\""])
    }
  }

  @Test("52: 206 is a page if the definition reads the total of Content-Range, and refused otherwise")
  func partialContent() async throws {
    let headers = "Content-Range: 0-19/0\r\n"
    try await RawServer.run(headed("206 Partial Content", headers: headers, body: emptyPage)) { server in
      var resource = Resource.character
      try await withBench(at: "http://127.0.0.1:\(server.port)", resource: resource) { bench in
        #expect(await bench.failure()?.reason == .status(206))
      }
      resource.pages = .init(.number(), count: .header("Content-Range"))
      try await withBench(at: "http://127.0.0.1:\(server.port)", resource: resource) { bench in
        let page = try? await bench.page()
        #expect(page?.facts.count == 0)
      }
    }
  }

  @Test(
    "14, 19: a declared total that is absent is named, and the hint says how to remove the declaration",
    arguments: ["count", "last"])
  func absentTotal(key: String) async throws {
    var resource = Resource.character
    let place = Resource.AnswerPlace.body(JSONPointer(segments: ["info", "none"]))
    resource.pages = key == "count" ? .init(.number(), count: place) : .init(.number(last: place))
    try await RawServer.run(headed("200 OK", body: emptyPage)) { server in
      try await withBench(at: "http://127.0.0.1:\(server.port)", resource: resource) { bench in
        let failure = await bench.failure()
        #expect(failure?.cause.contains("/info/none (\(key)) is absent") == true)
        #expect(failure?.hint == "if upstream sends no total, remove \(key) from [resource.character.pages]")
        #expect(failure?.trouble == .totalAbsent && failure?.kind == .badAnswer)
      }
    }
  }

  @Test("24: a 304 to an unconditional request fails")
  func unaskedNotModified() async throws {
    try await withBench([.on(.page(1), .answer(status: 304))]) { upstream, bench in
      #expect(await bench.failure()?.reason == .status(304))
      #expect(upstream.counts.pageRequests.count == 1)
    }
  }

  @Test("9: a body that is byte for byte the known one is unchanged, although it was transferred")
  func sameBody() async throws {
    let other = Array(#"{"info":{"count":0,"pages":1},"results":[] }"#.utf8)
    let etag = "ETag: \"b\"\r\n"
    try await RawServer.run(
      headed("200 OK", headers: etag, body: emptyPage), headed("200 OK", headers: etag, body: other)
    ) { server in
      try await withBench(at: "http://127.0.0.1:\(server.port)") { bench in
        let known = digest(emptyPage)
        let again = try await bench.fetch(validator: Validator(etag: "\"a\""), digest: known)
        guard case .unchanged(Validator(etag: "\"b\""), answered: _, isTransferred: true) = again else {
          throw NoPage()
        }
        guard case .page(let page) = try await bench.fetch(digest: known) else { throw NoPage() }
        #expect(page.body == other)
      }
    }
  }

  @Test(
    "9, 27: an equal body is read again if a header has another next address",
    arguments: [
      Resource.Style.link, .next(at: .header("Next")), .cursor(param: .query("c"), at: .header("Next")),
    ])
  func sameBodyLeadsElsewhere(style: Resource.Style) async throws {
    var resource = Resource.character
    resource.pages = Resource.Pages(style)
    let leads = "Next: /c?p=2\r\nLink: </c?p=2>; rel=\"next\"\r\n"
    try await RawServer.run(headed("200 OK", headers: leads, body: emptyPage)) { server in
      try await withBench(at: "http://127.0.0.1:\(server.port)", resource: resource) { bench in
        guard case .page(let page) = try await bench.fetch(digest: digest(emptyPage)) else { throw NoPage() }
        #expect(page.facts.next == .text("/c?p=2"))
        let again = try await bench.fetch(digest: page.digest, facts: page.facts)
        #expect(again.isUnchanged == true)
      }
    }
  }

  @Test(
    "14, 24: the hint about an answer fits its cause",
    arguments: [
      ("200 OK", #"{"good":false}"#, "compare the answer"), ("200 OK", #"{"ok":false}"#, "is healthy"),
      ("200 OK", " [1]", "[resource.character]"),
      ("200 OK", "<html>", "not a web page's"), ("403 Forbidden", "{}", "limits the rate"),
      ("404 Not Found", "{}", "upstream.base_url, and path"), ("422 Unprocessable", "{}", "correct query, body"),
    ])
  func hints(status: String, body: String, words: String) async throws {
    var resource = Resource.character
    resource.pages = Resource.Pages(.one)
    let answer = headed(status, body: Array(body.utf8))
    try await RawServer.run(answer, answer) { server in
      try await withBench(at: "http://127.0.0.1:\(server.port)", resource: resource) { bench in
        let failure = await #expect(throws: Failure.self) { try await bench.fetch() }
        #expect(failure?.hint?.contains(words) == true, "\(failure?.hint ?? "")")
      }
    }
  }

  @Test(
    "14: after a redirect to a page to log in, here or elsewhere, the hint names auth.expired",
    arguments: ["/login?secret", "https://sso.test/login?secret"])
  func loginPage(place: String) async throws {
    var resource = Resource.character
    resource.pages = Resource.Pages(.one)
    let away = headed("302 Found", headers: "Location: \(place)\r\n")
    let page = headed("200 OK", body: Array("<html>log in</html>".utf8))
    try await RawServer.run(away, page, away, page) { server in
      try await withBench(at: "http://127.0.0.1:\(server.port)", resource: resource) { bench in
        let failure = await #expect(throws: Failure.self) { try await bench.fetch() }
        #expect(failure?.hint?.contains("auth.expired") == true, "\(failure?.hint ?? "")")
        #expect(failure?.cause.contains("redirect") == true && failure?.cause.contains("secret") == false)
      }
    }
  }

  @Test("9, 18: an equal body is read again if a header has another count, and so is the one of a 304")
  func sameBodyOfAnotherList() async throws {
    var resource = Resource.character
    resource.pages = Resource.Pages(.number(last: .header("X-Pages")), count: .header("X-Total"))
    let (one, two) = ("X-Total: 20\r\nX-Pages: 1\r\n", "X-Total: 21\r\nX-Pages: 2\r\n")
    try await RawServer.run(
      headed("200 OK", headers: one, body: emptyPage), headed("200 OK", headers: one, body: emptyPage),
      headed("304 Not Modified", headers: one),
      headed("304 Not Modified", headers: ""), headed("200 OK", headers: two, body: emptyPage),
      headed("304 Not Modified", headers: two),
      headed("200 OK", headers: two, body: emptyPage)
    ) { server in
      try await withBench(at: "http://127.0.0.1:\(server.port)", resource: resource) { bench in
        let known = try await bench.page()
        #expect(known.facts == ListFacts(records: 0, count: 20, last: 1))
        #expect(known.scans[0].count.kind == .integer(20) && known.scans[0].last.kind == .integer(1))
        func again(_ validator: Validator) async throws -> PageFetcher.Answer {
          try await bench.fetch(validator: validator, digest: known.digest, facts: known.facts)
        }
        #expect(try await again(Validator()).isUnchanged == true)
        #expect(try await again(Validator(etag: "\"a\"")).isUnchanged == false)
        #expect(try await again(Validator(etag: "\"a\"")).isUnchanged == false)
        for validator in [Validator(), Validator(etag: "\"a\"")] {
          guard case .page(let page) = try await again(validator) else { throw NoPage() }
          #expect(page.facts == ListFacts(records: 0, count: 21, last: 2))
        }
      }
    }
  }

  // MARK: What is not there

  @Test("18: an announced page that is 404 has vanished; a first page that is 404 is a failure")
  func vanished() async throws {
    try await withBench([.on(.anyPage, .vanished)]) { upstream, bench in
      guard case .vanished = try await bench.fetch(2) else { throw NoPage() }
      #expect(await bench.failure()?.reason == .status(404))
      #expect(upstream.counts.pageRequests.count == 2)
    }
  }

  @Test("25: a long Retry-After of a missing page delays the next requests, without waiting for it at once")
  func absentAndLater() async throws {
    var resource = Resource.character
    resource.pages = Resource.Pages(.number(), beyond: [404])
    for (isAnnounced, isFromKept) in [(true, false), (false, false), (false, true)] {
      try await RawServer.run(headed("404 No", headers: "Retry-After: 600\r\nContent-Length: 0\r\n")) { server in
        let own = isFromKept ? Resource.character : resource
        try await withBench(at: "http://127.0.0.1:\(server.port)", resource: own) { bench in
          _ = try await bench.fetch(2, isAnnounced: isAnnounced, isFromKept: isFromKept)
          #expect(bench.hold.remaining(bench.naps.clock) == .seconds(600))
          let failure = await bench.failure(3)
          #expect(failure?.kind == .unreachable && failure?.trouble == .held && server.requests == 1)
          #expect(failure?.cause.hasSuffix(" (Retry-After)") == true && bench.naps.delays.isEmpty)
        }
      }
    }
  }

  @Test("11, 25: a long Retry-After of a missing record delays too; an answered page or a short time does not")
  func heeded() async throws {
    try await withBench([.on(.byID, .status(410, retryAfter: "600"))]) { _, bench in
      _ = try await bench.fetch(keys: ["1"])
      #expect(bench.hold.remaining(bench.naps.clock) == .seconds(600))
    }
    try await withBench([.on(.page(2), .status(404, retryAfter: "120"))]) { _, bench in
      _ = try await bench.fetch(2)
      #expect(bench.hold.remaining(bench.naps.clock) == nil)
    }
    try await RawServer.run(headed("200 OK", headers: "Retry-After: 600\r\n", body: emptyPage)) { server in
      try await withBench(at: "http://127.0.0.1:\(server.port)") { bench in
        _ = try await bench.page()
        #expect(bench.hold.remaining(bench.naps.clock) == nil)
      }
    }
  }

  @Test("19: a status of `beyond` after the first page ends the list, but not for an announced page")
  func beyond() async throws {
    var resource = Resource.character
    resource.pages = Resource.Pages(.number(), beyond: [404, 422])
    for status in [404, 422] {
      try await RawServer.run(headed("\(status) No", headers: "Content-Length: 0\r\n")) { server in
        try await withBench(at: "http://127.0.0.1:\(server.port)", resource: resource) { bench in
          for isFromKept in [false, true] {
            let answer = try await bench.fetch(2, isAnnounced: false, isFromKept: isFromKept)
            guard case .pastTheEnd = answer else { throw NoPage() }
          }
          #expect(await bench.failure(1)?.reason == .status(status))
          guard status == 422 else { return }
          #expect(await bench.failure(2)?.reason == .status(status))
        }
      }
    }
    try await withBench([.on(.page(2), .status(410))]) { _, bench in
      let failure = await bench.failure { _ = try await bench.fetch(2, isAnnounced: false) }
      #expect(failure?.reason == .status(410))
    }
  }

  @Test(
    "40: 400, 404 and 410 to an address after a kept page mean a forgotten address, others do not",
    arguments: [400, 404, 410, 403])
  func forgotten(status: Int) async throws {
    try await withBench([.on(.page(2), .status(status))]) { upstream, bench in
      if status == 403 {
        let failure = await bench.failure { _ = try await bench.fetch(2, isAnnounced: false, isFromKept: true) }
        #expect(failure?.reason == .status(403))
      } else {
        let answer = try await bench.fetch(2, isAnnounced: false, isFromKept: true)
        guard case .forgotten = answer else { throw NoPage() }
      }
      let failure = await bench.failure { _ = try await bench.fetch(2, isAnnounced: false) }
      #expect(failure?.reason == .status(status))
      #expect(upstream.counts.pageRequests.count == 2)
    }
  }

  // MARK: By key

  @Test("11: by_key answers with a record or a list; 404 and 410 mean that the record does not exist")
  func byKey() async throws {
    try await withBench { _, bench in
      let one = try await bench.fetch(keys: ["1"])
      #expect(one.scan.records == 1 && one.url.hasSuffix("/character/1") && one.digest == digest(one.body))
      let two = try await bench.fetch(keys: ["1", "2"])
      #expect(two.scan.records == 2)
      let none = try await bench.fetch(keys: ["999999"])
      #expect(none.scan.records == 0 && none.body == Array("[]".utf8) && none.digest == digest(none.body))
    }
    try await withBench([.on(.byID, .status(410))]) { _, bench in
      let answer = try await bench.fetch(keys: ["1"])
      #expect(answer.scan.records == 0)
    }
  }

  @Test(
    "11, 14: a by_key answer that is not about the keys is malformed",
    arguments: [
      (["1"], #"{"id":2,"error":"x"}"#), (["1"], #"{"error":"none"}"#), (["1"], "[]"), (["1", "2"], #"{"id":1}"#),
      (["1"], #"{"id":"x"}"#),
    ])
  func notAsked(keys: [String], body: String) async throws {
    try await withBench([.on(.byID, .answer(status: 200, body: body))]) { _, bench in
      let failure = await bench.failure { _ = try await bench.fetch(keys: keys) }
      #expect(failure?.reason == .malformed && failure?.step == "ask for records of character")
    }
  }

  @Test(
    "13: null and an empty list at by_key_records mean that the key was not found",
    arguments: [
      (["1"], #"{"data":{"id":1}}"#, 1), (["1"], #"{"data":[{"id":1}]}"#, 1), (["1"], #"{"data":null}"#, 0),
      (["1"], #"{"data":[]}"#, 0), (["1", "2"], #"{"data":[{"id":2}]}"#, 1), (["1", "2"], #"{"data":[]}"#, 0),
      (["1"], #"{"data":[{"id":1},{"id":2}]}"#, nil), (["1"], #"{"data":[{"id":2}]}"#, nil), (["1"], "{}", nil),
      (["1", "2"], #"{"data":{"id":1}}"#, nil),
    ] as [([String], String, Int?)])
  func inside(keys: [String], body: String, records: Int?) async throws {
    var resource = Resource.character
    resource.byKeyRecords = JSONPointer(segments: ["data"])
    try await RawServer.run(headed("200 OK", body: Array(body.utf8))) { server in
      try await withBench(at: "http://127.0.0.1:\(server.port)", resource: resource) { bench in
        guard let records else {
          let failure = await bench.failure { _ = try await bench.fetch(keys: keys) }
          #expect(failure?.reason == .malformed)
          return
        }
        let answer = try await bench.fetch(keys: keys)
        #expect(answer.scan.records == records)
        #expect(records > 0 || answer.body == Array("[]".utf8))
      }
    }
  }

  @Test(
    "13: by_key with the key in its query is answered by a list, also for one key, or by null",
    arguments: [
      ("/things?id={key}", "null", 0), ("/things?ids={keys}", " null ", 0), ("/things?id={key}", "nul", nil),
      ("/things?id={key}", "null,", nil), ("/things?id={key}", "none", nil),
      ("/things?id={key}", #"[{"id":1}]"#, 1), ("/things?ids={keys}", "[]", 0), ("/things?ids={keys}", #"{"id":1}"#, 1),
      ("/things?ids={keys}", #"[{"id":2}]"#, nil), ("/things/{keys}?all=1", "[]", nil),
      ("/things/{keys}", #"[{"id":1}]"#, nil), ("/things/{key}", "null", 0),
    ] as [(String, String, Int?)])
  func filtered(byKey: String, body: String, records: Int?) async throws {
    var resource = Resource.character
    resource.byKey = byKey
    try await RawServer.run(headed("200 OK", body: Array(body.utf8))) { server in
      try await withBench(at: "http://127.0.0.1:\(server.port)", resource: resource) { bench in
        guard let records else {
          let failure = await bench.failure { _ = try await bench.fetch(keys: ["1"]) }
          #expect(failure?.reason == .malformed)
          return
        }
        let answer = try await bench.fetch(keys: ["1"])
        #expect(answer.scan.records == records)
      }
    }
  }

  @Test(
    "13: an answer for one key by shape is that record, and null is no record",
    arguments: [
      (.values, "/value", ["7"], #"{"title":"any"}"#, "[7]"), (.values, "/value", ["7"], "null", "[]"),
      (.values, "/value", ["7", "8"], "[8]", "[8]"), (.map, "/@key", ["a"], #"{"x":1}"#, #"{"a":{"x":1}}"#),
      (.map, "/@key", ["a", "b"], #"{"b":{"x":1}}"#, #"{"b":{"x":1}}"#), (.map, "/@key", ["a", "b"], "[]", "[]"),
      (.rows, "/0", ["7"], "[[7,1]]", "[[7,1]]"), (.rows, "/0", ["7"], "[]", "[]"),
      (.rows, "/0", ["7", "8"], "[[7,1]]", "[[7,1]]"), (.rows, "/0", ["7"], "[[8,1]]", nil),
    ] as [(Resource.Shape, String, [String], String, String?)])
  func shapes(shape: Resource.Shape, key: String, keys: [String], answer: String, body: String?) async throws {
    let place = try #require(JSONPointer(key))
    let column = Resource.Column("id", at: place, shape == .map ? .text : .integer)
    let resource = Resource(
      name: "thing", path: "/", shape: shape, key: place, byKey: "/things/{keys}", columns: [column])
    try await RawServer.run(headed("200 OK", body: Array(answer.utf8))) { server in
      try await withBench(at: "http://127.0.0.1:\(server.port)", resource: resource) { bench in
        guard let body else {
          let failure = await bench.failure { _ = try await bench.fetch(keys: keys) }
          #expect(failure?.reason == .malformed)
          return
        }
        let found = try await bench.fetch(keys: keys)
        #expect(String(decoding: found.body, as: UTF8.self) == body)
        #expect(found.scan.records == (body == "[]" ? 0 : 1))
      }
    }
  }

  @Test("11, 52: an answer for a composite key must have all its parts")
  func compositeAnswer() async throws {
    var resource = Resource(
      name: "thing", path: "/", key: JSONPointer(segments: ["b"]), otherKeys: [JSONPointer(segments: ["n"])],
      columns: [.init("n", at: JSONPointer(segments: ["n"]), .integer), .init("b", at: JSONPointer(segments: ["b"]))])
    resource.byKey = "/x/{key.b}/{key.n}"
    // The second answer is another record.
    for (answer, count) in [(#"{"n":1,"b":"a"}"#, 1), (#"{"n":2,"b":"a"}"#, 0), (#"{"b":"a"}"#, nil)]
      as [(String, Int?)]
    {
      try await RawServer.run(headed("200 OK", body: Array(answer.utf8))) { server in
        try await withBench(at: "http://127.0.0.1:\(server.port)", resource: resource) { bench in
          let found = try? await bench.fetch(keys: [#"["a",1]"#])
          #expect(found?.scan.records == count)
        }
      }
    }
  }

  @Test("5, 11: a record that cannot be stored, or that `where` skips, is an answer about its key")
  func rejected() async throws {
    try await withBench([.on(.byID, .answer(status: 200, body: #"{"id":1,"name":7}"#))]) { _, bench in
      let answer = try await bench.fetch(keys: ["1"])
      #expect(answer.scan.rejects == 1 && answer.scan.storable == 0)
    }
    var resource = Resource.character
    resource.conditions = [.init(JSONPointer(segments: ["hidden"]), .absent)]
    try await RawServer.run(headed("200 OK", body: Array(#"{"hidden":1}"#.utf8))) { server in
      try await withBench(at: "http://127.0.0.1:\(server.port)", resource: resource) { bench in
        let answer = try await bench.fetch(keys: ["1"])
        #expect(answer.scan.skipped == 1)
      }
    }
  }
}

private let emptyPage = Array(#"{"info":{"count":0,"pages":1},"results":[]}"#.utf8)
