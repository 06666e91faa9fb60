import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterStatusClient
import Testing

/// An upstream and a token server repeat every secret wherever they can.
@Suite(.serialized, .timeLimit(.minutes(5))) struct SecretEchoTests {
  @Test(
    "38: no output or file has a token, secret or Authorization value, whatever fails and repeats them",
    arguments: Failing.Group.allCases, [false, true])
  fileprivate func nothingShows(of group: Failing.Group, inParameter: Bool) async throws {
    let key = "configured-\(UInt64.random(in: UInt64.max / 2 ... .max))"
    let settings = [
      "ROSTERD_LOG_LEVEL": "trace", "ROSTERD_LOG_FORMAT": inParameter ? "json" : "text",
      "ROSTERD_UPSTREAM_TIMEOUT": "300ms", "ROSTERD_AUTH_TIMEOUT": "300ms",
      "ROSTERD_RETRY_MAX_RETRIES": "1", "ROSTERD_SYNC_CONCURRENCY": "2", "ROSTERD_RETRY_MAX_RETRY_AFTER": "0s",
      "ROSTERD_UPSTREAM_HEADERS": "{\"X-Api-Key\" = \"\(key)\"}",
    ]
    var tokens = Scenario.Tokens(flow: .oauth2Refresh)
    tokens.place = inParameter ? TokenPlace(.parameter, name: "api_key") : .bearer
    try await withSite(.pages(3, tokens: tokens), settings: settings) { site in
      var shown = Shown()
      shown.add("check", outcome: try await site.rosterd("check"))
      try await site.withDaemon { daemon, _ in
        let events = try Program(
          try Program.built("rosterctl"), arguments: ["events", "--json"],
          environment: ["ROSTERD_STATUS_SOCKET": site.socket])
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        for failure in group.failures { try await provoke(failure, in: site, shown: &shown) }
        for path in ["/openapi.json", "/metrics", "/readyz", "/readyz?max_age=1ms", "/v1/sync", "/nowhere"] {
          shown.add(path, text: try await site.curl(path).body)
        }
        shown.add("syncs", text: try await site.curl("/v1/syncs?limit=1000").body)
        shown.add("history", outcome: try await site.rosterctl("history", "--json"))
        shown.addFiles(of: site, "while it runs")

        site.upstream.configure { $0.rules = [] }
        site.upstream.killAccessTokens()
        site.upstream.hold(.anyToken)
        _ = try await site.rosterctl("sync", "--retry-session")
        try await site.upstream.waitFor { $0.held == 1 }
        let ended = try await daemon.end(by: SIGTERM)
        shown.add("rosterd", outcome: ended)
        let told = try await allEvents(of: events, in: site)
        for name in group.events { #expect(told.output.contains(name)) }
        #expect(ended.error.utf8.count > 1_000 * group.failures.count, "the log is at trace")
        shown.add("events", outcome: told)
      }
      shown.addFiles(of: site, "after its end")
      try search(shown, for: site, key: key, failures: group.failures.count)
    }
  }

  /// Ends `rosterctl events` when it asks for another daemon; it has printed the events of the ended one by then.
  private func allEvents(of events: Program, in site: Site) async throws -> Program.Outcome {
    let script = """
      import socket, sys
      listener = socket.socket(socket.AF_UNIX)
      listener.bind(sys.argv[1])
      listener.listen()
      listener.accept()
      """
    let asked = try await Program.run(try Program.tool("python3"), arguments: ["-c", script, site.socket])
    #expect(asked.exit == 0, "\(asked.error)")
    events.signal(SIGINT)
    return try await events.end()
  }

  /// Runs one sync with a new session that causes the failure.
  private func provoke(_ failure: Failing, in site: Site, shown: inout Shown) async throws {
    site.upstream.configure { $0.rules = [] }
    let started = site.upstream.newSession()
    try site.write(started.files)
    if failure.match == .anyToken { site.upstream.killAccessTokens() }
    let echo = Echo(started)
    site.upstream.configure { $0.rules = [.on(failure.match, failure.fault(echo))] }
    let before = site.upstream.counts
    // Every page has a change, so that no answer lacks a body.
    site.upstream.update { people in
      for index in people.indices { people[index] = people[index].marked(before.pageRequests.count + 1) }
    }
    let outcome = try await site.rosterctl("sync", "--wait", "--json", "--retry-session")
    #expect(failure.succeeds || outcome.exit != 0, "\(failure.name)")
    let after = site.upstream.counts
    #expect(after.pageRequests.count > before.pageRequests.count, "\(failure.name)")
    shown.add(failure.name, outcome: outcome)
    shown.add(
      "status after \(failure.name)",
      bytes: try await StatusClient(socket: site.socket).send("GET", target: "/v1/status").body)
    shown.add(
      "metrics after \(failure.name)",
      bytes: try await StatusClient(socket: site.socket).send("GET", target: "/metrics").body)
  }

  @Test("38: a refused configuration does not show its secrets, at start, by check or by SIGHUP")
  func configuration() async throws {
    try await withSite(.pages(1)) { site in
      let key = "configured-\(UInt64.random(in: UInt64.max / 2 ... .max))"
      let good =
        "[upstream]\nheaders = {\"X-Api-Key\" = \"\(key)\", \"Cookie\" = \"session=\(key)\", \"Authorization\" = \"Bearer \(key)\"}\n"
      let bad = [
        "base_url = \"https://user:\(key)@example/api\"", "base_url = \"https://\(key)@example/api\"",
        "base_url = \"https://example/api?key=\(key)\"", "base_url = \"https://example/api#\(key)\"",
        "base_url = \"user:\(key)@example\"", "headers = {\"X-Api-Key\" = \"\(key)\\r\\n\"}",
        "headers = {\"X-Api-Key\" = \"\(key)\"", "headers = {\"X-Api-Key\" = [\"\(key)\"]}",
        "headers = \"X-Api-Key: \(key)\"",
        "headers = {\"X-Api-Key\" = \(key)}", "headers = {\"X-Api-Key\" = \"\(key)}", "password = \"\(key)\"",
        "headers = {\"Authorization\" = \"Bearer \(key)\"}\n[auth]\nflow = \"static\"",
        "[auth]\nflow = \"oauth2_refresh\"\ntoken_url = \"https://user:\(key)@example/token\"",
        "[auth]\nsend = \"X-Key: \(key)\"", "[auth]\nsend = \"?api_key=\(key)\"", "[auth]\nsend = \"\(key)\"",
        "proxy = \"http://user:\(key)@proxy\"", "proxy = \"https://user:\(key)@proxy:1\"", "proxy = \"\(key)\"",
        "[auth]\nrefresh_token = \"\(key)\"", "\(key)", "[\(key)",
      ].map { $0.hasPrefix("[") ? $0 : "[upstream]\n\($0)" }
      let file = "\(site.folder)/rosterd.toml"
      func write(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: file)) }
      var shown = Shown()
      var site = site
      site.settings["ROSTERD_LOG_LEVEL"] = "trace"
      // The environment takes precedence over the file, so the variable is set only if the test needs it.
      var bare = site
      bare.settings["ROSTERD_UPSTREAM_BASE_URL"] = nil
      for text in bad {
        try write(text)
        for command in ["run", "check", "sync"] {
          let outcome = try await bare.rosterd(command, "--config", file)
          #expect(outcome.exit == 78, "\(text)")
          shown.add("\(command) with \(text.prefix(30))", outcome: outcome)
        }
      }
      for (name, value) in [
        ("ROSTERD_UPSTREAM_HEADERS", "{\"X-Api-Key\" = \"\(key)\""), ("ROSTERD_UPSTREAM_HEADERS", key),
        ("ROSTERD_UPSTREAM_BASE_URL", "https://user:\(key)@example"), ("HTTP_PROXY", "ftp://user:\(key)@example"),
        ("ROSTERD_UPSTREAM_PROXY", "http://user:\(key)@example"), ("ROSTERD_AUTH_SEND", key),
        ("ROSTERD_AUTH_REFRESH_TOKEN", key),
      ] {
        shown.add(name, outcome: try await site.rosterd("check", with: [name: value]))
      }
      try write(good)
      let check = try await site.rosterd("check", "--config", file)
      #expect(check.exit == 0 && check.output.contains("X-Api-Key"))
      shown.add("check", outcome: check)
      try await site.withDaemon(["run", "--config", file]) { daemon, notify in
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        for text in bad where !text.contains("base_url") {
          try write(text)
          daemon.signal(SIGHUP)
          try #require(await notify.first { $0.contains("RELOADING=1") } != nil)
          let told = try #require(await notify.first { $0.contains("READY=1") })
          shown.add("STATUS", text: told)
          shown.add("status", bytes: try await StatusClient(socket: site.socket).send("GET", target: "/v1/status").body)
          #expect(try await site.status().config.lastError != nil, "\(text)")
        }
        var events: [UInt8] = []
        var refused = 0
        try await StatusClient(socket: site.socket).follow(after: "0") { event in
          events += event.data.utf8
          if event.name == "config.refused" { refused += 1 }
          return refused < bad.count { !$0.contains("base_url") }
        }
        shown.add("events", bytes: events)
        daemon.signal(SIGTERM)
        shown.add("rosterd", outcome: try await daemon.end())
      }
      shown.addFiles(of: site, "at last")
      for (place, bytes) in shown.places {
        for needle in Needle.forms(of: String(key.dropFirst("configured-".count))) where needle.isIn(bytes) {
          Issue.record("\(place) holds the secret: …\(needle.surroundings(in: bytes))…")
        }
      }
    }
  }

  private func search(_ shown: Shown, for site: Site, key: String, failures: Int) throws {
    let made = site.upstream.secrets.map { String($0.split(separator: "-").last ?? "") }
    let client = try #require(site.upstream.credentials.clientID)
    let needles = (made + [key, client]).flatMap { Needle.forms(of: $0) }
    // This shows that each secret would be found in each form, since the echo contains all of them.
    let echo = Array(Echo(site.upstream.credentials).everything.utf8)
    let last = site.upstream.credentials.files.values.map { String($0.split(separator: "-").last ?? "") }
    for needle in last.flatMap({ Needle.forms(of: $0) }) { #expect(needle.isIn(echo), "\(needle.text)") }
    #expect(made.count > failures)
    for (place, bytes) in shown.places {
      for needle in needles where needle.isIn(bytes) {
        Issue.record("\(place) holds \(needle.text): …\(needle.surroundings(in: bytes))…")
      }
    }
  }
}

