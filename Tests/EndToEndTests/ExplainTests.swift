import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import Testing

/// `rosterctl explain` of real failures, through the real programs: with a daemon, and as `rosterd sync` leaves it.
@Suite(.serialized, .timeLimit(.minutes(3))) struct ExplainTests {
  struct Told: Decodable {
    var state: DaemonStatus.State
    var what: String
    var since: String?
    var readers: String
    var concerned: [AffectedItem]
    var todo: String
    var nextAt: String?

    enum CodingKeys: String, CodingKey {
      case state, what, since, readers, concerned, todo
      case nextAt = "next_at"
    }
  }

  /// One failure and its explanation.
  struct Case: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var exit: Int32 = 65
    var tokens = Scenario.Tokens()
    var settings: [String: String] = [:]
    var rules: [Rule] = []
    /// The change in upstream after the first sync.
    var edit: @Sendable (inout [Character]) -> Void = { _ in }
    /// A part of the explanation's first text.
    var what: String
    /// A part of the advice.
    var todo: String
    /// The expected items, by kind and by the end of their names.
    var concerned: [(AffectedItem.Kind, String)]
  }

  private static let page2: (AffectedItem.Kind, String) = (.page, "/character?page=2")
  private static let character: (AffectedItem.Kind, String) = (.resource, "character")

  private static func answer(
    _ name: String, fault: Fault, exit: Int32 = 65, what: String, todo: String
  ) -> Case {
    Case(testDescription: name, exit: exit, rules: [.on(.page(2), fault)], what: what, todo: todo, concerned: [page2])
  }

  private static let answers: [Case] = [
    answer(
      "a page of HTML", fault: .html(), what: "not what the definition of character describes", todo: "curl 'http"),
    answer(
      "half of a page", fault: .answer(status: 200, body: #"{"info":{"#), what: "the definition of character",
      todo: "[resource.character]"
    ),
    answer(
      "without its total", fault: .answer(status: 200, body: #"{"info":{"pages":3},"results":[]}"#),
      what: "/info/count (count) is absent", todo: "remove count or last"),
    answer("500", fault: .status(500), exit: 69, what: "answered 500", todo: "Ask who runs upstream"),
    answer("503", fault: .status(503), exit: 69, what: "a fault of upstream's own", todo: "curl -i 'http"),
    answer("400", fault: .status(400), what: "refuses this form of the request", todo: "query"),
    answer("403", fault: .status(403), what: "does not allow this", todo: "[auth.expired]"),
    answer("410", fault: .status(410), what: "Nothing is at that address", todo: "upstream.base_url"),
    answer(
      "406", fault: .status(406), what: "the header Accept of the request", todo: "Set Accept in upstream.headers"),
    answer("418", fault: .status(418), what: "answered 418", todo: "curl -i"),
    answer("dropped", fault: .drop, exit: 69, what: "Nothing has come from upstream", todo: "curl -i"),
    answer(
      "cut off", fault: .cut(after: .half, .close), exit: 69, what: "end before they are complete",
      todo: "sync.concurrency"),
    answer(
      "elsewhere", fault: .redirect(to: "http://elsewhere.example/"), what: "does not follow there",
      todo: "Set upstream.base_url to where the API"),
    answer(
      "too large", fault: .answer(status: 200, body: String(repeating: " ", count: 9 << 20)),
      what: "reads no answer larger",
      todo: "size of"),
  ]

  private static let others: [Case] = [
    Case(
      testDescription: "a rate limit", exit: 69, rules: [.on(.page(2), .status(429, retryAfter: "3600"))],
      what: "takes no more requests", todo: "limit.budget", concerned: [page2, (.header, "Retry-After")]),
    Case(
      testDescription: "401 without a flow", exit: 77, rules: [.on(.page(1), .status(401))],
      what: "no credential to identify itself", todo: "Set auth.flow to what upstream takes. Put the credential",
      concerned: [(.setting, "auth.flow"), (.page, "/character?page=1")]),
    Case(
      testDescription: "a budget", exit: 69, settings: ["ROSTERD_LIMIT_BUDGET": "2/1h"],
      what: "limit.budget (2/1h) is used up", todo: "raise limit.budget", concerned: []),
    Case(
      testDescription: "the removal guard", edit: { $0.removeAll { $0.id <= 30 } },
      what: "until an operator confirms it", todo: "rosterctl sync --allow-removal",
      concerned: [character, (.setting, "max_removal"), (.record, "1"), (.record, "10")]),
    Case(
      testDescription: "pages that do not fit together", rules: [.on(.anyPage, .info(count: 61, pages: 3))],
      what: "counted twice", todo: "sorts", concerned: [character]),
    Case(
      testDescription: "a parameter that upstream ignores",
      rules: [.on(.anyPage, .answer(status: 200, body: #"{"info":{"count":60,"pages":3},"results":[{"id":1}]}"#))],
      what: "upstream ignores the parameter page", todo: "set style = \"one\"", concerned: [character]),
    Case(
      testDescription: "rejects", exit: 0, rules: [.on(.page(2), .records([4: #"{"id":25,"name":7}"#]))],
      what: "has gone well, but: 1 record could not be stored", todo: "rosterctl rejects", concerned: [(.record, "25")]),
    Case(
      testDescription: "missing records that cannot be asked for", exit: 0, rules: [.on(.byID, .status(500))],
      edit: { $0.removeAll { $0.id == 5 } }, what: "not all missing records of character could be asked for",
      todo: "by_key", concerned: [character, (.address, "/character/5"), (.record, "5")]),
    Case(
      testDescription: "a refresh token refused", exit: 77, tokens: .init(flow: .authenticateForm, uses: [3]),
      rules: [.on(.token(1), .refusal(401))], what: "before a credential file changes", todo: "Put a valid ",
      concerned: [(.file, "/refresh_token"), (.address, "/token")]),
    Case(
      testDescription: "no JSON for a token", exit: 77, tokens: .init(flow: .authenticateForm, uses: [3]),
      rules: [.on(.token(1), .html())], what: "Something else than the token endpoint", todo: "/token'",
      concerned: [(.address, "/token")]),
    Case(
      testDescription: "404 for a token", exit: 77, tokens: .init(flow: .authenticateForm, uses: [3]),
      rules: [.on(.token(1), .status(404))], what: "neither grants nor refuses", todo: "auth.token_url",
      concerned: [(.address, "/token")]),
    Case(
      testDescription: "503 for each token", exit: 69, tokens: .init(flow: .authenticateForm, uses: [3]),
      rules: [.on(.anyToken, .status(503))], what: "No page is asked for without a token",
      todo: "whether the token endpoint is up",
      concerned: [(.address, "/token")]),
    Case(
      testDescription: "a fresh token refused", exit: 77, tokens: .init(flow: .authenticateForm, uses: [3]),
      rules: [.on(.page(1), .status(401))], what: "do not agree on who may read", todo: "auth.scope",
      concerned: [(.setting, "auth.scope")]),
    Case(
      testDescription: "a static token refused", exit: 77, tokens: .init(flow: .static, uses: [3]),
      what: "Without a good one", todo: "Put a valid ", concerned: [(.file, "/access_token")]),
  ]

  @Test(
    "Each failure of the fault matrix is explained with what is concerned and a next step", arguments: answers + others)
  func matrix(trouble: Case) async throws {
    try await withSite(.pages(3, tokens: trouble.tokens), settings: ["ROSTERD_RETRY_MAX_RETRIES": "1"]) { site in
      _ = try await site.sync()
      site.upstream.update(trouble.edit)
      site.upstream.update { $0 = $0.map { $0.marked(2) } }
      site.upstream.configure { $0.rules = trouble.rules }
      let sync = try await site.sync(exit: trouble.exit, with: trouble.settings)
      let told = try await alone(site)
      #expect(told.state == (trouble.exit == 77 ? .unauthorized : .degraded))
      #expect(told.what.contains(trouble.what), "\(told.what)")
      #expect(told.todo.contains(trouble.todo), "\(told.todo)")
      for (kind, name) in trouble.concerned {
        #expect(told.concerned.contains { $0.kind == kind && $0.name.hasSuffix(name) }, "\(name): \(told.concerned)")
      }
      #expect(told.since == sync.finishedAt && told.nextAt == nil)
      #expect(told.readers.contains("sync \(trouble.exit == 0 ? sync.id : 1), whole: "), "\(told.readers)")
    }
  }

  @Test("No answer, and a name that does not resolve, are 69 and name the address to look at")
  func outOfReach() async throws {
    try await withSite(.pages(1), settings: ["ROSTERD_RETRY_MAX_RETRIES": "0"]) { site in
      await site.upstream.stop()
      _ = try await site.sync(exit: 69)
      let told = try await alone(site)
      #expect(told.what.contains("Nothing has come from upstream") && told.concerned.contains { $0.kind == .page })
      #expect(told.readers == "There is no snapshot yet: the tables are empty.")
      _ = try await site.sync(exit: 69, with: ["ROSTERD_UPSTREAM_BASE_URL": "http://nowhere.invalid/api"])
      let next = try await alone(site)
      #expect(next.what.contains("does not know that host") && next.todo.contains("getent hosts nowhere.invalid"))
      // Several symptoms of one outage count as one.
      #expect(next.since == told.since)
    }
  }

  @Test("A full disk and a held lock are explained with the file and the command that shows it")
  func files() async throws {
    try await withFaults(.pages(3)) { site, faults in
      _ = try await site.sync()
      try await site.withDaemon { _, _ in
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        site.next(2)
        try faults.fail(.write, with: ENOSPC, on: "state/roster.db", "state/roster.db-wal")
        _ = try await site.ask(exit: 73)
        let told = try await explained(site)
        faults.end()
        #expect(told.state == .degraded && told.what.contains("the disk is full. Readers see complete data"))
        #expect(told.concerned == [.file(site.cache)] && told.todo.contains("df -h \(site.cache)"))
        #expect(told.since != nil && told.nextAt != nil)
        _ = try await site.ask()
        #expect(try await explained(site).since == nil)
      }
    }
  }

  @Test("since is the end of the first sync in a row with that failure, over processes and cancelled syncs")
  func since() async throws {
    try await withSite(.pages(3), settings: ["ROSTERD_RETRY_MAX_RETRIES": "0"]) { site in
      func fail(_ fault: Fault, exit: Int32) async throws -> SyncRecord {
        site.upstream.configure { $0.rules = [.on(.page(1), fault)] }
        return try await site.sync(exit: exit)
      }
      _ = try await site.sync()
      #expect(try await alone(site).since == nil)
      let first = try await fail(.status(500), exit: 69)
      site.upstream.configure { $0.rules = [] }
      site.upstream.hold(.page(1))
      let cancelled = try site.start("sync")
      try await site.upstream.waitFor { $0.held == 1 }
      #expect(try await cancelled.end(by: SIGTERM).exit == 1)
      site.upstream.release()
      #expect(try await alone(site).what.contains("Sync 3 was cancelled"))
      _ = try await fail(.drop, exit: 69)
      #expect(try await alone(site).since == first.finishedAt)
      try await site.withDaemon { daemon, _ in
        try await site.upstream.waitFor { $0.pageRequests.count > 6 }
        _ = try await site.ask(exit: 69)
        #expect(try await explained(site).since == first.finishedAt)
      }
      let other = try await fail(.status(404), exit: 65)
      #expect(try await alone(site).since == other.finishedAt)
      let html = try await fail(.html(), exit: 65)
      #expect(try await alone(site).since == html.finishedAt)
      #expect(try site.mode("roster.db.trouble") == 0o600)

      // The row alone must suffice for users who may not read that file: one exit code means one kind of trouble.
      unlink("\(site.cache).trouble")
      let told = try await alone(site)
      #expect(told.since == other.finishedAt && told.what.contains("sync") && told.todo.contains("curl"))

      site.upstream.configure { $0.rules = [] }
      _ = try await site.sync()
      let well = try await alone(site)
      #expect(well.state == .idle && well.since == nil && well.todo.contains("systemctl start rosterd"))
      #expect(try !site.names().contains("roster.db.trouble"))
    }
  }

  @Test("explain of the daemon's socket is the same; a refused reload is reported with its file and line")
  func daemon() async throws {
    try await withDaemon(.pages(3), file: "[sync]\ninterval = \"1h\"\n") { site, daemon, notify in
      #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
      let well = try await explained(site)
      #expect(well.state == .idle && well.what.hasPrefix("All is well: sync 1 published"))
      #expect(well.todo == "Nothing." && well.since == nil && well.concerned.isEmpty && well.nextAt != nil)
      let page = try await site.curl("/v1/explain")
      let command = try await site.rosterctl("explain", "--json")
      #expect(page.status == "200" && page.body == command.output)

      try await site.reload("[sync]\ninterval = 15\n", daemon: daemon, notify: notify)
      let refused = try await explained(site)
      #expect(
        refused.what.contains("rosterd.toml:2") && refused.what.contains("goes on with the configuration that it had")
      )
      #expect(refused.concerned == [.file("\(site.folder)/rosterd.toml")])
      #expect(refused.todo.contains("systemctl reload rosterd"))
    }
  }

  @Test("Without a daemon and a cache explain is 3 and names both on stderr")
  func nothing() async throws {
    try await withSite { site in
      let outcome = try await site.rosterctl("explain", "--cache", site.cache)
      #expect(outcome.exit == 3 && outcome.output.isEmpty)
      #expect(outcome.error.contains("there is no cache yet") && outcome.error.contains("no daemon answers"))
    }
  }

  @Test("explain for people has lines of the terminal's width, and colour on a terminal only")
  func text() async throws {
    try await withSite(.pages(3, rules: [.on(.page(2), .status(404))])) { site in
      _ = try await site.sync(exit: 65)
      for width in [80, 120] {
        let outcome = try await Program.run(
          try Program.built("rosterctl"), arguments: ["explain", "--cache", site.cache],
          environment: ["ROSTERD_STATUS_SOCKET": site.socket, "COLUMNS": "\(width)"])
        #expect(outcome.exit == 3 && outcome.error.isEmpty)
        let lines = outcome.output.split(separator: "\n")
        #expect(lines[0].hasPrefix("▲ degraded since ") && lines[0].hasSuffix(" ago), cache \(site.cache)"))
        // An address is not broken, so that it can be copied.
        #expect(lines.allSatisfy { $0.count <= width || $0.contains("http://") || $0.contains(site.folder) })
        #expect(!outcome.output.contains("\u{1b}"))
        for row in ["what  ", "readers  ", "concerned  ", "to do  "] {
          #expect(lines.count { $0.contains("  \(row)") || $0.hasPrefix(row) } == 1, "\(row): \(outcome.output)")
        }
      }
    }
  }

  // MARK: Asking

  private func explained(_ site: Site) async throws -> Told {
    let outcome = try await site.rosterctl("explain", "--json")
    #expect(outcome.exit == 0 && outcome.error.isEmpty, "\(outcome.error)")
    return try JSONDecoder().decode(Told.self, from: Data(outcome.output.utf8))
  }

  /// The explanation without a daemon.
  private func alone(_ site: Site) async throws -> Told {
    let outcome = try await site.rosterctl("explain", "--json", "--cache", site.cache)
    #expect(outcome.exit == 3 && outcome.error.isEmpty, "\(outcome.error)")
    return try JSONDecoder().decode(Told.self, from: Data(outcome.output.utf8))
  }
}
