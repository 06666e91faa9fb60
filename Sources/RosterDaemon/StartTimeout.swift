import Glibc
import RosterFiles
import RosterModel

/// Has the service manager wait longer for a start that gets on (S4): a log of gigabytes may have to be read back, or a
/// cache migrated, before it is open. One that hangs ends as the unit's TimeoutStartSec= says.
struct StartTimeout: Sendable {
  let clock: WallClock
  /// What this process has read and written so far; nil: it cannot be told.
  var transferred: @Sendable () -> Int? = { ProcessIO.bytes }
  let extend: @Sendable (Duration) -> Void

  /// Well within any TimeoutStartSec=.
  static let look = Duration.seconds(10)
  /// The smallest page of a database that is worth a wait; this look at it transfers some hundred bytes.
  static let leastProgress = 4096

  func extended<Value: Sendable>(_ start: @escaping @Sendable () async throws -> Value) async throws -> Value {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        var before = transferred()
        while (try? await clock.sleep(Self.look)) != nil {
          let now = transferred()
          if let now, let before, now - before >= Self.leastProgress { extend(Self.look * 3) }
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
