import FoundationEssentials
import Glibc
import RosterCore
import RosterDecode
import RosterSimulator
import Testing

/// A way to ask an API, with an API that wants to be asked so.
private struct Mechanism: Sendable, CustomTestStringConvertible {
  typealias Answer = @Sendable (Call, TimedThings) throws -> Response

  var testDescription: String
  var toml: String
  /// Rows as "ID NAME", in the order of the ids.
  var rows = "SELECT id || ' ' || name FROM thing ORDER BY id"
  /// The things that have a row.
  var shows: @Sendable (Int) -> Bool = { _ in true }
  /// True if a record that is gone is removed by the next sync.
  var removes = false
  var answer: Answer

  init(_ name: String, _ toml: String, answer: @escaping Answer) {
    (testDescription, self.toml, self.answer) = (name, toml, answer)
  }

  func with(rows: String, shows: @escaping @Sendable (Int) -> Bool = { _ in true }) -> Self {
    var copy = self
    (copy.rows, copy.shows) = (rows, shows)
    return copy
  }

  static let credentials = ["client_id": "acc0unt", "client_secret": "appk3y"]

  private static let columns = """
    [resource.thing.columns]
    id = { at = "/id", type = "integer" }
    name = "/name"
    """

  private static func thing(_ keys: String, pages: String = #"style = "number", size = 2, short = true"#) -> String {
    "[resource.thing]\n\(keys)\npages = { \(pages) }\n\(columns)\n"
  }

  private static func record(_ thing: (id: Int, name: String, at: Int), _ more: (String, JSONValue)...) -> JSONValue {
    .object(
      ([("id", .number("\(thing.id)")), ("name", .text(thing.name)), ("at", .number("\(thing.at)"))] + more).map {
        .init($0.0, $0.1)
      })
  }

  /// The records of a page, by its number.
  private static func page(_ things: [(id: Int, name: String, at: Int)], _ number: String?) -> [JSONValue] {
    things.page(((number.flatMap { Int($0) } ?? 1) - 1) * 2, size: 2).map { record($0) }
  }

  private static func check(_ isRight: Bool, _ why: String) throws {
    guard isRight else { throw Refusal(status: 400, why: why) }
  }

