import FoundationEssentials
import RosterCore
import Testing

/// Lists that are written in an unusual way, and values that some servers send after the last page.
@Suite struct OddValueTests {
  private static let item = WrittenList(kind: .cursor, pages: []).resource

  private static func ids(_ bench: SyncBench) throws -> [Int] {
    try bench.ask("SELECT id FROM items ORDER BY id").compactMap { Int($0) }
  }
  @Test(
    "19: the first page again, no record or a refusal for a cursor of 0 or -1 is the end",
    arguments: ["0", #""0""#, "-1", #""-1""#], ["again", "empty", "404"])
  func startCursor(value: String, answer: String) async throws {
    for pages in [[[1, 2], [3, 4], [5]], [[1, 2]]] {
      var list = WrittenList(kind: .cursor, pages: pages)
      list.members = { $0 == pages.count - 1 ? #","next":\#(value)"# : "" }
      let bench = try SyncBench([:])
      bench.shelf.answer { [list] _, target in
        guard target.hasSuffix("c=0") || target.hasSuffix("c=-1") else { return list.answer(target) }
        return switch answer {
        case "again": list.answer("/items")
        case "empty": Response(json: #"{"data":[],"next":\#(value)}"#, headers: [Shelf.date])
        default: Response(status: 404)
        }
      }
      for round in 0...2 { #expect(try await bench.sync([list.resource], after: Double(round)).exit == 0) }
      #expect(try Self.ids(bench) == pages.flatMap(\.self))
    }
  }

  @Test("19: a cursor of 0 with new records goes on, and one after repeated pages is a circle")
  func zeroCursor() async throws {
    let bench = try SyncBench([:])
    bench.serve([
      "/items": #"{"data":[{"id":1}],"next":"0"}"#, "/items?c=0": #"{"data":[{"id":2}],"next":"5"}"#,
      "/items?c=5": #"{"data":[{"id":3}]}"#,
    ])
    #expect(try await bench.sync([Self.item]).exit == 0)
    #expect(try Self.ids(bench) == [1, 2, 3])
    bench.serve([
      "/items": #"{"data":[{"id":1}],"next":"7"}"#, "/items?c=7": #"{"data":[{"id":1}],"next":"0"}"#,
      "/items?c=0": #"{"data":[{"id":1}],"next":"7"}"#,
    ])
    #expect(try await bench.sync([Self.item], allowRemoval: true, after: 60).exit == 65)
    #expect(try Self.ids(bench) == [1, 2, 3])
  }

  @Test("19: a cursor of 0 is no end below a total of the answer")
  func zeroCursorBelowTotal() async throws {
    let bench = try SyncBench([:])
    bench.serve([
      "/items": #"{"data":[{"id":1}],"next":"3","total":5}"#,
      "/items?c=3": #"{"data":[{"id":2}],"next":"0","total":5}"#,
      "/items?c=0": #"{"data":[{"id":1}],"next":"3","total":5}"#,
    ])
    #expect(try await bench.sync([Self.item]).exit == 65)
  }

  @Test(
    "5: an object with numbers as names is a list, as PHP writes one with gaps",
    arguments: [
      #"{"data":{"0":{"id":1},"2":{"id":3}}}"#, #"{"data":{"1":{"id":1,"l":[]},"0":{"id":3}}}"#,
      #"{"data": { "17" : {"id":1}, "4" : {"id":3,"l":{"1":{"v":7},"5":{"v":8}}} } }"#,
    ])
  func numberedList(answer: String) async throws {
    var resource = Self.item
    resource.pages = .init(.one)
    resource.lists = [.init(table: "parts", at: at("l"), columns: [.init("v", at: at("v"), .integer)])]
    let bench = try SyncBench(answers: ["/items": answer])
    for round in 0...1 {
      let record = try await bench.sync([resource], after: Double(round))
      #expect(record.exit == 0 && !record.isDegraded, "\(record)")
    }
    #expect(try Self.ids(bench) == [1, 3])
    #expect(try bench.ask("SELECT v FROM parts ORDER BY v") == (answer.contains("17") ? ["7", "8"] : []))
  }

  @Test("5: so is the answer for several keys, and a list that is the whole answer")
  func numberedAnswers() async throws {
    var resource = Self.item
    (resource.pages, resource.records, resource.removal) = (.init(.one), JSONPointer(segments: []), .ask)
    resource.byKey = "/items/{keys}"
    let bench = try SyncBench(answers: ["/items": #"[{"id":1},{"id":2},{"id":3},{"id":4}]"#])
    #expect(try await bench.sync([resource]).exit == 0)
    bench.serve(
      [
        "/items": #"{"1":{"id":2},"3":{"id":4}}"#, "/items/1,3": #"{"1":{"id":3}}"#,
        "/items/2,4": #"[{"id":2},{"id":4}]"#,
      ],
      ["/items/1%2C3": #"{"1":{"id":3}}"#, "/items/4": #"[{"id":4}]"#, "/items/2": #"[{"id":2}]"#])
    let record = try await bench.sync([resource], allowRemoval: true, after: 60)
    #expect(record.exit == 0 && !record.isDegraded, "\(record) \(bench.asked())")
    #expect(try Self.ids(bench) == [2, 3, 4])
  }

  @Test(
    "19: an object whose names or values are others is no list",
    arguments: [#"{"0":{"id":1},"x":{"id":3}}"#, #"{"0":{"id":1},"1":5}"#, #"{"404":"not found"}"#, "{}"])
  func noNumberedList(list: String) async throws {
    let bench = try SyncBench(answers: ["/items": #"{"data":\#(list)}"#])
    #expect(try await bench.sync([Self.item]).exit == 65)
  }

  @Test(
    "19: a list of records that another member of its name replaces is refused, unless both are equal",
    arguments: [
      (#""data":[{"id":1},{"id":2}],"data":[]"#, 65), (#""data":[{"id":1},{"id":2}],"data":null"#, 65),
      (#""data":[{"id":1}],"x":1,"data":[{"id":2}]"#, 65),
      (#""data":[{"id":1},{"id":2}],"data":[{"id":1},{"id":2}]"#, 0),
      (#""data":[],"data":[{"id":1},{"id":2}]"#, 0), (#""data":null,"data":[{"id":1},{"id":2}]"#, 0),
    ])
  func listTwice(members: String, exit: Int32) async throws {
    let bench = try SyncBench(answers: ["/items": #"{"data":[{"id":1},{"id":2}]}"#])
    var resource = Self.item
    (resource.pages, resource.answers.noRecords.isNull) = (.init(.one), true)
    #expect(try await bench.sync([resource]).exit == 0)
    bench.serve(["/items": "{\(members)}"])
    for round in 1...2 {
      let record = try await bench.sync([resource], allowRemoval: true, after: Double(60 * round))
      #expect(record.exit == exit && (exit == 0 || record.error?.contains("that member twice") == true), "\(record)")
    }
    #expect(try Self.ids(bench) == [1, 2])
  }
}
