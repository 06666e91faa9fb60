import ArgumentParser
import FoundationEssentials
import Glibc
import Logging
import RosterDaemon
import RosterModel
import RosterSystemd
import RosterTerminal

@main
struct Rosterd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rosterd",
    abstract: "Keeps a SQLite cache of a paginated REST API up to date.",
    version: rosterdVersion,
    subcommands: [RunCommand.self, SyncCommand.self, CheckCommand.self, DemoCommand.self],
    defaultSubcommand: RunCommand.self)

  static func main() async {
    let commands = configuration.subcommands.map { $0._commandName } + ["help"]
    // To ArgumentParser it would be an argument of `run`.
    if let word = CommandLine.arguments.dropFirst().first, !word.hasPrefix("-"), !commands.contains(word) {
      let nearest = NearestWord.to(word, among: commands).map { "; did you mean '\($0)'?" } ?? ""
      exit(withError: ValidationError("There is no command '\(word)'\(nearest)"))
    }
    await main(nil)
  }
}

/// What the commands that read the configuration share.
struct ConfigurationOption: ParsableArguments {
  @Option(name: .customLong("config"), help: "The configuration file.", completion: .file(extensions: ["toml"]))
  var file: String?

  /// Throws ConfigurationFaults.
  /// - Parameter path: The file that was read before, and must be there.
  @Sendable func read(again path: String? = nil) throws -> (configuration: Configuration, warnings: [String]) {
    try Configuration.load(file: file ?? path, environment: ProcessInfo.processInfo.environment)
  }

  /// Ends the program with 78 where the configuration is bad.
  /// - Parameter isLogging: what is said belongs to the log.
  func load(isLogging: Bool = true) throws -> Configuration {
    do {
      let (configuration, warnings) = try read()
      for warning in warnings { complain("warning: \(warning)", in: isLogging ? configuration.log.format : .text) }
      return configuration
    } catch let faults as ConfigurationFaults {
      for fault in faults.faults { complain("\(fault)", in: isLogging ? faults.logFormat : .text) }
      throw ExitCode(Failure.Exit.configuration.rawValue)
    }
  }
}

/// One line for people on stderr; where the log there is JSON, a line of it, since each line is to be JSON (S5).
func complain(_ line: String, in format: LogFormat = .text) {
  if format == .json {
    rosterLog(LogSettings(level: .error, format: format)).error("\(line)")
  } else {
    write("rosterd: \(line.printable)\n", to: STDERR_FILENO)
  }
}

/// Returns whether all of it was written.
@discardableResult
func write(_ text: String, to descriptor: Int32) -> Bool {
  var rest = Array(text.utf8)[...]
  while !rest.isEmpty {
    let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    if written <= 0 { return false }
    rest = rest.dropFirst(written)
  }
  return true
}

/// What a command was asked for. Ends the program with 73 where it cannot be written; that nobody reads it any more is no failure.
func answer(_ text: String) throws {
  if write(text, to: STDOUT_FILENO) || errno == EPIPE { return }
  complain("cannot write the answer to stdout: \(String(cString: strerror(errno)))")
  throw ExitCode(Failure.Exit.cannotWrite.rawValue)
}

/// Runs the command's work; a Failure becomes its sentence and its exit code.
func exiting(_ format: LogFormat = .text, _ work: () async throws -> Void) async throws {
  do { try await work() } catch let failure as Failure {
    complain("\(failure)", in: format)
    throw ExitCode(failure.exit.rawValue)
  }
}

func jsonLine(_ value: some Encodable) throws -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  let line = String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
  // Nothing of upstream's steers a terminal.
  return isatty(STDOUT_FILENO) == 1 ? line.printableJSON : line
}
