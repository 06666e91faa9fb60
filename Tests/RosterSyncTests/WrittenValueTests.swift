import RosterCore
import Testing

@testable import RosterSync

/// Values of records that upstream writes in another form than the type of their column.
struct WrittenValueTests {
  private static func thing(_ columns: [Resource.Column]) -> Resource {
    var resource = Resource(
      name: "thing", path: "/things", records: at("data"), table: "things", pages: .init(.one),
      columns: [.init("id", at: at("id"), .integer)] + columns)
    resource.maxRemoval = 100
    return resource
  }

  private static func body(_ values: [String]) -> String {
    let records = values.enumerated().map { "{\"id\":\($0 + 1),\"v\":\($1),\"parts\":[\($1)]}" }
    return "{\"data\":[\(records.joined(separator: ","))]}"
  }

  @Test("6: a text that writes a number is a number in a real column, also in a list")
  func numbers() async throws {
    var resource = Self.thing([.init("v", at: at("v"), .real)])
    resource.lists = [.init(table: "parts", at: at("parts"), columns: [.init("part", at: JSONPointer(), .real)])]
    let bench = try SyncBench(answers: ["/things": Self.body([#""12.50""#, "-3", #""1e3""#, #""0""#])])
    #expect(try await bench.sync([resource]).added == 4)
    let all = ["12.5 real", "-3.0 real", "1000.0 real", "0.0 real"]
    #expect(try bench.ask("SELECT v || ' ' || typeof(v) FROM things ORDER BY id") == all)
    #expect(try bench.ask("SELECT part || ' ' || typeof(part) FROM parts ORDER BY thing_id") == all)
    for text in ["", " 1", "1 ", "1,5", ".5", "NaN", "0x1", "1e999", "true", "[1]"] {
      bench.serve(["/things": Self.body(["1", "\"\(text)\""])])
      #expect(try await bench.sync([resource], after: 60).rejected == 1, "\(text)")
    }
  }

  @Test("6: 0, 1 and words are flags in a boolean column")
  func flags() async throws {
    let resource = Self.thing([.init("v", at: at("v"), .boolean)])
    let flags = ["1", "0", "true", "false", #""1""#, #""0""#, #""True""#, #""no""#]
    let bench = try SyncBench(answers: ["/things": Self.body(flags)])
    #expect(try await bench.sync([resource]).added == 8)
    #expect(try bench.ask("SELECT v FROM things ORDER BY id") == ["1", "0", "1", "0", "1", "0", "1", "0"])
    for value in ["2", "-1", "1.0", #""""#, #""2""#, #""on""#, "[]"] {
      bench.serve(["/things": Self.body(["1", value])])
      #expect(try await bench.sync([resource], after: 60).rejected == 1, "\(value)")
    }
  }

  @Test("6: a place of a column or list that no record has is named once, at the first sync", arguments: [19, 20])
  func wrongPlace(count: Int) async throws {
    var resource = Self.thing([.init("v", at: at("v")), .init("name", at: at("nmae"))])
    resource.lists = [.init(table: "parts", at: at("prats"), columns: [.init("part", at: JSONPointer(), .integer)])]
    let bench = try SyncBench(answers: ["/things": Self.body(Array(repeating: "null", count: count))])
    for (round, warnings) in [count == 20 ? 2 : 0, 0].enumerated() {
      #expect(try await bench.sync([resource], after: Double(round)).exit == 0)
      let told = bench.logged().filter { $0.contains("is the definition right?") }
      #expect(told.count == warnings, "\(told)")
      #expect(warnings == 0 || told.contains { $0.contains("/nmae") } && told.contains { $0.contains("/prats") })
    }
  }

  @Test("22: equal lists of three parents are reported if only query names the parent", arguments: [true, false])
  func ignoredParent(ignores: Bool) async throws {
    let parent = Self.thing([])
    var child = Resource(
      name: "part", path: "/parts", query: [.init("thing", .text("{thing.id}"))], records: at("data"), table: "parts",
      pages: .init(.one), columns: [.init("id", at: at("id"), .integer)])
    child.each = Each(of: "thing")
    let bench = try SyncBench([:])
    bench.shelf.answer { _, target in
      let id = ignores || target == "/things" ? "1" : String(target.last ?? "0")
      let rows = target == "/things" ? ["1", "2", "3", "4"] : [id]
      return Response(
        json: "{\"data\":[\(rows.map { "{\"id\":\($0)}" }.joined(separator: ","))]}", headers: [Shelf.date])
    }
    for round in 0...1 {
      #expect(try await bench.sync([parent, child]).exit == 0)
      let told = bench.logged().filter { $0.contains("as if upstream ignored their parent") }
      #expect(told.count == (ignores && round == 0 ? 1 : 0), "\(told)")
    }
    #expect(try bench.ask("SELECT count(*) FROM parts") == ["4"])
  }

  @Test("6: with list_of_one a value without a list is a list of one, in the form that XML has in JSON")
  func singleValue() async throws {
    var resource = Self.thing([])
    resource.lists = [.init(table: "parts", at: at("parts"), columns: [.init("part", at: JSONPointer(), .integer)])]
    resource.lists[0].isListOfOne = true
    func body(_ parts: [String]) -> String {
      "{\"data\":[\(parts.enumerated().map { "{\"id\":\($0 + 1),\"parts\":\($1)}" }.joined(separator: ","))]}"
    }
    let bench = try SyncBench(answers: ["/things": body(["7", "[8,9]", "\"10\"", "null", "\"\"", "[]"])])
    #expect(try await bench.sync([resource]).added == 6)
    #expect(try bench.ask("SELECT thing_id || ' ' || part FROM parts ORDER BY part") == ["1 7", "2 8", "2 9", "3 10"])
    for odd in ["\"x\"", "1.5", "true", "{}"] {
      bench.serve(["/things": body(["1", odd])])
      let record = try await bench.sync([resource], after: 60)
      #expect(record.rejected == 1, "\(odd) \(record)")
    }
    resource.lists[0].isListOfOne = false
    bench.serve(["/things": body(["[1]", "7"])])
    #expect(try await bench.sync([resource], after: 120).rejected == 1)
  }

