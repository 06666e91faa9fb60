/// Where things are unless the configuration says otherwise: systemd's folders, the system's, or the user's own (XDG).
package struct DefaultPaths: Sendable, Equatable {
  package let configuration: String
  package let cache: String
  package let tokenStore: String
  package let credentials: String
  package let socket: String

  /// - Parameter environment: STATE_DIRECTORY, RUNTIME_DIRECTORY, CREDENTIALS_DIRECTORY (systemd.exec(5)), XDG_* and HOME are read.
  package init(environment: [String: String], isRoot: Bool) {
    func folder(_ name: String) -> String? {
      // systemd lists several folders with colons; the first is ours.
      environment[name]?.split(separator: ":").first.map(String.init)
    }
    let home = environment["HOME"] ?? ""
    let isUsers = !isRoot && environment["STATE_DIRECTORY"] == nil && environment["RUNTIME_DIRECTORY"] == nil
    let usersState = (folder("XDG_STATE_HOME") ?? "\(home)/.local/state") + "/rosterd"
    let state = folder("STATE_DIRECTORY") ?? (isUsers ? usersState : "/var/lib/rosterd")
    // Without a runtime folder of the user's own, the state folder is the one place that nobody else can write to.
    let usersRuntime = folder("XDG_RUNTIME_DIR").map { "\($0)/rosterd" } ?? usersState
    let runtime = folder("RUNTIME_DIRECTORY") ?? (isUsers ? usersRuntime : "/run/rosterd")
    let usersConfiguration = folder("XDG_CONFIG_HOME") ?? "\(home)/.config"
    configuration = (isUsers ? usersConfiguration : "/etc") + "/rosterd/rosterd.toml"
    cache = "\(state)/roster.db"
    tokenStore = "\(state)/token.json"
    socket = "\(runtime)/status.sock"
    credentials = folder("CREDENTIALS_DIRECTORY") ?? ""
  }
}
