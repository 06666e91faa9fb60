internal import FoundationEssentials
import Glibc
import Synchronization

/// Writes the log as lines to a descriptor whose reader may be slow or gone, and never waits long for it.
final class LineWriter: Sendable {
  private struct State {
    /// Lines that found no room since the last one that did.
    var lost = 0
    /// What is still to be written of a line that was begun: it goes first, so that no line is torn.
    var rest: ArraySlice<UInt8> = []
  }

  private let descriptor: CInt
  private let form: @Sendable (LogRecord) -> String
  private let state = Mutex(State())

  init(_ descriptor: CInt, form: @escaping @Sendable (LogRecord) -> String) {
    self.descriptor = descriptor
    self.form = form
  }

  /// A line that finds no room in time is dropped; the next one that does is led by how many were.
  func write(_ record: LogRecord) {
    state.withLock { state in
      // Who did not read in time is not waited for again.
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

  /// Returns whether all was written. One write(2) for a usual line; a longer one goes in portions, because a pipe that
  /// is writable takes PIPE_BUF bytes without waiting (pipe(7)).
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

  /// Milliseconds: a reader that merely lags keeps every line, one that is stuck costs this once.
  private static let patience: CInt = 100
  /// PIPE_BUF of Linux.
  private static let pipeBuffer = 4096
}
