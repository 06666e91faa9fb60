import FoundationEssentials
import RosterCore
import RosterDecode
import Synchronization
import Testing

/// Records with times, and the clock of their server.
final class TimedThings: Sendable {
  struct State {
    /// Seconds since 1970.
    var now = 1_795_424_400
    /// Names and times of change, by id.
    var things: [Int: (name: String, at: Int)] = [:]
  }

  let state = Mutex(State())

  func set(_ id: Int, _ name: String?) {
    state.withLock { state in
      state.now += 3600
      state.things[id] = name.map { ($0, state.now) }
    }
  }

  var dateHeader: Request.Header {
    Request.Header("Date", Date(timeIntervalSince1970: Double(state.withLock(\.now))).httpDate)
  }

  /// The changed things in the order of their ids.
  func things(since start: Date?) -> [(id: Int, name: String, at: Int)] {
    state.withLock { state in
      state.things.filter { thing in start.map { Double(thing.value.at) >= $0.timeIntervalSince1970 } ?? true }
        .sorted { $0.key < $1.key }.map { ($0.key, $0.value.name, $0.value.at) }
    }
  }
}

/// `since.param = "header:…"`: Xero and others ask by If-Modified-Since.
@Suite(.serialized, .timeLimit(.minutes(2))) struct StartInHeaderTests {
  private static func toml(since: String, more: String = "") -> String {
    """
    [retry]
    max_retries = 0
    [resource.thing]
    path = "/things"
    removal = "twice"
    since = { \(since) }
    \(more)
    [resource.thing.pages]
    style = "number"
    size = 2
    size_param = "size"
    short = true
    [resource.thing.columns]
    id = { at = "/id", type = "integer" }
    name = "/name"
    """
  }

  /// The request may have no validator beside a start. Nothing newer is 304.
  private static func answer(_ things: TimedThings, hasTimes: Bool) -> OwnAPI.Answer {
    { call in
      let start = call["If-Modified-Since"].flatMap(Date.init(httpDate:))
      if call["If-Modified-Since"] != nil {
        guard start != nil, call["If-None-Match"] == nil else { throw Refusal(status: 400, why: "no single start") }
      }
      let found = things.things(since: start)
      let size = try call.integer("size", or: 100, in: 1...100)
      let page = found.page((try call.integer("page", or: 1, in: 1...100) - 1) * size, size: size)
      let headers = [things.dateHeader, Request.Header("ETag", "\"\(found.count)-\(found.map(\.at).max() ?? 0)\"")]
      if start != nil, found.isEmpty { return Response(status: 304, headers: headers) }
      return .list(
        page.map { thing in
          let time = [("at", JSONValue.text("/Date(\(thing.at)000+0000)/"))]
          return .object(
            ([("id", .number("\(thing.id)")), ("name", .text(thing.name))] + (hasTimes ? time : [])).map {
              .init($0.0, $0.1)
            })
        }, headers: headers)
    }
  }

  @Test(
    "21, 52: whole, unchanged (304), changed, removed and interrupted, by a time of records or by Date",
    arguments: [
      #"at = "/at", form = "dotnet", param = "header:If-Modified-Since", overlap = "1s""#,
      #"at = "header:Date", param = "header:If-Modified-Since", overlap = "1s""#,
    ])
  func mirrors(_ since: String) async throws {
    let things = TimedThings()
    for id in 1...5 { things.set(id, "a") }
    let answer = Self.answer(things, hasTimes: since.contains("/at"))
    try await withReach(Self.toml(since: since), answer: answer) { reach in
      // Interrupted: the third page of the whole pull fails, and the next sync keeps the first two.
      reach.api.become { call in
        if call.parameter("page") == "3" { throw Refusal(status: 503, why: "later") }
        return try answer(call)
      }
      _ = try await reach.sync(exit: 69)
      reach.api.become(answer)
      #expect(try await reach.sync().outcome == .published)
      func rows() async throws -> [String] { try await reach.column("SELECT id, name FROM thing ORDER BY id") }
      #expect(try await rows() == (1...5).map { "\($0) a" })

      _ = reach.api.take()
      things.state.withLock { $0.now += 3600 }
      var asked: [Request] = []
      for _ in 0..<2 {
        #expect(try await reach.sync().outcome == .unchanged)
        asked += reach.api.take()
      }
      #expect(
        !asked.isEmpty && asked.allSatisfy { Response(status: 0, headers: $0.headers)["If-Modified-Since"] != nil })

      things.set(2, "b")
      things.set(6, "new")
      let changed = try await reach.sync()
      #expect(changed.changed == 1 && changed.added == 1)
      #expect(try await rows() == ["1 a", "2 b", "3 a", "4 a", "5 a", "6 new"])
      #expect(reach.api.take().count == 2)

      // Only a whole pull finds what was removed.
      things.set(3, nil)
      #expect(try await reach.sync().removed == 0)
      _ = try await reach.sync("--fresh")
      #expect(try await reach.sync("--fresh").removed == 1)
      #expect(try await rows() == ["1 a", "2 b", "4 a", "5 a", "6 new"])
      #expect(try await reach.sync().outcome == .unchanged)
    }
  }

  @Test(
    "53: a header that the key does not know, that is rosterd's own, or with CR or LF is 78",
    arguments: [
      (#"at = "/at", param = "header:If-None-Match""#, "", "since.param", "rosterd's own"),
      (#"at = "/at", param = "header:A B""#, "", "since.param", "is no place in a request"),
      (#"at = "header:Age", param = "since""#, "", "since.at", "header:Date"),
      (#"at = "/at", param = "header:X", value = "a\r\n{since}""#, "", "since.value", "CR or LF"),
      (#"at = "/at", param = "header:X", from = "a\nb""#, "", "since.from", "CR or LF"),
      (#"at = "/at", param = "since", value = "{since}{since}""#, "", "since.value", "once"),
      (#"at = "header:Date", param = "since", form = "number""#, "", "since.form", "is no time"),
      (#"at = "/at", param = "since", form = "compact", overlap = "1h""#, "", "since.overlap", "less than a day"),
      (#"at = "/at", param = "since""#, #"headers = { Range = "x" }"#, "headers.Range", "rosterd's own"),
      (#"at = "/at", param = "since""#, #"headers = { X = "a\nb" }"#, "headers.X", "CR or LF"),
    ])
  func refused(since: String, more: String, key: String, why: String) async throws {
    try await withReach(Self.toml(since: since, more: more)) { reach in
      try await reach.expectRefused(key, why)
    }
  }

  @Test(
    "header: is refused in each key that does not know it",
    arguments: ["param = \"header:X Y\"", "size_param = \"header:X\""])
  func unknown(_ key: String) async throws {
    let toml = """
      [resource.thing]
      path = "/things"
      [resource.thing.pages]
      size = 10
      \(key)
      [resource.thing.columns]
      id = "/id"
      """
    try await withReach(toml) { reach in
      try await reach.expectRefused("is no place in a request")
    }
  }

  @Test("21: a list with times of two forms is malformed (65) and names both keys")
  func mixed() async throws {
    let toml = Self.toml(since: #"at = "/at", form = "compact", param = "since""#)
    let list: @Sendable (String) -> Response = { other in
      Response.list([
        .record(("id", .number("1")), ("at", .text("20261123"))), .record(("id", .number("2")), ("at", .text(other))),
      ])
    }
    let answer: OwnAPI.Answer = { call in call.parameter("page") == "1" ? list("2026-11-24") : .list([]) }
    try await withReach(toml, answer: answer) { reach in
      let outcome = try await reach.run("sync")
      #expect(outcome.exit == 65 && outcome.error.contains("since.form") && outcome.error.contains("since.at"))
      reach.api.become { call in call.parameter("page") == "1" ? list("20261124") : .list([]) }
      #expect(try await reach.sync().outcome == .published)
      _ = reach.api.take()
      #expect(try await reach.sync().outcome == .unchanged)
      #expect(reach.api.take().first?.url.contains("since=20261123") == true)
    }
  }
}
