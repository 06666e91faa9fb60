import FoundationEssentials
import Glibc
import Testing

@testable import RosterDefinition

/// The places in which rosterctl looks for a daemon and its cache.
@Suite struct DefaultPathsTests {
  private let home: String
  private var environment: [String: String]

  init() throws {
    home = "/tmp/whereabouts-\(UInt32.random(in: 0 ... .max))"
    environment = [
      "XDG_CONFIG_HOME": "\(home)/config", "XDG_STATE_HOME": "\(home)/state", "XDG_RUNTIME_DIR": "\(home)/run",
    ]
  }

  private func configured(_ text: String, body: (String) throws -> Void) throws {
    try FileManager.default.createDirectory(atPath: "\(home)/config/rosterd", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: home) }
    let file = "\(home)/config/rosterd/rosterd.toml"
    try Data(text.utf8).write(to: URL(filePath: file))
    try body(file)
  }

  @Test("The environment wins over the file, and the file over the daemon's own default")
  func order() throws {
    try configured("[cache]\npath = \"/srv/roster.db\"\n") { _ in
      #expect(DefaultPaths.cache(environment: environment, isRoot: false) == DefaultPaths(path: "/srv/roster.db"))
      #expect(
        DefaultPaths.socket(environment: environment, isRoot: false)
          == DefaultPaths(path: "\(home)/run/rosterd/status.sock"))
      var named = environment
      named["ROSTERD_CACHE_PATH"] = "/elsewhere.db"
      named["ROSTERD_NO_SUCH_KEY"] = "x"
      #expect(DefaultPaths.cache(environment: named, isRoot: false) == DefaultPaths(path: "/elsewhere.db"))
    }
  }

  @Test("Another fault of the file is the daemon's concern; a fault that hides the path is reported")
  func bad() throws {
    try configured("[cache]\npath = \"/srv/roster.db\"\nhistory = 5\n[nonsense]\n") { _ in
      #expect(DefaultPaths.cache(environment: environment, isRoot: false) == DefaultPaths(path: "/srv/roster.db"))
    }
    for text in ["[cache]\npath = 5\n", "[cache\npath = \"/srv/roster.db\"\n"] {
      try configured(text) { file in
        let found = DefaultPaths.cache(environment: environment, isRoot: false)
        #expect(found.path == "\(home)/state/rosterd/roster.db")
        guard case .bad(let words) = found.doubt else { return #expect(Bool(false), "\(found)") }
        #expect(words.hasPrefix(file) && words.hasSuffix("cache.path was taken to be \(found.path)"))
      }
    }
  }

  @Test("Inside a service its folders are used; root has the system's")
  func service() {
    let service = ["STATE_DIRECTORY": "/srv/state:/other", "RUNTIME_DIRECTORY": "/run/here"]
    #expect(DefaultPaths.cache(environment: service, isRoot: false).path == "/srv/state/roster.db")
    #expect(DefaultPaths.socket(environment: service, isRoot: false).path == "/run/here/status.sock")
    #expect(DefaultPaths.socket(environment: environment, isRoot: true).path == "/run/rosterd/status.sock")
    #expect(DefaultPaths.cache(environment: environment, isRoot: true).path == "/var/lib/rosterd/roster.db")
  }

  @Test("A home that is not a folder has no configuration file, which is no fault")
  func noHome() {
    let found = DefaultPaths.cache(environment: ["HOME": "/dev/null"], isRoot: false, system: system)
    #expect(found == DefaultPaths(path: "/dev/null/.local/state/rosterd/roster.db"))
  }

  /// A system's own daemon, as it may run on this machine too.
  private var system: Defaults {
    Defaults(
      environment: ["CONFIGURATION_DIRECTORY": "\(home)/etc", "RUNTIME_DIRECTORY": "\(home)/system"], isRoot: true)
  }

  @Test("A user without a daemon asks the system's; without that one the user's own folders are used")
  func own() throws {
    let socket = { DefaultPaths.socket(environment: environment, isRoot: false, system: system).path }
    #expect(socket() == "\(home)/run/rosterd/status.sock")
    try FileManager.default.createDirectory(atPath: "\(home)/system", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: home) }
    try Data().write(to: URL(filePath: "\(home)/system/status.sock"))
    #expect(socket() == "\(home)/system/status.sock")
  }

  @Test("50: a cache of the user's own without a daemon hides neither place of the system's daemon")
  func together() throws {
    let places = { DaemonPlaces.usual(environment: environment, isRoot: false, system: system) }
    func put(_ path: String) throws {
      try FileManager.default.createDirectory(
        atPath: String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex)), withIntermediateDirectories: true)
      try Data().write(to: URL(filePath: path))
    }
    defer { try? FileManager.default.removeItem(atPath: home) }
    try put("\(home)/state/rosterd/roster.db")
    // The package is installed and its service has never run: the user means the cache of a sync by hand.
    try put("\(home)/etc/rosterd.toml")
    #expect(places().cache.path == "\(home)/state/rosterd/roster.db")
    try put("\(home)/system/status.sock")
    #expect(places().socket.path == "\(home)/system/status.sock")
    #expect(places().cache.path == system.cachePath)
    // A daemon of the user's own.
    try put("\(home)/run/rosterd/status.sock")
    #expect(places().socket.path == "\(home)/run/rosterd/status.sock")
    #expect(places().cache.path == "\(home)/state/rosterd/roster.db")
  }
}