  @Test(
    "5, 14: a detail without any of its members is no record, and the last good one stays",
    arguments: ["{}", #"{"success":false}"#, #"{"data":{"name":"b"}}"#, #"{"status":"not_found"}"#])
  func blankDetail(answer: String) async throws {
    let parent = Self.thing([])
    let columns: [Resource.Column] = [.init("name", at: at("name")), .init("size", at: at("size"), .integer)]
    var detail = Resource(
      name: "detail", path: "/things/{thing.id}", table: "details", pages: .init(.record), columns: columns)
    detail.each = Each(of: "thing")
    let things = #"{"data":[{"id":1},{"id":2}]}"#
    let bench = try SyncBench(
      answers: ["/things": things, "/things/1": #"{"name":"a"}"#, "/things/2": #"{"name":"b","size":null}"#])
    #expect(try await bench.sync([parent, detail]).added == 4)
    bench.serve(["/things": things, "/things/1": answer, "/things/2": #"{"size":3}"#])
    let record = try await bench.sync([parent, detail], after: 60)
    #expect(record.isDegraded && record.rejected == 1, "\(record)")
    #expect(try bench.ask("SELECT name || ' ' || coalesce(size, '-') FROM details ORDER BY thing_id") == ["a -", " 3"])
  }

  @Test("6: the values of null are NULL, in columns of every type, and in where they are values")
  func nulls() async throws {
    let nulls: [Resource.Scalar] = [.text(""), .boolean(false), .text("0000-00-00"), .integer(-1)]
    for type in [Resource.ColumnType.text, .integer, .real, .boolean, .timestamp, .json] {
      var resource = Self.thing([.init("v", at: at("v"), type, nulls: nulls)])
      let part = Resource.Column("part", at: JSONPointer(), type, nulls: nulls)
      resource.lists = [.init(table: "parts", at: at("parts"), columns: [part])]
      let body = Self.body([#""""#, "false", #""0000\u002d00-00""#, "-1", "null"])
      let bench = try SyncBench(answers: ["/things": body])
      #expect(try await bench.sync([resource]).added == 5, "\(type)")
      #expect(try bench.ask("SELECT count(*) || '|' || count(v) FROM things") == ["5|0"])
      #expect(try bench.ask("SELECT count(*) || '|' || count(part) FROM parts") == ["5|0"])
      resource.conditions = [.init(at("v"), .differs([.boolean(false)]))]
      #expect(try await bench.sync([resource], after: 60).skipped == 1)
    }
  }
}
