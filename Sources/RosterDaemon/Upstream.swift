import FoundationEssentials
import Logging
import RosterAuth
import RosterConfiguration
import RosterFetch
import RosterModel
import RosterStatus
import Synchronization

/// The way to upstream as the configuration has it when a request is made: a transport, and the chain of interceptors
/// in front of it.
struct Upstream: Sendable {
  let live: Live
  let keeper: TokenKeeper
  let gate: RetryAfterGate
  let limits: Limits
  let board: StatusBoard
  let pulse: Pulse
  let clock: WallClock
  let logger: Logger

  /// By the table as it is when something fails.
  var retry: Retry { Retry(table: RetryTable(RetryDelays(live.line.configuration.retry)), gate: gate, clock: clock) }

  /// Inward: what every request carries, redirects, the second sending, the token and the turn, the budget, what is
  /// logged and counted of each exchange.
  func send(_ tally: Tally) -> Send {
    let latest = LatestChain()
    return { request in
      try await live.use { line in try await latest.send(of: line) { links(line.configuration, tally) }(request) }
    }
  }

  private func links(_ configuration: Configuration, _ tally: Tally) -> [Interceptor] {
    [
      .headers(configuration.upstream.headers), .redirects, .resend,
      .authorize(
        keeper, baseURL: configuration.upstream.baseURL, logout: Set(configuration.auth.logoutStatus),
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

/// The chain for a line, made once for all requests until the next reload.
private final class LatestChain: Sendable {
  /// Not a tuple: a function in one gets another layer of conversions each time that it passes through the mutex.
  private struct Made: Sendable {
    let line: Live.Line
    let send: Send
  }

  private let made = Mutex<Made?>(nil)

  func send(of line: Live.Line, links: () -> [Interceptor]) -> Send {
    let latest = made.withLock { made in
      if let made, made.line === line { return made }
      let new = Made(line: line, send: Interceptor.chain(links(), to: line.transport.send))
      made = new
      return new
    }
    return latest.send
  }
}
