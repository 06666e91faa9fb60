import ArgumentParser
import Glibc
import Logging
import RosterFiles
import RosterJSON
import RosterModel
import RosterSystemd

/// Prints one line for people on stderr. If the log on stderr is JSON, the line becomes a JSON object, because every
/// line must be JSON (S5).
func complain(_ line: String, in format: LogFormat = .text) {
  if format == .json {
    rosterLog(LogSettings(level: .error, format: format)).error("\(line)")
  } else {
    say("rosterd: \(line.printable)\n")
  }
}

/// Writes to stderr. A failure is ignored, because there is no other place to report it.
func say(_ text: String) { try? write(Array(text.utf8), to: STDERR_FILENO) }

/// Prints the requested output of a command. Ends the program with 73 if the output cannot be written. It is not a
/// failure if the reader has closed the pipe.
func answer(_ text: String) throws {
  do throws(SystemError) { try write(Array(text.utf8), to: STDOUT_FILENO) } catch {
    if error.code == EPIPE { return }
    complain("cannot write the answer to stdout: \(error.text)")
    throw ExitCode(Failure.Kind.cannotWrite.exitCode)
  }
}

/// Runs the command's work. A Failure ends the program with its sentence and its exit code.
func exiting(_ format: LogFormat = .text, work: () async throws -> Void) async throws {
  do { try await work() } catch let failure as Failure {
    complain("\(failure)", in: format)
    throw ExitCode(failure.kind.exitCode)
  }
}

/// Prints JSON as `answer` does. On a terminal, characters of upstream that control it are escaped.
func answer(json text: String) throws { try answer(isatty(STDOUT_FILENO) == 1 ? text.printableJSON : text) }

/// Prints a value as one line of JSON.
func answer(asJSON value: some Encodable) throws {
  try answer(json: String(decoding: try value.jsonLine(), as: UTF8.self))
}
