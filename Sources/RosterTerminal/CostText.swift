package import RosterModel

/// The requests that a configuration will cost, as TOML comments for `rosterd check`.
package struct CostText: Sendable {
  /// The lines, one comment each, the warning included.
  package let text: String
  /// A clause; nil if `limit.budget` suffices for the syncs, or is not set.
  package let warning: String?

  /// - Parameters:
  ///   - pages: Number of pages of the last successful sync; nil if unknown.
  ///   - why: A clause that says why the number is unknown.
  package init(pages: Int?, unknown why: String, interval: Duration, budget: RequestBudget?) {
    guard let pages, pages > 0 else {
      text = "# requests a day: not known, \(why)\n"
      warning = nil
      return
    }
    let cost =
      "# \(pages.counted(as: "page")) in the last sync: about \(Words.grouped(interval.perDay(pages))) requests a day with sync.interval = \"\(interval.text)\"\n"
    let fit = budget.map { BudgetFit($0, pages: pages) }
    let warning = fit?.warning(interval)
    let verdict = fit.map { fit in warning.map { "# warning: \($0)\n" } ?? "# \(fit.name) holds them\n" }
    self.warning = warning
    text = cost + (verdict ?? "")
  }
}

/// Compares a budget with the requests of the syncs.
private struct BudgetFit {
  let budget: RequestBudget
  /// Number of requests of one sync.
  let requests: Int

  init(_ budget: RequestBudget, pages: Int) {
    self.budget = budget
    requests = pages
  }

  var name: String { "limit.budget = \"\(budget.text)\"" }

  func warning(_ interval: Duration) -> String? {
    let syncs = budget.limit / requests
    guard syncs > 0 else { return "\(name) does not hold one sync of \(requests.counted(as: "request"))" }
    // The number of syncs that can start in one window.
    if (budget.window.seconds / interval.seconds).rounded(.up) <= Double(syncs) { return nil }
    return
      "\(name) does not hold them; sync.interval = \"\(Self.rounded(budget.window.seconds / Double(syncs)).text)\" would"
  }

  /// Rounds up to a value that a person would write.
  private static func rounded(_ seconds: Double) -> Duration {
    let unit = seconds > minute ? minute : seconds > 1 ? 1 : 0.001
    return .milliseconds(((seconds / unit).rounded(.up) * unit * 1000).rounded())
  }

  private static let minute = 60.0
}
