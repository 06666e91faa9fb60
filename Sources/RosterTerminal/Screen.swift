/// The control sequences of a program that has the whole terminal (ECMA-48; xterm's alternate screen, mode 1049).
package enum Screen {
  /// Its own screen, without a cursor; what was on the terminal comes back with `leave`.
  package static let enter: StaticString = "\u{1b}[?1049h\u{1b}[?25l"
  /// Gives back what `enter` took.
  package static let leave: StaticString = "\u{1b}[?25h\u{1b}[?1049l"

  /// Draws over what is there, line by line, so that nothing flickers. A line that is too long loses its end (mode 7).
  package static func frame(_ lines: [String]) -> String {
    "\u{1b}[H\u{1b}[?7l" + lines.map { $0 + "\u{1b}[K" }.joined(separator: "\r\n") + "\u{1b}[J\u{1b}[?7h"
  }
}
