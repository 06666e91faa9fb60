import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterTestSupport
import Testing

/// `rosterctl list` and `rosterctl show`, mostly by their short forms for characters, which read the cache that the
/// real rosterd has written.
@Suite(.timeLimit(.minutes(1))) struct CharacterTests {
  private struct Listing: Decodable {
    struct Entry: Decodable {
      var id: Int64
      var name: String
      var episodes: [String]
    }
    var resource: String
    var page: Int
    var pages: Int
    var total: Int
    var records: [Entry]
  }

  private struct Detail: Decodable {
    struct Change: Decodable {
      struct State: Decodable { var name: String }
      var kind: String
      var before: State?
      var after: State?
    }
    var resource: String
    var record: Listing.Entry
    var changes: [Change]
  }

  private func rosterctl(_ site: Site, arguments: String..., columns: Int? = nil) async throws -> Program.Outcome {
    var environment = ["ROSTERD_CACHE_PATH": site.cache]
    if let columns { environment["COLUMNS"] = "\(columns)" }
    return try await Program.run(try Program.built("rosterctl"), arguments: arguments, environment: environment)
  }

  private func list(_ site: Site, words: String) async throws -> Listing {
    let outcome = try await rosterctl(site, arguments: "characters", "--search", words, "--json")
    try #require(outcome.exit == 0 && outcome.error.isEmpty, "\(words): \(outcome.error)")
    return try JSONDecoder().decode(Listing.self, from: Data(outcome.output.utf8))
  }

  @Test("rosterctl characters lists 20 a page beside a publishing daemon, after a kill, and without write permission")
  func pages() async throws {
    try await withSite { site in
      try await site.withDaemon { daemon, _ in
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        let third = try await rosterctl(site, arguments: "characters", "--page", "42", "--json")
        let listing = try JSONDecoder().decode(Listing.self, from: Data(third.output.utf8))
        #expect(listing.page == 42 && listing.pages == 42 && listing.total == 826)
        #expect(listing.records.map(\.id) == Array(821...826))
        #expect(listing.records[0].episodes == site.upstream.characters[820].episodes)
        #expect(try await daemon.end(by: SIGKILL).exit == -SIGKILL)
        #expect(try await list(site, words: "").total == 826)
      }
      guard getuid() == 0 else { try skip("only root can become a stranger") }
      let program = site.folder + "/rosterctl"
      try await Stranger.copyRosterctl(to: program)
      for folder in [site.folder, site.folder + "/state"] { chmod(folder, 0o755) }
      let reader = ["--reuid=65534", "--regid=\(getgid())", "--clear-groups", program, "--cache", site.cache]
      let outcome = try await Program.run(try Program.tool("setpriv"), arguments: reader + ["characters", "--json"])
      #expect(outcome.exit == 0 && outcome.output.contains(#""total":826"#), "\(outcome.error)")
      let stranger = ["--reuid=65534", "--regid=65534", "--clear-groups", program, "--cache", site.cache, "characters"]
      let refused = try await Program.run(try Program.tool("setpriv"), arguments: stranger)
      #expect(refused.exit == 73 && refused.error.contains("Permission denied"))
    }
  }

  @Test("rosterctl characters takes WORDS as words, whatever they look like")
  func search() async throws {
    var characters = Characters.made(40)
    characters[0].name = "Rick Sánchez"
    characters[1].name = "Abradolf \"OR\" NEAR( Lincler"
    characters[2].species = "日本語 キャラクター"
    try await withSite(Scenario(characters: characters)) { site in
      _ = try await site.sync()
      for (words, ids) in [
        ("rick SANCHEZ", [1]), ("sánch", [1]), ("\"or\" near(", [2]), ("lincler-abradolf", [2]), ("日本", [3]),
        ("zebra", []), ("rick zebra", []), ("name:rick", []), ("rick NOT sanchez", []),
      ] {
        #expect(try await list(site, words: words).records.map(\.id) == ids.map(Int64.init), "\(words)")
      }
      for words in ["", "*", "--", "--json", "^ : ( ) -", "🚀", "'; DROP TABLE characters; --", "\n\t"] {
        _ = try await list(site, words: words)
      }
      let long = String(repeating: "a ", count: 60_000)
      #expect(try await list(site, words: long).pages >= 0)
      #expect(try await list(site, words: "*").total == 0)
    }
  }

  @Test("rosterctl characters rick searches, with --search too")
  func bareWords() async throws {
    var characters = Characters.made(40)
    characters[0].name = "Rick Sanchez"
    characters[1].name = "Rick Prime"
    try await withSite(Scenario(characters: characters)) { site in
      _ = try await site.sync()
      for (words, ids) in [
        (["rick"], [1, 2]), (["rick", "sanchez"], [1]), (["rick", "--search", "prime"], [2]),
        (["--page", "1", "prime", "rick"], [2]), (["--", "--search"], []),
      ] as [([String], [Int64])] {
        let outcome = try await Program.run(
          try Program.built("rosterctl"), arguments: ["characters", "--json"] + words,
          environment: ["ROSTERD_CACHE_PATH": site.cache])
        let found = try JSONDecoder().decode(Listing.self, from: Data(outcome.output.utf8))
        #expect(found.records.map(\.id) == ids, "\(words)")
      }
    }
  }

  @Test("rosterctl rejects shows the records that could not be stored and why, for people and as JSON")
  func rejects() async throws {
    struct Answer: Decodable {
      struct Reject: Decodable {
        struct Document: Decodable { var id: Int64 }
        var syncID: Int64
        var page: Int
        var position: Int
        var reason: String
        var document: Document

        enum CodingKeys: String, CodingKey {
          case page, position, reason, document
          case syncID = "sync_id"
        }
      }
      var rejects: [Reject]
    }
    let bad = #"{"id":24,"name":"\u001b[2J","status":7,"n":1.10}"#
    try await withSite(.pages(2, rules: [.on(.page(2), .records([3: bad]))])) { site in
      #expect(try await rosterctl(site, arguments: "rejects").exit == 73)
      _ = try await site.sync()
      let json = try await rosterctl(site, arguments: "rejects", "--json")
      let found = try JSONDecoder().decode(Answer.self, from: Data(json.output.utf8)).rejects
      #expect(json.exit == 0 && found.map(\.document.id) == [24] && json.output.contains(#""n":1.10"#))
      #expect(found.map(\.page) == [2] && found.map(\.position) == [3] && found.map(\.syncID) == [1])
      let people = try await rosterctl(site, arguments: "rejects", columns: 40)
      let lines = people.output.split(separator: "\n")
      #expect(people.exit == 0 && lines.allSatisfy { $0.count <= 40 }, "\(people.output)")
      #expect(people.output.hasPrefix("character, page 2, position 3: ") && people.output.contains(#"    {"id":24,"#))
      site.upstream.configure { $0.rules = [] }
      _ = try await site.sync()
      let all = try await rosterctl(site, arguments: "rejects")
      #expect(all.exit == 0 && all.output.isEmpty && all.error == "all records could be stored\n")
      #expect(try await rosterctl(site, arguments: "rejects", "--json").output == #"{"rejects":[]}"# + "\n")
    }
  }

  @Test("rosterctl characters prints a table as wide as the terminal, and clear words for an empty result")
  func table() async throws {
    try await withSite(.pages(2)) { site in
      let none = try await rosterctl(site, arguments: "characters")
      #expect(none.exit == 73 && none.error.contains("there is no cache yet") && none.output.isEmpty)
      _ = try await site.sync()
      for columns in [20, 40, 80] {
        let lines = try await rosterctl(site, arguments: "characters", columns: columns).output.split(separator: "\n")
        #expect(lines.count == 22 && lines[0].hasPrefix("ID  NAME"))
        #expect(lines.dropLast().allSatisfy { $0.count <= columns })
        #expect(lines.last == "page 1 of 2, 40 records")
      }
      // A pipe gets all records, and no line about pages.
      let lines = try await rosterctl(site, arguments: "characters").output.split(separator: "\n")
      #expect(lines.count == 41 && lines[0].hasPrefix("id\tname\t") && lines[40].hasPrefix("40\t"))
      #expect(
        try await rosterctl(site, arguments: "characters", "--page", "2").output.split(separator: "\n").count == 21)
      let beyond = try await rosterctl(site, arguments: "characters", "--page", "3")
      #expect(beyond.exit == 0 && beyond.error == "there are only 2 pages\n" && beyond.output.isEmpty)
      let nobody = try await rosterctl(site, arguments: "characters", "--search", "zebra")
      #expect(nobody.exit == 0 && nobody.error == "no character has all these words\n")
    }
  }

  @Test("rosterctl character shows exact history and numbers, and distinguishes removed from unknown characters")
  func detail() async throws {
    try await withSite(.pages(1)) { site in
      _ = try await site.sync()
      site.upstream.update { characters in
        characters[6].name = "Renamed"
        characters[6].extra = #"{"rating":1.10,"big":123456789012345678901234567890}"#
        characters[6].episodes.append("https://localhost/episode/new")
      }
      _ = try await site.sync()
      let json = try await rosterctl(site, arguments: "character", "7", "--json")
      let found = try JSONDecoder().decode(Detail.self, from: Data(json.output.utf8))
      #expect(found.record.id == 7 && found.changes.map(\.kind) == ["changed"])
      #expect(found.changes.first?.after?.name == "Renamed" && found.changes.first?.before?.name != "Renamed")
      #expect(json.output.contains(#""extra":{"big":123456789012345678901234567890,"rating":1.10}"#))
      let people = try await rosterctl(site, arguments: "character", "7", columns: 60)
      for line in [
        "character 7: Renamed\n", "  extra.rating: (none) → 1.10\n", "  + episodes: https://localhost/episode/new\n",
        " → Renamed\n",
      ] { #expect(people.output.contains(line), "\(people.output)") }

      site.upstream.update { $0.removeLast() }
      _ = try await site.sync()
      let gone = try await rosterctl(site, arguments: "character", "20", "--json")
      #expect(gone.exit == 1 && gone.output.isEmpty && gone.error.contains("it was removed by sync 3"))
      for id in ["99999", "0", "\(Int64.max)"] {
        #expect(try await rosterctl(site, arguments: "character", id).exit == 1)
      }
    }
  }

  @Test("rosterctl list and show know the resources, show one of them, and have exit codes for missing ones")
  func anyResource() async throws {
    try await withSite(.pages(2)) { site in
      let none = try await rosterctl(site, arguments: "list")
      #expect(none.exit == 73 && none.output.isEmpty)
      _ = try await site.sync()
      let all = try await rosterctl(site, arguments: "list", "--json")
      #expect(all.output == #"{"resources":[{"name":"character","table":"characters","records":40}]}"# + "\n")
      let people = try await rosterctl(site, arguments: "list")
      #expect(people.output == "RESOURCE   TABLE       RECORDS\ncharacter  characters       40\n")
      for (long, short) in [
        (["list", "character", "--page", "2"], ["characters", "--page", "2"]),
        (["list", "character", "--search", "human"], ["characters", "human"]),
        (["show", "character", "7"], ["character", "7"]),
      ] {
        for form in [[], ["--json"]] {
          let (one, other) = (try await run(site, arguments: long + form), try await run(site, arguments: short + form))
          #expect(one.exit == 0 && one.output == other.output && !one.output.isEmpty, "\(long + form)")
        }
      }
      let json = try await rosterctl(site, arguments: "show", "character", "7", "--json")
      #expect(json.output.hasPrefix(#"{"resource":"character","record":{"id":7,"name":""#))
      for (arguments, exit) in [
        (["list", "chracter"], 1), (["show", "chracter", "1"], 1), (["show", "character", "99"], 1),
        (["show", "character", "abc"], 64), (["character", "abc"], 64), (["list", "--search", "x"], 64),
        (["list", "--page", "2"], 64), (["show", "character"], 64),
      ] as [([String], Int32)] {
        let outcome = try await run(site, arguments: arguments)
        #expect(outcome.exit == exit && outcome.output.isEmpty && !outcome.error.isEmpty, "\(arguments)")
      }
      #expect(
        try await rosterctl(site, arguments: "list", "chracter").error.contains("name one that it has: character"))
    }
  }

  private func run(_ site: Site, arguments: [String]) async throws -> Program.Outcome {
    try await Program.run(
      try Program.built("rosterctl"), arguments: arguments, environment: ["ROSTERD_CACHE_PATH": site.cache])
  }

  @Test(
    "rosterctl: an invalid page or number is a bad command line",
    arguments: [
      ["characters", "--page", "0"], ["characters", "--page=-1"], ["characters", "--page", "9223372036854775808"],
      ["list", "issue", "--page", "0"], ["show", "issue"], ["show"],
      ["character", "abc"], ["character", "1.5"], ["character", "9223372036854775808"], ["character"],
    ])
  func usage(arguments: [String]) async throws {
    let outcome = try await Program.run(try Program.built("rosterctl"), arguments: arguments)
    #expect(outcome.exit == 64 && !outcome.error.isEmpty)
  }
}

