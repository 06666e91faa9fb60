/// The control sequences of a full-screen program (ECMA-48; xterm's alternate screen, mode 1049).
package enum Screen {
  /// Switches to the alternate screen and hides the cursor. `leave` restores the previous content.
  package static let enter: StaticString = "\u{1b}[?1049h\u{1b}[?25l"
  /// Reverses `enter`.
  package static let leave: StaticString = "\u{1b}[?25h\u{1b}[?1049l"

  /// Overwrites the screen line by line, which avoids flicker. A line that is too long is cut (mode 7).
  package static func frame(_ lines: [String]) -> String {
    "\u{1b}[H\u{1b}[?7l" + lines.map { $0 + "\u{1b}[K" }.joined(separator: "\r\n") + "\u{1b}[J\u{1b}[?7h"
  }
}
