import FoundationEssentials
import RosterCore
import RosterDecode
import Synchronization
import Testing

/// A packaged definition with a server that answers as the documentation of its API says.
struct ReachSource: Sendable, CustomTestStringConvertible {
  /// `config/sources/FILE.toml`.
  var file: String
  var settings: [String: String] = [:]
  var credentials: [String: String]
  /// The answer of each edition: the first one, and a later one.
  var answer: @Sendable (Call, _ edition: Int) throws -> Response
  /// A question, with its answers after each edition.
  var question: String
  var rows: [[String]]
  /// The proof of a whole pull, as docs/RECIPES.md has it. nil if the pages of this server are smaller than those that
  /// it is asked for, which is `weak`.
  var proof: String? = "end"
  /// The start of an incremental request; nil if the definition has no `since`.
  var start: (@Sendable (Call) -> String?)?

  var testDescription: String { file }
}

@Suite(.serialized, .timeLimit(.minutes(3))) struct ReachSourceTests {
  static let all: [ReachSource] = [.linear, .census, .zoom, .analytics, .xero, .square, .harvest]

  @Test("The definition mirrors its API: whole, unchanged, interrupted and changed", arguments: all)
  func mirrors(_ source: ReachSource) async throws {
    let edition = Mutex(1)
    let answer: OwnAPI.Answer = { call in try source.answer(call, edition.withLock(\.self)) }
    let toml = try String(contentsOfFile: SourceTests.path(source.file), encoding: .utf8)
    try await withReach(toml, answer: answer) { reach in
      var reach = reach
      reach.site.settings.merge(source.settings) { $1 }
      reach.site.settings["ROSTERD_LIMIT_RATE"] = "0"
      reach.site.settings["ROSTERD_RETRY_MAX_RETRIES"] = "0"
      try reach.writeCredentials(source.credentials)
      // The first sync is interrupted at its second request for records.
      let asked = Mutex(0)
      reach.api.become { call in
        let isFirst =
          call.path.contains("token")
          || asked.withLock { asked in
            asked += 1
            return asked == 1
          }
        guard isFirst else { throw Refusal(status: 503, why: "later") }
        return try answer(call)
      }
      _ = try await reach.run("sync")
      reach.api.become(answer)
      let whole = try await reach.sync()
      #expect(whole.error == nil && whole.rejected == 0)
      #expect(try await reach.column(source.question) == source.rows[0])
      _ = reach.api.take()
      let same = try await reach.sync()
      #expect(same.outcome == .unchanged)
      if let start = source.start {
        let starts = reach.api.take().map { start(Call($0, prefix: "")) }
        #expect(!starts.isEmpty && !starts.contains(nil))
      }
      edition.withLock { $0 = 2 }
      let later = try await reach.sync()
      #expect(later.error == nil && later.rejected == 0)
      #expect(try await reach.column(source.question) == source.rows[1])
      #expect(try await reach.sync("--fresh").error == nil)
      if let proof = source.proof {
        let proofs = try await reach.column("SELECT DISTINCT proof FROM resources WHERE name <> 'window'")
        #expect(proofs == [proof])
      }
      #expect(try await reach.column(source.question) == source.rows[1])
    }
  }

  @Test("check accepts the definition, and notes only missing credentials", arguments: all.map(\.file))
  func check(_ file: String) async throws {
    let outcome = try await Program.run(
      try Program.built("rosterd"), arguments: ["check", "--config", SourceTests.path(file)])
    let isNote = outcome.error.split(separator: "\n").map { $0.hasPrefix("rosterd: note: auth.flow = ") }
    #expect(outcome.exit == 0 && !isNote.contains(false), "\(outcome.error)")
  }
}

extension ReachSource {
  private static func expect(_ call: Call, _ name: String, _ value: String) throws {
    guard call[name] == value else { throw Refusal(status: 401, why: name) }
  }

  /// The first second of today, by UTC.
  private static let today = "\(Date().formatted(.iso8601).prefix(10))T\(midnight)Z"

  private static func text(_ value: String) -> JSONValue { .text(value) }

