import Glibc
import RosterFiles

/// The path where another program looks for the daemon's socket or cache. It comes from the environment, the
/// configuration file, or the daemon's own defaults.
package struct DefaultPaths: Sendable, Equatable {
  /// The reason why the configuration file was not used.
  package enum Doubt: Sendable, Equatable {
    /// Usual for a user who may use the socket but not read the file. Only relevant if no file exists at the path.
    case unreadable(String)
    /// The file has a fault. Always relevant, because the daemon may use other paths than the default ones.
    case bad(String)
  }

  /// The path to try; the file need not exist.
  package var path: String
  /// nil without a doubt.
  package var doubt: Doubt?

  /// - Parameter system: the places of the system's own daemon, for users without one.
  package static func socket(
    environment: [String: String], isRoot: Bool = geteuid() == 0, system: Defaults = .system
  ) -> Self {
    find("status.socket", field: \.status.socket, environment: environment, isRoot: isRoot, system: system)
  }

  /// - Parameter system: the places of the system's own daemon, for users without one.
  package static func cache(
    environment: [String: String], isRoot: Bool = geteuid() == 0, system: Defaults = .system
  ) -> Self {
    find("cache.path", field: \.cache.path, environment: environment, isRoot: isRoot, system: system)
  }

  private static func find(
    _ key: String, field: KeyPath<Configuration, String>, environment: [String: String], isRoot: Bool,
    system: Defaults
  ) -> Self {
    let variable = ConfigurationKey.all.first { $0.name == key }?.variable ?? ""
    let own = Defaults(environment: environment, isRoot: isRoot)
    if let named = environment[variable] {
      return Self(path: named.isEmpty ? filled(Configuration(), defaults: own)[keyPath: field] : named)
    }
    return place(key, field: field, defaults: isSystemMeant(insteadOf: own, system) ? system : own)
  }

  /// True if a user without a daemon means the system's. A cache alone does not prove a daemon: a manual sync may have
  /// left it. The decision is common to the socket and the cache, because both belong to one daemon (L10.5).
  private static func isSystemMeant(insteadOf own: Defaults, _ system: Defaults) -> Bool {
    guard own.configurationFile != system.configurationFile, !isThere(own.configurationFile), !isThere(own.socket)
    else { return false }
    let theirs = [
      place("status.socket", field: \.status.socket, defaults: system).path,
      place("cache.path", field: \.cache.path, defaults: system).path,
    ]
    if theirs.contains(where: mayBeThere) { return true }
    return !isThere(place("cache.path", field: \.cache.path, defaults: own).path)
      && mayBeThere(system.configurationFile)
  }

  private static func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Reads only this key of the file; the others need not be valid.
  static func place(_ key: String, field: KeyPath<Configuration, String>, defaults: Defaults) -> Self {
    let file = defaults.configurationFile
    var reader = ConfigurationReader()
    reader.readFile(file, mustExist: false)
    let path = filled(reader.configuration, defaults: defaults)[keyPath: field]
    if access(file, R_OK) != 0, !ConfigurationReader.absences.contains(errno) {
      let cause = SystemError.last.text
      return Self(path: path, doubt: .unreadable("\(file) cannot be read (\(cause)): \(key) was taken to be \(path)"))
    }
    let fault = reader.faults.first { $0.key == key || !reader.isParsed }
    return Self(path: path, doubt: fault.map { .bad("\($0): \(key) was taken to be \(path)") })
  }

  private static func filled(_ configuration: Configuration, defaults: Defaults) -> Configuration {
    var configuration = configuration
    configuration.fillIn(defaults)
    return configuration
  }

  /// True also if the path cannot be checked: the system's folders may be closed to this user, and a message reports
  /// it. A closed home belongs to another user, whose environment `setpriv` or `su` has left.
  private static func mayBeThere(_ path: String) -> Bool {
    access(path, F_OK) == 0 || errno == EACCES
  }
}
