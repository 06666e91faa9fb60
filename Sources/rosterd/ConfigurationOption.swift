import ArgumentParser
import FoundationEssentials
import RosterCore
import RosterDaemon
import RosterDefinition
import RosterSystemd

/// The option of all commands that read the configuration.
struct ConfigurationOption: ParsableArguments {
  @Option(name: .customLong("config"), help: "The configuration file.", completion: .file(extensions: ["toml"]))
  var file: String?

  /// Throws ConfigurationFaults.
  /// - Parameter path: The file that was read before and must still exist.
  @Sendable func read(again path: String? = nil) throws -> (configuration: Configuration, warnings: [String]) {
    try Configuration.loadChecked(file: file, again: path, environment: ProcessInfo.processInfo.environment)
  }

  /// Ends the program with 78 if the configuration is invalid.
  /// - Parameters:
  ///   - isLogging: True if messages belong to the log.
  ///   - manager: The service manager to report a bad configuration to; nil for commands that are no service.
  func load(isLogging: Bool = true, telling manager: Notify? = nil) throws -> Configuration {
    do {
      let (configuration, warnings) = try read()
      for warning in warnings { complain("warning: \(warning)", in: isLogging ? configuration.log.format : .text) }
      return configuration
    } catch let faults as ConfigurationFaults {
      let code = refused(faults, in: isLogging ? faults.logFormat : .text)
      manager?.failed(exitStatus: code.rawValue, faults.faults.map { "\($0)" }.joined(separator: "; "))
      throw code
    }
  }
}

/// Prints all faults; the returned error ends the program with 78.
func refused(_ faults: ConfigurationFaults, in format: LogFormat) -> ExitCode {
  for fault in faults.faults { complain("\(fault)", in: format) }
  return ExitCode(Failure.Kind.configuration.exitCode)
}
