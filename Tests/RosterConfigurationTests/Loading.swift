import FoundationEssentials
import RosterDefinition
import RosterTestSupport

extension Workspace {
  /// Loads this text as a file, with no other environment, as root.
  func load(_ text: String, environment: [String: String] = [:]) throws -> Configuration {
    try Configuration.load(file: try write(text), environment: environment, isRoot: true).0
  }

  func warnings(_ text: String, environment: [String: String] = [:]) throws -> [String] {
    try Configuration.load(file: try write(text), environment: environment, isRoot: true).warnings
  }

  /// The sentences about faults, without the folder's name; empty if the text is valid.
  func faults(_ text: String, environment: [String: String] = [:]) throws -> [String] {
    do {
      _ = try load(text, environment: environment)
      return []
    } catch let error as ConfigurationFaults {
      return error.faults.map { $0.description.replacing("\(folder)/", with: "") }
    }
  }
}
