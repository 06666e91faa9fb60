import RosterCore

extension Configuration {
  /// TOML that `load` accepts again: every key with its value, defaults filled in, secrets masked. `rosterd check`
  /// prints it.
  package func rendered() -> String {
    var lines: [String] = []
    var table: [String] = []
    for key in ConfigurationKey.all {
      let path = key.path
      if Array(path.dropLast()) != table {
        table = path.dropLast()
        lines += (lines.isEmpty ? [] : [""]) + ["[\(table.joined(separator: "."))]"]
      }
      lines += path.suffix(1).map { "\($0) = \(key.write(self))" }
    }
    let secrets = Set(auth.send.filter { $0.carrier == .parameter }.map(\.name))
    let tables = resources.map { $0.rendered(maxRemoval: sync.maxRemoval, secrets: secrets) }
    return ([lines.joined(separator: "\n") + "\n"] + tables).joined(separator: "\n")
  }

  /// The changed keys: those that a reload applies, and those that keep their old values until a restart.
  package func changes(from old: Configuration) -> (applied: [String], needRestart: [String]) {
    let changed = ConfigurationKey.all.filter { !$0.isSame(self, old) }
    let resource = resources == old.resources ? [] : ["resource"]
    return (changed.filter { !$0.needsRestart }.map(\.name), changed.filter(\.needsRestart).map(\.name) + resource)
  }

  /// The settings with which a running daemon continues: this configuration, with the old values of keys that need a
  /// restart.
  /// - Throws: Conflicts of that mixture, such as an http `token_url` with the old https `base_url`.
  package func replacing(_ running: Configuration) throws(ConfigurationFaults) -> Configuration {
    var next = self
    for key in ConfigurationKey.all where key.needsRestart { key.copy(running, &next) }
    next.resources = running.resources
    let conflicts = next.conflicts()
    guard conflicts.isEmpty else {
      throw ConfigurationFaults(
        faults: conflicts.map { conflict in
          ConfigurationFault(
            file: path, key: conflict.keys.first, problem: "\(conflict.problem) until a restart",
            allowed: conflict.allowed)
        })
    }
    return next
  }

  mutating func fillIn(_ defaults: Defaults) {
    if auth.credentialsDir.isEmpty { auth.credentialsDir = defaults.credentialsDirectory }
    if auth.tokenStore.isEmpty { auth.tokenStore = defaults.tokenStore }
    if cache.path.isEmpty { cache.path = defaults.cachePath }
    if status.socket.isEmpty { status.socket = defaults.socket }
  }
}
