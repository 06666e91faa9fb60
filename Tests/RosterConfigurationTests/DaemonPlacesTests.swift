import FoundationEssentials
import Glibc
import RosterCore
import Testing

@testable import RosterDefinition

@Suite("Commands: places of the daemon of an instance, of a configuration file and of one place")
struct DaemonPlacesTests {
  private let root: String
  private let system: Defaults

  init() throws {
    root = "/tmp/places-\(UInt32.random(in: 0 ... .max))"
    system = Defaults(
      environment: [
        "CONFIGURATION_DIRECTORY": "\(root)/etc", "STATE_DIRECTORY": "\(root)/state",
        "RUNTIME_DIRECTORY": "\(root)/run",
      ], isRoot: true)
  }

  private func configured(_ files: [String: String], body: () throws -> Void) throws {
    try FileManager.default.createDirectory(atPath: "\(root)/etc", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: root) }
    for (name, text) in files { try Data(text.utf8).write(to: URL(filePath: "\(root)/etc/\(name)")) }
    try body()
  }

  @Test("50: an instance has the folders of its unit, unless its file names other places")
  func instance() throws {
    try configured(["stage.toml": "", "test.toml": "[cache]\npath = \"/srv/test.db\"\n"]) {
      let stage = try DaemonPlaces.instance("stage", system: system)
      #expect(stage.socket.path == "\(root)/run/stage/status.sock" && stage.unit == "rosterd@stage")
      #expect(stage.cache.path == "\(root)/state/stage/roster.db" && stage.cache.doubt == nil)
      #expect(try DaemonPlaces.instance("test", system: system).cache.path == "/srv/test.db")
      let missing = #expect(throws: Failure.self) { try DaemonPlaces.instance("stag", system: system) }
      #expect(missing?.kind == .configuration && missing?.subject == "\(root)/etc/stag.toml")
    }
  }

  @Test("50: a file determines the places as for rosterd; beside the system's own file it is an instance's")
  func file() throws {
    let elsewhere = "[status]\nsocket = \"/srv/s.sock\"\n"
    try configured(["rosterd.toml": "", "stage.toml": "", "other": elsewhere]) {
      let environment = ["STATE_DIRECTORY": "/srv/state"]
      func places(_ name: String) throws -> DaemonPlaces {
        try DaemonPlaces.file("\(root)/etc/\(name)", environment: environment, isRoot: true, system: system)
      }
      #expect(try places("stage.toml") == DaemonPlaces.instance("stage", system: system))
      #expect(try places("../etc/rosterd.toml").cache.path == "\(root)/state/roster.db")
      #expect(try places("rosterd.toml").unit == "rosterd")
      let other = try places("other")
      #expect(other.socket.path == "/srv/s.sock" && other.cache.path == "/srv/state/roster.db" && other.unit == nil)
      let missing = #expect(throws: Failure.self) { try places("none.toml") }
      #expect(missing?.kind == .configuration)
    }
  }

  @Test("50: a socket or a cache in the folders of a unit determines the other one, if its file agrees")
  func installed() throws {
    try configured(["moved.toml": "[cache]\npath = \"/srv/moved.db\"\n"]) {
      let stage = DaemonPlaces.installed(socket: "\(root)/run/stage/status.sock", system: system)
      #expect(stage?.cache.path == "\(root)/state/stage/roster.db" && stage?.unit == "rosterd@stage")
      #expect(DaemonPlaces.installed(cache: "\(root)/state/stage/roster.db", system: system) == stage)
      let own = DaemonPlaces.installed(cache: "\(root)/state/roster.db", system: system)
      #expect(own?.socket.path == "\(root)/run/status.sock" && own?.unit == "rosterd")
      let moved = DaemonPlaces.installed(socket: "\(root)/run/moved/status.sock", system: system)
      #expect(moved?.cache.path == "/srv/moved.db")
      for path in ["\(root)/state/moved/roster.db", "/srv/moved.db", "\(root)/state/a/b/roster.db", "roster.db"] {
        #expect(DaemonPlaces.installed(cache: path, system: system) == nil, "\(path)")
      }
      #expect(DaemonPlaces.installed(socket: "\(root)/run/stage/other.sock", system: system) == nil)
    }
  }
}
