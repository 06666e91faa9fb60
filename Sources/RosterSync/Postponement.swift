package import FoundationEssentials
package import RosterFetch
package import RosterModel

/// A sync that is not started, since `limit.budget` does not hold it now: it is taken to need what the last one took.
/// One that is larger than the budget, or was broken off by it, starts when the window is empty (P1).
package struct Postponement: Sendable, Equatable {
  /// When the budget holds it.
  package var until: Date
  /// What whoever asked for it is told (69).
  package var failure: Failure

  /// nil: the budget holds it.
  /// - Parameter requests: of the last sync that went well; nil: none did.
  package init?(_ ledger: BudgetLedger, requests: Int?, baseURL: String, clock: WallClock) {
    guard let wait = ledger.wait(for: requests), let usage = ledger.usage else { return nil }
    // A millisecond later: times are told, and waited for, in whole ones.
    until = clock.now() + wait.seconds + 0.001
    let left = max(0, usage.rule.limit - usage.used)
    let wanted = requests.map { "\($0) that the last sync took" } ?? "that a sync takes"
    failure = Failure(
      .unreachable, step: "start a sync", subject: baseURL,
      cause: "limit.budget (\(usage.rule.text)) has \(left) requests left of those \(wanted)",
      hint: "it will be started at \(until.rfc3339); `rosterd check` names the sync.interval that the budget holds")
  }
}
