import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import Testing

/// Mistakes of users and upstreams: each leads to the documented exit code and to one sentence with the remedy.
@Suite(.serialized, .timeLimit(.minutes(1))) struct BadInputTests {
  @Test("53: every fault of the configuration is reported at once (78), with file, line, key and what is allowed")
  func configuration() async throws {
    try await withSite { site in
      let file = "\(site.folder)/bad.toml"
      try Data(
        """
        [upstream]
        base_url = "ftp://example"
        timeouts = "30s"

        [sync]
        concurrency = 65
        interval = 15
        """.utf8
      ).write(to: URL(filePath: file))
      var settings = site.settings
      settings["ROSTERD_CACHE_HISTORY"] = "1h"
      for name in ["ROSTERD_UPSTREAM_BASE_URL", "ROSTERD_SYNC_INTERVAL"] { settings[name] = nil }
      for command in ["run", "sync", "check"] {
        let outcome = try await Program.run(
          try Program.built("rosterd"), arguments: [command, "--config", file], environment: settings)
        #expect(outcome.exit == 78 && outcome.output.isEmpty)
        let lines = outcome.error.split(separator: "\n")
        #expect(lines.count == 5)
        for (place, key, allowed) in [
          ("\(file):2", "upstream.base_url", "http"), ("\(file):3", "upstream.timeouts", ""),
          ("\(file):6", "sync.concurrency", "1 to 64"), ("\(file):7", "sync.interval", "100ms to"),
          ("ROSTERD_CACHE_HISTORY", "", "1d to"),
        ] {
          #expect(
            lines.contains { $0.contains("\(place): \(key)") && $0.contains(allowed) },
            "\(place) \(key): \(outcome.error)")
        }
      }
      #expect(!FileManager.default.fileExists(atPath: "\(site.folder)/state"))
    }
  }

  @Test(
    "2, 14, 24: a bad answer has its exit code and one sentence, and the snapshot is unchanged",
    arguments: [
      (Fault.html(), Int32(65)), (.status(500), 69), (.status(501), 65), (.status(404), 65), (.drop, 69),
      (.cut(after: .half, .close), 69), (.cut(after: .half, .reset), 69),
      (.answer(status: 200, body: "{\"info\":{\"count\":1,"), 65), (.redirect(to: "http://elsewhere.example/"), 65),
      (.status(401), 77),
    ])
  func upstream(fault: Fault, exit: Int32) async throws {
    try await withSite(.pages(3)) { site in
      _ = try await site.sync()
      let before = try await site.snapshot()
      site.upstream.update { characters in characters = characters.map { $0.marked(2) } }
      site.upstream.configure { $0.rules = [.on(.page(1), fault)] }
      try await expectFailure(exit, in: site)
      #expect(try await site.snapshot() == before)
      site.upstream.configure { $0.rules = [] }
      #expect(try await site.sync().changed == 60)
      try await site.expectUpstream()
    }
  }

  @Test("25: a Retry-After beyond max_retry_after is 69; so is the next sync, without a request")
  func retryAfter() async throws {
    try await withSite(.pages(2, rules: [.on(.page(2), .status(429, retryAfter: "3600"))])) { site in
      try await expectFailure(69, in: site)
      let requests = site.upstream.counts.pageRequests.count
      try await expectFailure(69, in: site)
      #expect(site.upstream.counts.pageRequests.count == requests)
    }
  }

  @Test("2: without an answer it is 69 with one sentence, and the snapshot is unchanged")
  func nothing() async throws {
    try await withSite(.pages(2)) { site in
      _ = try await site.sync()
      let before = try await site.snapshot()
      await site.upstream.stop()
      try await expectFailure(69, in: site)
      #expect(try await site.snapshot() == before)
    }
  }

  private func expectFailure(_ exit: Int32, in site: Site) async throws {
    let outcome = try await site.rosterd("sync")
    #expect(outcome.exit == exit, "\(outcome.error)")
    let lines = outcome.error.split(separator: "\n")
    #expect(lines.count == 1 && lines[0].contains("cannot ") && lines[0].contains("; "), "\(outcome.error)")
  }

  @Test("A cache that cannot be written is 73", arguments: ["/dev/null/roster.db", "/proc/roster.db", "/tmp"])
  func unwritable(path: String) async throws {
    try await withSite(.pages(1)) { site in
      for command in ["run", "sync"] {
        let outcome = try await site.rosterd(command, with: ["ROSTERD_CACHE_PATH": path])
        #expect(outcome.exit == 73)
        #expect(outcome.error.split(separator: "\n").count == 1 && outcome.error.contains(path), "\(outcome.error)")
      }
      #expect(site.upstream.counts.pageRequests.isEmpty)
    }
  }

  @Test("36: a folder as --output of login is 73 before upstream is asked for anything")
  func loginToFolder() async throws {
    try await withSite(Scenario.pages(1)) { site in
      try Data("id".utf8).write(to: URL(filePath: "\(site.folder)/client_id"))
      let outcome = try await site.rosterd(
        "login", "--device", "--output", site.folder,
        with: [
          "ROSTERD_AUTH_CREDENTIALS_DIR": site.folder, "ROSTERD_AUTH_FLOW": "oauth2_refresh",
          "ROSTERD_AUTH_TOKEN_URL": "/token", "ROSTERD_AUTH_DEVICE_URL": "/device",
        ])
      #expect(outcome.exit == 73 && outcome.error.contains("(\(site.folder)): Is a directory"), "\(outcome.error)")
      #expect(site.upstream.counts.connections == 0)
    }
  }

  @Test("48: the metrics of rosterd-postgres replace their file, and leave another file of the user alone")
  func textfile() async throws {
    try await withSite(Scenario.pages(1)) { site in
      let (path, other) = ("\(site.folder)/metrics.prom", "\(site.folder)/metrics.prom.new")
      try Data("mine".utf8).write(to: URL(filePath: other))
      let outcome = try await Program.run(
        try Program.built("rosterd-postgres"),
        arguments: ["sync", "--to", "host=127.0.0.1 port=99999", "--cache", site.cache, "--textfile", path])
      #expect(outcome.exit == 78, "\(outcome.error)")
      #expect(try String(contentsOfFile: path, encoding: .utf8).contains("rosterd_postgres_up{schema="))
      #expect(try String(contentsOfFile: other, encoding: .utf8) == "mine")
    }
  }

  @Test("A status socket that cannot be made is 73, and everything opened before it is closed")
  func noSocket() async throws {
    try await withSite(.pages(1)) { site in
      let outcome = try await site.rosterd("run", with: ["ROSTERD_STATUS_SOCKET": "/dev/null/status.sock"])
      #expect(outcome.exit == 73 && outcome.error.contains("/dev/null"), "\(outcome.error)")
      #expect(outcome.error.split(separator: "\n").count == 1, "\(outcome.error)")
    }
  }

  @Test("43: a file that rosterd did not make is 73 and stays unchanged, mode included, after several tries")
  func foreign() async throws {
    try await withSite(.pages(1)) { site in
      let path = "\(site.folder)/letter.db"
      let letter = Data("Dear Rick, this is no database.".utf8)
      try letter.write(to: URL(filePath: path))
      chmod(path, 0o604)
      for _ in 1...2 {
        let outcome = try await site.rosterd("sync", with: ["ROSTERD_CACHE_PATH": path])
        #expect(outcome.exit == 73, "\(outcome.error)")
      }
      #expect(FileManager.default.contents(atPath: path) == letter)
      var about = stat()
      #expect(stat(path, &about) == 0 && about.st_mode & 0o777 == 0o604)
    }
  }

  @Test(
    "An answer that cannot be written to the output is 73", arguments: ["check", "sync --json", "--help", "--version"])
  func unwritten(command: String) async throws {
    try await withSite(.pages(1)) { site in
      let script = "\"$0\" \(command) > /dev/full"
      let full = try await Program.run(
        try Program.tool("sh"), arguments: ["-c", script, try Program.built("rosterd")], environment: site.settings)
      #expect(full.exit == 73 && full.error.contains("No space left"), "\(full.error)")
    }
  }

  @Test("A bad command line is 64", arguments: [["synk"], ["sync", "--jsn"], ["run", "x"], ["check", "--config"]])
  func usage(arguments: [String]) async throws {
    let outcome = try await Program.run(try Program.built("rosterd"), arguments: arguments)
    #expect(outcome.exit == 64 && outcome.output.isEmpty && !outcome.error.isEmpty)
  }

  @Test("A FIFO as the configuration or a credential is refused (78), not waited for")
  func pipe() async throws {
    try await withSite(.pages(1, tokens: .init(flow: .oauth2Refresh))) { site in
      let configuration = "\(site.folder)/pipe.toml"
      let credential = "\(site.folder)/refresh_token"
      unlink(credential)
      for path in [configuration, credential] { try #require(mkfifo(path, 0o600) == 0) }
      for arguments in [["check", "--config", configuration], ["sync"]] {
        let outcome = try await Program.run(
          try Program.built("rosterd"), arguments: arguments, environment: site.settings)
        #expect(outcome.exit == 78, "\(outcome.error)")
        #expect(outcome.error.contains(arguments.count == 1 ? credential : configuration), "\(outcome.error)")
      }
    }
  }

  @Test("A FIFO as the token store is refused (73), not waited for", arguments: ["run", "sync"])
  func pipeAsStore(command: String) async throws {
    try await withSite(.pages(1, tokens: .init(flow: .oauth2Refresh))) { site in
      try #require(mkdir("\(site.folder)/state", 0o700) == 0 && mkfifo(site.tokenStore, 0o600) == 0)
      let outcome = try await site.rosterd(command)
      #expect(outcome.exit == 73 && outcome.error.contains(site.tokenStore), "\(outcome.error)")
    }
  }

  @Test(
    "38: the query of token_url is in no error, no row and no output of check",
    arguments: [("/nowhere", 77), ("http://127.0.0.1:1/token", 69)] as [(String, Int32)])
  func tokenQuery(address: String, exit: Int32) async throws {
    try await withSite(
      .pages(3, tokens: .init(flow: .authenticateForm, uses: [1])),
      settings: [
        "ROSTERD_AUTH_FLOW": "authenticate_form", "ROSTERD_AUTH_TOKEN_URL": "\(address)?key=geheim",
        "ROSTERD_RETRY_MAX_RETRIES": "0",
      ]
    ) { site in
      let sync = try await site.rosterd("sync", "--json")
      #expect(sync.exit == exit && sync.error.contains("\(address)?***"), "\(sync.error)")
      let check = try await site.rosterd("check")
      #expect(check.exit == 0 && check.output.contains("\(address)?***"))
      #expect(!(sync.output + sync.error + check.output + check.error).contains("geheim"))
    }
  }

  @Test("A flow without its credential anywhere is 78")
  func noCredential() async throws {
    try await withSite(
      .pages(1), settings: ["ROSTERD_AUTH_FLOW": "oauth2_refresh", "ROSTERD_AUTH_TOKEN_URL": "/token"]
    ) { site in
      let outcome = try await site.rosterd("sync")
      #expect(outcome.exit == 78 && outcome.error.contains("refresh_token"), "\(outcome.error)")
    }
  }

  @Test("55: check notes a credential that the flow needs and that does not exist, and exits with 0")
  func noteOfCredential() async throws {
    try await withSite(
      .pages(1), settings: ["ROSTERD_AUTH_FLOW": "oauth2_refresh", "ROSTERD_AUTH_TOKEN_URL": "/token"]
    ) { site in
      let note = "rosterd: note: auth.flow = \"oauth2_refresh\" needs the credential refresh_token, and "
      let unset = try await site.rosterd("check", with: ["CREDENTIALS_DIRECTORY": ""])
      #expect(unset.exit == 0 && unset.error == "\(note)auth.credentials_dir is not set\n", "\(unset.error)")
      let folder = "\(site.folder)/credentials"
      let lacking = try await site.rosterd("check", with: ["ROSTERD_AUTH_CREDENTIALS_DIR": folder])
      #expect(lacking.exit == 0 && lacking.error.hasPrefix("\(note)\(folder)/refresh_token does not exist: "))
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data("r1\n".utf8).write(to: URL(filePath: "\(folder)/refresh_token"))
      let there = try await site.rosterd("check", with: ["ROSTERD_AUTH_CREDENTIALS_DIR": folder])
      #expect(there.exit == 0 && there.error.isEmpty, "\(there.error)")
    }
  }

  @Test("An upstream that wants credentials, with the flow none, is 77")
  func refused() async throws {
    try await withSite(.pages(1, tokens: .init(flow: .static)), settings: ["ROSTERD_AUTH_FLOW": "none"]) { site in
      try await expectFailure(77, in: site)
      #expect(site.upstream.counts.pageRequests.count == 1)
    }
  }
}
