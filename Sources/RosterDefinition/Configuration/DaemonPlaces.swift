import Glibc
package import RosterCore

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

  /// The daemon of the package whose status socket has this path; nil if no daemon has it.
  package static func installed(socket: String, system: Defaults = .system) -> Self? {
    let real = resolved(socket)
    let folder = String(system.socket.dropLast(statusSocket.count))
    return installed(named: Defaults.name(in: real, after: folder, before: "/" + statusSocket), system) {
      $0.socket.path == real
    }
  }

  /// The daemon of the package whose cache has this path; nil if no daemon has it.
  package static func installed(cache: String, system: Defaults = .system) -> Self? {
    let real = resolved(cache)
    let name = Defaults.name(in: real, after: system.stateDirectory + "/", before: "/roster.db")
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
      socket: .place(.socket, defaults: defaults), cache: .place(.cache, defaults: defaults), unit: unit)
  }

  private static let rosterd = "rosterd"
  private static let statusSocket = "status.sock"

  private static func expect(_ file: String, mode: Int32) throws(Failure) {
    if access(file, mode) == 0 || mode == F_OK && errno == EACCES { return }
    throw Failure(
      .configuration, step: "find the daemon", subject: file, cause: SystemError.last.text,
      hint: "name a configuration file of rosterd that this user may read")
  }
}
