import Glibc

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
