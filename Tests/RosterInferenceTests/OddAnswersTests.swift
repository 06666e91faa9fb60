import RosterCore
import RosterDecode
import RosterFetch
import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite struct OddAnswersTests {
  let workspace = Workspace()

  private func finding(_ body: String, url: String = "https://api.example/v1/things") throws -> InferredDefinition {
    try Sample(name: "", url: url, body: body).finding()
  }

  /// The definition as read back by the configuration.
  private func read(_ finding: InferredDefinition) throws -> [Resource] {
    try Configuration.load(file: try workspace.write(finding.toml), environment: [:], isRoot: true).configuration
      .resources
  }

  private func refusal(_ body: [UInt8]) -> Failure? {
    do throws(Failure) {
      _ = try Inference.finding(ListAnswer(body))
      return nil
    } catch { return error }
  }

  @Test(
    "An answer without records is refused (65) in one sentence that says what was found",
    arguments: [
      ("", "empty"), ("<!doctype html><title>Log in</title>", "HTML"), ("not json", "not JSON"), ("[]", "empty list"),
      ("{}", "empty object"), ("[1]", "a list without objects"), (#""text""#, "neither a list nor an object"),
      ("null", "neither a list nor an object"), (#"{"results":[],"count":0}"#, "the list at /results is empty"),
      (#"{"message":"Bad credentials","status":"401"}"#, #"it has "message", "status""#),
      (#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":[1]}"#, "and 2 more"), (#"[{"id":1}"#, "not JSON"),
      (#"[{"flag":true},{"flag":null}]"#, "no field that could be a key"), ("[{}]", "no field that could be a key"),
      (#"{"1":{"id":1},"2":{}}"#, "an object without a list of objects"),
    ])
  func noRecords(body: String, clause: String) throws {
    let failure = try #require(refusal(Array(body.utf8)))
    #expect(failure.kind == .badAnswer)
    #expect(failure.description.contains(clause), "\(failure)")
    #expect(failure.hint != nil && !failure.description.contains("\n"))
  }

  @Test(
    "55: an answer of an empty list is refused with the line that its definition needs",
    arguments: [
      (#"{"things":null}"#, "the list at /things is null", #"no_records = ["null"]"#),
      (#"{"items":null,"total":0}"#, "the list at /items is null", #"no_records = ["null"]"#),
      (#"{"start":0,"total_size":0}"#, "the answer has no records: /total_size is 0", #"no_records = ["absent"]"#),
      (#"{"total":"0"}"#, "the answer has no records: /total is 0", #"no_records = ["absent"]"#),
      ("{}", "an empty object", #"no_records = ["absent"]"#),
      (#"{"kind":"admin#members","etag":"x"}"#, #"it has "kind", "etag""#, #"no_records = ["absent"]"#),
      (#"{"message":"Bad credentials"}"#, #"it has "message""#, "read what the answer says"),
    ])
  func emptyList(body: String, cause: String, hint: String) throws {
    let address = "https://api.example/v1/things"
    let failure = try #require(throws: Failure.self) { try Sample(name: "", url: address, body: body).finding() }
    #expect(failure.cause.contains(cause) && failure.hint?.contains(hint) == true, "\(failure)")
  }

  @Test(
    "55: a server that is known to leave out an empty list gets no_records, and any child a proposal of it",
    arguments: [
      #"{"things":[{"id":"1"}],"nextPageToken":"x"}"#, #"{"things":[{"id":"1"}],"kind":"admin#things"}"#,
      #"{"things":[{"id":"1"}],"count":"1"}"#,
    ])
  func leftOut(body: String) throws {
    #expect(try read(finding(body)).first?.answers.noRecords.isAbsent == true)
    #expect(try !finding(#"{"things":[{"id":"1"}],"next_page_token":"x","count":1}"#).toml.contains("no_records"))
    #expect(try !finding(#"[{"id":"1","nextPageToken":"x"}]"#).toml.contains("no_records"))
  }

  @Test(
    "55: a server whose records have null in the place of an empty list gets no_records = [null]",
    arguments: [
      (#"{"things":[{"id":"1","tags":null},{"id":"2","tags":["a"]}]}"#, true),
      (#"{"things":[{"id":"1","tags":null},{"id":"2","tags":["a"]},{"id":"3","tags":[]}]}"#, false),
      (#"{"things":[{"id":"1","tags":null},{"id":"2","tags":"a"}]}"#, false),
      (#"[{"id":"1","tags":null},{"id":"2","tags":["a"]}]"#, false),
    ])
  func nullLists(body: String, isNull: Bool) throws {
    #expect(try read(finding(body)).first?.answers.noRecords.isNull == isNull)
  }

  @Test(
    "A number with more digits than a double has is stored as written",
    arguments: [
      ("12345678901234567.89", Resource.ColumnType.json), ("0.30000000000000004", .real), ("1e400", .json),
      ("1.50", .real),
      ("100000000000000000000.0", .real),
    ])
  func preciseNumbers(number: String, type: Resource.ColumnType) throws {
    let found = try finding(#"{"things":[{"id":"1","amount":\#(number)}]}"#).resource
    #expect(found.columns.first { $0.name == "amount" }?.type == type)
  }

  @Test("55: totals and flags of another JSON type lead to the pages, as a sync reads them")
  func looseTotals() throws {
    let things = (1...10).map { #"{"id":\#($0)}"# }.joined(separator: ",")
    for total in [#""25""#, "25.0", "25"] {
      let last = total == #""25""# ? #""3""# : "3"
      let found = try finding(#"{"things":[\#(things)],"total":\#(total),"totalPages":\#(last)}"#)
      #expect(found.resource.pages.style == .number(last: .body(JSONPointer(segments: ["totalPages"]))), "\(total)")
      #expect(found.resource.pages.count == .body(JSONPointer(segments: ["total"])))
    }
    for flag in ["1", "0", #""true""#, #""false""#, "true"] {
      let pages = try finding(#"{"things":[\#(things)],"hasMore":\#(flag)}"#).resource.pages
      #expect(pages.more == .body(JSONPointer(segments: ["hasMore"])) && pages.style == .number(), "\(flag)")
    }
  }

  @Test(
    "55: in an answer that was converted from XML, one record without a list is the list, and not a list inside it")
  func singleRecord() throws {
    let one = #"{"response":{"things":{"thing":{"id":"1","parts":{"part":[{"sku":"a"},{"sku":"b"}]}}}}}"#
    let many = #"{"response":{"things":{"thing":[{"id":"1"},{"id":"2"}]}}}"#
    for body in [one, many] {
      let resource = try #require(try read(finding(body)).first)
      #expect(
        resource.records == JSONPointer(segments: ["response", "things", "thing"]) && resource.answers.isListOfOne)
      #expect(resource.answers.noRecords.isAbsent)
    }
  }

  @Test("8 MiB of [ are refused (65), without an end of the stack")
  func deep() throws {
    let failure = try #require(refusal([UInt8](repeating: UInt8(ascii: "["), count: 8 << 20)))
    #expect(failure.kind == .badAnswer && failure.description.contains("136 levels"))
  }

  @Test(
    "The key is the id inside the records' objects if the records have none, and never their version",
    arguments: [
      (
        #"{"studies":[{"p":{"i":{"nctId":"N1"},"org":{"x":{"id":"z"}}},"r":true},{"p":{"i":{"nctId":"N2"}},"r":true}]}"#,
        "/studies", "/p/i/nctId"
      ),
      (
        #"{"items":[{"etag":"a","id":{"kind":"v","videoId":"1"}},{"etag":"b","id":{"kind":"v","videoId":"2"}}]}"#,
        "/items", "/id/videoId"
      ),
      (
        ##"{"link":[{"relation":"self","url":"/a"},{"relation":"next","url":"/b"}],"entry":[{"fullUrl":"/1","resource":{"id":"p1","active":true}},{"fullUrl":"/2","resource":{"id":"p2","active":true}}]}"##,
        "/entry", "/resource/id"
      ),
    ])
  func innerKeys(body: String, records: String, key: String) throws {
    let found = try finding(body).resource
    #expect("\(found.records)" == records && "\(found.key)" == key)
  }

  @Test("Names of columns are plain identifiers, unique regardless of case, and none of rosterd's own")
  func oddNames() throws {
    let names = [
      "id", "ID", "Id", "+1", "-1", "1st", "größe", "名前", "", " ", "a b", "a-b", "a_b", "createdAt", "HTMLUrl",
      "extra", "first_sync", "Changed-Sync", "record_id", "rowid", "_id", "@type", "a/b", "a~b", "quote\"d", "tab\t",
      "line\nend", "\u{202E}turned", "select", "rank", String(repeating: "x", count: 300),
    ]
    let fields = names.map { "\"\(JSONText.escaped($0))\":\"v\"" }.joined(separator: ",")
    let found = try finding("[{\"key\":7,\(fields),\"position\":[{\"thing_id\":1,\"Position\":2,\"extra\":\"\"}]}]")
    let columns = found.resource.columns.map(\.name)
    #expect(columns.count == names.count + 1)
    for name in columns + found.resource.lists.flatMap({ $0.columns.map(\.name) }) {
      #expect(name.wholeMatch(of: /[a-z][a-z0-9_]*/) != nil && name.utf8.count <= 63, "\(name)")
    }
    #expect(Set(columns.map { $0.lowercased() }).count == columns.count)
    #expect(Set(columns).isDisjoint(with: ["extra", "first_sync", "changed_sync", "record_id", "rowid"]))
    #expect(found.resource.columns.map(\.at.segments) == [["key"]] + names.map { [$0] })
    #expect(found.resource.lists.map { $0.columns.map(\.name) } == [["thing_id_2", "position_2", "extra_2"]])
    #expect(try read(found) == [found.resource])
    #expect(!found.toml.unicodeScalars.contains { $0 != "\n" && $0.steersTerminal })
  }

  @Test("If there are too many fields, the key is still a column, and `extra` keeps the rest")
  func manyFields() throws {
    let fields = (0..<120).map { "\"f\($0)\":\"v\"" }.joined(separator: ",")
    let found = try finding("[{\(fields),\"id\":1},{\(fields),\"id\":2}]")
    #expect(found.resource.key.description == "/id" && found.resource.columns.count == 100)
    #expect(found.resource.columns.map(\.at.segments) == (0..<99).map { ["f\($0)"] } + [["id"]])
    #expect(
      found.toml.contains("/f99, /f100")
        && found.unseen(.key) == ["whether this field is unique beyond these 2 records"])
    #expect(try read(found) == [found.resource])
  }

  @Test("A unique field is the key, however many fields precede it; texts are compared byte by byte")
  func lateKey() throws {
    let fields = (0..<150).map { "\"f\($0)\":\"v\"" }.joined(separator: ",")
    let found = try finding("[{\(fields),\"zz\":\"\u{E9}\"},{\(fields),\"zz\":\"e\u{301}\"}]")
    #expect(found.resource.key.description == "/zz" && found.resource.columns.count == 100)
    #expect(found.unseen(.key) == ["whether this field is unique beyond these 2 records"])
    #expect(try read(found) == [found.resource])
  }

  @Test("A key is sought in time among 16,000 fields that are no key", .timeLimit(.minutes(1)))
  func manyIDs() throws {
    let fields = (0..<16_000).map { "\"f\($0)_id\":1" }.joined(separator: ",")
    let found = try finding("[\(Array(repeating: "{\(fields)}", count: 5).joined(separator: ","))]")
    #expect(found.resource.key.description == "/f0_id" && found.resource.columns.count == 100)
  }

  @Test("A field with NUL in its name stays in `extra` with a comment, as TOML cannot contain it")
  func nul() throws {
    let found = try finding(#"{"r\u0000":[{"id":1}],"data":[{"id":1,"a\u0000b":1,"o":{"\u0000":1,"c":2}}]}"#)
    #expect(found.resource.columns.map(\.name) == ["id", "o_c"] && found.resource.records.description == "/data")
    #expect(found.toml.contains("fields with NUL in their names"))
    #expect(try read(found) == [found.resource])
  }

  @Test(
    "Names of resources and tables collide with none of rosterd's own",
    arguments: [
      ("/changes", "change", "changes_list"), ("/syncs", "sync", "syncs_list"),
      ("/resources", "resource", "resources_list"),
      ("/Sqlite_Things", "record_sqlite_thing", "record_sqlite_things"),
      ("/sqlite", "record_sqlite", "record_sqlites"), ("/cache_old", "record_cache_old", "record_cache_olds"),
      ("/cache_old_0", "record", "records"), ("/Cache_Old_Ones", "record_cache_old_one", "record_cache_old_ones"),
      ("/42", "record", "records"),
      ("/", "record", "records"),
      ("/v1/categories/", "category", "categories"), ("/api/series.json", "series", "series"),
      ("/2nd-hand%20Boxes", "record", "records"), ("/orders/search", "order", "orders"),
    ])
  func tables(path: String, name: String, table: String) throws {
    let found = try finding(#"[{"id":1,"list":[1],"fts":["a"]}]"#, url: "https://api.example\(path)")
    #expect(found.resource.name == name && found.resource.table == table)
    #expect(try read(found) == [found.resource])
  }

  @Test("Columns that are always null, mixed, beyond 64 bits or empty lose nothing and have a comment")
  func types() throws {
    let found = try finding(
      """
      [{"id":1,"none":null,"mixed":1,"wide":12345678901234567890,"huge":1e400,"real":1,"flag":true,"text":"a","late":null,
        "object":{},"list":[],"lists":[[1],[2]],"both":[1,"a"],"maybe":[1],"either":{"a":1},"numbers":[1,2.5]},
       {"id":2,"none":null,"mixed":"a","wide":1,"huge":1,"real":1.5,"flag":null,"text":"","late":"x",
        "object":{},"list":[],"lists":null,"both":[],"either":"b"}]
      """)
    let types = Dictionary(uniqueKeysWithValues: found.resource.columns.map { ($0.name, $0) })
    #expect(
      types.mapValues(\.type) == [
        "id": .integer, "mixed": .json, "wide": .json, "huge": .json, "real": .real, "flag": .boolean, "text": .text,
        "late": .text, "object": .json, "lists": .json, "both": .json, "either": .json,
      ])
    #expect(types["late"]?.isNullable == true && types["text"]?.isNullable == false)
    #expect(found.resource.lists.map(\.table) == ["thing_maybes", "thing_numbers"])
    #expect(found.resource.lists.map { $0.columns.map(\.name) } == [["value"], ["number"]])
    #expect(found.unseen(.columns).contains { $0.contains("/none") })
    #expect(found.unseen(.columns).contains { $0.contains("empty in all records: /list") })
    #expect(try read(found) == [found.resource])
  }

  @Test(
    "14: infer writes no condition for a member that a sync believes without one",
    arguments: [
      #"{"success":true,"data":[@]}"#, #"{"incomplete_results":false,"items":[@]}"#,
      #"{"things":[@],"nextPageToken":"x"}"#, #"[{"success":true,"id":3},{"success":true,"id":4}]"#,
    ])
  func noConditions(body: String) throws {
    let found = try finding(body.replacing("@", with: #"{"id":1,"n":1},{"id":2,"n":2}"#))
    #expect(found.resource.answers.expect.isEmpty)
    #expect(try read(found) == [found.resource])
  }

  @Test(
    "The key may be a text id, an id of several types, repeated, or missing",
    arguments: [
      (#"[{"id":"a"},{"id":"b"}]"#, "/id", "beyond these 2"), (#"[{"id":1}]"#, "/id", "only one"),
      (#"[{"code":"x","id":5},{"code":"y","id":6}]"#, "/id", "beyond these 2"),
      (#"[{"id":1,"code":"x"},{"id":"a","code":"y"}]"#, "/code", "beyond these 2"),
      (#"[{"id":0,"sku":"x"},{"id":-1,"sku":"y"}]"#, "/id", "beyond these 2"),
      (#"[{"id":1,"uuid":"x"},{"id":1,"uuid":"y"}]"#, "/uuid", "beyond these 2"),
      (#"[{"name":"A","n":1},{"name":"A","n":1}]"#, "/name", "several records have the same"),
      (#"[{"id":1,"n":1},{"n":1}]"#, "/id", "1 of 2 lack"),
      (
        #"[{"thing_id":"x","user_id":1,"name":"A"},{"thing_id":"y","user_id":2,"name":"B"}]"#, "/thing_id",
        "beyond these 2"
      ),
      (
        #"[{"attributes":{"id":3,"name":"x"},"type":"t"},{"attributes":{"id":4,"name":"x"},"type":"t"}]"#,
        "/attributes/id", "beyond these 2"
      ),
    ])
  func keys(body: String, key: String, told: String) throws {
    let found = try finding(body)
    #expect(found.resource.key.description == key)
    #expect(
      found.unseen(.key).count == 1 && found.unseen(.key).allSatisfy { $0.contains(told) }, "\(found.unseen(.key))")
    #expect(try read(found) == [found.resource])
  }

  @Test("The list is found by its name or by the address, not by its place beside other lists")
  func lists() throws {
    let beside = try finding(
      #"{"links":[{"rel":"self"},{"rel":"next"}],"included":[{"id":1},{"id":2},{"id":3}],"data":[{"id":"1","type":"thing"}]}"#
    )
    #expect(beside.resource.records.description == "/data")
    #expect(beside.notes.contains { $0.place == .records && $0.text.contains("/included") })
    let named = try finding(#"{"people":[{"id":1},{"id":2}],"things":[{"id":3}]}"#)
    #expect(named.resource.records.description == "/things")
    let deep = try finding(
      #"{"data":{"viewer":{"things":{"edges":[{"cursor":"a","node":{"id":1,"title":"x"}}],"pageInfo":{"endCursor":"a","hasNextPage":true}}}}}"#
    )
    #expect(deep.resource.records.description == "/data/viewer/things/edges")
    #expect(
      deep.resource.key.description == "/node/id"
        && deep.resource.columns.map(\.name) == ["cursor", "node_id", "node_title"])
    let strange = try finding(#"[{"id":1},5,{"id":2}]"#)
    #expect(strange.notes.contains { $0.place == .records && $0.text.contains("1 of the 3 elements") })
  }

  /// Random answers of any shape, from a seed.
  @Test(
    "For random records the reader accepts the definition, which rejects records by their key only",
    arguments: 0..<200 as Range<UInt64>)
  func random(seed: UInt64) throws {
    var dice = SeededDice(seed: seed)
    let records = (1...Int.random(in: 1...6, using: &dice)).map { index in
      "{\"id\":\(index)\(RandomJSON.members(&dice, depth: 3).map { ",\($0)" } ?? "")}"
    }
    let body = "{\"n\":{\"things\":[\(records.joined(separator: ","))]},\"total\":\(records.count + 5)}"
    let found = try finding(body)
    #expect(try read(found) == [found.resource], "\(body)")
    var decoder = RecordDecoder(try RecordPlan(found.resource))
    let scan = try decoder.scan(page: Array(body.utf8))
    #expect(scan.records == records.count && scan.rejects == 0, "\(body)\n\(found.toml)")
  }
}

private enum JSONText {
  static func escaped(_ text: String) -> String {
    text.unicodeScalars.map { scalar in
      scalar == "\"" || scalar == "\\" || scalar.value < 0x20
        ? "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16) : String(scalar)
    }.joined()
  }
}

private enum RandomJSON {
  static func members(_ dice: inout SeededDice, depth: Int) -> String? {
    let count = Int.random(in: 0...5, using: &dice)
    let names = [
      "name", "Name", "extra", "links", "metadata", "fields", "tags", "a b", "+1", "url", "node", "items", "x",
    ]
    let chosen = names.shuffled(using: &dice).prefix(count)
    let members = chosen.map { "\"\($0)\":\(value(&dice, depth: depth))" }
    return members.isEmpty ? nil : members.joined(separator: ",")
  }

  static func value(_ dice: inout SeededDice, depth: Int) -> String {
    switch Int.random(in: 0..<(depth > 0 ? 12 : 8), using: &dice) {
    case 0: "null"
    case 1: "true"
    case 2: "\(Int.random(in: -9...9, using: &dice))"
    case 3: "1.5"
    case 4: "12345678901234567890"
    case 5: "\"\""
    case 6: "\"text\""
    case 7: "\"https://example.com/\""
    case 8, 9: "{\(members(&dice, depth: depth - 1) ?? "")}"
    default:
      "[\((0..<Int.random(in: 0...3, using: &dice)).map { _ in value(&dice, depth: depth - 1) }.joined(separator: ","))]"
    }
  }
}
