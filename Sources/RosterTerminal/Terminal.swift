import Glibc

/// What is known of where a program writes to.
package struct Terminal: Sendable, Equatable {
  /// A person may be looking: lines can be drawn again.
  package var isInteractive: Bool
  /// Characters a line.
  package var columns: Int
  package var colour: Bool

  package init(isInteractive: Bool, columns: Int, colour: Bool) {
    self.isInteractive = isInteractive
    self.columns = columns
    self.colour = colour
  }

  /// Of a descriptor, as it is now. Colour goes where `NO_COLOR` is set (no-color.org) or `TERM` is `dumb`.
  package static func of(_ descriptor: Int32, environment: [String: String]) -> Terminal {
    let interactive = isatty(descriptor) == 1
    let plain = !environment["NO_COLOR", default: ""].isEmpty || environment["TERM"] == "dumb"
    var size = winsize()
    let known = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    let columns = environment["COLUMNS"].flatMap { Int($0) } ?? (known ? Int(size.ws_col) : usualColumns)
    return Terminal(isInteractive: interactive, columns: max(leastColumns, columns), colour: interactive && !plain)
  }

  /// Where nothing is known, the width of a VT100; below the least, no line of ours makes sense.
  private static let usualColumns = 80
  private static let leastColumns = 20
}
