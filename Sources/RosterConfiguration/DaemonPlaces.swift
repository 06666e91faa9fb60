import Glibc
import RosterFiles
package import RosterModel

/// The places of one daemon's socket and cache.
package struct DaemonPlaces: Sendable, Equatable {
  /// Place of the status socket.
  package var socket: DefaultPaths
  /// Place of the database.
  package var cache: DefaultPaths
  /// The systemd unit that runs this daemon, without `.service`; nil if the package has no such unit.
  package var unit: String?

  /// The daemon that a user means without naming one.
  /// - Parameter system: The folders of the system's own daemon.
  package static func usual(
    environment: [String: String], isRoot: Bool = geteuid() == 0, system: Defaults = .system
  ) -> Self {
    let socket = DefaultPaths.socket(environment: environment, isRoot: isRoot, system: system)
    let cache = DefaultPaths.cache(environment: environment, isRoot: isRoot, system: system)
    return Self(socket: socket, cache: cache, unit: installed(socket: socket.path, system: system)?.unit)
  }

  /// The daemon of `rosterd@NAME.service`. If its configuration file is not readable, the unit's own folders apply.
  /// - Throws: 78 if there is no such file.
  package static func instance(_ name: String, system: Defaults = .system) throws(Failure) -> Self {
    let defaults = system.instance(name)
    try expect(defaults.configurationFile, mode: F_OK)
    return Self(defaults, unit: "rosterd@\(name)")
  }

  /// The daemon of `rosterd run --config FILE`. A file beside the system's own one belongs to an instance, as in the
  /// units.
  /// - Throws: 78 if the file is missing, or if it cannot be read and belongs to no unit.
  package static func file(
    _ path: String, environment: [String: String], isRoot: Bool = geteuid() == 0, system: Defaults = .system
  ) throws(Failure) -> Self {
    let real = resolved(path)
    if real == system.configurationFile { return Self(system, unit: rosterd) }
    if let name = system.instanceName(ofFile: real) { return try instance(name, system: system) }
    try expect(real, mode: R_OK)
    var defaults = Defaults(environment: environment, isRoot: isRoot)
    defaults.configurationFile = real
    return Self(defaults, unit: nil)
  }

  /// The unit of the package that reads this configuration file, without `.service`; nil if no unit reads it.
  package static func unit(ofFile path: String, system: Defaults = .system) -> String? {
    resolved(path) == system.configurationFile ? rosterd : system.instanceName(ofFile: path).map { "rosterd@\($0)" }
  }

  /// The daemon of the package whose status socket has this path; nil if no daemon has it.
  package static func installed(socket: String, system: Defaults = .system) -> Self? {
    let real = resolved(socket)
    let folder = String(system.socket.dropLast(statusSocket.count))
    return installed(named: between(folder, path: real, suffix: "/" + statusSocket), system) { $0.socket.path == real }
  }

  /// The daemon of the package whose cache has this path; nil if no daemon has it.
  package static func installed(cache: String, system: Defaults = .system) -> Self? {
    let real = resolved(cache)
    let name = between(system.stateDirectory + "/", path: real, suffix: "/roster.db")
    return installed(named: name, system) { $0.cache.path == real }
  }

  private static func installed(named name: String?, _ system: Defaults, isThere: (Self) -> Bool) -> Self? {
    let instance = name.map { Self(system.instance($0), unit: "rosterd@\($0)") }
    return [Self(system, unit: rosterd), instance].lazy.compactMap(\.self).first(where: isThere)
  }

  private init(socket: DefaultPaths, cache: DefaultPaths, unit: String?) {
    (self.socket, self.cache, self.unit) = (socket, cache, unit)
  }

  private init(_ defaults: Defaults, unit: String?) {
    self.init(
      socket: .place("status.socket", field: \.status.socket, defaults: defaults),
      cache: .place("cache.path", field: \.cache.path, defaults: defaults),
      unit: unit)
  }

  private static let rosterd = "rosterd"
  private static let statusSocket = "status.sock"

  private static func expect(_ file: String, mode: Int32) throws(Failure) {
    if access(file, mode) == 0 || mode == F_OK && errno == EACCES { return }
    throw Failure(
      .configuration, step: "find the daemon", subject: file, cause: SystemError.last.text,
      hint: "name a configuration file of rosterd that this user may read")
  }

  /// The text between the two, if it contains no slash; nil for any other path.
  static func between(_ prefix: String, path: String, suffix: String) -> String? {
    guard path.hasPrefix(prefix), path.hasSuffix(suffix), path.utf8.count > prefix.utf8.count + suffix.utf8.count else {
      return nil
    }
    let name = path.dropFirst(prefix.count).dropLast(suffix.count)
    return name.contains("/") ? nil : String(name)
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