  static let linear = ReachSource(
    file: "linear-issues", credentials: ["access_token": "lin_api_k3y"],
    answer: { call, edition in
      try expect(call, "Authorization", "lin_api_k3y")
      let variables = call.body["variables"]
      guard variables?["first"] == .number("100") else { throw Refusal(status: 400, why: "first") }
      let isLater = variables?["after"]?.text == "c1"
      let all = [("1", "a", 1), ("2", edition == 1 ? "b" : "B", edition == 1 ? 2 : 9), ("3", "c", 3)]
      let since = variables?["since"]?.text
      let found = since == nil ? (isLater ? Array(all.dropFirst(2)) : Array(all.prefix(2))) : all
      let nodes = found.map { id, title, day in
        JSONValue.record(
          ("id", text(id)), ("title", text(title)), ("updatedAt", text("2026-01-0\(day)T\(midnight).000Z")),
          ("labels", .record(("nodes", .list([.record(("id", text("l")), ("name", text("bug")))])))))
      }
      let goesOn = since == nil && !isLater
      let info = JSONValue.record(("hasNextPage", .boolean(goesOn)), ("endCursor", goesOn ? text("c1") : .null))
      return .json(("data", .record(("issues", .record(("nodes", .list(nodes)), ("pageInfo", info))))))
    },
    question: "SELECT i.id || title || name FROM issues i JOIN issue_labels l ON l.issue_id = i.record_id ORDER BY 1",
    rows: [["1abug", "2bbug", "3cbug"], ["1abug", "2Bbug", "3cbug"]],
    proof: nil, start: { $0.body["variables"]?["since"]?.text })

  static let census = ReachSource(
    file: "us-census-counties", credentials: ["access_token": "c3nsus-key"],
    answer: { call, edition in
      guard call.parameter("key") == "c3nsus-key", call.parameter("for") == "county:*" else {
        throw Refusal(status: 400, why: "key")
      }
      let rows = [
        ["NAME", "B01001_001E", "state", "county"], ["Autauga", edition == 1 ? "55380" : "56000", "01", "001"],
        ["Baldwin", "212830", "01", "003"], ["Apache", "71522", "04", "001"],
      ]
      return .json(.list(rows.map { .list($0.map(JSONValue.text)) }))
    },
    question: "SELECT state || county || name || population FROM counties ORDER BY 1",
    rows: ["55380", "56000"].map { ["01001Autauga\($0)", "01003Baldwin212830", "04001Apache71522"] })

  static let zoom = ReachSource(
    file: "zoom-meetings", settings: ["ROSTERD_AUTH_LOGIN_URL": "/oauth/token"],
    credentials: ["username": "z0om-id", "password": "z0om-secret"],
    answer: { call, edition in
      if call.path == "/oauth/token" {
        try expect(call, "Authorization", "Basic " + Data("z0om-id:z0om-secret".utf8).base64EncodedString())
        guard call.text.contains("grant_type=account_credentials") else { throw Refusal(status: 400, why: "grant") }
        return .json(("access_token", text("z0om-token-1")), ("expires_in", .number("3600")))
      }
      try expect(call, "Authorization", "Bearer z0om-token-1")
      switch call.path {
      case "/users":
        let isLater = call.parameter("next_page_token") == "t"
        return .json(
          ("next_page_token", text(isLater ? "" : "t")),
          ("users", .list([.record(("id", text(isLater ? "u2" : "u1")), ("email", text("e")))])))
      case "/users/u1/meetings", "/users/u2/meetings":
        let ids = call.path.contains("u1") ? [11] : edition == 1 ? [] : [21]
        let meetings = ids.map { JSONValue.record(("id", .number("\($0)")), ("topic", text("t\($0)"))) }
        return .json(("next_page_token", text("")), ("meetings", .list(meetings)))
      case "/meetings/11", "/meetings/21": return .json(("agenda", text("agenda")))
      default: throw Refusal(status: 404, why: call.path)
      }
    },
    question:
      "SELECT m.id || topic || agenda FROM meetings m JOIN meeting_detail d ON d.meeting_id = m.record_id ORDER BY 1",
    rows: [["11t11agenda"], ["11t11agenda", "21t21agenda"]], proof: nil)

  static let analytics = ReachSource(
    file: "google-analytics-pages", settings: ["ROSTERD_AUTH_FLOW": "static"],
    credentials: ["access_token": "g0ogle-token"],
    answer: { call, edition in
      try expect(call, "Authorization", "Bearer g0ogle-token")
      guard call.path == "/properties/123:runReport", case .list(let ranges)? = call.body["dateRanges"],
        let from = ranges.first?["startDate"]?.text, let to = ranges.first?["endDate"]?.text
      else { throw Refusal(status: 400, why: "dateRanges") }
      // Reports of two days: the first one belongs to two windows.
      let recent = call.body["offset"] == .number("0")
      let days = [("2025-02-03", "5"), ("2025-02-04", "7")].filter { from <= $0.0 && $0.0 <= to }
      let rows = (recent ? days : []).map { day, views in
        JSONValue.record(
          ("dimensionValues", .list([day, "h", "/p"].map { .record(("value", text($0))) })),
          ("metricValues", .list([.record(("value", text(views)))])))
      }
      if rows.isEmpty { return .json(("rowCount", .number("0")), ("kind", text("report"))) }
      return .json(("rows", .list(rows)), ("rowCount", .number("\(rows.count)")))
    },
    question: """
      SELECT date || views || from_day FROM page_days p JOIN window w ON w.record_id = p.window_id ORDER BY 1
      """,
    rows: [["2025-02-0352025-02-03", "2025-02-0472025-02-03"], ["2025-02-0352025-02-03", "2025-02-0472025-02-03"]],
    proof: "count")

