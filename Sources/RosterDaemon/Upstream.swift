import FoundationEssentials
import Logging
import RosterAuth
import RosterConfiguration
import RosterDecode
import RosterFetch
import RosterModel
import RosterStatus
import Synchronization

/// The way to upstream as the configuration has it when a request is made: a transport, and the chain of interceptors
/// in front of it.
struct Upstream: Sendable {
  let live: Live
  let keeper: TokenKeeper
  let hold: Hold
  let board: StatusBoard
  let pulse: Pulse
  let clock: WallClock
  let logger: Logger

  func fetcher(_ tally: Tally, report: @escaping Report) -> PageFetcher {
    let retry = Retry(table: RetryTable(RetryDelays(live.configuration.retry)), hold: hold, clock: clock)
    return PageFetcher(
      baseURL: live.configuration.upstream.baseURL, send: chain(tally), retry: retry,
      decoders: .init(page: PageDecoder.page, characters: PageDecoder.characters), clock: clock, report: report)
  }

  /// Fails without a request where the time that upstream asked for is too far away; else the requests wait for it (P11).
  func refuseLongHold() throws {
    let configuration = live.configuration
    guard let left = hold.remaining(clock), left > configuration.retry.maxRetryAfter else { return }
    throw Failure(
      .unreachable, step: "sync", subject: configuration.upstream.baseURL,
      cause: "upstream wants no request before \((clock.now() + left.seconds).rfc3339) (Retry-After)",
      hint: "the next sync waits for it, restarts do not change it, and it is never further away than a day")
  }

  /// Inward: one call for identical requests, what every request carries, redirects, the token, and at the end what is logged and counted of each exchange.
  private func chain(_ tally: Tally) -> Send {
    let latest = LatestChain()
    return Interceptor.chain([.shareIdentical()]) { request in
      try await live.use { line in try await latest.send(of: line) { links(line.configuration, tally) }(request) }
    }
  }

  private func links(_ configuration: Configuration, _ tally: Tally) -> [Interceptor] {
    [
      .headers(configuration.upstream.headers), .redirects,
      .authorize(keeper, baseURL: configuration.upstream.baseURL, logout: Set(configuration.auth.logoutStatus)),
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
  private let made = Mutex<(version: Int, send: Send)?>(nil)

  func send(of line: Live.Line, links: () -> [Interceptor]) -> Send {
    made.withLock { made in
      if let made, made.version == line.version { return made.send }
      let send = Interceptor.chain(links(), to: line.transport.send)
      made = (line.version, send)
      return send
    }
  }
}
