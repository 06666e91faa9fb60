import FoundationEssentials
import Logging
import RosterAuth
import RosterDecode
import RosterFetch
import RosterModel
import RosterStatus

/// The way to upstream as the configuration has it: a transport, and the chain of interceptors in front of it.
struct Upstream: Sendable {
  let configuration: Configuration
  let transport: HTTPTransport
  let keeper: TokenKeeper
  let hold: Hold
  let board: StatusBoard
  let clock: WallClock
  let logger: Logger

  func fetcher(_ tally: Tally, report: @escaping Report) -> PageFetcher {
    let retry = Retry(table: RetryTable(RetryDelays(configuration.retry)), hold: hold, clock: clock)
    return PageFetcher(
      baseURL: configuration.upstream.baseURL, send: chain(tally), retry: retry,
      decoders: .init(page: PageDecoder.page, characters: PageDecoder.characters), clock: clock, report: report)
  }

  /// Waits for the time that upstream asked for, or fails without a request where that is too far away (P11).
  func waitForHold() async throws {
    guard let until = hold.time, case let left = Duration.seconds(until.timeIntervalSince(clock.now())), left > .zero
    else { return }
    if left > configuration.retry.maxRetryAfter {
      throw Failure(
        .unreachable, step: "sync", subject: configuration.upstream.baseURL,
        cause: "upstream wants no request before \(until.rfc3339)", hint: "the next sync waits for it")
    }
    try await hold.wait(clock)
  }

  /// Inward: one call for identical requests, what every request carries, redirects, the token, and at the end what is logged and counted of each exchange.
  private func chain(_ tally: Tally) -> Send {
    var links = [Interceptor.shareIdentical(), .headers(configuration.upstream.headers), .redirects]
    links.append(
      .authorize(keeper, baseURL: configuration.upstream.baseURL, logout: Set(configuration.auth.logoutStatus)))
    links.append(.log(to: logger, clock: clock))
    links.append(.measure(tally, clock: clock) { [board] in board.metrics.request(code: $0, seconds: $1, bytes: $2) })
    return Interceptor.chain(links, to: transport.send)
  }
}
