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
  ///   - resources: The requests of each resource, as far as they are known.
  package init(
    pages: Int?, unknown why: String, interval: Duration, budget: RequestBudget?, resources: [ResourceCost] = []
  ) {
    guard let pages, pages > 0 else {
      text = "# requests a day: not known, \(why)\n"
      warning = nil
      return
    }
    let isIncremental = resources.contains { $0.isIncremental }
    let requests = isIncremental ? resources.reduce(0) { $0 + $1.eachSync } : pages
    let day = isIncremental ? resources.reduce(0) { $0 + $1.perDay(interval) } : interval.perDay(pages)
    let seen =
      isIncremental
      ? requests.counted(as: "request") + " in each sync" : pages.counted(as: "page") + " in the last sync"
    let cost = "# \(seen): about \(HumanFormat.grouped(day)) requests a day with sync.interval = \"\(interval.text)\"\n"
    let fit = budget.map { BudgetFit($0, pages: requests) }
    let warning = fit?.warning(interval) ?? fit?.warning(ofWholePulls: resources)
    let verdict = fit.map { fit in warning.map { "# warning: \($0)\n" } ?? "# \(fit.name) holds them\n" }
    self.warning = warning
    let each = resources.map { "# \($0.text(interval))\n" }.joined()
    let hour = resources.isEmpty ? "" : Self.fullestHour(resources, interval: interval, fit: fit)
    text = cost + each + hour + (verdict ?? "")
  }

  /// The hour in which every resource is pulled whole once.
  private static func fullestHour(_ resources: [ResourceCost], interval: Duration, fit: BudgetFit?) -> String {
    let requests = resources.reduce(0) { $0 + $1.fullestHour(interval) }
    return "# the fullest hour: about \(HumanFormat.grouped(requests)) requests\(fit.map { "; \($0.name)" } ?? "")\n"
  }
}

/// The requests of one resource (L6.2).
package struct ResourceCost: Sendable {
  private let name: String
  private let cost: PullCost
  private let since: Since?

  /// - Parameter cost: As the last pulls were.
  package init(_ resource: Resource, cost: PullCost) {
    name = resource.name
    since = resource.since
    self.cost = cost
  }

  /// True if most pulls ask for changed records only.
  fileprivate var isIncremental: Bool { since != nil }
  /// Number of requests of an ordinary sync.
  fileprivate var eachSync: Int { since == nil ? cost.whole : cost.incremental ?? 1 }
  fileprivate var whole: Int { cost.whole }

  fileprivate func perDay(_ interval: Duration) -> Int {
    interval.perDay(eachSync) + (since?.wholeEvery?.perDay(cost.whole) ?? 0)
  }

  /// Number of requests of an hour that has a whole pull.
  fileprivate func fullestHour(_ interval: Duration) -> Int {
    let syncs = max(1, Int((3600 / interval.seconds).rounded(.up)))
    return since == nil ? syncs * cost.whole : (syncs - 1) * eachSync + cost.whole
  }

  fileprivate func text(_ interval: Duration) -> String {
    let day = "about \(HumanFormat.grouped(perDay(interval))) a day"
    let every = since.map { since in " (every \(since.wholeEvery?.text ?? "first sync only"))" } ?? ""
    return
      "\(name): \(eachSync.counted(as: "request")) for each sync, \(HumanFormat.grouped(cost.whole)) for each whole pull\(every), \(day)"
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

  /// A whole pull that is larger than the budget is postponed for ever (I1.2).
  func warning(ofWholePulls resources: [ResourceCost]) -> String? {
    let large = resources.filter { $0.isIncremental && $0.whole > budget.limit }.max { $0.whole < $1.whole }
    return large.map { "\(name) does not hold a whole pull of \($0.whole.counted(as: "request"))" }
  }

  /// Rounds up to a value that a person would write.
  private static func rounded(_ seconds: Double) -> Duration {
    let unit = seconds > minute ? minute : seconds > 1 ? 1 : 0.001
    return .milliseconds(((seconds / unit).rounded(.up) * unit * 1000).rounded())
  }

  private static let minute = 60.0
}
