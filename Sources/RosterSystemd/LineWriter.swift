internal import FoundationEssentials
import Glibc
import Synchronization

/// Writes the log as lines to a descriptor, and never waits long if its reader is slow or missing.
final class LineWriter: Sendable {
  private struct State {
    /// Number of lines dropped since the last one that was written.
    var lost = 0
    /// The unwritten rest of a line, which is written first so that no line is torn.
    var rest: ArraySlice<UInt8> = []
  }

  private let descriptor: CInt
  private let form: @Sendable (LogRecord) -> String
  private let state = Mutex(State())

  init(_ descriptor: CInt, form: @escaping @Sendable (LogRecord) -> String) {
    self.descriptor = descriptor
    self.form = form
  }

  /// Drops a line if there is no room in time. The next written line is preceded by the number of dropped ones.
  func write(_ record: LogRecord) {
    state.withLock { state in
      // After a timeout, later lines do not wait for the slow reader again.
      let isBehind = state.lost > 0 || !state.rest.isEmpty
      guard isWritable(within: isBehind ? 0 : Self.patience), put(&state.rest) else {
        state.lost += 1
        return
      }
      let lines = (state.lost == 0 ? [] : [LogRecord.lost(state.lost)]) + [record]
      state.lost = 0
      state.rest = Array(lines.map { form($0) + "\n" }.joined().utf8)[...]
      _ = put(&state.rest)
    }
  }

  private func isWritable(within milliseconds: CInt) -> Bool {
    var ask = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    var answer: CInt
    repeat { answer = poll(&ask, 1, milliseconds) } while answer < 0 && errno == EINTR
    return answer > 0 && ask.revents & Int16(POLLOUT) != 0
  }

  /// Returns true if everything was written. A usual line takes one write(2). A longer one is written in portions,
  /// because a writable pipe accepts only PIPE_BUF bytes without blocking (pipe(7)).
  private func put(_ rest: inout ArraySlice<UInt8>) -> Bool {
    while !rest.isEmpty {
      let written = rest.prefix(Self.pipeBuffer).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written < 0 && errno == EINTR { continue }
      guard written > 0 else { return false }
      rest = rest.dropFirst(written)
      if !rest.isEmpty && !isWritable(within: Self.patience) { return false }
    }
    return true
  }

  /// Milliseconds. A reader that is merely slow gets every line, and a stuck reader causes this delay only once.
  private static let patience: CInt = 100
  /// PIPE_BUF of Linux.
  private static let pipeBuffer = 4096
}
