import RosterCore

/// The default paths, which the configuration can replace.
///
/// Inside a systemd service, the service's folders apply (systemd.exec(5), STATE_DIRECTORY and similar variables).
/// Otherwise root uses the system's folders, and other users use those of the XDG Base Directory Specification. Without
/// XDG_RUNTIME_DIR the socket is in the state folder: only the user can create files there, whereas any user can take a
/// name in /tmp.
package struct Defaults: Sendable, Equatable {
  /// Path of rosterd.toml.
  package var configurationFile: String
  /// Folder of roster.db and token.json.
  package var stateDirectory: String
  /// Path of the status socket.
  package var socket: String
  /// Folder of the credential files; empty if there is no such folder.
  package var credentialsDirectory: String

  /// The database.
  package var cachePath: String { "\(stateDirectory)/roster.db" }
  /// The file of the session.
  package var tokenStore: String { "\(stateDirectory)/token.json" }

  /// The defaults of the service that the package installs.
  package static let system = Defaults(environment: [:], isRoot: true)

  /// The defaults for reading a configuration file. If root is not in a service, a file beside
  /// /etc/rosterd/rosterd.toml belongs to an instance, whose folders apply.
  init(of file: String?, environment: [String: String], isRoot: Bool) {
    self.init(environment: environment, isRoot: isRoot)
    if self == .system, let name = file.flatMap(instanceName(ofFile:)) { self = instance(name) }
  }

  /// The NAME of `rosterd@NAME.service` if the file is its configuration file, else nil. Call this on the defaults of
  /// `rosterd.service`.
  func instanceName(ofFile path: String) -> String? {
    let real = resolved(path)
    return real == configurationFile
      ? nil : Self.name(in: real, after: configurationFolder + "/", before: ".toml")
  }

  /// The text between the two, if it contains no slash; nil for any other path.
  static func name(in path: String, after prefix: String, before suffix: String) -> String? {
    guard path.hasPrefix(prefix), path.hasSuffix(suffix), path.utf8.count > prefix.utf8.count + suffix.utf8.count else {
      return nil
    }
    let name = path.dropFirst(prefix.count).dropLast(suffix.count)
    return name.contains("/") ? nil : String(name)
  }

  /// The unit of the package that reads this configuration file, without `.service`; nil if no unit reads it. Call this
  /// on the defaults of `rosterd.service`.
  package func unit(ofFile path: String) -> String? {
    resolved(path) == configurationFile ? "rosterd" : instanceName(ofFile: path).map { "rosterd@\($0)" }
  }

  /// The defaults of `rosterd@NAME.service`. Call this on those of `rosterd.service`.
  func instance(_ name: String) -> Defaults {
    var defaults = self
    defaults.configurationFile = "\(configurationFolder)/\(name).toml"
    defaults.stateDirectory += "/\(name)"
    defaults.socket = "\(parentFolder(of: socket))/\(name)/status.sock"
    return defaults
  }

  var configurationFolder: String { parentFolder(of: configurationFile) }

  /// - Parameter isRoot: true if the process runs as root, which uses the system's folders outside a service.
  package init(environment: [String: String], isRoot: Bool) {
    // systemd separates several folders with colons, in the order of the unit file. The first one is used.
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

/// The folders of the XDG Base Directory Specification. A variable that is unset, empty or relative is ignored.
private struct UserFolders {
  let configuration: String
  let state: String
  let runtime: String

  init(_ environment: [String: String]) {
    func folder(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
    // A user without a home has only the current folder.
    let home = folder("HOME") ?? "."
    configuration = folder("XDG_CONFIG_HOME") ?? "\(home)/.config"
    state = folder("XDG_STATE_HOME") ?? "\(home)/.local/state"
    runtime = folder("XDG_RUNTIME_DIR") ?? state
  }
}
