import Glibc

/// Settings of the terminal at the start; nil if standard input is not a terminal. They are read before any change, so
/// that a signal handler may restore them (signal-safety(7) permits tcsetattr).
private let given: termios? = {
  var settings = termios()
  return tcgetattr(STDIN_FILENO, &settings) == 0 ? settings : nil
}()

/// Keys come at once and are not shown; Ctrl-C and Ctrl-Z are signals still (termios(3)).
private let raw: termios? = given.map { given in
  var settings = given
  settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
  return settings
}

/// Standard input as a keyboard.
enum RawMode {
  static var isPossible: Bool { raw != nil }
  static func begin() { set(raw) }
  static func end() { set(given) }

  private static func set(_ settings: termios?) {
    if var settings { tcsetattr(STDIN_FILENO, TCSADRAIN, &settings) }
  }
}
