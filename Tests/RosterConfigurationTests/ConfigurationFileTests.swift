import Glibc
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite("Configuration: a file, its faults, and the environment's")
struct ConfigurationFileTests {
  let workspace = Workspace()

  @Test("All faults are reported at once: the file's by line, then the environment's")
  func allAtOnce() throws {
    let text = """
      [sync]
      interval = 5
      concurrency = 100
      [retry]
      base_delay = "20s"
      [cache]
      size = 1
      [upstream.headers]
      "X Bad" = "1"
      X-Api-Key = "a\\nb"
      [upstream]
      base_url = "ftp://host"
      """
    let faults = try workspace.faults(
      text, environment: ["ROSTERD_LOG_LEVEL": "loud", "ROSTERD_AUTH_LOGOUT_STATUS": "[1]"])
    #expect(
      faults.map { String($0.prefix { $0 != " " }) } == [
        "rosterd.toml:2:", "rosterd.toml:3:", "rosterd.toml:5:", "rosterd.toml:7:", "rosterd.toml:9:",
        "rosterd.toml:10:", "rosterd.toml:12:", "ROSTERD_AUTH_LOGOUT_STATUS:", "ROSTERD_LOG_LEVEL:",
      ])
  }

  @Test(
    "Thousands of faults cost about four times as much in a file four times as long, whatever their kind", .serialized,
    arguments: [
      ("", "k", " = 1"), ("", "[resource.r", "]"), ("[upstream.headers]", "h", " = 1"),
      ("[resource.r]\npath = \"/r\"\n[resource.r.columns]", "c", " = 5"),
      ("[resource.r]\npath = \"/r\"\n[resource.r.lists]", "l", " = 5"),
      ("[resource.r]\npath = \"/r\"\n[resource.r.query]", "q", " = []"),
    ])
  func thousands(head: String, before: String, after: String) throws {
    func cost(_ bytes: Int) throws -> Duration {
      let count = bytes / "\n\(before)99999\(after)".count
      let text = head + (0..<count).map { "\n\(before)\($0)\(after)" }.joined()
      let start = Self.cpuTime()
      #expect(try workspace.faults(text).count >= count)
      return Self.cpuTime() - start
    }
    let (one, four) = (try cost(60 * 1024), try cost(240 * 1024))
    #expect(four < one * 8 || Sanitizer.isPresent)
  }

  /// CPU time of this thread. Other tests run at the same time, and do not count.
  private static func cpuTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  @Test("A syntax error hides no fault of the environment")
  func syntaxAndEnvironment() throws {
    #expect(try workspace.faults("[sync", environment: ["ROSTERD_LOG_LEVEL": "loud"]).count == 2)
  }

  @Test("A file that --config names must exist and be readable text; the default file may be missing")
  func files() throws {
    let missing = workspace.path("missing.toml")
    #expect(
      fault(missing)
        == "\(missing): cannot be read: No such file or directory; allowed: a readable file of at most 256 KiB")
    #expect(
      fault(workspace.folder)
        == "\(workspace.folder): cannot be read: Is a directory; allowed: a readable file of at most 256 KiB")
    let latin = try workspace.write(bytes: Array("# ok\n# caf".utf8) + [0xE9], to: "latin.toml")
    #expect(fault(latin) == "\(latin):2: is not UTF-8; allowed: TOML 1.0, in UTF-8")
    let large = try workspace.write(String(repeating: "#", count: 256 * 1024 + 1), to: "large.toml")
    #expect(fault(large)?.contains("File too large") == true)

    let user = ["HOME": workspace.folder]
    #expect(try Configuration.load(file: nil, environment: user, isRoot: false).0.path == nil)
  }

  @Test("A default file whose path leads through a file is missing; one that --config names is refused")
  func noFolder() throws {
    let nowhere = try Configuration.load(file: nil, environment: ["HOME": "/dev/null"], isRoot: false).configuration
    #expect(nowhere.path == nil && nowhere.resources == [.character])
    #expect(
      fault("/dev/null/rosterd.toml")
        == "/dev/null/rosterd.toml: cannot be read: Not a directory; allowed: a readable file of at most 256 KiB")
  }

  private func fault(_ file: String) -> String? {
    do {
      _ = try Configuration.load(file: file, environment: [:], isRoot: true)
      return nil
    } catch {
      return error.description
    }
  }

  /// The warnings of a file that --config names, and of the same file as the default one of an earlier load.
  private func warnings(_ text: String, environment: [String: String] = [:]) throws -> (
    named: [String], default: [String]
  ) {
    let file = try workspace.write(text)
    return (
      try Configuration.load(file: file, environment: environment, isRoot: true).warnings,
      try Configuration.load(file: nil, again: file, environment: environment, isRoot: true).warnings
    )
  }

  @Test(
    "53: a named file without base_url and [resource.*] is a warning that names the mirrored resource",
    arguments: ["", "# rosterd infer failed\n", "[resource]\n", "[sync]\ninterval = \"1h\"\n"])
  func nothingNamed(text: String) throws {
    let warnings = try warnings(text)
    #expect(warnings.named.count == 1 && warnings.default.isEmpty)
    let warning = try #require(warnings.named.first).replacing("\(workspace.folder)/", with: "")
    #expect(
      warning.hasPrefix(
        "rosterd.toml sets neither upstream.base_url nor a [resource.*], so the defaults hold: character of https://rickandmortyapi.com/api is mirrored."
      ), "\(warning)")
  }

  @Test("53: a named file with base_url or [resource.*], or an environment with base_url, is no warning")
  func somethingNamed() throws {
    let url = "http://localhost:1"
    #expect(try warnings("[upstream]\nbase_url = \"\(url)\"\n").named.isEmpty)
    #expect(try warnings(FaultyDefinition.start + FaultyDefinition.columns).named.isEmpty)
    #expect(try warnings("", environment: ["ROSTERD_UPSTREAM_BASE_URL": url]).named.isEmpty)
  }
}
