import Logging
import RosterConfiguration
import RosterFetch
import RosterModel

/// `[limit]` as it is now: who spaces and who counts what is sent, of pages and of tokens. Without a limit they are in
/// nobody's way.
struct Limits: Sendable {
  let pacer: RequestPacer
  let ledger: BudgetLedger

  /// Throws a Failure (73) where the budget cannot be kept.
  init(_ configuration: Configuration, cachePath: String, clock: WallClock, logger: Logger) throws(Failure) {
    pacer = RequestPacer(rate: configuration.limit.rate, clock: clock)
    ledger = BudgetLedger(
      path: "\(cachePath).budget", upstream: configuration.upstream.baseURL, clock: clock, logger: logger)
    try ledger.change(configuration.limit.budget)
  }

  /// As a reload has it; throws as `init`, and then nothing has changed.
  func change(_ configuration: Configuration) throws(Failure) {
    try ledger.change(configuration.limit.budget)
    pacer.change(rate: configuration.limit.rate)
  }

  /// Sends a token request.
  func sendToken(_ request: Request, by line: Live.Line) async throws -> Response {
    let limit = line.configuration.limit
    let links = (limit.rate > 0 ? [Interceptor.pace(pacer)] : []) + counting(line.configuration)
    return try await Interceptor.chain(links, to: line.transport.send)(request)
  }

  /// Next to the transport.
  func counting(_ configuration: Configuration) -> [Interceptor] {
    configuration.limit.budget == nil ? [] : [.budget(ledger)]
  }
}
