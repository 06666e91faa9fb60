import ArgumentParser
import FoundationEssentials
import Glibc
import RosterCore
import RosterDaemon
import RosterDefinition
import RosterSystemd
import RosterTerminal

@main
struct Rosterd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rosterd",
    abstract: "Keeps a SQLite cache of a paginated REST API up to date.",
    version: rosterdVersion,
    subcommands: [
      RunCommand.self, SyncCommand.self, CheckCommand.self, InferCommand.self, LoginCommand.self, DemoCommand.self,
    ],
    defaultSubcommand: RunCommand.self)

  static func main() async {
    handleEarlySignals()
    preventCoreFiles()
    limitMemoryArenas()
    prepareProcess()
    do throws(Failure) {
      try expectProcessFolder()
      try OpenFiles.raise()
    } catch {
      Notify().failed(exitStatus: error.kind.exitCode, "\(error)")
      complain("\(error)")
      exit(withError: ExitCode(error.kind.exitCode))
    }
    let commands = configuration.subcommands.map { $0._commandName } + ["help"]
    // ArgumentParser would take the word for an argument of `run`.
    if let word = CommandLine.arguments.dropFirst().first, !word.hasPrefix("-"), !commands.contains(word) {
      let nearest = NearestWord.to(word, among: commands).map { "; did you mean '\($0)'?" } ?? ""
      refuse(ValidationError("There is no command '\(word)'\(nearest)"))
    }
    do {
      var command = try parseAsRoot()
      do {
        if var asynchronous = command as? any AsyncParsableCommand {
          try await asynchronous.run()
        } else {
          try command.run()
        }
      } catch {
        end(with: error)
      }
    } catch {
      refuse(error)
    }
  }

  /// Gives `run` and `sync` their exit codes also after a signal that arrives before they have opened anything.
  /// Later `Daemon` and `OneSync` handle the signals. All other commands end by the signal itself.
  private static func handleEarlySignals() {
    // `run` is also the command if none is named.
    let word = CommandLine.arguments.dropFirst().first ?? RunCommand._commandName
    if word == RunCommand._commandName || word.hasPrefix("-") {
      EarlyHangup.remember()
      for number in [SIGTERM, SIGINT] { signal(number) { _ in _exit(0) } }
    } else if word == SyncCommand._commandName {
      for number in [SIGTERM, SIGINT] { signal(number) { _ in _exit(Failure.Kind.cancelled.exitCode) } }
      // After nohup(1) the sync continues.
      if !isIgnored(signal: SIGHUP) { signal(SIGHUP) { _ in _exit(Failure.Kind.cancelled.exitCode) } }
    }
  }

  /// Prints the output that the command line requests instead of a command, such as help, or reports its error, also to
  /// systemd. Ends the program.
  private static func refuse(_ error: any Error) -> Never {
    let code = exitCode(for: error)
    if !code.isSuccess { Notify().failed(exitStatus: code.rawValue, message(for: error)) }
    end(with: error)
  }

  /// ArgumentParser throws help, version and completions, and would not notice that they cannot be written.
  private static func end(with error: any Error) -> Never {
    let text = fullMessage(for: error)
    guard exitCode(for: error).isSuccess, !text.isEmpty else { exit(withError: error) }
    do { try answer(text + "\n") } catch { exit(withError: error) }
    exit()
  }
}

struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Runs the daemon in the foreground, until SIGTERM or SIGINT.")

  @OptionGroup var options: ConfigurationOption

  func run() async throws {
    let configuration = try options.load(telling: Notify())
    let log = configuration.logSettings
    try await exiting(log.format) {
      try await Daemon.run(
        configuration, logger: rosterLog(log), log: log, reread: options.read(again:))
    }
  }
}
