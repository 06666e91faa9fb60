import Glibc
import RosterFiles
import RosterModel

/// Asks the service manager for more time while a start makes progress (S4). Before the cache is open, SQLite may have
/// to recover a log of gigabytes. A start that hangs ends after the unit's TimeoutStartSec=.
struct StartTimeout: Sendable {
  let clock: WallClock
  /// Number of bytes that this process has read and written so far; nil if it is unknown.
  var transferred: @Sendable () -> Int? = { ProcessIO.bytes }
  let extend: @Sendable (Duration) -> Void

  /// Much shorter than any TimeoutStartSec=.
  static let look = Duration.seconds(10)
  /// A start makes progress if it transfers at least the smallest usual page of a database. The check itself transfers
  /// some hundred bytes.
  static let minProgress = 4096

  func extended<Value: Sendable>(_ start: @escaping @Sendable () async throws -> Value) async throws -> Value {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        var before = transferred()
        while (try? await clock.sleep(Self.look)) != nil {
          let now = transferred()
          if let now, let before, now - before >= Self.minProgress { extend(Self.look * 3) }
          before = now
        }
      }
      defer { group.cancelAll() }
      return try await start()
    }
  }
}

private enum ProcessIO {
  /// `rchar` and `wchar` of proc_pid_io(5).
  static var bytes: Int? {
    guard let text = try? contents(of: "/proc/self/io", limit: 4096) else { return nil }
    let counts = String(decoding: text, as: UTF8.self).split(separator: "\n").prefix(2)
      .compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
    return counts.count == 2 ? counts[0] + counts[1] : nil
  }
}
