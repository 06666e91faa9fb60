import FoundationEssentials
package import RosterModel

/// Makes attempts until one succeeds or the table says that no more are worth it.
package struct Retry: Sendable {
  private let table: @Sendable () -> RetryTable
  private let hold: RetryAfterGate
  private let clock: WallClock
  private let random: @Sendable () -> Double

  /// - Parameter table: Read anew at each failure: a reload may have changed it.
  package init(
    table: @autoclosure @escaping @Sendable () -> RetryTable, hold: RetryAfterGate, clock: WallClock,
    random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
  ) {
    self.table = table
    self.hold = hold
    self.clock = clock
    self.random = random
  }

  /// Throws the last attempt's Failure, or CancellationError.
  /// - Parameter retried: told before each wait: the failure, the attempt that failed, and the delay.
  package func run<Value: Sendable>(
    retried: (Failure, Int, Duration) -> Void, _ attempt: () async throws -> Value
  ) async throws -> Value {
    var attempts = 0
    var malformed = 0
    while true {
      try await hold.wait(clock, jitter: table().jitter * random())
      attempts += 1
      do {
        return try await attempt()
      } catch let failure as Failure {
        if failure.reason == .malformed || failure.reason == .tooLarge { malformed += 1 }
        let table = table()
        await noteHold(failure, table)
        guard case .again(let delay) = table.decide(failure, attempt: attempts, malformed: malformed, random: random())
        else { throw failure.after(attempts) }
        retried(failure, attempts, delay)
        try await clock.sleep(delay)
      }
    }
  }

  private func noteHold(_ failure: Failure, _ table: RetryTable) async {
    guard let wait = failure.retryAfter, failure.reason == .status(429) || wait > table.maxRetryAfter else { return }
    await hold.extend(by: wait, clock)
  }
}

extension Failure {
  fileprivate func after(_ attempts: Int) -> Failure {
    var failure = self
    if attempts > 1 { failure.cause += " (\(attempts) attempts)" }
    return failure
  }
}
