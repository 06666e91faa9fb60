import RosterCore
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterSync

/// Records of a child that move to another parent, and lists that move to another address.
@Suite struct MovedRecordTests {
  private static let id = Resource.Column("id", at: at("id"), .integer)

  private static func list(_ ids: [Int]) -> Response {
    Response(json: "[\(ids.map { #"{"id":\#($0)}"# }.joined(separator: ","))]", headers: [Shelf.date])
  }

  private static func resources(byKey: String?, each: Each = Each(of: "board")) -> [Resource] {
    let board = Resource(
      name: "board", path: "/boards", table: "boards", removal: .twice, pages: .init(.one), columns: [id])
    var card = Resource(
      name: "card", path: "/boards/{board.id}/cards", table: "cards", pages: .init(.one), columns: [id], each: each)
    card.byKey = byKey
    card.removal = Resource.usualRemoval(byKey: byKey)
    return [board, card]
  }

  /// An upstream with the cards of each board. `by_key` finds a card wherever it is.
  private static func serve(_ cards: [Int: [Int]], in bench: SyncBench) {
    bench.shelf.answer { _, target in
      let parts = target.split(separator: "/").map(String.init)
      if parts == ["boards"] { return list(cards.keys.sorted()) }
      if parts.last == "cards" { return list(cards[Int(parts[1]) ?? 0] ?? []) }
      let key = Int(parts.last ?? "") ?? 0
      let isFound =
        parts.first == "cards" ? cards.values.contains { $0.contains(key) } : cards[Int(parts[1]) ?? 0]?.contains(key)
      return isFound == true ? Response(json: #"{"id":\#(key)}"#) : Response(status: 404)
    }
  }

  private static let rows = "SELECT board_id || '-' || id FROM cards ORDER BY board_id, id"

  @Test(
    "13, 22: a record that another list has leaves the list of its old parent, whatever by_key says",
    arguments: ["/cards/{key}", "/boards/{board.id}/cards/{key}"])
  func moved(byKey: String) async throws {
    let bench = try SyncBench([:])
    let resources = Self.resources(byKey: byKey)
    Self.serve([1: [10, 11], 2: [20, 21, 22], 3: []], in: bench)
    #expect(try await bench.sync(resources).exit == 0)
    // The record moves to a list that has records, and to an empty one.
    for (round, target) in [1, 3].enumerated() {
      var cards = [1: [10, 11], 2: [20, 21, 22], 3: []]
      cards[2] = [20, 22]
      cards[target]?.append(21)
      Self.serve(cards, in: bench)
      let record = try await bench.sync(resources, after: Double(60 + round * 120))
      #expect(record.exit == 0 && !record.isDegraded, "\(record)")
      let expected = cards.sorted { $0.key < $1.key }.flatMap { board in
        board.value.sorted().map { "\(board.key)-\($0)" }
      }
      #expect(try bench.ask(Self.rows) == expected)
      Self.serve([1: [10, 11], 2: [20, 21, 22], 3: []], in: bench)
      #expect(try await bench.sync(resources, after: Double(120 + round * 120)).exit == 0)
      #expect(try bench.ask(Self.rows).count == 5)
    }
  }

  @Test("13, 22: a record that no list has stays if by_key finds it, and goes if it does not")
  func unlisted() async throws {
    for isFound in [true, false] {
      let bench = try SyncBench([:])
      let resources = Self.resources(byKey: "/cards/{key}")
      Self.serve([1: [10, 11], 2: [20, 21]], in: bench)
      #expect(try await bench.sync(resources).exit == 0)
      let asked = Mutex(0)
      bench.shelf.answer { _, target in
        let parts = target.split(separator: "/").map(String.init)
        if parts == ["boards"] { return Self.list([1, 2]) }
        if parts.last == "cards" { return Self.list(parts[1] == "1" ? [10, 11] : [20]) }
        if parts.last == "21" { asked.withLock { $0 += 1 } }
        if parts.last == "21", !isFound { return Response(status: 404) }
        return Response(json: #"{"id":\#(parts.last ?? "0")}"#)
      }
      let record = try await bench.sync(resources, allowRemoval: true, after: 60)
      #expect(record.exit == 0 && asked.withLock(\.self) == 1, "\(record)")
      #expect(try bench.ask(Self.rows) == ["1-10", "1-11", "2-20"] + (isFound ? ["2-21"] : []))
    }
  }

  @Test(
    "22: a list whose request names another value of its parent is requested, though it is not due",
    arguments: ["path", "query", "where"])
  func address(place: String) async throws {
    for each in [Each(of: "video", changed: ["title"]), Each(of: "video", wholeEvery: .every(.seconds(86_400)))] {
      let bench = try SyncBench([:])
      let slug = Mutex("va")
      bench.shelf.answer { _, target in
        let slug = slug.withLock(\.self)
        if target == "/videos" {
          return Response(json: #"[{"id":1,"slug":"\#(slug)"},{"id":2,"slug":"vb"}]"#, headers: [Shelf.date])
        }
        let of = ["va": 1, "vb": 2, "vc": 3]
        let shown = of.filter { place == "where" || target.contains($0.key) }
        let records = shown.map { #"{"id":\#($0.value),"slug":"\#($0.key)"}"# }.sorted()
        return Response(json: "[\(records.joined(separator: ","))]", headers: [Shelf.date])
      }
      let video = Resource(
        name: "video", path: "/videos", table: "videos", removal: .twice, pages: .init(.one),
        columns: [
          Self.id, .init("slug", at: at("slug")), .init("title", at: at("title"), isNullable: true),
        ])
      var comment = Resource(
        name: "comment", path: place == "path" ? "/of/{video.slug}" : "/of/{video.id}", table: "comments",
        removal: .twice, pages: .init(.one), columns: [Self.id], each: each)
      if place == "query" {
        comment.path = "/of"
        comment.query = [Resource.Parameter("slug", .text("{video.slug}"))]
      }
      if place == "where" { comment.conditions = [.init(at("slug"), .equal(.text("{video.slug}")))] }
      let rows = "SELECT video_id || '-' || id FROM comments ORDER BY 1"
      #expect(try await bench.sync([video, comment]).exit == 0)
      #expect(try bench.ask(rows) == ["1-1", "2-2"])
      _ = bench.asked()
      #expect(try await bench.sync([video, comment], after: 3_600).exit == 0)
      #expect(bench.asked().count == 1)
      slug.withLock { $0 = "vc" }
      #expect(try await bench.sync([video, comment], after: 7_200).exit == 0)
      #expect(bench.asked().count == 2)
      #expect(try bench.ask(rows).contains("1-3"))
    }
  }
}
