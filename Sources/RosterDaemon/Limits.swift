import Logging
import RosterConfiguration
import RosterFetch
import RosterModel

/// The current `[limit]` settings: the pacer and the request counter for pages and tokens. Without a limit they have no
/// effect.
struct Limits: Sendable {
  let pacer: RequestPacer
  let ledger: BudgetLedger

  /// Throws a Failure (73) if the budget file cannot be written.
  init(_ configuration: Configuration, cachePath: String, clock: WallClock, logger: Logger) throws(Failure) {
    pacer = RequestPacer(rate: configuration.limit.rate, clock: clock)
    ledger = BudgetLedger(
      path: "\(cachePath).budget", upstream: configuration.upstream.baseURL, clock: clock, logger: logger)
    try ledger.change(configuration.limit.budget)
  }

  /// Applies the limits of a reload. Throws the same errors as `init`, and then nothing has changed.
  func change(_ configuration: Configuration) throws(Failure) {
    try ledger.change(configuration.limit.budget)
    pacer.change(rate: configuration.limit.rate)
  }

  /// Sends a token request within the limits.
  func sendToken(_ request: Request, by line: LiveConfiguration.Snapshot) async throws -> Response {
    let limit = line.configuration.limit
    let links = (limit.rate > 0 ? [Interceptor.pace(pacer)] : []) + counting(line.configuration)
    return try await Interceptor.chain(links, to: line.transport.send)(request)
  }

  /// The budget counter, which follows the interceptors that send a request several times; empty without a budget.
  func counting(_ configuration: Configuration) -> [Interceptor] {
    configuration.limit.budget == nil ? [] : [.budget(ledger)]
  }
}
