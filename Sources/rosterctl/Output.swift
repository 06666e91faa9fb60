import Glibc
import RosterTerminal

/// A stream of this process, written to at once.
struct Output {
  static let standard = Output(descriptor: STDOUT_FILENO)
  static let error = Output(descriptor: STDERR_FILENO)

  let descriptor: Int32

  var terminal: Terminal { Terminal.of(descriptor, environment: environment) }

  /// Where nobody reads any more, SIGPIPE ends the program, as it does in every filter.
  func write(_ text: String) { write(Array(text.utf8)) }

  func write(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno != EINTR { return }
      rest = rest.dropFirst(max(0, count))
    }
  }

  /// Draws a line of a terminal again (ECMA-48 EL).
  func redraw(_ line: String) { write("\r\(line)\u{1b}[K") }
}