/// All texts that other users can read.
private struct Shown {
  private(set) var places: [(String, [UInt8])] = []

  mutating func add(_ place: String, bytes: [UInt8]) { places.append((place, bytes)) }

  mutating func add(_ place: String, text: String) { add(place, bytes: Array(text.utf8)) }

  mutating func add(_ place: String, outcome: Program.Outcome) {
    add("stdout of \(place)", text: outcome.output)
    add("stderr of \(place)", text: outcome.error)
  }

  /// The files of the state folder except the token store, which contains tokens and only its owner may read.
  mutating func addFiles(of site: Site, _ when: String) {
    let folder = "\(site.folder)/state"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    #expect(names.contains("roster.db") && names.contains("roster.db-wal") && names.contains("roster.db.next"))
    for name in names where !name.hasPrefix("token.json") {
      add("\(name) \(when)", bytes: Array(FileManager.default.contents(atPath: "\(folder)/\(name)") ?? Data()))
    }
  }
}

/// One form in which a secret could be shown.
private struct Needle {
  var text: String

  static func forms(of secret: String) -> [Needle] {
    let bytes = Array(secret.utf8)
    let percent = bytes.map { "%" + String($0, radix: 16) }.joined()
    return [secret, percent].map(Needle.init) + (0..<3).flatMap { base64(bytes, offset: $0) }
  }

