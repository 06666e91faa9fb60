package import FoundationEssentials
package import RosterCore
package import RosterFetch

/// A sync that is not started because `limit.budget` has no room for it. It is assumed to need as many requests as the
/// last one. A sync that is larger than the budget, or was interrupted by it, starts when the window is empty.
package struct Postponement: Sendable, Equatable {
  /// The time at which the budget has room.
  package var until: Date
  /// The failure for the caller that requested the sync (69).
  package var failure: Failure

  /// nil if the budget has room now.
  /// - Parameter requests: the requests of the last successful sync; nil if no sync has succeeded.
  package init?(_ ledger: BudgetLedger, requests: Int?, baseURL: String, clock: WallClock) {
    guard let wait = ledger.wait(for: requests), let usage = ledger.usage else { return nil }
    // One millisecond later, because times are shown and waited for in whole milliseconds.
    until = clock.now() + wait.seconds + 0.001
    let left = max(0, usage.rule.limit - usage.used)
    let wanted = requests.map { "\($0) that the last sync took" } ?? "that a sync takes"
    let rest =
      ledger.wasShort
      ? "of \(usage.rule.limit), all of which a sync needs after one that used it up" : "of those \(wanted)"
    failure = Failure(
      .unreachable, step: "start a sync", subject: baseURL,
      cause: "limit.budget (\(usage.rule.text)) has \(left.counted(as: "request")) left \(rest)",
      hint: "it will be started at \(until.rfc3339); `rosterd check` names the sync.interval that the budget holds")
  }
}