  static let xero = ReachSource(
    file: "xero-contacts", settings: ["ROSTERD_AUTH_FLOW": "static", "ROSTERD_AUTH_TOKEN_URL": ""],
    credentials: ["access_token": "xer0-token"],
    answer: { call, edition in
      try expect(call, "Authorization", "Bearer xer0-token")
      let all = [
        ("a", "Ann", 1_795_000_000), ("b", edition == 1 ? "Bob" : "Bert", edition == 1 ? 1_795_000_100 : 1_795_900_000),
      ]
      let start = call["If-Modified-Since"].flatMap(Date.init(httpDate:))
      if call["If-Modified-Since"] != nil, start == nil { throw Refusal(status: 400, why: "the date") }
      let found = all.filter { contact in start.map { Double(contact.2) >= $0.timeIntervalSince1970 } ?? true }
      let date = Request.Header("Date", Date(timeIntervalSince1970: 1_795_950_000).httpDate)
      if found.isEmpty { return Response(status: 304, headers: [date]) }
      let contacts = found.map { id, name, at in
        JSONValue.record(
          ("ContactID", text(id)), ("Name", text(name)), ("UpdatedDateUTC", text("/Date(\(at)000+0000)/")))
      }
      let isFirst = call.parameter("page") == "1"
      return .json(.record(("Contacts", .list(isFirst ? contacts : []))), headers: [date])
    },
    question: "SELECT id || name FROM contacts ORDER BY 1", rows: [["aAnn", "bBob"], ["aAnn", "bBert"]],
    proof: "weak", start: { $0["If-Modified-Since"] })

  static let square = ReachSource(
    file: "square-payments", credentials: ["access_token": "squ4re-token"],
    answer: { call, edition in
      try expect(call, "Authorization", "Bearer squ4re-token")
      guard let from = call.parameter("begin_time"), let to = call.parameter("end_time"), from < to else {
        throw Refusal(status: 400, why: "times")
      }
      let all = [
        ("p1", "2025-01-15T\(midnight)Z", "5"), ("p2", "2025-02-01T\(midnight)Z", "6"),
        ("p3", today, edition == 1 ? "7" : "8"),
      ]
      let found = all.filter { from <= $0.1 && $0.1 <= to }
      if found.isEmpty { return .json(.record()) }
      let payments = found.map { id, at, amount in
        JSONValue.record(
          ("id", text(id)), ("created_at", text(at)), ("amount_money", .record(("amount", .number(amount)))))
      }
      return .json(("payments", .list(payments)))
    },
    question: "SELECT id || amount FROM payments ORDER BY 1", rows: [["p15", "p26", "p37"], ["p15", "p26", "p38"]])

  static let harvest = ReachSource(
    file: "harvest-time-entries", credentials: ["access_token": "h4rvest-token", "client_id": "12345678"],
    answer: { call, edition in
      try expect(call, "Authorization", "Bearer h4rvest-token")
      try expect(call, "Harvest-Account-Id", "12345678")
      let all = [("1", "1.5", 1), ("2", edition == 1 ? "2.0" : "3.5", edition == 1 ? 2 : 8)]
      let start = call.parameter("updated_since") ?? ""
      let found = all.filter { "2026-01-0\($0.2)T\(midnight)Z" >= start }
      let entries = found.map { id, hours, day in
        JSONValue.record(
          ("id", .number(id)), ("hours", .number(hours)), ("updated_at", text("2026-01-0\(day)T\(midnight)Z")))
      }
      return .json(
        ("time_entries", .list(entries)), ("total_pages", .number("1")), ("total_entries", .number("\(entries.count)")))
    },
    question: "SELECT id || ' ' || hours FROM time_entries ORDER BY 1",
    rows: [["1 1.5", "2 2.0"], ["1 1.5", "2 3.5"]], proof: "count", start: { $0.parameter("updated_since") })
}
