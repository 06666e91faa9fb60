import Glibc
import RosterFiles

/// Where another program looks for the daemon's socket or its cache: what the environment says, the configuration file,
/// the daemon's own defaults.
package struct Whereabouts: Sendable, Equatable {
  /// Why the configuration file had no say.
  package enum Doubt: Sendable, Equatable {
    /// Usual for one who may use the socket and not read the file: of interest where nothing is at the path.
    case unreadable(String)
    /// Somebody has to mend it: of interest always, since the daemon may be elsewhere.
    case bad(String)

    /// A clause.
    package var text: String {
      switch self {
      case .unreadable(let text), .bad(let text): text
      }
    }
  }

  /// Where to look; nothing says that something is there.
  package var path: String
  /// nil: none.
  package var doubt: Doubt?

  /// - Parameter system: where the system's own daemon is, for users without one.
  package static func socket(
    environment: [String: String], isRoot: Bool = geteuid() == 0, system: Defaults = .system
  ) -> Self {
    find("status.socket", \.status.socket, environment, isRoot, system)
  }

  /// - Parameter system: where the system's own daemon is, for users without one.
  package static func cache(
    environment: [String: String], isRoot: Bool = geteuid() == 0, system: Defaults = .system
  ) -> Self {
    find("cache.path", \.cache.path, environment, isRoot, system)
  }

  private static func find(
    _ key: String, _ field: KeyPath<Configuration, String>, _ environment: [String: String], _ isRoot: Bool,
    _ system: Defaults
  ) -> Self {
    let variable = ConfigurationKey.all.first { $0.name == key }?.variable ?? ""
    let own = Defaults(environment: environment, isRoot: isRoot)
    if let named = environment[variable] {
      return Self(path: named.isEmpty ? filled(Configuration(), own)[keyPath: field] : named)
    }
    return place(key, field, isSystemMeant(insteadOf: own, system) ? system : own)
  }

  /// Whether a user without a daemon of their own means the system's. A cache alone is no daemon: a sync by hand may
  /// have left it. The decision holds for the socket and the cache together, which are of one daemon (L10.5).
  private static func isSystemMeant(insteadOf own: Defaults, _ system: Defaults) -> Bool {
    guard own.configurationFile != system.configurationFile, !isThere(own.configurationFile), !isThere(own.socket)
    else { return false }
    let theirs = [
      place("status.socket", \.status.socket, system).path, place("cache.path", \.cache.path, system).path,
    ]
    if theirs.contains(where: mayBeThere) { return true }
    return !isThere(place("cache.path", \.cache.path, own).path) && mayBeThere(system.configurationFile)
  }

  private static func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// What the file says of this key alone: it need not be good in all others.
  static func place(_ key: String, _ field: KeyPath<Configuration, String>, _ defaults: Defaults) -> Self {
    let file = defaults.configurationFile
    var reader = ConfigurationReader()
    reader.readFile(file, mustExist: false)
    let path = filled(reader.configuration, defaults)[keyPath: field]
    if access(file, R_OK) != 0, !ConfigurationReader.absences.contains(errno) {
      let cause = SystemError.last.text
      return Self(path: path, doubt: .unreadable("\(file) cannot be read (\(cause)): \(key) was taken to be \(path)"))
    }
    let fault = reader.faults.first { $0.key == key || !reader.isParsed }
    return Self(path: path, doubt: fault.map { .bad("\($0): \(key) was taken to be \(path)") })
  }

  private static func filled(_ configuration: Configuration, _ defaults: Defaults) -> Configuration {
    var configuration = configuration
    configuration.fillIn(defaults)
    return configuration
  }

  /// Also where it cannot be looked at: the system's folders may be closed to this user, who then learns that. A home
  /// that is closed is another's, left in the environment by `setpriv` or `su`.
  private static func mayBeThere(_ path: String) -> Bool {
    access(path, F_OK) == 0 || errno == EACCES
  }
}
