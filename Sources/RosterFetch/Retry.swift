import FoundationEssentials
package import RosterModel

/// Makes attempts until one succeeds, or until the table ends them.
package struct Retry: Sendable {
  private let table: @Sendable () -> RetryTable
  private let gate: RetryAfterGate
  private let clock: WallClock
  private let origin: Origin?

  /// - Parameters:
  ///   - table: Evaluated again at each failure, because a reload may have changed it.
  ///   - baseURL: The address of the pages; nil if tokens come from the same server.
  package init(
    table: @autoclosure @escaping @Sendable () -> RetryTable, gate: RetryAfterGate, clock: WallClock,
    baseURL: String? = nil
  ) {
    self.table = table
    self.gate = gate
    self.clock = clock
    origin = baseURL.flatMap(Origin.init(url:))
  }

  /// Throws the last attempt's `Failure`, or CancellationError. A failure of a step belongs to another request, such as
  /// the keeper's, which has already been retried by `retry` (T5). It is not retried again.
  /// - Parameter retried: called before each wait, with the fault, the number of the failed attempt, and the delay.
  package func run<Value: Sendable>(
    retried: (Failure, Int, Duration) -> Void, _ attempt: () async throws -> Value
  ) async throws -> Value {
    var attempts = 0
    var malformed = 0
    while true {
      try await gate.wait(clock, longest: table().maxRetryAfter, jitter: table().jitter * Double.random(in: 0..<1))
      attempts += 1
      do {
        return try await attempt()
      } catch let failure as Failure where failure.exchange == nil {
        // The pause of another server that grants tokens delays no page: a valid token is used meanwhile (T5.4).
        let isOfOther = origin != nil && Origin(url: failure.subject) != origin
        let wait = isOfOther ? failure.pageRetryAfter : failure.retryAfter
        await closeGate(nil, retryAfter: wait, attempt: attempts)
        throw failure
      } catch let fault as Failure {
        if fault.reason == .malformed || fault.reason == .tooLarge { malformed += 1 }
        let table = table()
        await closeGate(fault.reason, retryAfter: fault.retryAfter, attempt: attempts)
        guard
          case .again(let delay) = table.decide(
            fault, attempt: attempts, malformed: malformed, random: .random(in: 0..<1))
        else { throw fault.after(attempts) }
        retried(fault, attempts, delay)
        try await clock.sleep(delay)
      }
    }
  }

  /// Applies the Retry-After of an answer that is not a failure, such as that of a missing page.
  func heed(_ retryAfter: Duration?) async {
    guard let wait = table().hold(after: nil, retryAfter, attempt: 1) else { return }
    await gate.extend(by: wait, clock, isFailure: false)
  }

  private func closeGate(_ reason: Failure.Reason?, retryAfter: Duration?, attempt: Int) async {
    guard let wait = table().hold(after: reason, retryAfter, attempt: attempt) else { return }
    await gate.extend(by: wait, clock)
  }
}

extension Failure {
  fileprivate func after(_ attempts: Int) -> Failure {
    var fault = self
    if attempts > 1 { fault.cause += " (\(attempts) attempts)" }
    return fault
  }
}
