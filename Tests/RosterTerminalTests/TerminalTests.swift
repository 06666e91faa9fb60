import Glibc
import Testing

@testable import RosterTerminal

@Suite struct TerminalTests {
  /// A terminal of our own (pty(7)): its two ends.
  private func withTerminal(columns: UInt16, _ body: (Int32) -> Void) throws {
    var (controller, terminal) = (Int32(-1), Int32(-1))
    var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    try #require(openpty(&controller, &terminal, nil, nil, &size) == 0)
    defer {
      close(terminal)
      close(controller)
    }
    body(terminal)
  }

  /// A usual one.
  private static let xterm = ["TERM": "xterm"]

  @Test("A terminal is interactive, coloured, and has its own width; without TERM it is a dumb one")
  func terminal() throws {
    try withTerminal(columns: 132) { descriptor in
      let plain = Terminal(isInteractive: true, columns: 132, colour: false, limit: 132)
      #expect(
        Terminal.of(descriptor, environment: Self.xterm)
          == Terminal(isInteractive: true, columns: 132, colour: true, limit: 132))
      #expect(Terminal.of(descriptor, environment: ["TERM": "xterm", "NO_COLOR": "1"]) == plain)
      // No line of a dumb terminal can be drawn again.
      let dumb = Terminal(isInteractive: false, columns: 132, colour: false, limit: 132)
      for environment in [["TERM": "dumb"], ["TERM": ""], [:]] {
        #expect(Terminal.of(descriptor, environment: environment) == dumb)
      }
      #expect(Terminal.of(descriptor, environment: ["NO_COLOR": "", "COLUMNS": "5"]).columns == 20)
      for nothing in ["", "0", "-3", "wide"] {
        #expect(Terminal.of(descriptor, environment: ["COLUMNS": nothing]).columns == 132)
      }
    }
  }

  @Test("A pipe is no terminal: 80 columns, no colour")
  func pipe() {
    var ends: [Int32] = [0, 0]
    #expect(Glibc.pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    #expect(Terminal.of(ends[1], environment: Self.xterm) == Terminal(isInteractive: false, columns: 80, colour: false))
    #expect(Terminal.of(ends[1], environment: ["COLUMNS": "60"]).limit == 60)
  }
}
