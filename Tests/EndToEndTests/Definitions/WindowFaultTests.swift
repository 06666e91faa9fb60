import FoundationEssentials
import Glibc
import RosterCore
import RosterDecode
import Synchronization
import Testing

/// Reports by day for windows of two days that include both bounds. Each change gives all days another value, and adds
/// a day that is the bound of two windows.
private final class DailyReports: Sendable {
  private static let days = 27
  private let first = Date() - Double(days) * 86_400
  private let version = Mutex(0)

  private func day(_ number: Int) -> String {
    String((first + Double(number) * 86_400).formatted(.iso8601).prefix(10))
  }

  /// The first day.
  var start: String { day(0) }

  func change() { version.withLock { $0 += 1 } }

  private var reports: [(day: String, value: Int, window: String)] {
    let version = version.withLock(\.self)
    return (0..<Self.days).filter { $0 % 2 == 1 || $0 <= version * 2 }.map { (day($0), version, day($0 - $0 % 2)) }
  }

  /// The rows of the mirror: the later window owns the day at a bound.
  var rows: [String] { reports.map { "\($0.day) \($0.value) \($0.window)" } }

  @Sendable func answer(_ call: Call) -> Response {
    let bounds = call.path.split(separator: "/").dropFirst().map(String.init)
    return .list(
      reports.filter { bounds[0] <= $0.day && $0.day <= bounds[1] }.map { report in
        .record(("day", .text(report.day)), ("value", .number("\(report.value)")))
      })
  }
}

