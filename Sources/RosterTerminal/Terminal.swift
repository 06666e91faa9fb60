import Glibc

/// What is known of where a program writes to.
package struct Terminal: Sendable, Equatable {
  /// A person may be looking, and lines can be drawn again.
  package var isInteractive: Bool
  /// Cells a line.
  package var columns: Int
  /// Control sequences for colour may be written.
  package var colour: Bool
  /// Lines a screen.
  package var rows: Int
  /// How wide a table may be; nil: nobody told, and who reads a pipe wants whole texts.
  package var limit: Int?

  /// Of what is known already.
  package init(isInteractive: Bool, columns: Int, colour: Bool, rows: Int = usualRows, limit: Int? = nil) {
    self.isInteractive = isInteractive
    self.columns = columns
    self.rows = rows
    self.limit = limit
    self.colour = colour
  }

  /// Looks at the terminal of a descriptor. `NO_COLOR` removes colour (no-color.org). A terminal whose `TERM`
  /// is `dumb`, empty or not set receives no control sequence (terminfo(5)).
  package static func of(_ descriptor: Int32, environment: [String: String]) -> Terminal {
    let interactive = isatty(descriptor) == 1 && !["", "dumb"].contains(environment["TERM", default: ""])
    let plain = !environment["NO_COLOR", default: ""].isEmpty
    var size = winsize()
    let known = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    let wanted = environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    let told = wanted ?? (known ? Int(size.ws_col) : nil)
    let columns = max(leastColumns, told ?? usualColumns)
    return Terminal(
      isInteractive: interactive, columns: columns, colour: interactive && !plain,
      rows: known && size.ws_row > 0 ? Int(size.ws_row) : usualRows, limit: told == nil && !interactive ? nil : columns)
  }

  /// Where nothing is known, a VT100's; below the least, no line of ours makes sense.
  private static let usualColumns = 80
  /// Of a VT100.
  package static let usualRows = 24
  private static let leastColumns = 20
}
