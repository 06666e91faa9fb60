import Glibc
import Synchronization

/// Writes lines to a descriptor whose reader may be slow or gone, and never waits long for it.
final class LineWriter: Sendable {
  private let descriptor: CInt
  private let dropped = Mutex(0)

  init(_ descriptor: CInt) {
    self.descriptor = descriptor
  }

  /// A line that finds no room in time is dropped; the next one that does is led by how many were.
  func write(_ line: String) {
    dropped.withLock { dropped in
      // Who did not read in time is not waited for again.
      guard isWritable(within: dropped == 0 ? Self.patience : 0) else {
        dropped += 1
        return
      }
      let lead = dropped == 0 ? "" : "(lines lost: \(dropped))\n"
      if put(Array("\(lead)\(line)\n".utf8)) { dropped = 0 } else { dropped += 1 }
    }
  }

  private func isWritable(within milliseconds: CInt) -> Bool {
    var ask = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    var answer: CInt
    repeat { answer = poll(&ask, 1, milliseconds) } while answer < 0 && errno == EINTR
    return answer > 0 && ask.revents & Int16(POLLOUT) != 0
  }

  /// One write(2) for a usual line. A longer one goes in portions, because a pipe that is writable takes PIPE_BUF bytes without waiting (pipe(7)).
  private func put(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let written = rest.prefix(Self.pipeBuffer).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written < 0 && errno == EINTR { continue }
      guard written > 0 else { return false }
      rest = rest.dropFirst(written)
      if !rest.isEmpty && !isWritable(within: Self.patience) { return false }
    }
    return true
  }

  /// Milliseconds: a reader that merely lags keeps every line, one that is stuck costs this once.
  private static let patience: CInt = 100
  /// PIPE_BUF of Linux.
  private static let pipeBuffer = 4096
}
