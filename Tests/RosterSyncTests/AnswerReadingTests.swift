import RosterCore
import RosterFetch
import Synchronization
import Testing

@testable import RosterCache

/// Syncs whose answers call themselves partial or failed, or have no list.
struct AnswerReadingTests {
  private static func thing(_ change: (inout Resource) -> Void = { _ in }) -> Resource {
    var resource = Resource(
      name: "thing", path: "/things", records: at("data"), maxRemoval: 100, pages: .init(.one),
      columns: [.init("id", at: at("id"), .integer), .init("size", at: at("size"), .integer)])
    change(&resource)
    return resource
  }

  private static func answer(_ ids: some Sequence<Int>, _ members: String = "") -> String {
    #"{"data":[\#(ids.map { #"{"id":\#($0)}"# }.joined(separator: ","))]\#(members)}"#
  }

  private static func ids(_ bench: SyncBench) throws -> [String] { try bench.ask("SELECT id FROM thing ORDER BY id") }

  // MARK: Partial and failed answers

  @Test(
    "14: an answer that does not meet expect fails its list, and removes nothing however often it comes",
    arguments: [
      (Resource.Condition(at("incomplete_results"), .differs([.boolean(true)])), #","incomplete_results":true"#),
      (.init(at("success"), .equal(.boolean(true))), #","success":false,"message":"a shard is down""#),
      (.init(at("meta", "state"), .equal(.text("done"))), #","meta":{"state":"running"}"#),
      (.init(at("unreachable"), .absent), #","unreachable":["eu-1"]"#),
      (.init(at("parts"), .equal(.integer(2))), #","parts":1"#),
    ])
  func expect(condition: Resource.Condition, partial: String) async throws {
    let resource = Self.thing { $0.answers.expect = [condition] }
    let whole = #","success":true,"meta":{"state":"done"},"parts":2.0"#
    let bench = try await SyncBench.synced([resource], answers: ["/things": Self.answer(1...4, whole)])
    bench.serve(["/things": Self.answer(1...2, partial)])
    for _ in 0..<3 {
      let record = try await bench.sync([resource], after: 60)
      #expect(record.exit == 65 && record.error?.contains("calls itself partial or failed") == true, "\(record)")
      #expect(record.error?.contains(condition.at.description) == true)
      #expect(record.error?.contains("a shard is down") == partial.contains("shard"))
    }
    #expect(try Self.ids(bench) == ["1", "2", "3", "4"])
    bench.serve(["/things": Self.answer(2...4, whole)])
    for _ in 0..<2 { #expect(try await bench.sync([resource], after: 120).error == nil) }
    #expect(try Self.ids(bench) == ["2", "3", "4"])
  }

  @Test("14: an empty list that calls itself failed is not an empty list")
  func emptyFailure() async throws {
    let resource = Self.thing { $0.answers.expect = [.init(at("success"), .equal(.boolean(true)))] }
    let bench = try await SyncBench.synced(
      [resource], answers: ["/things": Self.answer(1...4, #","success":true"#)])
    bench.serve(["/things": #"{"success":false,"data":[]}"#])
    for _ in 0..<3 { #expect(try await bench.sync([resource], allowRemoval: true, after: 60).exit == 65) }
    #expect(try Self.ids(bench).count == 4)
  }

  @Test("14: a condition on a place that does not exist is warned of once, or its message names the place")
  func wrongPlace() async throws {
    let resource = Self.thing { $0.answers.expect = [.init(at("incomplete"), .differs([.boolean(true)]))] }
    let bench = try SyncBench(answers: ["/things": Self.answer(1...2)])
    #expect(try await bench.sync([resource]).error == nil)
    #expect(bench.logged().filter { $0.contains("/incomplete") && $0.hasPrefix("warning") }.count == 1)
    #expect(try await bench.sync([resource], after: 60).error == nil)
    #expect(!bench.logged().contains { $0.contains("/incomplete") })
    let strict = Self.thing { $0.answers.expect = [.init(at("sucess"), .equal(.boolean(true)))] }
    let record = try await SyncBench(answers: ["/things": Self.answer(1...2)]).sync([strict])
    #expect(record.error?.contains("it has nothing at /sucess") == true, "\(record)")
  }

  private static let graph = thing {
    ($0.path, $0.method, $0.body) = ("/graphql", .post, .object([.init("query", .text("{ things { id } }"))]))
    $0.records = at("data", "things")
  }

  @Test(
    "14: errors beside data of a GraphQL server are a failure without a line in the definition",
    arguments: [
      #"{"data":{"things":[{"id":1}]},"errors":[{"message":"shard 3 is down"}]}"#,
      #"{"data":{"things":null},"errors":[{"message":"shard 3 is down"}]}"#,
      #"{"data":null,"errors":[{"message":"shard 3 is down"}]}"#,
    ])
  func graphQL(partial: String) async throws {
    let bench = try await SyncBench.synced(
      [Self.graph], answers: ["/graphql": #"{"data":{"things":[{"id":1},{"id":2}]},"errors":[]}"#])
    bench.serve(["/graphql": partial])
    for _ in 0..<3 {
      let record = try await bench.sync([Self.graph], after: 60)
      #expect(record.exit == 65 && record.error?.contains("shard 3 is down") == true, "\(record)")
    }
    #expect(try Self.ids(bench) == ["1", "2"])
  }

  @Test("14: a list that is called errors stays a list")
  func listOfErrors() async throws {
    var errors = Self.graph
    errors.records = at("errors")
    let bench = try SyncBench(answers: ["/graphql": #"{"data":{},"errors":[{"id":1}]}"#])
    #expect(try await bench.sync([errors]).error == nil)
    #expect(try Self.ids(bench) == ["1"])
  }

  @Test(
    "14: what partial names stores the records, removes nothing and leaves the state degraded",
    arguments: [#","errors":[{"message":"forbidden"}]"#, #","errors":{"7":"forbidden"}"#, #","errors":"forbidden""#])
  func partial(members: String) async throws {
    let resource = Self.thing { $0.answers.partial = [at("errors")] }
    let bench = try await SyncBench.synced([resource], answers: ["/things": Self.answer(1...4, #","errors":[]"#)])
    bench.serve(["/things": Self.answer(2...5, members)])
    for _ in 0..<3 {
      let record = try await bench.sync([resource], after: 60)
      #expect(record.outcome != .failed && record.isDegraded && record.removed == 0, "\(record)")
      #expect(try bench.ask("SELECT reason FROM rejects").first?.contains("/errors") == true)
    }
    #expect(try Self.ids(bench) == ["1", "2", "3", "4", "5"])
    bench.serve(["/things": Self.answer(2...5)])
    for _ in 0..<2 { #expect(try await bench.sync([resource], after: 120).isDegraded == false) }
    #expect(try Self.ids(bench) == ["2", "3", "4", "5"])
  }

  @Test(
    "14: an answer of by_key that calls itself failed is no absence",
    arguments: [#"{"success":false,"data":null}"#, #"{"success":false,"data":[]}"#, #"{"data":null,"error":"down"}"#])
  func byKey(failure: String) async throws {
    let resource = Self.thing {
      ($0.byKey, $0.byKeyRecords, $0.removal) = ("/things/{key}", at("data"), .ask)
      if !failure.contains("error") { $0.answers.expect = [.init(at("success"), .differs([.boolean(false)]))] }
    }
    let found = (1...4).reduce(into: [:]) { $0["/things/\($1)"] = #"{"data":{"id":\#($1)}}"# }
    let bench = try await SyncBench.synced([resource], answers: found.merging(["/things": Self.answer(1...4)]) { $1 })
    bench.serve(found, ["/things": Self.answer(1...3), "/things/4": failure])
    for _ in 0..<3 {
      let record = try await bench.sync([resource], after: 60)
      #expect(record.removed == 0 && record.isDegraded, "\(record)")
    }
    #expect(try Self.ids(bench).count == 4)
    bench.serve(found, ["/things": Self.answer(1...3), "/things/4": "404"])
    #expect(try await bench.sync([resource], after: 120).removed == 1)
  }

  // MARK: Answers without a list

  private static let absent = thing { $0.answers.noRecords = .init(isAbsent: true) }

  @Test(
    "14: an answer without a list is empty if no_records says so, after the question was repeated",
    arguments: [
      (absent, "{}"), (absent, #"{"nextPageToken":null,"total":0}"#), (absent, #"{"data":{}}"#),
      (thing { $0.answers.noRecords = .init(isNull: true) }, #"{"data":null}"#),
      (thing { $0.answers.noRecords = .init(statuses: [404]) }, "404"), (thing(), "204"),
    ])
  func withoutList(resource: Resource, empty: String) async throws {
    let bench = try SyncBench(answers: ["/things": empty])
    #expect(try await bench.sync([resource]).error == nil)
    #expect(bench.asked() == ["/things"])
    bench.serve(["/things": Self.answer(1...2)])
    #expect(try await bench.sync([resource], after: 60).added == 2)
    _ = bench.asked()
    bench.serve(["/things": empty])
    for _ in 0..<2 {
      #expect(try await bench.sync([resource], after: 120).error == nil)
      #expect(bench.asked().count == 2)
    }
    #expect(try Self.ids(bench) == [])
  }

  @Test("14: one answer without a list among good ones removes nothing")
  func repeatedQuestion() async throws {
    let bench = try await SyncBench.synced([Self.absent], answers: ["/things": Self.answer(1...2)])
    bench.serveOnce("{}", then: Self.answer(1...2), at: "/things")
    let record = try await bench.sync([Self.absent], after: 60)
    #expect(record.outcome == .unchanged && record.error == nil)
    #expect(try bench.absentRecords() == 0)
  }

  @Test(
    "14: a list that is empty by its status, or by an answer without list and flag, is over: no further page",
    arguments: ["204", "404", "{}"])
  func emptyWithoutFlag(answer: String) async throws {
    let resource = Self.thing {
      $0.pages = .init(.number(), more: .body(at("more")))
      $0.answers.noRecords = .init(isAbsent: true, statuses: [404])
    }
    let bench = try await SyncBench.synced(
      [resource], answers: ["/things?page=1": Self.answer(1...4, #","more":false"#)])
    bench.serve(["/things?page=1": answer], otherwise: 500)
    for _ in 0..<2 { #expect(try await bench.sync([resource], allowRemoval: true, after: 60).error == nil) }
    #expect(try Self.ids(bench).isEmpty && bench.asked().allSatisfy { $0 == "/things?page=1" })
    #expect(!bench.logged().contains { $0.contains("it goes on from now on") })
  }

  @Test(
    "14: the request is repeated for each list with records in the snapshot: in a fresh sync, and after an absence",
    arguments: [true, false])
  func repeatedAgain(isFresh: Bool) async throws {
    let resource = Self.thing {
      $0.removal = .twice
      $0.answers.noRecords.isAbsent = true
    }
    let bench = try await SyncBench.synced([resource], answers: ["/things": Self.answer(1...4)])
    if !isFresh {
      bench.serve(["/things": "{}"])
      #expect(try await bench.sync([resource], allowRemoval: true, after: 60).removed == 0)
    }
    bench.serveOnce("{}", then: Self.answer(1...4), at: "/things")
    let record = try await bench.sync([resource], allowRemoval: true, isFresh: isFresh, after: 120)
    #expect(record.error == nil && record.removed == 0, "\(record)")
    #expect(try Self.ids(bench).count == 4 && bench.absentRecords() == 0)
  }

  @Test(
    "14: an answer with a fault beside no list is never an absent list",
    arguments: [
      #"{"error":"down"}"#, #"{"errors":[{"message":"down"}]}"#, #"{"fault":{"faultstring":"down"}}"#,
      #"{"message":"down"}"#, #"{"data":null,"message":"down"}"#,
    ])
  func fault(body: String) async throws {
    let resource = Self.thing { $0.answers.noRecords = .init(isAbsent: true, isNull: true) }
    let bench = try await SyncBench.synced([resource], answers: ["/things": Self.answer(1...2)])
    bench.serve(["/things": body])
    for _ in 0..<3 {
      let record = try await bench.sync([resource], after: 60)
      #expect(record.exit == 65 && record.error?.contains("down") == true, "\(record)")
    }
    #expect(try Self.ids(bench) == ["1", "2"])
  }

  @Test("14: without no_records, a missing list fails, and the message names the key")
  func noLine() async throws {
    for (body, form) in [("{}", "absent"), (#"{"data":null}"#, "null")] {
      let record = try await SyncBench(answers: ["/things": body]).sync([Self.thing()])
      #expect(record.exit == 65 && record.error?.contains(#"no_records = ["\#(form)"]"#) == true, "\(record)")
    }
  }

  @Test("14: empty lists of children may be absent, and a sync with nine of them is good")
  func children() async throws {
    let parent = Resource(
      name: "doc", path: "/docs", maxRemoval: 100, pages: .init(.one), columns: [.init("id", at: at("id"), .integer)])
    var child = Self.absent
    (child.path, child.each) = ("/docs/{doc.id}", Each(of: "doc"))
    let answers = (2...10).reduce(into: ["/docs/1": Self.answer(1...2)]) {
      $0["/docs/\($1)"] = $1 % 2 == 0 ? "{}" : "204"
    }
    let docs = "[\((1...10).map { #"{"id":\#($0)}"# }.joined(separator: ","))]"
    let bench = try SyncBench(answers: answers.merging(["/docs": docs]) { $1 })
    for outcome in [SyncRecord.Outcome.published, .unchanged] {
      let record = try await bench.sync([parent, child], after: 60)
      #expect(record.outcome == outcome && record.error == nil, "\(record)")
    }
    #expect(try Self.ids(bench) == ["1", "2"])
  }

  // MARK: Shapes of records

  @Test("6: an empty list, an empty text and false in place of an object are absent")
  func emptyPlaceholders() async throws {
    let resource = Self.thing {
      $0.columns[1].at = at("meta", "size")
      $0.lists = [.init(table: "tags", at: at("tags"), columns: [.init("name", at: at("name"))])]
    }
    let records = [#"{"size":7}"#, "[]", #""""#, "false", "[ ]", "null", "{}"].enumerated().map {
      #"{"id":\#($0.offset),"meta":\#($0.element),"tags":\#($0.element == #"{"size":7}"# ? "[]" : $0.element)}"#
    }
    let bench = try SyncBench(answers: ["/things": #"{"data":[\#(records.joined(separator: ","))]}"#])
    let record = try await bench.sync([resource])
    #expect(record.rejected == 0 && record.added == 7 && record.error == nil)
    #expect(try bench.ask("SELECT count(*) FROM thing WHERE size = 7") == ["1"])
    bench.serve(["/things": #"{"data":[{"id":1,"meta":[1]},{"id":2,"meta":true},{"id":3,"tags":"x"},{"id":4}]}"#])
    #expect(try await bench.sync([resource], after: 60).rejected == 3)
  }

  @Test("14: one record in place of a list is a list of one only by list_of_one")
  func listOfOne() async throws {
    let tags = Resource.List(table: "tags", at: at("tags"), columns: [.init("name", at: at("name"))])
    let resource = Self.thing {
      $0.lists = [tags]
      $0.answers.isListOfOne = true
      $0.lists[0].isListOfOne = true
    }
    let one = #"{"data":{"id":1,"tags":{"name":"a"}}}"#
    let bench = try SyncBench(answers: ["/things": one])
    #expect(try await bench.sync([resource]).added == 1)
    #expect(try bench.ask("SELECT name FROM tags") == ["a"])
    bench.serve(["/things": #"{"data":[{"id":1,"tags":[{"name":"a"},{"name":"b"}]},{"id":2}]}"#])
    #expect(try await bench.sync([resource], after: 60).added == 1)
    #expect(try bench.ask("SELECT name FROM tags ORDER BY position") == ["a", "b"])
    let refused = try await SyncBench(answers: ["/things": one]).sync([Self.thing()])
    #expect(refused.exit == 65 && refused.error?.contains("list_of_one = true") == true, "\(refused.error ?? "")")
    let list = Self.thing { $0.lists = [tags] }
    let records = #"{"data":[{"id":1,"tags":{"name":"a"}},{"id":2}]}"#
    let bare = try SyncBench(answers: ["/things": records])
    #expect(try await bare.sync([list]).rejected == 1)
    #expect(try bare.ask("SELECT reason FROM rejects").allSatisfy { $0.contains("list_of_one = true") })
  }

  @Test("6: every 64-bit integer is a key, and a record with such a key is removed like any other")
  func anyInteger() async throws {
    let keys = ["-9223372036854775807", "-2", "-1", "0", "1", "9223372036854775807"]
    let records = keys.map { #"{"id":\#($0)}"# }
    for removal in [Resource.Removal.twice, .ask] {
      let resource = Self.thing {
        $0.removal = removal
        if removal == .ask { $0.byKey = "/things/{key}" }
      }
      let found = zip(keys, records).reduce(into: ["/things/77": #"{"id":77}"#]) { $0["/things/\($1.0)"] = $1.1 }
      let all = found.merging(["/things": #"{"data":[\#(records.joined(separator: ","))]}"#]) { $1 }
      let bench = try SyncBench(answers: all)
      let first = try await bench.sync([resource])
      #expect(first.added == 6 && first.rejected == 0 && first.error == nil, "\(first)")
      for (index, key) in keys.enumerated() {
        let rest = records[(index + 1)...] + [#"{"id":77}"#]
        bench.serve(
          all, ["/things": #"{"data":[\#(rest.joined(separator: ","))]}"#, "/things/\(key)": "404"],
          keys[..<index].reduce(into: [:]) { $0["/things/\($1)"] = "404" })
        for _ in 0..<2 { #expect(try await bench.sync([resource], after: 60).error == nil) }
        #expect(try bench.ask("SELECT id FROM thing WHERE id = \(key)") == [], "\(key)")
      }
    }
  }

  @Test("47: rejects of unknown key of a parent are named after its children were compared too")
  func heldBackParent() async throws {
    let child = Resource(
      name: "part", path: "/things/{thing.id}/parts", records: at("data"), pages: .init(.one),
      columns: [.init("id", at: at("id"), .integer)], each: Each(of: "thing"))
    let resources = [Self.thing(), child]
    var answers = ["/things/1/parts": Self.answer(7...7), "/things/2/parts": Self.answer(8...8)]
    answers["/things"] = Self.answer(1...2)
    let bench = try await SyncBench.synced(resources, answers: answers)
    answers["/things"] = #"{"data":[{"id":1},null]}"#
    bench.serve(answers)
    let record = try await bench.sync(resources, after: 60)
    #expect(record.error?.contains("no thing can be removed, because 1 of them has no known key") == true, "\(record)")
    #expect(try bench.ask("SELECT id FROM thing ORDER BY id") == ["1", "2"])
  }

  @Test(
    "14, 47: rejects of unknown key hold back removals, and the sync and the list of absent records say so",
    arguments: ["null", #"{"id":null}"#, #"{"name":"x"}"#])
  func heldBack(reject: String) async throws {
    let bench = try await SyncBench.synced([Self.thing()], answers: ["/things": Self.answer(1...3)])
    bench.serve(["/things": #"{"data":[{"id":1},\#(reject)]}"#])
    for _ in 0..<2 {
      let record = try await bench.sync([Self.thing()], after: 60)
      #expect(record.removed == 0 && record.isDegraded)
      #expect(
        record.error?.contains("no thing can be removed, because 1 of them has no known key") == true, "\(record)")
      #expect(record.error?.contains("the first of thing is record 2") == true, "\(record)")
    }
    let listing = try CacheReader(path: bench.path).list("thing", isAbsent: true)
    #expect(listing.total == 0 && listing.unknown == 1)
  }

  @Test("5: records of one answer that share a key and differ are rejected and named, and equal ones are not")
  func duplicates() async throws {
    let resource = Resource(
      name: "set", path: "/sets", key: at("name"), maxRemoval: 100, pages: .init(.one),
      columns: [.init("name", at: at("name")), .init("type", at: at("type"))])
    let rows = [#"{"name":"a","type":"A"}"#, #"{"name":"a","type":"MX"}"#, #"{"name":"b","type":"A"}"#]
    let bench = try SyncBench(answers: ["/sets": "[\(rows.joined(separator: ","))]"])
    for _ in 0..<2 {
      let record = try await bench.sync([resource], after: 60)
      #expect(record.isDegraded && record.rejected == 1, "\(record)")
      #expect(try bench.ask("SELECT name || type FROM \"set\" ORDER BY 1") == ["aMX", "bA"])
      #expect(try bench.ask("SELECT document FROM rejects") == [rows[0]])
    }
    bench.serve(["/sets": "[\(rows[0]),\(rows[0]),\(rows[2])]"])
    #expect(try await bench.sync([resource], after: 120).isDegraded == false)
  }

  @Test("6: a part of a composite key with null = true may be null or absent, and takes part in the key")
  func nullParts() async throws {
    let resource = Resource(
      name: "grant", path: "/grants", key: at("user"), otherKeys: [at("scope"), at("project")], maxRemoval: 100,
      pages: .init(.one),
      columns: [
        .init("user", at: at("user")), .init("scope", at: at("scope"), isNullable: true),
        .init("project", at: at("project"), .integer, isNullable: true), .init("note", at: at("note")),
      ])
    let rows = [
      #"{"user":"a","scope":null,"project":1}"#, #"{"user":"a","scope":"s","project":null}"#, #"{"user":"a"}"#,
      #"{"user":"a","scope":"s","project":1}"#,
    ]
    func serve(_ rows: [String], _ bench: SyncBench) { bench.serve(["/grants": "[\(rows.joined(separator: ","))]"]) }
    let bench = try SyncBench(answers: [:])
    serve(rows, bench)
    let first = try await bench.sync([resource])
    #expect(first.added == 4 && first.rejected == 0, "\(first)")
    #expect(try await bench.sync([resource], after: 60).outcome == .unchanged)
    serve([rows[0], #"{"user":"a","scope":"s","note":"new"}"#, rows[3], #"{"user":"b"}"#], bench)
    var changes: [Int] = []
    for _ in 0..<2 {
      let record = try await bench.sync([resource], after: 120)
      changes += [record.added, record.changed, record.removed]
    }
    #expect(changes == [1, 1, 0, 0, 0, 1])
    #expect(
      try bench.keys(of: "grant").compactMap(\.self).sorted() == [
        #"["a","s",null]"#, #"["a",null,null]"#, #"["b",null,null]"#,
      ])
    #expect(
      try bench.ask(#"SELECT json_array("user", scope, project) FROM "grant" ORDER BY 1"#) == [
        #"["a","s",1]"#, #"["a","s",null]"#, #"["a",null,1]"#, #"["b",null,null]"#,
      ])
    var strict = resource
    strict.columns[1].isNullable = false
    #expect(try await SyncBench(answers: ["/grants": "[\(rows[0]),\(rows[3])]"]).sync([strict]).rejected == 1)
  }

  @Test("47: a failure of a page says what upstream said, and masks credentials")
  func words() async throws {
    for (body, words) in [
      (#"{"message":"no such team"}"#, "no such team"), (#"{"error":{"message":"no such team"}}"#, "no such team"),
      (#"{"errors":[{"message":"no such team"}]}"#, "no such team"), ("<h1>Down</h1>", "<h1>Down</h1>"),
      (#"{"detail":"bad token 0123456789abcdef0123456789abcdef0123456789abcdef"}"#, "bad token ***"),
    ] {
      let bench = try SyncBench([:])
      bench.shelf.answer { _, _ in Response(status: 400, body: Array(body.utf8)) }
      let record = try await bench.sync([Self.thing()])
      #expect(record.error?.contains(words) == true, "\(record.error ?? "")")
    }
    for (body, words) in [
      (#"{"data":[{"id":1,"size":NaN}]}"#, "NaN is no number"), (#")]}'[{"id":1}]"#, "begins with )]}'"),
    ] {
      let record = try await SyncBench(answers: ["/things": body]).sync([Self.thing()])
      #expect(record.error?.contains(words) == true, "\(record.error ?? "")")
    }
  }

  @Test("52: where skips null elements, which then hold back no removal")
  func nullElements() async throws {
    for condition in [Resource.Condition(at("id"), .present), .init(JSONPointer(), .present)] {
      let resource = Self.thing { $0.conditions = [condition] }
      let bench = try await SyncBench.synced([resource], answers: ["/things": #"{"data":[null,{"id":1},{"id":2}]}"#])
      bench.serve(["/things": #"{"data":[{"id":1},null]}"#])
      for _ in 0..<2 {
        let record = try await bench.sync([resource], after: 60)
        #expect(record.rejected == 0 && record.error == nil, "\(record)")
      }
      #expect(try Self.ids(bench) == ["1"])
    }
    #expect(try await SyncBench(answers: ["/things": #"{"data":[null,{"id":1}]}"#]).sync([Self.thing()]).rejected == 1)
  }

  @Test("6: a whole number with a fraction of zeros is an integer, and a key")
  func wholeFractions() async throws {
    let resource = Self.thing()
    let bench = try SyncBench(answers: ["/things": #"{"data":[{"id":1.0,"size":10.00},{"id":-2.0,"size":-0.0}]}"#])
    #expect(try await bench.sync([resource]).added == 2)
    #expect(
      try bench.ask("SELECT id || ':' || size || ':' || typeof(size) FROM thing ORDER BY id") == [
        "-2:0:integer", "1:10:integer",
      ])
    bench.serve(["/things": #"{"data":[{"id":1,"size":10},{"id":-2,"size":0}]}"#])
    let same = try await bench.sync([resource], after: 60)
    #expect(same.outcome == .unchanged && same.rejected == 0)
    for number in ["1.5", "1E3", "1.0e1", "99999999999999999999.0"] {
      bench.serve(["/things": #"{"data":[{"id":1},{"id":2,"size":\#(number)}]}"#])
      #expect(try await bench.sync([resource], after: 120).rejected == 1, "\(number)")
    }
  }

  @Test("6: a text of digits is a number in an integer column, and a key")
  func digits() async throws {
    let resource = Self.thing {
      $0.columns.append(.init("name", at: at("name")))
      $0.lists = [.init(table: "parts", at: at("parts"), columns: [.init("part", at: JSONPointer(), .integer)])]
    }
    let body = #"{"data":[{"id":"12","size":"9007199254740993","name":"7","parts":["1",2]},{"id":13,"size":"+1"}]}"#
    let bench = try SyncBench(answers: ["/things": body])
    let record = try await bench.sync([resource])
    #expect(record.added == 1 && record.rejected == 1, "\(record)")
    #expect(
      try bench.ask("SELECT id || ':' || size || ':' || typeof(size) || ':' || name FROM thing") == [
        "12:9007199254740993:integer:7"
      ])
    #expect(try bench.ask("SELECT group_concat(part) FROM parts") == ["1,2"])
    for text in ["007", "1.0", "1e3", "", " 1", "99999999999999999999", "0x1"] {
      bench.serve(["/things": #"{"data":[{"id":1},{"id":2,"size":"\#(text)"}]}"#])
      #expect(try await bench.sync([resource], after: 60).rejected == 1, "\(text)")
    }
  }
}

extension SyncBench {
  /// One answer, and then another, at an address. All others are 404.
  fileprivate func serveOnce(_ first: String, then second: String, at target: String) {
    let isFirst = Mutex(true)
    shelf.answer { request, asked in
      guard asked == target else { return Response(status: 404) }
      let wasFirst = isFirst.withLock { flag in
        defer { flag = false }
        return flag
      }
      return Response(json: wasFirst ? first : second, headers: [Shelf.date], tag: nil, to: request)
    }
  }

  fileprivate func absentRecords() throws -> Int {
    try ask("SELECT count(*) FROM cache_unlisted WHERE absent > 0").first.flatMap { Int($0) } ?? 0
  }
}
