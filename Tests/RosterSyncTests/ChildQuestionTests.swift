import FoundationEssentials
import RosterCore
import Synchronization
import Testing

@testable import RosterCache

/// Whole syncs of lists that become other lists when a column of their parent changes.
struct ChildQuestionTests {
  /// One topic with a name, and the notes of each name.
  private final class Topic: Sendable {
    struct State: Sendable {
      var name = "x"
      var count = 2
      /// The notes by address: number, name and time.
      var notes: [String: [(id: Int, name: String, at: Int)]] = [:]
      /// True if answers have an ETag that depends on the body.
      var hasTags = false
      /// True if the lists of notes are answered with 404.
      var isGone = false
    }

    private let state = Mutex(State())

    func update(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    func serve(_ bench: SyncBench) {
      bench.shelf.update { $0.answers = { [self] request in state.withLock { Self.answer(request, $0) } } }
    }

    private static func answer(_ request: Request, _ state: State) -> Response {
      let parts = request.url.dropFirst(Shelf.baseURL.count).split(separator: "?").map(String.init)
      if parts[0] == "/topics" {
        return Response(json: #"{"list":[{"id":1,"name":"\#(state.name)","count":\#(state.count)}]}"#)
      }
      if state.isGone { return Response(status: 404, headers: [Shelf.date]) }
      let since = parts.last.flatMap { $0.split(separator: "=").last.flatMap { Int($0) } } ?? 0
      let notes = (state.notes[parts[0]] ?? []).filter { $0.at >= since }
        .map { #"{"id":\#($0.id),"name":"\#($0.name)","at":\#($0.at)}"# }
      let body = #"{"list":[\#(notes.joined(separator: ","))]}"#
      let tag = state.hasTags ? "\"\(body.utf8.reduce(5381) { $0 &* 33 &+ Int($1) })\"" : nil
      return Response(json: body, headers: [Shelf.date], tag: tag, to: request)
    }
  }

  private static let topic = Resource(
    name: "topic", path: "/topics", records: at("list"), table: "topics", removal: .twice, pages: .init(.one),
    columns: [
      .init("id", at: at("id"), .integer), .init("name", at: at("name")), .init("count", at: at("count"), .integer),
    ])

  private static func note(_ path: String, each: Each, hasSince: Bool = false) -> Resource {
    var note = Resource(
      name: "note", path: path, records: at("list"), table: "notes", removal: .twice, pages: .init(.one),
      columns: [.init("id", at: at("id"), .integer)], each: each)
    if hasSince {
      note.since = Since(
        at: at("at"), param: .query("since"), form: .number, overlap: .number(1), wholeEvery: .seconds(1_000_000),
        listing: note.listing)
    }
    return note
  }

  private static func bench() throws -> (SyncBench, Topic) {
    let (bench, topic) = (try SyncBench([:]), Topic())
    topic.serve(bench)
    return (bench, topic)
  }

  private static func notes(_ bench: SyncBench) throws -> [String] { try bench.ask("SELECT id FROM notes ORDER BY id") }

  private static func asked(_ bench: SyncBench) -> [String] {
    bench.shelf.asked().map { "\($0.target) \($0.status)" }.filter { !$0.hasPrefix("/topics") }
  }

  /// The list of notes, which is pulled by mark, is answered with 404 after a first sync.
  private static func benchWithGoneList() async throws -> (SyncBench, Topic, [Resource]) {
    let (bench, topic) = try bench()
    topic.update { $0.notes["/notes/1"] = [(1, "x", 20), (2, "x", 21)] }
    var gone = note("/notes/{topic.id}", each: Each(of: "topic"), hasSince: true)
    gone.answers.noRecords.statuses = [404]
    let resources = [Self.topic, gone]
    _ = try await bench.sync(resources)
    topic.update { $0.isGone = true }
    return (bench, topic, resources)
  }

  private static func compared(_ changed: [String]) -> [Resource] {
    var note = note("/notes", each: Each(of: "topic", changed: changed))
    note.conditions = [.init(at("name"), .equal(.text("{topic.name}")))]
    return [topic, note]
  }

  @Test(
    "9, 52: where is evaluated again on an unchanged page if its column of the parent changed",
    arguments: [true, false], [[], ["name"]])
  func conditions(hasTags: Bool, changed: [String]) async throws {
    let (bench, topic) = try Self.bench()
    topic.update {
      $0.hasTags = hasTags
      $0.notes["/notes"] = [(1, "x", 1), (2, "z", 1)]
    }
    let resources = Self.compared(changed)
    _ = try await bench.sync(resources)
    #expect(try Self.notes(bench) == ["1"])
    _ = Self.asked(bench)
    _ = try await bench.sync(resources, after: 60)
    #expect(Self.asked(bench) == (changed.isEmpty ? ["/notes \(hasTags ? 304 : 200)"] : []))
    topic.update { $0.name = "z" }
    let record = try await bench.sync(resources, allowRemoval: true, after: 120)
    #expect(record.added == 1 && record.exit == 0, "\(record.error ?? "")")
    #expect(try Self.notes(bench) == ["1", "2"])
    _ = Self.asked(bench)
    #expect(try await bench.sync(resources, allowRemoval: true, after: 180).removed == 1)
    #expect(try Self.notes(bench) == ["2"])
    #expect(Self.asked(bench) == ["/notes \(hasTags ? 304 : 200)"])
    #expect(try await bench.sync(resources, after: 240).outcome == .unchanged)
  }

  @Test(
    "17, 21: a list with since is pulled whole if its address has another column of the parent",
    arguments: [[], ["name"]])
  func address(changed: [String]) async throws {
    let (bench, topic) = try Self.bench()
    topic.update { $0.notes = ["/notes/x": [(1, "x", 20)], "/notes/z": [(2, "z", 10)]] }
    let each = Each(of: "topic", changed: changed)
    let resources = [Self.topic, Self.note("/notes/{topic.name}", each: each, hasSince: true)]
    _ = try await bench.sync(resources)
    topic.update { $0.count = 3 }
    _ = Self.asked(bench)
    _ = try await bench.sync(resources, after: 60)
    #expect(Self.asked(bench) == (changed.isEmpty ? ["/notes/x?since=19 200"] : []))
    topic.update { $0.name = "z" }
    #expect(try await bench.sync(resources, after: 120).added == 1)
    #expect(Self.asked(bench) == ["/notes/z 200"])
    #expect(try bench.ask("SELECT mark FROM resource_lists WHERE resource = 'note'") == ["10"])
    let absent = "SELECT n.id FROM cache_unlisted u JOIN notes n USING (record_id) WHERE u.absent = 1"
    #expect(try bench.ask(absent) == ["1"])
    _ = try await bench.sync(resources, after: 180)
    #expect(Self.asked(bench) == ["/notes/z?since=9 200"])
  }

  @Test("21, 22: the records of a list that becomes empty are missing, and it is pulled whole when it is not")
  func empty() async throws {
    let (bench, topic) = try Self.bench()
    topic.update { $0.notes["/notes/1"] = [(1, "x", 20), (2, "x", 21)] }
    let each = Each(of: "topic", changed: ["name"], empty: [.init("count", .equal(.integer(0)))])
    let resources = [Self.topic, Self.note("/notes/{topic.id}", each: each, hasSince: true)]
    _ = try await bench.sync(resources)
    _ = Self.asked(bench)
    topic.update { $0.count = 0 }
    _ = try await bench.sync(resources, allowRemoval: true, after: 60)
    #expect(try Self.notes(bench) == ["1", "2"])
    #expect(try await bench.sync(resources, allowRemoval: true, after: 120).removed == 2)
    #expect(Self.asked(bench) == [])
    topic.update { $0.count = 2 }
    #expect(try await bench.sync(resources, after: 180).added == 2)
    #expect(Self.asked(bench) == ["/notes/1 200"])
  }

  @Test("21, 22: an incremental pull that none answers leaves an empty list, which is pulled whole next")
  func noneBesideSince() async throws {
    let (bench, topic, resources) = try await Self.benchWithGoneList()
    _ = (try await bench.sync(resources, allowRemoval: true, after: 60), Self.asked(bench))
    #expect(try Self.notes(bench) == ["1", "2"])
    #expect(try await bench.sync(resources, allowRemoval: true, after: 120).removed == 2)
    topic.update { $0.isGone = false }
    #expect(try await bench.sync(resources, after: 180).added == 2)
    // The snapshot has records of the list, so that the question of the whole pull is repeated.
    #expect(Self.asked(bench) == ["/notes/1 404", "/notes/1 404", "/notes/1 200"])
  }

  @Test("22, 51: pending shows the records of a list that none makes empty in an incremental pull")
  func pendingNone() async throws {
    let (bench, _, resources) = try await Self.benchWithGoneList()
    #expect(try await bench.sync(resources, allowRemoval: true, isDryRun: true, after: 60).outcome == .tried)
    var absent: [String] = []
    try CacheReader(path: bench.path).pending().eachAbsent { record, _ in absent.append(record.key) }
    #expect(absent.sorted() == ["1", "2"])
  }

  @Test("22: a list that none makes empty is requested again if its parent is as young as the answer")
  func youngNone() async throws {
    let (bench, topic) = try Self.bench()
    topic.update {
      $0.name = "2025-06-15T15:06:00Z"
      $0.isGone = true
    }
    var note = Self.note("/notes/{topic.id}", each: Each(of: "topic", changed: ["name"]))
    note.answers.noRecords.statuses = [404]
    let resources = [Self.topic, note]
    // rosterd's clock is one hour ahead of the clock of upstream.
    for seconds in [3600.0, 3660, 3720] {
      _ = try await bench.sync(resources, after: seconds)
      #expect(Self.asked(bench) == ["/notes/1 404"])
    }
    topic.update { $0.name = "2025-06-15T15:01:00Z" }
    for requested in [["/notes/1 404"], []] {
      _ = try await bench.sync(resources, after: 3780)
      #expect(Self.asked(bench) == requested)
    }
  }
}
