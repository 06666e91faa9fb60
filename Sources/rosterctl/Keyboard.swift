import Dispatch
import Glibc

/// The keys that the user presses, from standard input.
enum Keyboard {
  /// Ends where the terminal goes away.
  static func bytes() -> AsyncStream<[UInt8]> {
    let (bytes, pressed) = AsyncStream<[UInt8]>.makeStream()
    // A thread of its own: it waits for as long as the program lives.
    DispatchQueue(label: "keyboard").async {
      var buffer = [UInt8](repeating: 0, count: 256)
      while case let count = read(STDIN_FILENO, &buffer, buffer.count), count > 0 || (count < 0 && errno == EINTR) {
        if count > 0 { pressed.yield(Array(buffer[..<count])) }
      }
      pressed.finish()
    }
    return bytes
  }
}
