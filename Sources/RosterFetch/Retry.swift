import FoundationEssentials
package import RosterCore

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
  /// the keeper's, which has already been retried by `retry`. It is not retried again.
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
        // The pause of another server that grants tokens delays no page: a valid token is used meanwhile.
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

/// Decides which failures of a request lead to another attempt, and when.
package struct RetryTable: Sendable, Equatable {
  private let delays: RetryDelays

  /// A table with the delays and the number of retries in `retry`.
  package init(_ delays: RetryDelays) {
    self.delays = delays
  }

  /// The decision after a failed attempt.
  package enum Decision: Sendable, Equatable {
    case again(after: Duration)
    case giveUp
  }

  /// - Parameters:
  ///   - attempt: number of attempts so far, from 1.
  ///   - malformed: number of attempts with a body that is not a page.
  ///   - random: a number in 0..<1, for the jitter.
  package func decide(_ fault: Failure, attempt: Int, malformed: Int, random: Double) -> Decision {
    guard let reason = fault.reason, attempt <= delays.maxRetries else { return .giveUp }
    let backoff = delays.delay(afterAttempt: attempt, retryAfter: fault.retryAfter, random: random)
    switch reason {
    case .connection, .dns, .tls, .timeout, .truncated, .rateLimit, .partialAnswer:
      return .after(backoff)
    case .clientCertificate: return .giveUp
    case .malformed, .tooLarge:
      return malformed > 1 ? .giveUp : .after(backoff)
    case .status(let code):
      switch StatusRule(code).pages {
      case .never: return .giveUp
      case .onceAtOnce: return attempt == 1 ? .again(after: .zero) : .giveUp
      case .withBackoff: return .after(backoff)
      }
    }
  }

  /// How long no page request may start after a failure; nil if it concerns only its own request. After a rate limit,
  /// other requests would be limited too.
  package func hold(after reason: Failure.Reason?, _ retryAfter: Duration?, attempt: Int) -> Duration? {
    let isRateLimit = reason == .rateLimit
    let asked = retryAfter.flatMap { isRateLimit || $0 > delays.maxRetryAfter ? $0 : nil }
    let backoff = isRateLimit ? delays.delay(afterAttempt: attempt, retryAfter: asked, random: 0) : nil
    let hold = max(asked ?? .zero, backoff ?? .zero)
    return hold > .zero ? hold : nil
  }

  /// The longest Retry-After that a request waits for.
  var maxRetryAfter: Duration { delays.maxRetryAfter }

  /// Largest random addition to a delay, so that many requests do not start at once.
  package var jitter: Duration { delays.jitter }
}

extension RetryTable.Decision {
  fileprivate static func after(_ delay: Duration?) -> Self { delay.map { .again(after: $0) } ?? .giveUp }
}

extension Interceptor {
  /// Sends a GET once more, at once and on a new connection, if its kept connection ended before an answer began.
  /// It precedes the token and the limits, which apply to each sending.
  package static let resend = Interceptor { request, next in
    do { return try await next(request) } catch let fault as Failure
      where fault.isResent(request)
    {
      var again = request
      again.needsNewConnection = true
      return try await next(again)
    }
  }
}

extension Failure {
  /// True if a failed sending is repeated, which applies to a GET.
  func isResent(_ request: Request) -> Bool { exchange?.isOfKeptConnection == true && request.method == .get }
}
