package import RosterModel

/// One thing wrong with the configuration, as one printed line.
package struct ConfigurationFault: Sendable, Equatable, CustomStringConvertible {
  /// nil for a variable, and for a default.
  package var file: String?
  /// From 1; nil where the fault is in no one line.
  package var line: Int?
  /// A key's path, or an environment variable; nil where the whole file is at fault.
  package var key: String?
  /// A clause: "100 is out of range".
  package var problem: String
  /// What would be good: "1 to 64".
  package var allowed: String

  /// `rosterd.toml:3: sync.concurrency: 100 is out of range; allowed: 1 to 64`
  package var description: String {
    let place = file.map { file in line.map { "\(file):\($0)" } ?? file }
    return ([place, key].compactMap { $0 } + ["\(problem); allowed: \(allowed)"]).joined(separator: ": ")
  }
}

/// Everything that is wrong, at once: ends the program with 78, or refuses a reload.
package struct ConfigurationFaults: Error, Sendable, Equatable, CustomStringConvertible {
  /// Not empty. Those of the file first, by line.
  package var faults: [ConfigurationFault]
  /// `log.format`, as far as it could be read: how the faults are to be told.
  package var logFormat = LogFormat.auto

  /// Of a start.
  package static let exit = Failure.Kind.configuration

  /// One line a fault.
  package var description: String { faults.map(\.description).joined(separator: "\n") }
}
