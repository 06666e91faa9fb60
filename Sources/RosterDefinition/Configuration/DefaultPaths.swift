import Glibc
import RosterCore

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
    find(.socket, environment: environment, isRoot: isRoot, system: system)
  }

  /// - Parameter system: the places of the system's own daemon, for users without one.
  package static func cache(
    environment: [String: String], isRoot: Bool = geteuid() == 0, system: Defaults = .system
  ) -> Self {
    find(.cache, environment: environment, isRoot: isRoot, system: system)
  }

  /// The keys of these paths.
  enum Key: String {
    case socket = "status.socket"
    case cache = "cache.path"

    fileprivate func value(in configuration: Configuration) -> String {
      self == .socket ? configuration.status.socket : configuration.cache.path
    }
  }

  private static func find(
    _ key: Key, environment: [String: String], isRoot: Bool, system: Defaults
  ) -> Self {
    let variable = ConfigurationKey.all.first { $0.name == key.rawValue }?.variable ?? ""
    let own = Defaults(environment: environment, isRoot: isRoot)
    if let named = environment[variable] {
      return Self(path: named.isEmpty ? value(of: key, in: Configuration(), defaults: own) : named)
    }
    return place(key, defaults: isSystemMeant(insteadOf: own, system) ? system : own)
  }

  /// True if a user without a daemon means the system's. A cache alone does not prove a daemon: a manual sync may have
  /// left it. The decision is common to the socket and the cache, because both belong to one daemon.
  private static func isSystemMeant(insteadOf own: Defaults, _ system: Defaults) -> Bool {
    guard own.configurationFile != system.configurationFile, !isThere(own.configurationFile), !isThere(own.socket)
    else { return false }
    let theirs = [place(.socket, defaults: system).path, place(.cache, defaults: system).path]
    if theirs.contains(where: mayBeThere) { return true }
    return !isThere(place(.cache, defaults: own).path) && mayBeThere(system.configurationFile)
  }

  private static func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Reads only this key of the file; the others need not be valid.
  static func place(_ key: Key, defaults: Defaults) -> Self {
    let file = defaults.configurationFile
    var reader = ConfigurationReader()
    reader.readFile(file, mustExist: false)
    let path = value(of: key, in: reader.configuration, defaults: defaults)
    if access(file, R_OK) != 0, !ConfigurationReader.absences.contains(errno) {
      let cause = SystemError.last.text
      return Self(
        path: path, doubt: .unreadable("\(file) cannot be read (\(cause)): \(key.rawValue) was taken to be \(path)"))
    }
    let fault = reader.faults.first { $0.key == key.rawValue || !reader.isParsed }
    return Self(path: path, doubt: fault.map { .bad("\($0): \(key.rawValue) was taken to be \(path)") })
  }

  private static func value(of key: Key, in configuration: Configuration, defaults: Defaults) -> String {
    var configuration = configuration
    configuration.fillIn(defaults)
    return key.value(in: configuration)
  }

  /// True also if the path cannot be checked: the system's folders may be closed to this user, and a message reports
  /// it. A closed home belongs to another user, whose environment `setpriv` or `su` has left.
  private static func mayBeThere(_ path: String) -> Bool {
    access(path, F_OK) == 0 || errno == EACCES
  }
}

/// The absolute path without links, also if its last parts or the target of a link are missing.
func place(of path: String) -> String {
  func names(_ path: String) -> [String] { path.split(separator: "/").reversed().map { String($0) } }
  var place = path.hasPrefix("/") ? "/" : resolved(".")
  var left = names(path)
  var links = 0
  while let name = left.popLast() {
    if name == "." { continue }
    if name == ".." {
      place = parentFolder(of: place)
      continue
    }
    let next = place == "/" ? "/\(name)" : "\(place)/\(name)"
    if links < maxLinks, let target = linkTarget(next) {
      links += 1
      if target.hasPrefix("/") { place = "/" }
      left += names(target)
    } else {
      place = next
    }
  }
  return place
}

/// The system follows no more (path_resolution(7)).
private let maxLinks = 40

/// The absolute path without links, if the file exists.
package func resolved(_ path: String) -> String {
  guard let real = realpath(path, nil) else { return path }
  defer { free(real) }
  return String(cString: real)
}
