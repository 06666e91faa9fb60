import Testing

@testable import RosterDefinition

@Suite("Configuration: default places")
struct DefaultsTests {
  private func paths(_ environment: [String: String], isRoot: Bool) -> [String] {
    let defaults = Defaults(environment: environment, isRoot: isRoot)
    return [
      defaults.configurationFile, defaults.cachePath, defaults.tokenStore, defaults.socket,
      defaults.credentialsDirectory,
    ]
  }

  @Test("Root has the system's folders, whatever XDG says")
  func root() {
    let expected = [
      "/etc/rosterd/rosterd.toml", "/var/lib/rosterd/roster.db", "/var/lib/rosterd/token.json",
      "/run/rosterd/status.sock", "",
    ]
    #expect(paths(["XDG_STATE_HOME": "/x", "HOME": "/root"], isRoot: true) == expected)
  }

  @Test("A systemd service has the folders that systemd made for it, root or not", arguments: [true, false])
  func systemd(isRoot: Bool) {
    let environment = [
      "STATE_DIRECTORY": "/var/lib/one:/var/lib/two", "RUNTIME_DIRECTORY": "/run/one",
      "CONFIGURATION_DIRECTORY": "/etc/one",
      "CREDENTIALS_DIRECTORY": "/run/credentials/one", "XDG_CONFIG_HOME": "/x", "HOME": "/home/u",
    ]
    let expected = [
      "/etc/one/rosterd.toml", "/var/lib/one/roster.db", "/var/lib/one/token.json", "/run/one/status.sock",
      "/run/credentials/one",
    ]
    #expect(paths(environment, isRoot: isRoot) == expected)
  }

  @Test("Every other user has the XDG folders")
  func xdg() {
    let environment = ["XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/r", "HOME": "/home/u"]
    let expected = [
      "/c/rosterd/rosterd.toml", "/s/rosterd/roster.db", "/s/rosterd/token.json", "/r/rosterd/status.sock", "",
    ]
    #expect(paths(environment, isRoot: false) == expected)
  }

  @Test(
    "Without XDG folders those of the home are used, for the socket too",
    arguments: [[:], ["XDG_STATE_HOME": "", "XDG_CONFIG_HOME": "relative"]])
  func home(extra: [String: String]) {
    let expected = [
      "/home/u/.config/rosterd/rosterd.toml", "/home/u/.local/state/rosterd/roster.db",
      "/home/u/.local/state/rosterd/token.json", "/home/u/.local/state/rosterd/status.sock", "",
    ]
    #expect(paths(extra.merging(["HOME": "/home/u"]) { $1 }, isRoot: false) == expected)
  }

  @Test("50: with an instance's file, root has the instance's folders; a service and other users have their own")
  func instance() {
    let file = "/etc/rosterd/stage.toml"
    #expect(Defaults(of: file, environment: [:], isRoot: true) == Defaults.system.instance("stage"))
    for other in [nil, "/etc/rosterd/rosterd.toml", "/srv/stage.toml", "/etc/rosterd/old/stage.toml"] {
      #expect(Defaults(of: other, environment: [:], isRoot: true) == .system, "\(other ?? "")")
    }
    let service = ["STATE_DIRECTORY": "/var/lib/rosterd/test"]
    #expect(Defaults(of: file, environment: service, isRoot: true) == Defaults(environment: service, isRoot: true))
    #expect(Defaults(of: file, environment: [:], isRoot: false) == Defaults(environment: [:], isRoot: false))
  }
}