  static let all: [Mechanism] = [
    .init(
      "headers and base_url of a resource", thing(#"path = "/v9"\#nbase_url = "SECOND"\#nheaders = { X-Kind = "t" }"#)
    ) {
      try check($0["X-Kind"] == "t", "header")
      return .list(page($1.things(since: nil), $0.parameter("page")))
    },
    .init(
      "several secrets",
      "[auth]\nflow = \"static\"\nsend = [\"X-Account: {client_id}\", \"?app_key={client_secret}\"]\n"
        + thing(#"path = "/things""#)
    ) {
      try check($0["X-Account"] == credentials["client_id"] && $0.parameter("app_key") == "appk3y", "secrets")
      return .list(page($1.things(since: nil), $0.parameter("page")))
    },
    .init(
      "a list in query, and raw values",
      thing(#"path = "/things"\#nquery = { a = ["x y", 2], f = "(b,c)" }\#nraw = ["f"]"#)
    ) {
      try check($0.parameter("a") == "x y" && $0.parameter("f") == "(b,c)", "query")
      return .list(page($1.things(since: nil), $0.parameter("page")))
    },
    .init(
      "a form",
      thing(
        #"path = "/things"\#nmethod = "POST"\#nformat = "form"\#nbody = { n = 5 }"#,
        pages: #"style = "number", param = "/page", size = 2, short = true"#)
    ) { call, things in
      let fields = call.text.split(separator: "&").map(String.init)
      try check(fields.contains("n=5"), "form")
      return .list(page(things.things(since: nil), fields.first { $0.hasPrefix("page=") }?.dropFirst(5).description))
    },
    .init("pages in the path", thing(#"path = "/t/{page}/list""#)) {
      .list(page($1.things(since: nil), $0.path.split(separator: "/").dropFirst().first.map(String.init)))
    },
    .init(
      "a place by condition",
      thing(
        #"path = "/things"\#nrecords = "/items""#,
        pages: #"style = "next", at = { list = "/links", where = { "/rel" = "next" }, value = "/href" }"#)
    ) { call, things in
      let number = try call.integer("page", or: 1, in: 1...9)
      let all = things.things(since: nil)
      let next = JSONValue.record(("rel", .text("next")), ("href", .text("\(call.origin)/things?page=\(number + 1)")))
      let links = [JSONValue.record(("rel", .text("self")))] + (all.count > number * 2 ? [next] : [])
      return .json(("items", .list(page(all, "\(number)"))), ("links", .list(links)))
    },
    .init(
      "a key of four places",
      """
      [resource.thing]
      path = "/things"
      key = ["/half", "/id", "/kind", "/name"]
      removal = "never"
      pages = { style = "number", size = 2, short = true }
      columns = { half = "/half", id = { at = "/id", type = "integer" }, kind = "/kind", name = "/name" }
      """
    ) { call, things in
      // The name is a part of the key, so that it stays.
      .list(
        things.things(since: nil).page((try call.integer("page", or: 1, in: 1...9) - 1) * 2, size: 2).map {
          record((id: $0.id, name: "n", at: 0), ("half", .text("\($0.id / 2)")), ("kind", .text($0.name)))
        })
    }.with(rows: "SELECT id || ' ' || max(kind) FROM thing GROUP BY id ORDER BY id"),
    since(#"at = "/at", form = "compact", param = "from", overlap = "1d""#) { call, things in
      let day = call.parameter("from") ?? ""
      return .list(
        things.things(since: nil).filter { compact($0.at) >= day }
          .page((try call.integer("page", or: 1, in: 1...9) - 1) * 2, size: 2).map { thing in
            .record(("id", .number("\(thing.id)")), ("name", .text(thing.name)), ("at", .text(compact(thing.at))))
          })
    },
    since(#"at = "/at", form = "http", param = "header:If-Modified-Since", overlap = "1s""#) { call, things in
      let start = call["If-Modified-Since"].flatMap(Date.init(httpDate:))
      return .list(
        things.things(since: start).page((try call.integer("page", or: 1, in: 1...9) - 1) * 2, size: 2).map { thing in
          .record(
            ("id", .number("\(thing.id)")), ("name", .text(thing.name)),
            ("at", .text(Date(timeIntervalSince1970: Double(thing.at)).httpDate)))
        })
    },
    since(#"at = "header:Date", param = "header:If-Modified-Since", overlap = "1s""#) { call, things in
      .list(
        page(things.things(since: call["If-Modified-Since"].flatMap(Date.init(httpDate:))), call.parameter("page")),
        headers: [things.dateHeader])
    },
    since(
      #"at = "/at", form = "unix", overlap = "1s", pages = { style = "number", param = "q", value = "{page} > {since}", size = 2, short = true }"#,
      pages: #"style = "number", param = "q", value = "{page}", size = 2, short = true"#
    ) { call, things in
      let words = (call.parameter("q") ?? "").split(separator: " ").map(String.init)
      let start = words.count == 3 ? Double(words[2]).map { Date(timeIntervalSince1970: $0) } : nil
      return .list(page(things.things(since: start), words.first))
    },
    {
      var mechanism = Mechanism(
        "by_key by POST",
        thing(
          #"path = "/things"\#nby_key = { path = "/find", method = "POST", body = { ids = "{keys}" } }\#nmax_removal = 100"#
        )
      ) { call, things in
        let all = things.things(since: nil)
        guard call.path == "/find" else { return .list(page(all, call.parameter("page"))) }
        guard case .list(let ids)? = call.body["ids"] else { throw Refusal(status: 400, why: "ids") }
        let asked = Set(ids.compactMap { Int($0.queryText) })
        return .list(all.filter { asked.contains($0.id) }.map { record($0) })
      }
      mechanism.removes = true
      return mechanism
    }(),
    .init(
      "empty with alternatives",
      thing(#"path = "/things""#)
        + child(#"path = "/things/{thing.id}/lines""#, each: #", empty = [{ id = 1 }, { id = 3, name = "a" }]"#)
    ) { call, things in
      guard call.path != "/things" else { return .list(page(things.things(since: nil), call.parameter("page"))) }
      let id = Int(call.path.split(separator: "/")[1])
      return .list(things.things(since: nil).filter { $0.id == id }.map { record($0) })
    }.with(rows: ofChild) { $0 != 1 && $0 != 3 },
    .init(
      "empty lists that are absent, null or 204",
      thing(#"path = "/things""#)
        + child("path = \"/things/{thing.id}/lines\"\nrecords = \"/list\"\nno_records = [\"absent\", \"null\", 204]")
    ) { call, things in
      guard call.path != "/things" else { return .list(page(things.things(since: nil), call.parameter("page"))) }
      let id = Int(call.path.split(separator: "/")[1]) ?? 0
      switch id % 4 {
      case 1: return .json(("list", .null))
      case 2: return .json(("list", .list(things.things(since: nil).filter { $0.id == id }.map { record($0) })))
      case 3: return Response(status: 204)
      default: return .json(("other", .number("1")))
      }
    }.with(rows: ofChild) { $0 % 4 == 2 },
    .init(
      "an address with segments",
      """
      [resource.thing]
      path = "/things"
      key = "/uri"
      pages = { style = "one" }
      columns = { uri = "/uri" }

      """ + child(#"path = "{thing.uri}/lines""#)
    ) { call, things in
      let all = things.things(since: nil)
      guard call.path != "/things" else {
        return .list(all.map { .record(("uri", .text("\(call.origin)/things/\($0.id)"))) })
      }
      let id = Int(call.path.split(separator: "/")[1])
      return .list(all.filter { $0.id == id }.map { record($0) })
    }.with(rows: ofChild),
  ]

  private static let ofChild = "SELECT id || ' ' || name FROM line ORDER BY id"

  private static func child(_ keys: String, each: String = "") -> String {
    """

    [resource.line]
    \(keys)
    each = { of = "thing"\(each) }
    pages = { style = "one" }
    columns = { id = { at = "/id", type = "integer" }, name = "/name" }
    """
  }

  private static func since(
    _ since: String, pages: String = #"style = "number", size = 2, short = true"#, answer: @escaping Answer
  ) -> Mechanism {
    Mechanism(
      "since by \(since)", thing("path = \"/things\"\nremoval = \"never\"\nsince = { \(since) }", pages: pages),
      answer: answer)
  }

  private static func compact(_ time: Int) -> String {
    String(Date(timeIntervalSince1970: Double(time)).formatted(.iso8601).prefix(10)).replacing("-", with: "")
  }
}

/// A sync is killed while it keeps pages, and another one while it publishes.
@Suite(.serialized, .timeLimit(.minutes(5))) struct MechanismKillTests {
  @Test(
    "1, 2: after a kill readers have the old or the new records, and the next sync has all of them, by every mechanism",
    arguments: Mechanism.all)
  fileprivate func killed(_ mechanism: Mechanism) async throws {
    let things = TimedThings()
    for id in 1...5 { things.set(id, "a") }
    let answer: OwnAPI.Answer = { try mechanism.answer($0, things) }
    let api = OwnAPI(answer)
    var scenario = Scenario(characters: [])
    scenario.beside = { api.respond(to: $0) }
    try await withSite(scenario) { second in
      let toml = mechanism.toml.replacing("SECOND", with: second.upstream.origin)
      try await withReach(toml, answer: answer) { reach in
        try reach.writeCredentials(Mechanism.credentials)
        let faults = try DiskFaults(in: reach.site)
        var reach = reach
        reach.site.settings.merge(faults.settings) { $1 }
        try await walk(mechanism, things, reach, faults)
      }
    }
  }

  private func walk(
    _ mechanism: Mechanism, _ things: TimedThings, _ reach: ReachSite, _ faults: DiskFaults
  ) async throws {
    func expected() -> [String] {
      things.things(since: nil).filter { mechanism.shows($0.id) }.map { "\($0.id) \($0.name)" }
    }
    var last = 6
    func change(_ name: String) {
      things.set(2, name)
      things.set(last, name)
      if mechanism.removes { things.set(last - 1, nil) }
      last += 1
    }
    #expect(try await reach.sync().outcome == .published)
    #expect(try await reach.column(mechanism.rows) == expected())
    #expect(try await reach.sync().outcome == .unchanged)
    let kinds = [["", "-wal"].map { "state/roster.db.next\($0)" }, CacheTrials.FaultWalkTests.files]
    var (kills, before) = (0, expected())
    for (index, files) in kinds.enumerated() {
      change("b\(index * 2)")
      try faults.failOnce(.max, with: EIO, on: files)
      #expect(try await reach.sync().error == nil)
      let calls = faults.calls
      #expect(try await reach.column(mechanism.rows) == expected())
      before = expected()
      change("b\(index * 2 + 1)")
      try faults.failOnce(max(1, calls * 2 / 3), with: -SIGKILL, on: files)
      let outcome = try await reach.run("sync")
      faults.end()
      let isKilled = faults.failed != nil
      #expect(outcome.exit == (isKilled ? -SIGKILL : 0), "\(outcome.error)")
      if isKilled { kills += 1 }
      let found = try await reach.column(mechanism.rows)
      #expect(found == before || found == expected())
      #expect(try await reach.sync().error == nil)
      #expect(try await reach.column(mechanism.rows) == expected())
      #expect(try await reach.column("PRAGMA integrity_check") == ["ok"])
    }
    // The number of file operations depends on the threads that meet.
    #expect(kills > 0)
  }
}