  /// The base64 digits that depend on the secret alone, at any position in the encoded text.
  private static func base64(_ bytes: [UInt8], offset: Int) -> [Needle] {
    let digits = Array(Data([UInt8](repeating: 0, count: offset) + bytes).base64EncodedString())
    let first = (offset * 8 + 5) / 6
    let end = (offset + bytes.count) * 8 / 6
    let standard = String(digits[first..<end])
    let url = standard.replacing("+", with: "-").replacing("/", with: "_")
    return (standard == url ? [standard] : [standard, url]).map(Needle.init)
  }

  func isIn(_ bytes: [UInt8]) -> Bool { position(in: bytes) != nil }

  func surroundings(in bytes: [UInt8]) -> String {
    let start = position(in: bytes) ?? 0
    return String(decoding: bytes[max(0, start - 100)..<min(bytes.count, start + 40)], as: UTF8.self)
  }

  private func position(in bytes: [UInt8]) -> Int? {
    let needle = Array(text.utf8)
    return bytes.withUnsafeBytes { hay in
      guard let base = hay.baseAddress else { return nil }
      var start = 0
      while start + needle.count <= hay.count {
        let left = hay.count - needle.count - start + 1
        guard let found = memchr(base + start, CInt(needle[0]), left) else { return nil }
        if memcmp(found, needle, needle.count) == 0 { return UnsafeRawPointer(found) - base }
        start = UnsafeRawPointer(found) - base + 1
      }
      return nil
    }
  }
}