/// Windows, addresses with segments, pages in the path and starts in the page's parameter, by configuration alone.
@Suite(.serialized, .timeLimit(.minutes(2))) struct WindowFaultTests {
  private static func toml(_ windows: String, more: String = "") -> String {
    """
    [resource.window]
    windows = \(windows)
    columns = { from_day = "/from", to_day = "/to" }
    \(more)
    [resource.report]
    path = "/report/{window.from_day}/{window.to_day}"
    each = { of = "window" }
    pages = { style = "one" }
    columns = { day = "/day", value = { at = "/value", type = "integer" } }
    key = "/day"
    """
  }

  @Test("22: a parent made of windows has rows like any other, and its children a list for each")
  func mirrors() async throws {
    let start = String((Date() - 25 * 86_400).formatted(.iso8601).prefix(10))
    try await withReach(Self.toml(#"{ from = "\#(start)", every = "10d" }"#)) { call in
      let parts = call.path.split(separator: "/").map(String.init)
      return .list([.record(("day", .text(parts[1])), ("value", .number("1")))])
    } body: { reach in
      #expect(try await reach.sync().outcome == .published)
      #expect(try await reach.column("SELECT count(*) FROM window") == ["3"])
      #expect(try await reach.column("SELECT count(*) FROM report") == ["3"])
      _ = reach.api.take()
      #expect(try await reach.sync().outcome == .unchanged)
      #expect(reach.api.take().count == 2)
      let check = try await reach.run("check")
      #expect(check.exit == 0 && check.output.contains("recent = 2"), "\(check.error)")
    }
  }

  @Test(
    "53: windows without an end, without a length or in the future are 78, with a sentence",
    arguments: [
      (#"{ from = "2999-01-01", every = "1d" }"#, "", "is in the future"),
      (#"{ from = "2023-01-01", every = "0s" }"#, "", "0s is out of range"),
      (#"{ from = "2023-01-01", every = "1s" }"#, "", "windows until now"),
      (#"{ from = "1970-01-01", every = "30m", recent = 1 }"#, "", "windows until now"),
      (#"{ from = "2023-01-01" }"#, "", "lacks every"), (#"{ every = "1d" }"#, "", "lacks from"),
      (#"{ from = "yesterday", every = "1d" }"#, "", "is no time"),
      (#"{ from = "2023-01-01", every = "1d", until = "2024-01-01" }"#, "", "is unknown"),
      (#"{ from = "2023-01-01", every = "12h", form = "compact" }"#, "", "writes days"),
      (#"{ from = "2023-01-01", every = "1d", form = "number" }"#, "", "is unknown"),
      (#"{ from = "2023-01-01", every = "1d", recent = -1 }"#, "", "out of range"),
      (#"{ from = "2023-01-01", every = "1d" }"#, #"path = "/x""#, "is beside windows"),
    ])
  func refused(windows: String, more: String, why: String) async throws {
    try await withReach(Self.toml(windows, more: more)) { reach in
      try await reach.expectRefused(why)
    }
  }

  @Test(
    "2, 22: a sync killed at any file operation leaves whole windows, and the next sync completes all of them")
  func killed() async throws {
    let reports = DailyReports()
    let toml = Self.toml(#"{ from = "\#(reports.start)", every = "2d", recent = 100 }"#)
    try await withReach(toml, answer: reports.answer) { reach in
      let faults = try DiskFaults(in: reach.site)
      var reach = reach
      reach.site.settings.merge(faults.settings) { $1 }
      func rows() async throws -> [String] {
        try await reach.column(
          "SELECT day || ' ' || value || ' ' || from_day FROM report r JOIN window w ON w.record_id = r.window_id ORDER BY 1"
        )
      }
      /// Number of file operations of a sync.
      func calls(on files: [String]) async throws -> Int {
        try faults.failOnce(.max, with: EIO, on: files)
        #expect(try await reach.sync().outcome == .published)
        reports.change()
        return faults.calls
      }
      let kinds = [["", "-wal"].map { "state/roster.db.next\($0)" }, CacheTrials.FaultWalkTests.files]
      let counts = [try await calls(on: kinds[0]), try await calls(on: kinds[1])]
      #expect(counts[0] > 3 && counts[1] > counts[0] + 20, "\(counts)")
      var (before, kills) = (try await rows(), 0)
      for (files, count) in zip(kinds, counts) {
        for number in stride(from: 1, through: count, by: max(1, count / 8)) {
          try faults.failOnce(number, with: -SIGKILL, on: files)
          let outcome = try await reach.run("sync")
          faults.end()
          let what: Comment = "call \(number) of \(count) on \(faults.failed ?? "")"
          // A few of the operations depend on the threads that meet.
          let isKilled = faults.failed != nil
          #expect(outcome.exit == (isKilled ? -SIGKILL : 0), what)
          if isKilled { kills += 1 }
          let found = try await rows()
          #expect(found == before || found == reports.rows, what)
          #expect(try await reach.sync().error == nil, what)
          before = reports.rows
          #expect(try await rows() == before, what)
          #expect(
            try await reach.column("SELECT sum(records) FROM resource_lists WHERE resource = 'report'") == [
              "\(before.count)"
            ])
          reports.change()
        }
      }
      #expect(kills > 8)
      #expect(try await reach.column("PRAGMA integrity_check") == ["ok"])
    }
  }

  @Test("52: an address of the parent with segments has query and pages like a path")
  func segments() async throws {
    let toml = """
      [resource.event]
      path = "/events"
      key = "/uri"
      pages = { style = "one" }
      columns = { uri = "/uri" }
      [resource.invitee]
      path = "{event.uri}/invitees/{event.uri}"
      query = { sort = "up" }
      each = { of = "event" }
      pages = { style = "number", size = 2, size_param = "count" }
      columns = { id = { at = "/id", type = "integer" } }
      """
    let answer: OwnAPI.Answer = { call in
      if call.path == "/events" {
        return .list(["a", "b"].map { .record(("uri", .text("\(call.origin)/events/\($0)?v=1"))) })
      }
      guard call.parameter("sort") == "up", call.parameter("count") == "2", call.parameter("v") == "1",
        call.path.hasPrefix("/events/"), call.path.contains("/invitees/http%3A%2F%2F")
      else { throw Refusal(status: 400, why: "the address \(call.path)") }
      let base = call.path.hasPrefix("/events/a") ? 10 : 20
      let page = try call.integer("page", or: 0, in: 1...9)
      let ids: [Int] = page < 3 ? [1, 2] : []
      return .list(ids: ids.map { base + page * 2 + $0 })
    }
    try await withReach(toml, answer: answer) { reach in
      let first = try await reach.sync()
      #expect(first.outcome == .published)
      #expect(try await reach.column("SELECT count(*) FROM invitee") == ["8"])
      #expect(try await reach.sync().outcome == .unchanged)
    }
  }

  @Test(
    "52: the page in path, by number, offset and cursor",
    arguments: [
      ("{page}", #"style = "number", first = 0"#, ["/t/0/list", "/t/1/list", "/t/2/list"]),
      ("{offset}", #"style = "offset""#, ["/t/0/list", "/t/2/list", "/t/3/list"]),
      ("{cursor}", #"style = "cursor", start = "s", at = "/next""#, ["/t/s/list", "/t/a%2F1/list", "/t/b/list"]),
    ])
  func pages(placeholder: String, style: String, asked: [String]) async throws {
    let toml = """
      [resource.thing]
      path = "/t/\(placeholder)/list"
      records = "/list"
      query = { q = 1 }
      pages = { \(style), short = false }
      columns = { id = { at = "/id", type = "integer" } }
      """
    try await withReach(toml) { call in
      let index = asked.firstIndex(of: call.path) ?? 9
      let ids = [[1, 2], [3], []][min(index, 2)]
      let next = [JSONValue.text("a/1"), .text("b"), .null][min(index, 2)]
      guard index < 3, call.parameter("q") == "1" else { throw Refusal(status: 400, why: call.path) }
      return .json(("list", .list(ids: ids)), ("next", next))
    } body: { reach in
      #expect(try await reach.sync().outcome == .published)
      #expect(reach.api.take().map(\.url) == asked.map { "\($0)?q=1" })
      #expect(try await reach.column("SELECT count(*) FROM thing") == ["3"])
      let check = try await reach.run("check")
      try reach.write(check.output)
      #expect(try await reach.sync().outcome == .unchanged)
    }
  }

  @Test("52: the start inside the page's parameter, as QuickBooks wants it")
  func startInPages() async throws {
    let things = TimedThings()
    for id in 1...5 { things.set(id, "a") }
    let toml = """
      [resource.account]
      path = "/query"
      pages = { style = "offset", param = "query", value = "SELECT * STARTPOSITION {offset} MAXRESULTS 2", size = 2, short = true }
      removal = "never"
      [resource.account.since]
      at = "/at"
      form = "unix"
      overlap = "1s"
      pages = { style = "offset", param = "query", value = "SELECT * WHERE at > '{since}' STARTPOSITION {offset} MAXRESULTS 2", size = 2, short = true }
      [resource.account.columns]
      id = { at = "/id", type = "integer" }
      name = "/name"
      """
    try await withReach(toml) { call in
      let query = call.parameter("query") ?? ""
      let words = query.split(separator: " ").map(String.init)
      let start = words.first { $0.hasPrefix("'") }.flatMap { Double($0.dropFirst().dropLast()) }
      guard let offset = words.firstIndex(of: "STARTPOSITION").flatMap({ Int(words[$0 + 1]) }) else {
        throw Refusal(status: 400, why: query)
      }
      let found = things.things(since: start.map { Date(timeIntervalSince1970: $0) })
      return .list(
        found.page(offset, size: 2).map { thing in
          .record(("id", .number("\(thing.id)")), ("name", .text(thing.name)), ("at", .number("\(thing.at)")))
        }, headers: [things.dateHeader])
    } body: { reach in
      let first = try await reach.sync()
      #expect(first.outcome == .published)
      _ = reach.api.take()
      #expect(try await reach.sync().outcome == .unchanged)
      #expect(reach.api.take().allSatisfy { $0.url.contains("WHERE") })
      things.set(2, "b")
      things.set(6, "c")
      things.set(7, "d")
      things.set(8, "e")
      #expect(try await reach.sync().added == 3)
      #expect(
        try await reach.column("SELECT id || name FROM account ORDER BY id") == [
          "1a", "2b", "3a", "4a", "5a", "6c", "7d", "8e",
        ])
    }
  }

  @Test(
    "53: a start or a page that no request can send is 78",
    arguments: [
      (#"path = "/q/{page}/{page}""#, #"style = "number""#, "", "has {page} twice"),
      (#"path = "/q/{page}""#, #"style = "number", param = "p""#, "", "is beside {page} in path"),
      (#"path = "/q/{offset}""#, #"style = "number""#, "", "does not fill"),
      (#"path = "/q/{cursor}""#, #"style = "cursor", at = "/n""#, "", "is missing"),
      (#"path = "/q""#, #"style = "number", value = "{page}{since}""#, #"at = "/at", param = "s""#, "{since}"),
      (
        #"path = "/q""#, #"style = "number""#,
        #"at = "/at", pages = { style = "number", value = "{page}{since}{since}" }"#, "{since} twice"
      ),
      (
        #"path = "/q""#, #"style = "number""#,
        #"at = "/at", pages = { style = "after", param = "p", value = "{cursor}{since}" }"#, "has no value"
      ),
    ])
  func unsendable(path: String, pages: String, since: String, why: String) async throws {
    let toml = """
      [resource.thing]
      \(path)
      pages = { \(pages) }
      \(since.isEmpty ? "" : "since = { \(since) }")
      columns = { id = "/id" }
      """
    try await withReach(toml) { reach in
      try await reach.expectRefused(why)
    }
  }
}
