import RosterFiles

/// Where things are unless the configuration says otherwise.
///
/// Inside a systemd service its folders hold (systemd.exec(5), STATE_DIRECTORY and its like). Outside, root has the
/// system's folders and anyone else those of the XDG Base Directory Specification. Without XDG_RUNTIME_DIR the socket
/// goes to the state folder: a socket there belongs to the user alone, whereas a name in /tmp can be taken by anybody.
package struct Defaults: Sendable, Equatable {
  /// rosterd.toml.
  package var configurationFile: String
  /// Holds roster.db and token.json.
  package var stateDirectory: String
  /// The status socket.
  package var socket: String
  /// Empty: none.
  package var credentialsDirectory: String

  /// The database.
  package var cachePath: String { "\(stateDirectory)/roster.db" }
  /// The file of the session.
  package var tokenStore: String { "\(stateDirectory)/token.json" }

  /// Those of the service that the package installs.
  package static let system = Defaults(environment: [:], isRoot: true)

  /// Those with which rosterd reads a configuration file. For root, who is not in a service, a file beside
  /// /etc/rosterd/rosterd.toml is an instance's, and so are its folders (P14.2).
  init(of file: String?, environment: [String: String], isRoot: Bool) {
    self.init(environment: environment, isRoot: isRoot)
    if self == .system, let name = file.flatMap(instanceName(ofFile:)) { self = instance(name) }
  }

  /// The NAME of `rosterd@NAME.service`, whose configuration file it is; nil if it is no instance's. Call it on the
  /// defaults of `rosterd.service`.
  func instanceName(ofFile path: String) -> String? {
    let real = resolved(path)
    return real == configurationFile ? nil : DaemonPlaces.between(configurationFolder + "/", real, ".toml")
  }

  /// The defaults of `rosterd@NAME.service`. Call it on those of `rosterd.service`.
  func instance(_ name: String) -> Defaults {
    var defaults = self
    defaults.configurationFile = "\(configurationFolder)/\(name).toml"
    defaults.stateDirectory += "/\(name)"
    defaults.socket = "\(parentFolder(of: socket))/\(name)/status.sock"
    return defaults
  }

  /// Holds rosterd.toml.
  var configurationFolder: String { parentFolder(of: configurationFile) }

  /// - Parameter isRoot: outside a service, root has the system's folders.
  package init(environment: [String: String], isRoot: Bool) {
    // systemd lists several folders with colons; the first is the one that the unit names first.
    func service(_ name: String) -> String? {
      environment[name].flatMap { $0.split(separator: ":").first }.map(String.init)
    }
    let state = service("STATE_DIRECTORY")
    let runtime = service("RUNTIME_DIRECTORY")
    credentialsDirectory = environment["CREDENTIALS_DIRECTORY"] ?? ""
    let configuration = service("CONFIGURATION_DIRECTORY")
    let isService = state != nil || runtime != nil || configuration != nil || !credentialsDirectory.isEmpty
    let user = isRoot || isService ? nil : UserFolders(environment)

    configurationFile = "\(configuration ?? "\(user?.configuration ?? "/etc")/rosterd")/rosterd.toml"
    stateDirectory = state ?? "\(user?.state ?? "/var/lib")/rosterd"
    socket = "\(runtime ?? "\(user?.runtime ?? "/run")/rosterd")/status.sock"
  }
}

/// The XDG Base Directory Specification: a variable that is unset, empty or relative does not count.
private struct UserFolders {
  let configuration: String
  let state: String
  let runtime: String

  init(_ environment: [String: String]) {
    func folder(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
    // A user without a home has no folder of their own but where they stand.
    let home = folder("HOME") ?? "."
    configuration = folder("XDG_CONFIG_HOME") ?? "\(home)/.config"
    state = folder("XDG_STATE_HOME") ?? "\(home)/.local/state"
    runtime = folder("XDG_RUNTIME_DIR") ?? state
  }
}