/// The secrets of a session in every form: unchanged, percent-encoded, and in base64 at each alignment.
private struct Echo: Sendable {
  let everything: String
  let access: String
  /// The secrets for a URL.
  let query: String

  init(_ credentials: SimulatedCredentials) {
    let secrets = credentials.files.values.sorted()
    func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }
    func percent(_ text: String) -> String { text.utf8.map { "%" + String($0, radix: 16) }.joined() }
    func url(_ text: String) -> String { text.replacing("+", with: "-").replacing("/", with: "_") }
    let pair = "\(credentials.clientID ?? ""):\(credentials.clientSecret ?? "")"
    let encoded = (secrets + [pair]).flatMap { secret in
      [base64(secret), base64(" " + secret), base64("  " + secret)].flatMap { [$0, url($0)] }
    }
    everything = (secrets + secrets.map(percent) + encoded).joined(separator: " ")
    access = credentials.accessToken ?? ""
    query = (secrets.map(percent) + secrets.map { url(base64($0)) }).joined(separator: "&a=")
  }

  /// Not used for pages: their validators are stored as upstream's own data, and are sent back only to upstream.
  var headers: [Request.Header] {
    ["WWW-Authenticate", "X-Request", "Set-Cookie", "Server", "ETag", "Last-Modified", "Retry-After"].map {
      Request.Header($0, everything)
    }
  }

  func answer(_ status: Int, body: String) -> Fault { .answer(status: status, headers: headers, body: body) }

  func redirect(_ status: Int, to location: String) -> Fault {
    .answer(status: status, headers: headers + [Request.Header("Location", location)], body: everything)
  }
}

/// A failure of a page or token request, caused by upstream.
private struct Failing: Sendable {
  var name: String
  var match: Match
  /// True if the sync succeeds in spite of it.
  var succeeds = false
  var fault: @Sendable (Echo) -> Fault

  /// Each group has a daemon of its own.
  enum Group: CaseIterable {
    case firstPage, firstPageRetried, firstPageOther, secondPage, secondPageRetried, secondPageOther
    case tokens, broken

