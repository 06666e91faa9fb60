package import FoundationEssentials
import Glibc
package import RosterCore
import Synchronization

/// The machine's clock, advanced by an amount that a file contains. Processes that share the file share the time. It
/// never goes back.
package final class HastyClock: Sendable {
  private struct Unusable: Error { var file: String, code: CInt }

  /// The file of eight bytes, the amount in milliseconds. Its descriptor stays open, because it is read at each request
  /// for the time.
  private let file: CInt
  private let start = ContinuousClock.now
  private let advancing = Mutex<Void>(())

  /// Interval at which a sleeper checks whether its time has come.
  package static let tick = Duration.milliseconds(1)

  /// Creates the file if it does not exist.
  package init(file path: String) throws {
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if file < 0 { throw Unusable(file: path, code: errno) }
  }

  deinit { close(file) }

  /// The time, which is the same in all processes.
  package var now: Date { Date() + ahead.seconds }

  /// The same clock in the form that the tested code takes.
  package var wallClock: WallClock {
    WallClock(now: { self.now }, sleep: { try await self.sleep($0) }, uptime: { self.uptime })
  }

  /// Advances the time of all processes, including the time that has passed. Only one of the processes may call it.
  package func advance(by duration: Duration) {
    advancing.withLock { _ in
      var milliseconds = Int64(((ahead + duration).seconds * 1000).rounded())
      pwrite(file, &milliseconds, MemoryLayout<Int64>.size, 0)
    }
  }

  private var uptime: Duration { start.duration(to: .now) + ahead }

  private var ahead: Duration {
    var milliseconds: Int64 = 0
    pread(file, &milliseconds, MemoryLayout<Int64>.size, 0)
    return .milliseconds(milliseconds)
  }

  private func sleep(_ duration: Duration) async throws {
    let due = uptime + duration
    while case let left = due - uptime, left > .zero { try await Task.sleep(for: min(left, Self.tick)) }
    try Task.checkCancellation()
  }
}
