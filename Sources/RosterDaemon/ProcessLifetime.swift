import Glibc
import Logging
import RosterModel
import ServiceLifecycle
import Synchronization
import UnixSignals

/// All that a process does until it exits. A signal ends it in time, whatever hangs (P13).
struct ProcessLifetime<Value: Sendable>: Service {
  typealias Work = @Sendable (_ opened: @Sendable (Runtime) -> Void) async throws -> Value

  /// Reached by the work, and by the stop that cannot wait for it.
  private final class State: Sendable {
    let runtime = Mutex<Runtime?>(nil)
    let value = Mutex<Value?>(nil)
  }

  private let exit: CInt
  private let clock: WallClock
  private let logger: Logger
  private let work: Work
  private let state = State()

  /// - Parameters:
  ///   - exit: of a stop that has to leave something behind.
  ///   - work: says what it has opened, as soon as it has.
  init(exit: CInt, clock: WallClock, logger: Logger, work: @escaping Work) {
    self.exit = exit
    self.clock = clock
    self.logger = logger
    self.work = work
  }

  /// What the work brings; the signals ask it to stop. Throws what the work throws.
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

  /// Whatever hangs ends with the process, and no file is left half written.
  private func endInTime() async {
    do { try await sleepFromStop(longestStop, clock) } catch { return }
    await withTaskGroup(of: Void.self) { race in
      race.addTask { [state] in await state.runtime.withLock { $0 }?.closeFiles() }
      race.addTask { [clock] in try? await clock.sleep(longestClose) }
      await race.next()
      // Nothing is logged any more: the log may be what hangs. What is not stored is pulled again.
      _exit(exit)
    }
  }
}

/// P13 leaves 5 s; systemd's own limit is longer. What is waited for with a limit of its own has ended by then.
private let longestStop = Duration.milliseconds(4_500)
/// For the cache, which is closed even where what used it hangs.
private let longestClose = Duration.milliseconds(300)

/// Returns so long after the stop was asked for. Throws CancellationError.
func sleepFromStop(_ delay: Duration, _ clock: WallClock) async throws {
  try await gracefulShutdown()
  try await clock.sleep(delay)
}