    var failures: [Failing] {
      switch self {
      case .firstPage: Failing.answers(.page(1), statuses: [400, 401, 403, 405, 410, 418])
      case .firstPageRetried: Failing.answers(.page(1), statuses: [408, 429, 500, 503])
      case .firstPageOther: Failing.redirects(.page(1)) + Failing.others(.page(1))
      case .secondPage: Failing.answers(.page(2), statuses: [400, 401, 403, 405, 410, 418])
      case .secondPageRetried: Failing.answers(.page(2), statuses: [408, 429, 500, 503])
      case .secondPageOther: Failing.redirects(.page(2)) + Failing.others(.page(2))
      case .tokens: Failing.tokens
      case .broken: Failing.broken(.page(2)) + Failing.broken(.anyToken)
      }
    }

    /// Names of events that its failures cause.
    var events: [String] {
      switch self {
      case .firstPage, .firstPageOther, .secondPage, .secondPageOther: ["sync.failed"]
      case .firstPageRetried, .secondPageRetried: ["page.retried"]
      case .tokens: ["token.failed"]
      case .broken: ["page.retried", "token.failed"]
      }
    }
  }

  private static func others(_ match: Match) -> [Failing] {
    [
      Failing(name: "another page at \(match)", match: match) { echo in
        .answer(
          status: 200,
          body: #"{"info":{"count":9,"pages":3,"next":"http://a/?\#(echo.query)","prev":null},"results":[]}"#)
      },
      Failing(name: "a list at \(match)", match: match) { $0.answer(200, body: #"["\#($0.everything)"]"#) },
      Failing(name: "a wrong type at \(match)", match: match) {
        $0.answer(200, body: #"{"info":"\#($0.everything)","results":"\#($0.everything)"}"#)
      },
    ]
  }

  private static let tokens =
    answers(.anyToken, statuses: [400, 401, 403, 404, 408, 418, 429, 500, 503]) + redirects(.anyToken)
    + [
      Failing(name: "an OAuth error", match: .anyToken) {
        $0.answer(
          400,
          body:
            #"{"error":"\#($0.access)","error_description":"\#($0.everything)","error_uri":"http://a/?\#($0.query)"}"#)
      },
      Failing(name: "incomplete", match: .anyToken) { $0.answer(200, body: #"{"token":"\#($0.everything)"}"#) },
      Failing(name: "a token that no header may carry", match: .anyToken) {
        $0.answer(200, body: #"{"access_token":"\#($0.everything)\n","refresh_token":"\#($0.access)"}"#)
      },
      Failing(name: "a token that is refused", match: .anyToken) {
        $0.answer(200, body: #"{"access_token":"\#($0.access)","refresh_token":"\#($0.access)"}"#)
      },
    ]

  private static func answers(_ match: Match, statuses: [Int]) -> [Failing] {
    statuses.map { status in
      Failing(name: "\(status) at \(match)", match: match) { $0.answer(status, body: $0.everything) }
    } + [
      Failing(name: "HTML at \(match)", match: match) { $0.answer(200, body: "<p>\($0.everything)") },
      Failing(name: "broken JSON at \(match)", match: match) { $0.answer(200, body: #"{"\#($0.everything)"#) },
    ]
  }

  private static func redirects(_ match: Match) -> [Failing] {
    [
      Failing(name: "a redirect to itself at \(match)", match: match) {
        $0.redirect(302, to: "/api/character?page=2&t=\($0.access)&a=\($0.query)")
      },
      Failing(name: "a redirect to nowhere at \(match)", match: match) {
        $0.redirect(307, to: "/\($0.access)/?\($0.query)")
      },
      Failing(name: "a redirect elsewhere at \(match)", match: match) {
        $0.redirect(301, to: "http://\($0.access).example/?\($0.query)")
      },
      Failing(name: "a redirect to no URL at \(match)", match: match) { $0.redirect(308, to: "::\($0.everything)") },
    ]
  }

  private static func broken(_ match: Match) -> [Failing] {
    [Fault.drop, .cut(after: .nothing, .close), .cut(after: .half, .reset), .cut(after: .head, .stall)].map { fault in
      Failing(name: "\(fault) at \(match)", match: match) { _ in fault }
    }
  }
}