/// The way in which rosterctl finds the cache and the socket.
@Suite struct WhereaboutsOfRosterctlTests {
  @Test("rosterctl uses the configuration file, and reports one that it cannot read or parse only if it matters")
  func file() async throws {
    guard getuid() == 0 else { try skip("only root can become another user") }
    try await withFolder { home in
      chmod(home, 0o755)
      let program = home + "/rosterctl"
      try await Stranger.copyRosterctl(to: program)
      try FileManager.default.createDirectory(atPath: home + "/.config/rosterd", withIntermediateDirectories: true)
      let file = home + "/.config/rosterd/rosterd.toml"
      let setpriv = try Program.tool("setpriv")
      func ask(_ text: String, mode: mode_t = 0o644, arguments: String...) async throws -> Program.Outcome {
        try Data(text.utf8).write(to: URL(filePath: file))
        chmod(file, mode)
        return try await Program.run(
          setpriv, arguments: ["--reuid=65534", "--clear-groups", program] + arguments,
          environment: ["HOME": home, "ROSTERD_NO_SUCH_KEY": "1"])
      }
      let named = try await ask(
        "[status]\nsocket = \"/nowhere/s.sock\"\n[cache]\npath = \"/nowhere/r.db\"\n", arguments: "status")
      #expect(named.exit == 3 && named.error.contains("(/nowhere/s.sock)") && !named.error.contains("NO_SUCH_KEY"))
      let cache = try await ask("[cache]\npath = \"/nowhere/r.db\"\n", arguments: "characters")
      #expect(cache.exit == 73 && cache.error.contains("(/nowhere/r.db)") && !cache.error.contains("note"))
      let bad = try await ask("[cache\n", arguments: "characters")
      #expect(bad.exit == 73 && bad.error.contains("rosterctl: note: \(file):1: "), "\(bad.error)")
      let secret = try await ask("", mode: 0o600, arguments: "status")
      #expect(secret.exit == 3 && secret.error.contains("note: \(file) cannot be read (Permission denied)"))
      let option = try await ask("[cache\n", arguments: "characters", "--cache", "/nowhere/o.db")
      #expect(option.exit == 73 && option.error.contains("(/nowhere/o.db)") && !option.error.contains("note"))
    }
  }
}
