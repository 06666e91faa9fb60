import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterTestSupport
import Testing

/// `rosterd infer`: the real program against a server on loopback.
@Suite(.serialized, .timeLimit(.minutes(1))) struct InferTests {
  private static let secret = "s3cret-token"

  @Test("check accepts the configuration that infer prints, and sync mirrors the API with it")
  func wholeWay() async throws {
    try await withThings { site in
      let inferred = try await site.rosterd("infer", "\(site.upstream.baseURL)/things?per_page=2&state=all&page=2")
      #expect(inferred.exit == 0 && inferred.error.isEmpty)
      let file = "\(site.folder)/inferred.toml"
      try Data(inferred.output.utf8).write(to: URL(filePath: file))
      let check = try await site.rosterd("check", "--config", file)
      #expect(check.exit == 0 && check.error.isEmpty, "\(inferred.output)\n\(check.error)")
      let sync = try await site.rosterd("sync", "--json", "--config", file)
      #expect(sync.exit == 0, "\(inferred.output)\n\(sync.error)")
      let rows = try await site.rows("SELECT id, name, owner_name, extra FROM things ORDER BY id")
      #expect(rows == (1...5).map { ["\($0)", "Thing \($0)", "Owner \($0)", "NULL"] })
      let tags = try await site.rows("SELECT thing_id, position, tag FROM thing_tags ORDER BY 1, 2")
      #expect(tags == (1...5).map { ["\($0)", "0", "t\($0)"] })
      #expect(try await site.rows("SELECT proof, pages FROM resources") == [["count", "3"]])
    }
  }

  @Test("upstream.links: a next page on the API's public host is followed by infer's configuration and by sync")
  func rebased() async throws {
    try await withThings { site in
      let inferred = try await site.rosterd("infer", "\(site.upstream.baseURL)/hosts")
      #expect(inferred.output.split(separator: "\n").contains { $0.hasPrefix("links = \"rebase\"") })
      let file = "\(site.folder)/inferred.toml"
      try Data(inferred.output.utf8).write(to: URL(filePath: file))
      let sync = try await site.rosterd("sync", "--config", file)
      #expect(sync.exit == 0, "\(inferred.output)\n\(sync.error)")
      #expect(try await site.rows("SELECT group_concat(id) FROM hosts") == [["1,2"]])
    }
  }

  @Test("infer uses upstream.proxy of the environment or the default file, otherwise HTTP_PROXY and NO_PROXY")
  func proxy() async throws {
    try await withThings { site in
      try await ForwardProxy.run { proxy in
        proxy.configure { [port = Int(site.upstream.origin.split(separator: ":").last ?? "")] in $0.target = port }
        func infer(_ address: String, settings: [String: String]) async throws -> Program.Outcome {
          try await site.rosterd("infer", address, with: settings)
        }
        let away = "http://upstream.invalid/api/things"
        #expect(try await infer(away, settings: ["ROSTERD_UPSTREAM_PROXY": proxy.url]).exit == 0)
        #expect(try await infer(away, settings: ["HTTP_PROXY": proxy.url]).exit == 0)
        #expect(proxy.requests == ["GET \(away)", "GET \(away)"])
        let local = "\(site.upstream.baseURL)/things"
        #expect(try await infer(local, settings: ["http_proxy": proxy.url, "NO_PROXY": "127.0.0.1"]).exit == 0)
        #expect(proxy.requests.count == 2)
        try FileManager.default.createDirectory(atPath: "\(site.folder)/etc", withIntermediateDirectories: true)
        // Mistakes in other parts of the configuration do not affect infer.
        try Data("sync.interval = 3\n[upstream]\nproxy = \"\(proxy.url)\"\n".utf8)
          .write(to: URL(filePath: "\(site.folder)/etc/rosterd.toml"))
        #expect(try await infer(away, settings: [:]).exit == 0)
        #expect(proxy.requests.count == 3)
        let bad = try await infer(
          away, settings: ["ROSTERD_UPSTREAM_PROXY": "", "HTTP_PROXY": "socks5://u:\(Self.secret)@h"])
        #expect(bad.exit == 78 && bad.error.hasPrefix("rosterd: HTTP_PROXY: ") && !bad.error.contains(Self.secret))
        let dead = try await infer(away, settings: ["ROSTERD_UPSTREAM_PROXY": "http://127.0.0.1:1"])
        #expect(dead.exit == 69 && dead.error.contains("the proxy http://127.0.0.1:1 is out of reach"), "\(dead.error)")
        #expect(dead.error.contains("whether upstream.proxy is right"))
      }
    }
  }

  @Test("infer writes nothing, requests once, and reads gzip")
  func asksOnce() async throws {
    try await withThings { site in
      let before = try FileManager.default.subpathsOfDirectory(atPath: site.folder)
      let inferred = try await site.rosterd("infer", "\(site.upstream.baseURL)/packed")
      #expect(inferred.exit == 0, "\(inferred.error)")
      #expect(inferred.output.contains("path = \"/packed\"\n") && inferred.output.contains("name = \"/name\"\n"))
      #expect(try FileManager.default.subpathsOfDirectory(atPath: site.folder) == before)
    }
  }

  @Test("infer follows redirects within the origin and prints the final address")
  func redirected() async throws {
    try await withThings { site in
      let inferred = try await site.rosterd("infer", "\(site.upstream.baseURL)/moved")
      #expect(inferred.exit == 0, "\(inferred.error)")
      #expect(inferred.output.contains("path = \"/things\"  # /moved redirects here\nquery = { x = 1 }\n"))
    }
  }

  @Test("A failing infer says that nothing was written and that a redirected file is empty")
  func emptyFile() async throws {
    try await withThings { site in
      let failed = try await site.rosterd("infer", "\(site.upstream.baseURL)/nowhere")
      #expect(failed.exit == 65 && failed.output.isEmpty)
      #expect(failed.error.contains("nothing was written; if stdout was redirected to a file, that file is empty"))
    }
  }

  @Test("infer - reads an answer from standard input, with or without its head, and marks unknown parts")
  func standardInput() async throws {
    let body = #"{"results":[{"id":1,"name":"a"}],"next_cursor":null,"has_more":false}"#
    for input in [body, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n\(body)"] {
      let inferred = try await Program.run(try Program.built("rosterd"), arguments: ["infer", "-"], input: input)
      #expect(inferred.exit == 0 && inferred.error.isEmpty)
      let lines = inferred.output.split(separator: "\n")
      for (line, what) in [
        ("base_url = \"https://api.example.com\"", "placeholder"), ("path = \"/records\"", "placeholder"),
      ] {
        #expect(lines.contains { $0.hasPrefix(line) && $0.contains("# not seen: ") && $0.contains(what) })
      }
      #expect(lines.contains("style = \"cursor\"") && lines.contains("more = \"/has_more\""))
    }
  }

  @Test(
    "A failing infer has its exit code, one sentence, nothing on stdout, and no secret of header or query",
    arguments: [
      ("/refused", Int32(77), "401"), ("/forbidden", 77, "403"), ("/nowhere", 65, "404"), ("/broken", 69, "503"),
      ("/busy", 69, "429"), ("/spent", 69, "403, and wants no request for 30 s"), ("/page", 65, "HTML"),
      ("/scalars", 65, "a list without objects"),
      ("/empty", 65, "an empty list"),
      ("/elsewhere", 65, "another host"), ("/post", 65, "405"), ("/nothing", 65, "204"),
    ])
  func failures(path: String, exit: Int32, clause: String) async throws {
    try await withThings { site in
      let outcome = try await site.rosterd(
        "infer", "\(site.upstream.baseURL)\(path)?api_key=\(Self.secret)", "--header",
        "Authorization: Bearer \(Self.secret)")
      #expect(outcome.exit == exit && outcome.output.isEmpty, "\(outcome)")
      #expect(outcome.error.contains(clause) && outcome.error.split(separator: "\n").count == 1, "\(outcome.error)")
      #expect(!outcome.error.contains(Self.secret))
    }
  }

  @Test("infer is 69 without an answer, and 65 for 8 MiB of [ or more on standard input")
  func unreachable() async throws {
    let closed = try await Program.run(
      try Program.built("rosterd"), arguments: ["infer", "http://127.0.0.1:1/things?key=\(Self.secret)"])
    #expect(closed.exit == 69 && !closed.error.contains(Self.secret), "\(closed.error)")
    for size in [8 << 20, 8 << 20 + 1] {
      let deep = try await Program.run(
        try Program.built("rosterd"), arguments: ["infer", "-"], input: String(repeating: "[", count: size))
      #expect(deep.exit == 65 && deep.error.split(separator: "\n").count == 1, "\(deep.error)")
    }
  }

  @Test(
    "A bad command line of infer is 64, and the message repeats neither header nor address",
    arguments: [
      [], ["http://127.0.0.1:1/a", "http://127.0.0.1:2/b"], ["http://127.0.0.1:1/a", "-"], ["127.0.0.1/s3cret-token"],
      ["ftp://a/s3cret-token"],
      ["http://user:s3cret-token@127.0.0.1/"], ["http://127.0.0.1:1/", "--header", "s3cret-token"],
      ["http://127.0.0.1:1/", "--header", "X-A: s3cret-token\r\nX-B: 1"],
      ["http://127.0.0.1:1/", "--header", "X-A: s3cret-token\n"],
      ["http://127.0.0.1:1/", "--header", "Bad Name: s3cret-token"],
      ["http://127.0.0.1:1/", "--header", ": s3cret-token"],
      ["http://127.0.0.1:1/", "--header", "Host: s3cret-token"],
      ["http://127.0.0.1:1/", "--header", "If-None-Match: s3cret-token"],
      ["http://127.0.0.1:1/", "--header", "range: s3cret-token"], ["-", "--header", "X-A: s3cret-token"],
      ["http://127.0.0.1:1/", "--header", "Authorization:", "Bearer", "s3cret-token"],
      ["http://127.0.0.1:1/", "--header"],
    ])
  func usage(arguments: [String]) async throws {
    let outcome = try await Program.run(try Program.built("rosterd"), arguments: ["infer"] + arguments)
    #expect(outcome.exit == 64 && outcome.output.isEmpty && !outcome.error.isEmpty, "\(outcome)")
    #expect(!outcome.error.contains(Self.secret), "\(outcome.error)")
  }

  @Test("55: infer of several addresses prints one configuration, and sync mirrors all lists with it")
  func several() async throws {
    try await withThings { site in
      let base = site.upstream.baseURL
      let inferred = try await site.rosterd("infer", "\(base)/things?per_page=2", "\(base)/packed")
      #expect(inferred.exit == 0 && inferred.error.isEmpty, "\(inferred.error)")
      let lines = inferred.output.split(separator: "\n")
      #expect(lines.count { $0 == "[upstream]" } == 1 && lines.count { $0.hasPrefix("base_url = ") } == 1)
      #expect(lines.filter { $0.hasPrefix("[resource.") && !$0.dropFirst(10).contains(".") }.count == 2)
      let file = "\(site.folder)/inferred.toml"
      try Data(inferred.output.utf8).write(to: URL(filePath: file))
      #expect(try await site.rosterd("sync", "--config", file).exit == 0)
      #expect(try await site.rows("SELECT name, records FROM resources") == [["thing", "5"], ["packed", "1"]])
    }
  }

  @Test("55: lists of different origins are refused (64) before any of them is requested")
  func origins() async throws {
    try await withThings { site in
      let list = "\(site.upstream.baseURL)/private"
      let outcome = try await site.rosterd(
        "infer", list, "http://127.0.0.1:1/api/things", "--header", "PRIVATE-TOKEN: \(Self.secret)")
      #expect(outcome.exit == 64 && outcome.output.isEmpty)
      #expect(outcome.error.contains("they have different origins, and a configuration has one base_url"))
      let things = "\(site.upstream.baseURL)/things"
      let twice = try await site.rosterd("infer", things, "\(things)?x=1")
      #expect(twice.exit == 64 && twice.error.contains("another of the lists has the same [resource.thing]"))
      #expect(site.upstream.counts.connections == 0)
    }
  }

  @Test("55: infer --add creates a configuration, then adds to it, and keeps its mode, its owner and its text")
  func add() async throws {
    try await withThings { site in
      let (base, file) = (site.upstream.baseURL, "\(site.folder)/added.toml")
      let first = try await site.rosterd("infer", "\(base)/things", "--add", file)
      #expect(first.exit == 0 && first.output.isEmpty && first.error == "rosterd: added [resource.thing] to \(file)\n")
      let before = try String(contentsOfFile: file, encoding: .utf8)
      // Only root can change the owner of a file.
      let owner: uid_t = getuid() == 0 ? 65534 : getuid()
      #expect(chown(file, owner, gid_t.max) == 0 && chmod(file, 0o604) == 0)
      let link = "\(site.folder)/link.toml"
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
      let second = try await site.rosterd("infer", "\(base)/packed", "--add", link)
      #expect(second.exit == 0, "\(second.error)")
      let after = try String(contentsOfFile: file, encoding: .utf8)
      #expect(after.hasPrefix(before) && after.count { $0 == "[" } > before.count { $0 == "[" })
      var status = stat()
      #expect(lstat(link, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
      #expect(stat(file, &status) == 0 && status.st_mode & 0o7777 == 0o604 && status.st_uid == owner)
      #expect(try await site.rosterd("sync", "--config", file).exit == 0)
      #expect(try await site.rows("SELECT name, records FROM resources") == [["thing", "5"], ["packed", "1"]])
    }
  }

  @Test("55: infer --add adds each further definition to a file, and leaves FILE.new alone")
  func addAgain() async throws {
    try await withThings { site in
      let (base, file) = (site.upstream.baseURL, "\(site.folder)/added.toml")
      try Data("# mine\n\n".utf8).write(to: URL(filePath: file))
      try Data("other".utf8).write(to: URL(filePath: "\(file).new"))
      let names = ["thing", "packed", "host"]
      for list in ["things", "packed", "hosts"] {
        let outcome = try await site.rosterd("infer", "\(base)/\(list)", "--add", file)
        #expect(outcome.exit == 0, "\(outcome.error)")
      }
      let text = try String(contentsOfFile: file, encoding: .utf8)
      #expect(text.hasPrefix("# mine\n\n") && text.split(separator: "\n").count { $0 == "[upstream]" } == 1)
      for name in names { #expect(text.contains("\n[resource.\(name)]\n")) }
      #expect(try String(contentsOfFile: "\(file).new", encoding: .utf8) == "other")
    }
  }

  @Test("55: infer --add refuses a link to a file that does not exist")
  func addToDanglingLink() async throws {
    try await withThings { site in
      let link = "\(site.folder)/link.toml"
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "\(site.folder)/none.toml")
      let outcome = try await site.rosterd("infer", "\(site.upstream.baseURL)/things", "--add", link)
      #expect(outcome.exit == 78 && outcome.error.contains("it is a link to a file that does not exist"))
      var status = stat()
      #expect(lstat(link, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK && site.upstream.counts.connections == 0)
    }
  }

  @Test("55: infer --add leaves a file unchanged that has the resource already or is of another API")
  func addRefused() async throws {
    try await withThings { site in
      let (base, file) = (site.upstream.baseURL, "\(site.folder)/added.toml")
      #expect(try await site.rosterd("infer", "\(base)/things", "--add", file).exit == 0)
      let before = try String(contentsOfFile: file, encoding: .utf8)
      let again = try await site.rosterd("infer", "\(base)/things", "--add", file)
      #expect(again.exit == 78 && again.error.contains("it has a [resource.thing] already"), "\(again.error)")
      #expect(again.error.hasSuffix("\(file) is unchanged\n"))
      let other = try await site.rosterd("infer", "http://127.0.0.1:1/things", "--add", file)
      #expect(other.exit == 64 && other.error.contains("upstream.base_url is \(base)"), "\(other.error)")
      #expect(try String(contentsOfFile: file, encoding: .utf8) == before)
    }
  }

  @Test("38: infer does not print the token of its header, but where it belongs")
  func token() async throws {
    try await withThings { site in
      let arguments = ["infer", "\(site.upstream.baseURL)/private", "--header", "PRIVATE-TOKEN: \(Self.secret)"]
      let inferred = try await Program.run(try Program.built("rosterd"), arguments: arguments)
      #expect(inferred.exit == 0, "\(inferred.error)")
      #expect(inferred.output.contains("# send = \"PRIVATE-TOKEN: {access_token}\""))
      #expect(!inferred.output.contains(Self.secret))
    }
  }

  private func withThings(_ body: (Site) async throws -> Void) async throws {
    var scenario = Scenario.pages(1)
    scenario.beside = Self.served
    try await withSite(scenario, settings: [:], body: body)
  }

  @Sendable private static func served(_ request: Request) -> Response? {
    let address = request.url.split(separator: "?", maxSplits: 1)
    switch address.first {
    case "/api/things": return things(String(address.last ?? ""))
    case "/api/moved": return Response(status: 302, headers: [.init("Location", "/api/things?x=1")])
    case "/api/packed": return Response(status: 200, headers: [.init("Content-Encoding", "gzip")], body: packed)
    case "/api/elsewhere": return Response(status: 302, headers: [.init("Location", "http://other.example/things")])
    case "/api/hosts":
      let next = request.url.contains("cursor") ? "null" : "\"https://public.example/api/hosts?cursor=2\""
      return Response(
        status: 200, body: Array(#"{"next":\#(next),"data":[{"id":\#(next == "null" ? 2 : 1),"name":"x"}]}"#.utf8))
    case "/api/private":
      let isAllowed = request.headers.contains { $0.name == "PRIVATE-TOKEN" && $0.value == secret }
      return isAllowed ? things("") : Response(status: 401)
    default: return address.first.flatMap { failing[String($0)] }
    }
  }

  private static let failing: [String: Response] = [
    "/api/refused": Response(status: 401), "/api/forbidden": Response(status: 403),
    "/api/broken": Response(status: 503),
    "/api/busy": Response(status: 429),
    "/api/spent": Response(
      status: 403, headers: [.init("X-RateLimit-Remaining", "0"), .init("X-RateLimit-Reset", "30")]),
    "/api/post": Response(status: 405), "/api/nothing": Response(status: 204),
    "/api/page": Response(status: 200, body: Array("<!doctype html><title>Log in</title>".utf8)),
    "/api/scalars": Response(status: 200, body: Array("[1]".utf8)),
    "/api/empty": Response(status: 200, body: Array("[]".utf8)),
  ]

  /// A page with two of five records.
  private static func things(_ query: String) -> Response {
    let page = query.firstMatch(of: /(?:^|&)page=(\d)/).flatMap { Int($0.1) } ?? 1
    let things = (1...5).dropFirst((page - 1) * 2).prefix(2).map { id in
      #"{"id":\#(id),"name":"Thing \#(id)","owner":{"name":"Owner \#(id)"},"tags":["t\#(id)"]}"#
    }
    let body = #"{"things":[\#(things.joined(separator: ","))],"page":\#(page),"total_pages":3,"total":5}"#
    return Response(status: 200, headers: [.init("Content-Type", "application/json")], body: Array(body.utf8))
  }

  /// `[{"id":1,"name":"zip"}]`, as `gzip -n` packs it.
  private static let packed: [UInt8] = [
    0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x8B, 0xAE, 0x56, 0xCA, 0x4C, 0x51, 0xB2,
    0x32, 0xD4, 0x51, 0xCA, 0x4B, 0xCC, 0x4D, 0x55, 0xB2, 0x52, 0xAA, 0xCA, 0x2C, 0x50, 0xAA, 0x8D, 0x05,
    0x00, 0x78, 0x4B, 0x6D, 0x4A, 0x17, 0x00, 0x00, 0x00,
  ]
}
