import Glibc
import Logging
import RosterCore
import RosterDefinition
import ServiceLifecycle
import Synchronization
import UnixSignals

/// The whole life of a process. After a signal the process ends in time, even if a part hangs.
struct ProcessLifetime<Value: Sendable>: Service {
  typealias Work = @Sendable (_ opened: @Sendable (Runtime) -> Void) async throws -> Value

  /// Shared by the work and by the stop, which cannot wait for the work.
  private final class State: Sendable {
    let runtime = Mutex<Runtime?>(nil)
    let value = Mutex<Value?>(nil)
  }

  /// The exit code of a stop that could not wait for everything.
  let exit: CInt
  let clock: WallClock
  let logger: Logger
  /// Calls its argument as soon as the runtime is open.
  let work: Work
  private let state = State()

  /// Returns the result of the work, which the signals ask to stop. Throws the errors of the work.
  func run(until signals: [UnixSignal]) async throws -> Value {
    let service = ServiceGroupConfiguration.ServiceConfiguration(
      service: self, successTerminationBehavior: .gracefullyShutdownGroup, serviceName: "rosterd")
    try await ServiceGroup(
      configuration: .init(services: [service], gracefulShutdownSignals: signals, logger: logger)
    ).run()
    guard let value = state.value.withLock({ $0 }) else { throw CancellationError() }
    return value
  }

  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await endInTime() }
      let value = try await work { [state] runtime in state.runtime.withLock { $0 = runtime } }
      state.value.withLock { $0 = value }
      group.cancelAll()
    }
  }

  /// Ends the process even if a part hangs. Files are closed first, so that none is left half written.
  private func endInTime() async {
    do { try await sleepFromStop(maxStop, clock: clock) } catch { return }
    await withTaskGroup(of: Void.self) { race in
      race.addTask { [state] in await state.runtime.withLock { $0 }?.closeFiles() }
      race.addTask { [clock] in try? await clock.sleep(maxClose) }
      await race.next()
      // The log may be the part that hangs, so nothing is logged. Pages that were not stored are pulled again.
      _exit(exit)
    }
  }
}

/// A stop has 5 s; systemd's own limit is longer. Waits that have limits of their own are over by then.
private let maxStop = Duration.milliseconds(4_500)
/// Time for the cache, which is closed even if one of its users hangs.
private let maxClose = Duration.milliseconds(300)

/// Returns after this delay, counted from the request to stop. Throws CancellationError.
func sleepFromStop(_ delay: Duration, clock: WallClock) async throws {
  try await gracefulShutdown()
  try await clock.sleep(delay)
}

/// A SIGHUP that arrives before the daemon can reload. Its default action would end the program.
package enum EarlyHangup {
  private static let hasArrived = Atomic(false)

  /// Remembers a SIGHUP from now on, until another part handles the signal.
  package static func remember() {
    // The first use initializes the flag, which a signal handler must not do.
    hasArrived.store(false, ordering: .relaxed)
    signal(SIGHUP) { _ in EarlyHangup.hasArrived.store(true, ordering: .relaxed) }
  }

  /// True if a SIGHUP was remembered.
  static func take() -> Bool { hasArrived.exchange(false, ordering: .relaxed) }
}

/// Asks the service manager for more time while a start makes progress. Before the cache is open, SQLite may have
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
