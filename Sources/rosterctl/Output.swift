import Dispatch
import Glibc
import RosterFiles
import RosterJSON
import RosterModel
import RosterTerminal

/// The message of a command that finds no snapshot to show.
func noSnapshot(in cache: String) -> String {
  "the cache \(cache) holds no snapshot yet: no sync has been published"
}

/// A stream of this process, written to at once.
struct Output {
  static let standard = Output(descriptor: STDOUT_FILENO)
  static let error = Output(descriptor: STDERR_FILENO)

  /// The reader has closed the pipe, such as `head` after its last line. The program then ends without an error.
  struct Unread: Error {}

  let descriptor: Int32

  var terminal: Terminal { Terminal.of(descriptor, environment: environment) }

  func write(_ text: String) throws { try write(Array(text.utf8)) }

  /// Throws `Unread`, or `Failure` (73) where the text cannot be written.
  func write(_ bytes: [UInt8]) throws {
    do throws(SystemError) { try RosterFiles.write(bytes, to: descriptor) } catch {
      if error.code == EPIPE { throw Unread() }
      throw Failure(.cannotWrite, step: "write the answer", subject: "standard output", cause: error.text)
    }
  }

  /// Writes JSON unchanged, except that text of upstream's cannot control a terminal.
  func write(json text: String) throws { try write(isatty(descriptor) == 1 ? text.printableJSON : text) }

  func write(json bytes: [UInt8]) throws {
    isatty(descriptor) == 1 ? try write(json: String(decoding: bytes, as: UTF8.self)) : try write(bytes)
  }

  /// Writes a value as the JSON that the daemon sends.
  func write(asJSON value: some Encodable) throws {
    try write(json: Array(try value.jsonLine()))
  }

  /// Writes an answer, and ignores that its reader is gone. The exit code is that of the command.
  static func ifRead(_ write: () throws -> Void) throws {
    do { try write() } catch is Unread {}
  }

  /// Writes a note beside the answer. A failure is ignored, because it could not be reported either.
  func say(_ text: String) { try? write(text) }

  /// A sentence for people, which may hold upstream's words.
  func tell(_ sentence: String) { say("rosterctl: \(sentence.printable)\n") }

  /// Draws a line of a terminal again (ECMA-48 EL).
  func redraw(_ line: String) { say("\r\(line)\u{1b}[K") }

  /// Ends the program when its reader has closed the pipe, even if there is nothing to write for hours.
  func endWhenUnread() {
    // A thread of its own: it waits for as long as the program lives.
    DispatchQueue(label: "unread").async { [descriptor] in
      var reader = pollfd(fd: descriptor, events: 0, revents: 0)
      while poll(&reader, 1, -1) < 0 && errno == EINTR {}
      if reader.revents & Int16(POLLERR) != 0 { _exit(0) }
    }
  }
}
