import FoundationEssentials
import RosterCore
import Synchronization
import Testing

@testable import RosterCache

/// A parent made of windows, by whole syncs.
@Suite("22: windows") struct WindowTests {
  fileprivate static let day = 86_400.0

  /// Reports by day, for the days from `start` to `end`, both included.
  private final class Reports: Sendable {
    private let values = Mutex<[Int: Int]>([:])

    init(days: Range<Int>) { for day in days { set(day, day) } }

    func set(_ day: Int, _ value: Int?) { values.withLock { $0[day] = value } }

    func answer(_ target: String) -> Response? {
      let days = target.split { "?&=".contains($0) }.compactMap { Reports.number(String($0)) }
      guard target.hasPrefix("/report"), days.count == 2 else { return nil }
      return answer(Array(days[0]...days[1]))
    }

    func answer(_ days: [Int]) -> Response {
      let found = values.withLock { values in
        days.compactMap { day in values[day].map { #"{"day":"\#(Reports.text(day))","value":\#($0)}"# } }
      }
      return Shelf.json("[\(found.joined(separator: ","))]")
    }

    static func text(_ day: Int) -> String {
      String(Date(timeIntervalSince1970: Double(day) * WindowTests.day).formatted(.iso8601).prefix(10))
    }

    private static func number(_ text: String) -> Int? {
      Mark(text, form: .rfc3339, zone: 0).map { Int($0.value / (86_400 * 1_000_000_000)) }
    }
  }

  /// Days since 1970 of 2025-05-01.
  private static let first = 20_209

  private static func resources(
    every days: Int = 10, recent: Int = 2, wholeEvery: Double = 300, removal: Resource.Removal = .twice
  ) -> [Resource] {
    let windows = Windows(from: "2025-05-01", every: .seconds(days * 86_400), recent: recent)
    var window = Resource(
      name: "window", path: "", key: Windows.start,
      columns: [.init("from_day", at: Windows.start), .init("to_day", at: Windows.end)])
    window.windows = windows
    var each = Each(of: "window", wholeEvery: .every(.seconds(wholeEvery * day)))
    each.windows = windows
    let report = Resource(
      name: "report", path: "/report",
      query: [.init("from", .text("{window.from_day}")), .init("to", .text("{window.to_day}"))],
      key: JSONPointer(segments: ["day"]), removal: removal, pages: .init(.one),
      columns: [
        .init("day", at: JSONPointer(segments: ["day"])),
        .init("value", at: JSONPointer(segments: ["value"]), .integer),
      ], each: each)
    return [window, report]
  }

  private static func bench(_ reports: Reports) throws -> SyncBench {
    let bench = try SyncBench([:])
    serve(reports, to: bench)
    return bench
  }

  /// Answers by the reports, except where `exception` answers.
  private static func serve(
    _ reports: Reports, to bench: SyncBench, except exception: @escaping @Sendable (String) -> Response? = { _ in nil }
  ) {
    bench.shelf.answer { _, target in exception(target) ?? reports.answer(target) }
  }

  /// The first bounds of the requested windows.
  private func starts(_ bench: SyncBench) -> [String] {
    bench.asked().map { String($0.dropFirst("/report?from=".count).prefix(10)) }.sorted()
  }

  private static let question = """
    SELECT r.day || ' ' || r.value || ' ' || w.from_day FROM report r JOIN window w ON w.record_id = r.window_id ORDER BY 1
    """

  @Test("22: each window has a list; then only the last ones are due, and a new one pulls no others")
  func mirrors() async throws {
    let reports = Reports(days: Self.first..<Self.first + 46)
    let bench = try Self.bench(reports)
    let resources = Self.resources()
    let whole = try await bench.sync(resources)
    #expect(whole.outcome == .published, "\(whole)")
    #expect(starts(bench) == ["2025-05-01", "2025-05-11", "2025-05-21", "2025-05-31", "2025-06-10"])
    #expect(try bench.ask("SELECT from_day || ' ' || to_day FROM window ORDER BY 1").first == "2025-05-01 2025-05-11")
    #expect(try bench.ask("SELECT count(*) FROM report") == ["46"])

    #expect(try await bench.sync(resources, after: 60).outcome == .unchanged)
    #expect(starts(bench) == ["2025-05-31", "2025-06-10"])

    reports.set(Self.first + 44, 7)
    reports.set(Self.first, 9)
    let changed = try await bench.sync(resources, after: 120)
    #expect(changed.changed == 1 && changed.added == 0)
    _ = starts(bench)

    // Ten days later there is another window.
    for day in 46..<56 { reports.set(Self.first + day, day) }
    let later = try await bench.sync(resources, after: 10 * Self.day)
    #expect(later.added == 11 && later.removed <= 1)
    #expect(starts(bench) == ["2025-06-10", "2025-06-20"])
    #expect(try bench.ask("SELECT count(*), count(DISTINCT day) FROM report") == ["56"])
  }

  @Test("22: older windows are due by each.whole_every")
  func older() async throws {
    let reports = Reports(days: Self.first..<Self.first + 46)
    let bench = try Self.bench(reports)
    let resources = Self.resources(wholeEvery: 2)
    _ = try await bench.sync(resources)
    _ = starts(bench)
    reports.set(Self.first, 9)
    _ = try await bench.sync(resources, after: 60)
    #expect(starts(bench).count == 2)
    #expect(try await bench.sync(resources, after: 2.1 * Self.day).changed == 1)
    #expect(starts(bench).count == 5)
  }

  @Test("22: a record at both bounds is stored once, by the later window, and nothing changes afterwards")
  func bounds() async throws {
    let reports = Reports(days: Self.first..<Self.first + 46)
    let bench = try Self.bench(reports)
    let resources = Self.resources()
    _ = try await bench.sync(resources)
    #expect(try bench.ask("SELECT count(*) - count(DISTINCT day) FROM report") == ["0"])
    let rows = try bench.ask(Self.question)
    #expect(rows.contains("2025-05-11 20219 2025-05-11") && rows.contains("2025-05-10 20218 2025-05-01"))
    for (round, isDryRun) in [(1, true), (2, false), (3, true)] {
      let again = try await bench.sync(resources, isFresh: true, isDryRun: isDryRun, after: Double(round) * 60)
      #expect(again.added + again.changed + again.removed == 0 && again.error == nil)
      if isDryRun { #expect(try bench.pending().isEmpty) }
    }
    #expect(try bench.ask(Self.question) == rows)
    #expect(try bench.ask("SELECT sum(records) FROM cache_lists WHERE parent_id > 0") == ["46"])
  }

  @Test("22: a record that moves into a later window goes with it, and comes back when that one has lost it")
  func moves() async throws {
    let bound = Self.first + 40
    let reports = Reports(days: Self.first..<bound)
    let bench = try Self.bench(reports)
    let resources = Self.resources(removal: .twice)
    _ = try await bench.sync(resources)
    // The day between the last two windows arrives.
    reports.set(bound, 1)
    #expect(try await bench.sync(resources, after: 60).added == 1)
    #expect(try bench.ask(Self.question).last == "2025-06-10 1 2025-06-10")
    // Upstream's later window answers without it, as if its bound were excluded.
    Self.serve(reports, to: bench) { $0.contains("from=2025-06-10") ? Shelf.json("[]") : nil }
    for round in 2...4 { _ = try await bench.sync(resources, after: Double(round) * 60) }
    #expect(try bench.ask(Self.question).last == "2025-06-10 1 2025-05-31")
    #expect(try bench.ask("SELECT count(*) - count(DISTINCT day) FROM report") == ["0"])
  }

  @Test("22: a record that its window misses twice, while a later one takes it, is removed once")
  func leaves() async throws {
    let reports = Reports(days: Self.first..<Self.first + 46)
    let bench = try Self.bench(reports)
    let (earlier, day) = (Array(Self.first + 30...Self.first + 40), Self.first + 35)
    _ = try await bench.sync(Self.resources())
    let without = reports.answer(earlier.filter { $0 != day })
    let with = reports.answer(Array(Self.first + 40...Self.first + 45) + [day])
    Self.serve(reports, to: bench) { $0.contains("from=2025-05-31") ? without : nil }
    #expect(try await bench.sync(Self.resources(), after: 60).removed == 0)
    Self.serve(reports, to: bench) {
      $0.contains("from=2025-05-31") ? without : $0.contains("from=2025-06-10") ? with : nil
    }
    let tried = try await bench.sync(Self.resources(), isDryRun: true, after: 90)
    #expect(tried.added == 1 && tried.removed == 1)
    #expect(try bench.pending().count == 2)
    let moved = try await bench.sync(Self.resources(), after: 120)
    #expect(moved.added == 1 && moved.removed == 1)
    #expect(try bench.ask(Self.question).contains("2025-06-05 20244 2025-06-10"))
    try expectSums(bench)
  }

  /// The counts of the cache are those of its rows, and each removed record is in `changes` with its document.
  private func expectSums(_ bench: SyncBench, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let sums = try bench.ask(
      """
      SELECT abs((SELECT records FROM resources WHERE name = 'report') - count(*)) +
        (SELECT count(*) FROM changes WHERE kind = 'removed' AND before IS NULL) + count(*) - count(DISTINCT day)
      FROM report
      """)
    #expect(sums == ["0"], sourceLocation: sourceLocation)
    #expect(
      try bench.ask(
        "SELECT sum(records) = (SELECT count(*) FROM report) FROM resource_lists WHERE resource = 'report'") == ["1"],
      sourceLocation: sourceLocation)
  }

  private static var parents: [Resource] {
    var detail = Resource(
      name: "detail", path: "/detail/{report.day}", pages: .init(.record),
      columns: [.init("note", at: JSONPointer(segments: ["note"]))],
      each: Each(of: "report", wholeEvery: .every(.seconds(300 * day))))
    detail.removal = .twice
    let item = Resource(
      name: "item", path: "/item/{report.day}", key: JSONPointer(segments: ["id"]), removal: .twice,
      pages: .init(.one), columns: [.init("id", at: JSONPointer(segments: ["id"]))],
      each: Each(of: "report", wholeEvery: .every(.seconds(300 * day))))
    return resources() + [detail, item]
  }

  private static func child(_ target: String) -> Response? {
    if target.hasPrefix("/detail/") { return Shelf.json(#"{"note":"\#(target.suffix(10))"}"#) }
    return target.hasPrefix("/item/") ? Shelf.json(#"[{"id":"\#(target.suffix(10))"}]"#) : nil
  }

  /// Each report has its own children, and no child is without a report.
  private func expectChildren(_ bench: SyncBench, count: Int, sourceLocation: SourceLocation = #_sourceLocation) throws
  {
    for (table, column) in [("detail", "note"), ("item", "id")] {
      let found = try bench.ask(
        """
        SELECT (SELECT count(*) FROM \(table)) || ' ' || count(*) FROM \(table) c
        JOIN report r ON r.record_id = c.report_id AND r.day = c.\(column)
        """)
      #expect(found == ["\(count) \(count)"], sourceLocation: sourceLocation)
      let lists = try bench.ask("SELECT count(*) FROM resource_lists WHERE resource = '\(table)'")
      #expect(lists == ["\(count)"], sourceLocation: sourceLocation)
    }
    try expectSums(bench, sourceLocation: sourceLocation)
  }

  @Test("22: a record of windows that is a parent belongs to the latest window that lists it, with its children")
  func parents() async throws {
    let reports = Reports(days: Self.first..<Self.first + 46)
    let bench = try Self.bench(reports)
    Self.serve(reports, to: bench, except: Self.child)
    for round in 0..<4 {
      let sync = try await bench.sync(
        Self.parents, isFresh: round > 1, isDryRun: round == 2, after: Double(round) * 60)
      #expect(sync.error == nil && (round == 0 || sync.added + sync.changed + sync.removed == 0), "\(sync)")
      // Four days are at two bounds.
      if round == 0 { #expect(bench.asked().count == 5 + 2 * 46) }
      try expectChildren(bench, count: 46)
    }
  }

  @Test("16, 22: a parent that moves into a later window takes its children with it, and comes back with them")
  func movesWithChildren() async throws {
    let bound = Self.first + 40
    let reports = Reports(days: Self.first..<Self.first + 46)
    let bench = try Self.bench(reports)
    let later = Array(bound + 1...bound + 5)
    let without = reports.answer(later)
    let hides: @Sendable (String) -> Response? = { $0.contains("from=2025-06-10") ? without : Self.child($0) }
    Self.serve(reports, to: bench, except: hides)
    _ = try await bench.sync(Self.parents)
    #expect(try bench.ask(Self.question).contains("2025-06-10 20249 2025-05-31"))
    try expectChildren(bench, count: 46)

    Self.serve(reports, to: bench, except: Self.child)
    let moved = try await bench.sync(Self.parents, after: 60)
    #expect(moved.error == nil && moved.added == 3 && moved.removed == 3, "\(moved)")
    #expect(try bench.ask(Self.question).contains("2025-06-10 20249 2025-06-10"))
    try expectChildren(bench, count: 46)

    Self.serve(reports, to: bench, except: hides)
    for round in 2...5 {
      let sync = try await bench.sync(Self.parents, after: Double(round) * 60)
      #expect(sync.error == nil, "\(sync)")
      try expectSums(bench)
    }
    #expect(try bench.ask(Self.question).contains("2025-06-10 20249 2025-05-31"))
    try expectChildren(bench, count: 46)
    #expect(try await bench.sync(Self.parents, isFresh: true, after: 400).outcome == .unchanged)
  }

  @Test("22: a refused window is named, and the others are published")
  func refused() async throws {
    let reports = Reports(days: Self.first..<Self.first + 46)
    let bench = try Self.bench(reports)
    Self.serve(reports, to: bench) { $0.contains("from=2025-05-21") ? Response(status: 400) : nil }
    let sync = try await bench.sync(Self.resources())
    #expect(sync.outcome == .published)
    let failed = try bench.ask(
      """
      SELECT w.from_day || ' ' || l.error FROM resource_lists l JOIN window w ON w.record_id = l.parent_id
      WHERE l.state = 'failed'
      """)
    #expect(
      failed.count == 1 && failed.first?.hasPrefix("2025-05-21 ") == true && failed.first?.contains("400") == true)
    #expect(try bench.ask("SELECT count(*) FROM report") == ["37"])
    Self.serve(reports, to: bench)
    #expect(try await bench.sync(Self.resources(), after: 60).error == nil)
    #expect(try bench.ask("SELECT count(*) FROM report") == ["46"])
  }

  @Test("22, 40: an interrupted sync goes on with the windows that it had pulled", arguments: [2, 1])
  func interrupted(_ days: Int) async throws {
    let reports = Reports(days: Self.first..<Self.first + 46)
    let bench = try Self.bench(reports)
    let resources = Self.resources(every: days)
    let asked = Mutex(0)
    Self.serve(reports, to: bench) { _ in
      let number = asked.withLock { asked in
        asked += 1
        return asked
      }
      return number > 3 ? Response(status: 401) : nil
    }
    #expect(try await bench.sync(resources).outcome == .failed)
    _ = bench.asked()
    Self.serve(reports, to: bench)
    #expect(try await bench.sync(resources, after: 60).outcome == .published)
    let windows = try #require(Int(bench.ask("SELECT count(*) FROM window").first ?? ""))
    #expect(bench.asked().count == windows - 3)
    #expect(try bench.ask("SELECT count(DISTINCT day) FROM report") == ["46"])
  }

  @Test("With ends_now the last window ends at the start of the sync, and is pulled again when it ends")
  func endsNow() async throws {
    var resources = Self.resources(recent: 1)
    resources[0].windows?.endsNow = true
    resources[1].each?.windows?.endsNow = true
    resources[1].each?.changed = ["to_day"]
    let reports = Reports(days: Self.first..<Self.first + 60)
    let bench = try SyncBench([:])
    let today = Mutex("2025-06-15")
    Self.serve(reports, to: bench) { target in
      let isLate = target.split(separator: "=").last.map { $0 > today.withLock(\.self) } ?? false
      return isLate ? Response(status: 400) : nil
    }
    #expect(try await bench.sync(resources).error == nil)
    let ends = "SELECT to_day FROM window ORDER BY from_day DESC LIMIT 2"
    #expect(try bench.ask(ends) == ["2025-06-15", "2025-06-10"])
    _ = bench.asked()
    today.withLock { $0 = "2025-06-25" }
    #expect(try await bench.sync(resources, after: 10 * 86_400).error == nil)
    #expect(try bench.ask(ends) == ["2025-06-25", "2025-06-20"])
    let asked = bench.asked().map { String($0.suffix(10)) }.sorted()
    #expect(asked.suffix(2) == ["2025-06-20", "2025-06-25"])
  }

  @Test("Boundaries come from the start, and a form writes them", arguments: [TimeForm.unix, .compact, .http, nil])
  func forms(_ form: TimeForm?) {
    let windows = Windows(from: "2025-05-01", every: .seconds(10 * 86_400), recent: 3, form: form)
    let now = Date(timeIntervalSince1970: 1_750_000_000)
    let texts: [TimeForm?: String] = [
      .unix: "1746057600", .compact: "20250501", .http: "Thu, 01 May 2025 00:00:00 GMT", nil: "2025-05-01",
    ]
    #expect(windows.count(at: now) == 5 && windows.recentStarts(at: now).count == 3)
    #expect(windows.records(at: now).first?["from"]?.queryText == texts[form])
    let orders = windows.records(at: now).compactMap { $0["from"].flatMap { windows.order(ofStart: $0.queryText) } }
    #expect(orders.count == 5 && orders == orders.sorted())
    #expect(windows.count(at: Date(timeIntervalSince1970: 0)) == 0)
    #expect(windows.records(at: now)[1]["from"] == windows.records(at: now)[0]["to"])
  }
}
