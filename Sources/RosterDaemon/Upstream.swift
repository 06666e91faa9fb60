import FoundationEssentials
import Logging
import RosterAuth
import RosterCore
import RosterDefinition
import RosterFetch
import RosterStatus
import Synchronization

/// The path of requests to upstream under the current configuration: a transport, and a chain of interceptors before
/// it. It is a class, because every request has it.
final class Upstream: Sendable {
  let live: LiveConfiguration
  let keeper: TokenKeeper
  let gate: RetryAfterGate
  let limits: Limits
  let board: StatusBoard
  let pulse: Pulse
  let clock: WallClock
  let logger: Logger

  init(_ runtime: Runtime) {
    (live, keeper, gate, limits) = (runtime.live, runtime.keeper, runtime.gate, runtime.limits)
    (board, pulse, clock, logger) = (runtime.board, runtime.pulse, runtime.clock, runtime.logger)
  }

  /// The retry rules of the configuration at the time of a failure.
  var retry: Retry {
    Retry(
      table: RetryTable(RetryDelays(self.live.line.configuration.retry)), gate: gate, clock: clock,
      baseURL: live.configuration.upstream.baseURL)
  }

  /// The interceptors from outside to inside: headers, redirects, resending, token and pacing, budget, log and
  /// counters.
  func send(_ tally: Tally) -> Send {
    let latest = LatestChain()
    return { request in
      try await self.live.use { line in
        try await latest.send(of: line) { self.links(line.configuration, tally: tally) }(request)
      }
    }
  }

  private func links(_ configuration: Configuration, tally: Tally) -> [Interceptor] {
    [
      .headers(configuration.upstream.headers), .redirects, .resend,
      .authorize(
        keeper, baseURL: configuration.upstream.baseURL, others: configuration.resources.compactMap(\.baseURL),
        logout: Set(configuration.auth.logoutStatus), expired: configuration.auth.expired,
        pacer: configuration.limit.rate > 0 ? limits.pacer : nil),
    ] + limits.counting(configuration) + [
      .log(to: logger, clock: clock),
      .measure(tally, clock: clock) { [board, pulse] code, seconds, bytes in
        pulse.moved()
        board.metrics.request(code: code, seconds: seconds, bytes: bytes)
      },
    ]
  }
}

/// The interceptor chain of a configuration snapshot, made once for all requests until the next reload.
private final class LatestChain: Sendable {
  /// Not a tuple: a function inside a tuple gets another layer of conversions each time that it passes through the
  /// mutex.
  private struct Made: Sendable {
    let line: LiveConfiguration.Snapshot
    let send: Send
  }

  private let made = Mutex<Made?>(nil)

  func send(of line: LiveConfiguration.Snapshot, links: () -> [Interceptor]) -> Send {
    let latest = made.withLock { made in
      if let made, made.line === line { return made }
      let new = Made(line: line, send: Interceptor.chain(links(), to: line.transport.send))
      made = new
      return new
    }
    return latest.send
  }
}
