package import RosterCore

/// One mistake in the configuration, as one printed line.
package struct ConfigurationFault: Sendable, Equatable, CustomStringConvertible {
  /// nil for a variable, and for a default.
  package var file: String?
  /// The line, from 1; nil if the mistake does not belong to a single line.
  package var line: Int?
  /// A key's path, or an environment variable; nil if the whole file is wrong.
  package var key: String?
  /// A clause such as "100 is out of range".
  package var problem: String
  /// The permitted values, such as "1 to 64".
  package var allowed: String
  /// The name of the broken rule; nil for a value that is invalid by itself.
  package var rule: String?

  /// `rosterd.toml:3: sync.concurrency: 100 is out of range; allowed: 1 to 64`
  package var description: String {
    let place = file.map { file in line.map { "\(file):\($0)" } ?? file }
    return ([place, key].compactMap { $0 } + ["\(problem); allowed: \(allowed)"]).joined(separator: ": ")
  }
}

/// All mistakes together: they end the program with 78, or refuse a reload.
package struct ConfigurationFaults: Error, Sendable, Equatable, CustomStringConvertible {
  /// At least one mistake. Mistakes of the file come first, by line.
  package var faults: [ConfigurationFault]
  /// `log.format`, if it could be read: the format in which the mistakes are reported.
  package var logFormat = LogFormat.auto

  /// One line per mistake.
  package var description: String { faults.map(\.description).joined(separator: "\n") }
}

/// Values that are valid separately, but not together or not on this machine.
package struct Conflict: Sendable, Equatable {
  /// The first key should be corrected; the others contribute to the conflict.
  package var keys: [String]
  /// The wrong entry of the first key's table.
  package var entry: String?
  /// A clause about the conflict.
  package var problem: String
  /// The permitted values.
  package var allowed: String
  /// The name of the broken rule; nil for a conflict with this machine.
  package var rule: String?

  /// - Parameter problem: a clause without secrets.
  package init(keys: [String], entry: String? = nil, problem: String, allowed: String, rule: String? = nil) {
    (self.keys, self.entry, self.problem, self.allowed, self.rule) = (keys, entry, problem, allowed, rule)
  }
}
