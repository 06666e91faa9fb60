import Glibc
internal import RosterCore

/// Facts about the destination of a program's output.
package struct Terminal: Sendable, Equatable {
  /// True if a person may be looking, and lines can be redrawn.
  package var isInteractive: Bool
  /// Number of cells per line.
  package var columns: Int
  /// True if colours may be written.
  package var colour: Bool
  /// Number of lines on the screen.
  package var rows = usualRows
  /// Maximum width of a table; nil if no width is known, for example in a pipe, whose reader wants complete texts.
  package var limit: Int?

  /// Reads the properties of a descriptor's terminal. `NO_COLOR` disables colour (no-color.org). A terminal whose
  /// `TERM` is `dumb`, empty or unset receives no control sequence (terminfo(5)).
  package static func of(_ descriptor: Int32, environment: [String: String]) -> Terminal {
    let interactive = isatty(descriptor) == 1 && !["", "dumb"].contains(environment["TERM", default: ""])
    let plain = !environment["NO_COLOR", default: ""].isEmpty
    var size = winsize()
    let known = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    let wanted = environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    let told = wanted ?? (known ? Int(size.ws_col) : nil)
    let columns = max(minColumns, told ?? usualColumns)
    return Terminal(
      isInteractive: interactive, columns: columns, colour: interactive && !plain,
      rows: known && size.ws_row > 0 ? Int(size.ws_row) : usualRows, limit: told == nil && !interactive ? nil : columns)
  }

  /// The width of a VT100 is the default. Below the minimum, no line would be readable.
  private static let usualColumns = 80
  /// The height of a VT100.
  package static let usualRows = 24
  private static let minColumns = 20
}

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

/// Lines of a name and a value, with the values aligned.
struct Rows {
  var width: Int
  var colour: Bool
  /// Number of cells for a name.
  var labels = Self.labels

  /// Width of `first seen` and a space before it.
  static let labels = 11
  /// Column in which a value begins after a default label.
  static let indent = labels + gap
  private static let gap = 2
  /// Column in which a value begins.
  var indent: Int { labels + Self.gap }

  /// Lines of at most `width` cells, or as long as a single word, each with its end; empty without a value.
  func row(_ name: String, _ value: String?) -> String {
    value.map { row(name, lines: $0.printable.wrapped(width - indent)) } ?? ""
  }

  /// Rows for lines that are already broken.
  func row(_ name: String, lines: [String]) -> String {
    let label = name.padded(left: labels).toned(.faint, colour: colour) + "  "
    let indent = String(repeating: " ", count: self.indent)
    return lines.enumerated().map { ($0 == 0 ? label : $1.isEmpty ? "" : indent) + $1 + "\n" }.joined()
  }
}

/// The meaning of a piece of text, and the colour for it (ECMA-48 SGR).
package enum Tone: Sendable {
  case plain, strong, faint, good, busy, bad

  fileprivate var code: String? {
    switch self {
    case .plain: nil
    case .strong: "1"
    case .faint: "2"
    case .good: "32"
    case .busy: "33"
    case .bad: "31"
    }
  }
}

extension ChangeKind {
  var tone: Tone {
    switch self {
    case .added: .good
    case .changed: .busy
    case .removed: .bad
    }
  }
}

extension String {
  /// The text in the colour of its tone; unchanged without colour.
  func toned(_ tone: Tone, colour: Bool) -> String {
    guard colour, let code = tone.code else { return self }
    return "\u{1b}[\(code)m\(self)\u{1b}[0m"
  }

  /// The line cut to at most `width` cells. It may contain colours; a line that is cut loses them.
  func cut(to width: Int, _ colour: Bool) -> String {
    let plain = colour ? replacing(/\u{1b}\[[0-9;]*m/, with: "") : self
    return plain.cells > width ? plain.cut(to: width) : self
  }

  func padded(left width: Int) -> String {
    String(repeating: " ", count: Swift.max(0, width - cells)) + self
  }

  func padded(right width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, width - cells))
  }

  /// Lines of at most `width` cells, broken at spaces, but not between a number and its unit. A longer word gets a line
  /// of its own and is not broken, so that it can be copied.
  func wrapped(_ width: Int) -> [String] {
    var lines: [String] = []
    for word in unbreakable {
      if let line = lines.last, line.cells + 1 + word.cells <= width {
        lines[lines.count - 1] = line + " " + word
      } else {
        lines.append(word)
      }
    }
    return lines
  }

  private var unbreakable: [String] {
    var words: [String] = []
    for word in split(separator: " ", omittingEmptySubsequences: false) {
      if let last = words.last, last.last?.isNumber == true, HumanFormat.isUnit(word.prefix { $0.isLetter }) {
        words[words.count - 1] = last + " " + word
      } else {
        words.append(String(word))
      }
    }
    return words
  }
}

/// A key that the user presses.
package enum Key: Sendable, Equatable {
  case up, down, pageUp, pageDown, home, end
  case letter(Unicode.Scalar)
}

/// Recognises keys in the bytes that a terminal sends (ECMA-48 §5.4 for the sequences; xterm's ctlseqs, "PC-Style
/// Function Keys", for their meaning).
package struct KeyReader: Sendable {
  private enum State {
    case ground, escape
    /// After `ESC [` or `ESC O`, with the parameters read so far.
    case sequence([UInt8])
  }

  private var state = State.ground

  /// Starts before the first byte.
  package init() {}

  /// The keys that these bytes complete. Unknown sequences are skipped.
  package mutating func keys(in bytes: some Sequence<UInt8>) -> [Key] { bytes.compactMap { key(completedBy: $0) } }

  private mutating func key(completedBy byte: UInt8) -> Key? {
    switch state {
    case .sequence(let parameters):
      // Parameters and intermediates (ECMA-48 §5.4) precede the final byte.
      if (0x20...0x3F).contains(byte) {
        state = .sequence(parameters + [byte])
        return nil
      }
      state = .ground
      return Self.key(byte, parameters: parameters)
    case .escape where byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O"):
      state = .sequence([])
      return nil
    case .escape, .ground:
      state = byte == Self.escape ? .escape : .ground
      return (0x21...0x7E).contains(byte) ? .letter(Unicode.Scalar(byte)) : nil
    }
  }

  private static let escape: UInt8 = 0x1B

  private static func key(_ final: UInt8, parameters: [UInt8]) -> Key? {
    switch (final, String(decoding: parameters, as: UTF8.self)) {
    case (UInt8(ascii: "A"), _): .up
    case (UInt8(ascii: "B"), _): .down
    case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): .home
    case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): .end
    case (UInt8(ascii: "~"), "5"): .pageUp
    case (UInt8(ascii: "~"), "6"): .pageDown
    default: nil
    }
  }
}
