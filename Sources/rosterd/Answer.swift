import ArgumentParser
import Glibc
import Logging
import RosterFiles
import RosterJSON
import RosterModel
import RosterSystemd
import RosterTerminal

/// One line for people on stderr; where the log there is JSON, a line of it, since each line is to be JSON (S5).
func complain(_ line: String, in format: LogFormat = .text) {
  if format == .json {
    rosterLog(LogSettings(level: .error, format: format)).error("\(line)")
  } else {
    say("rosterd: \(line.printable)\n")
  }
}

/// To stderr; where that cannot be written, nobody is left to tell.
func say(_ text: String) { try? write(Array(text.utf8), to: STDERR_FILENO) }

/// What a command was asked for. Ends the program with 73 where it cannot be written; that nobody reads it any more is
/// no failure.
func answer(_ text: String) throws {
  do throws(SystemError) { try write(Array(text.utf8), to: STDOUT_FILENO) } catch {
    if error.code == EPIPE { return }
    complain("cannot write the answer to stdout: \(error.text)")
    throw ExitCode(Failure.Kind.cannotWrite.exitCode)
  }
}

/// Runs the command's work; a Failure becomes its sentence and its exit code.
func exiting(_ format: LogFormat = .text, _ work: () async throws -> Void) async throws {
  do { try await work() } catch let failure as Failure {
    complain("\(failure)", in: format)
    throw ExitCode(failure.kind.exitCode)
  }
}

/// JSON that a command was asked for, as `answer`; nothing of upstream's steers a terminal.
func answer(json text: String) throws { try answer(isatty(STDOUT_FILENO) == 1 ? text.printableJSON : text) }

/// A value as a line of it.
func answer(asJSON value: some Encodable) throws {
  try answer(json: String(decoding: try value.jsonLine(), as: UTF8.self))
}
