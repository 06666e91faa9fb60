package import RosterCore

/// The requests that a configuration will cost, as TOML comments for `rosterd check`.
package struct CostText: Sendable {
  /// The lines, one comment each, the warning included.
  package let text: String
  /// A clause; nil if `limit.budget` suffices for the syncs, or is not set.
  package let warning: String?

  /// - Parameters:
  ///   - lastRequests: Number of requests that the lists of the last successful sync need; nil if unknown.
  ///   - why: A clause that says why the number is unknown.
  ///   - resources: The requests of each resource, as far as they are known.
  ///   - others: The resources that no sync has pulled yet.
  ///   - hasRemoved: True if the last sync pulled resources that are no longer configured.
  package init(
    requests lastRequests: Int?, unknown why: String, interval: Duration, budget: RequestBudget?,
    resources: [ResourceCost] = [],
    others: [Resource] = [], hasRemoved: Bool = false
  ) {
    guard let lastRequests else {
      let words = others.flatMap(Self.wordsOfChild).map { "# \($0)\n" }.joined()
      text = "# requests a day: not known, \(why)\n\(words)"
      warning = nil
      return
    }
    // Without since and each, every sync costs as much as the last one.
    let isForecast = hasRemoved || resources.contains { !$0.isWholeInEachSync }
    let requests = isForecast ? resources.reduce(0) { $0 + $1.eachSync(interval) } : Double(lastRequests)
    let day = isForecast ? resources.reduce(0) { $0 + $1.perDay(interval) } : interval.perDay(lastRequests)
    let seen = requests.roundedUp.counted(as: "request") + (isForecast ? " in each sync" : " in the last sync")
    let without = others.isEmpty ? "" : ", without " + others.map(\.name).joined(separator: ", ")
    let requestsOfDay = "about \(HumanFormat.grouped(day)) requests a day"
    let cost = "# \(seen)\(without): \(requestsOfDay) with sync.interval = \"\(interval.text)\"\n"
    let fit = budget.map { BudgetFit(budget: $0, requests: requests) }
    let warning = fit?.warning(interval) ?? fit?.warning(ofWholePulls: resources)
    let verdict = fit.map { fit in
      warning.map { "# warning: \($0)\n" } ?? (others.isEmpty ? "# \(fit.name) holds them\n" : "")
    }
    self.warning = warning
    let each = resources.map { "# \($0.text(interval))\n" }.joined()
    let words = others.flatMap(Self.words).map { "# \($0)\n" }.joined()
    let isHourKnown = !resources.isEmpty && others.isEmpty
    let hour = isHourKnown ? Self.fullestHour(resources, interval: interval, fit: fit) : ""
    text = cost + each + words + hour + (verdict ?? "")
  }

  /// The hour in which every resource is pulled whole once.
  private static func fullestHour(_ resources: [ResourceCost], interval: Duration, fit: BudgetFit?) -> String {
    let requests = resources.reduce(0) { $0 + $1.fullestHour(interval) }
    return "# the fullest hour: about \(HumanFormat.grouped(requests)) requests\(fit.map { "; \($0.name)" } ?? "")\n"
  }

  /// The cost of a resource before its first sync.
  private static func words(_ resource: Resource) -> [String] {
    resource.each == nil ? ["\(resource.name): not known before its first sync"] : wordsOfChild(resource)
  }

  private static func wordsOfChild(_ resource: Resource) -> [String] {
    guard let each = resource.each else { return [] }
    let request = "\(resource.name): a request for each \(each.parent) in"
    let page = resource.isDetail ? "" : ", more for lists of several pages"
    if each.wholeEvery == .inEachSync { return ["\(request) every sync\(page)"] }
    let change = each.changed.isEmpty ? nil : "a request for each changed \(each.parent)"
    let period = each.period.map { "each list again once in \($0.text)" }
    let recent = each.windows.map { "the last \($0.recent) in every sync" }
    let later = [change, recent, period].compactMap(\.self).joined(separator: ", and ")
    return ["\(request) the first sync\(page)", "\(resource.name): then \(later)"]
  }
}

extension Each {
  /// nil if a list is pulled in each sync, or never again.
  fileprivate var period: Duration? { if case .every(let period) = wholeEvery { period } else { nil } }
}

/// The requests of one resource.
package struct ResourceCost: Sendable {
  private let name: String
  private let cost: PullCost
  private let since: Since?
  private let each: Each?

  /// - Parameter cost: As the last pulls were.
  package init(_ resource: Resource, cost: PullCost) {
    name = resource.name
    since = resource.since
    each = resource.each
    self.cost = cost
  }

  /// True if most pulls ask for changed records only.
  private var isIncremental: Bool { each == nil && since != nil }
  /// True if each sync pulls all of it.
  fileprivate var isWholeInEachSync: Bool { each.map { $0.wholeEvery == .inEachSync } ?? (since == nil) }
  /// Number of requests that no sync can do without; nil if a sync may leave some of them to later ones.
  fileprivate var inseparable: Int? { isIncremental ? cost.whole : nil }

  /// The period in which all of it is pulled once, besides what changed.
  private var period: Duration? { each.map(\.period) ?? since?.wholeEvery }

  /// Number of requests of an ordinary sync, on average.
  fileprivate func eachSync(_ interval: Duration) -> Double {
    if isWholeInEachSync { return Double(cost.whole) }
    guard let each else { return cost.incremental ?? 1 }
    return each.changed.isEmpty ? min(Double(cost.whole), due(in: interval) + recent) : cost.incremental ?? 0
  }

  /// Number of requests for the last windows, which are due in each sync.
  private var recent: Double { min(Double(cost.whole), Double(each?.windows?.recent ?? 0)) }

  /// Number of requests for the lists of a child that are due in a time, on average.
  private func due(in time: Duration) -> Double {
    guard let period else { return 0 }
    return Double(cost.whole) * time.seconds / period.seconds
  }

  fileprivate func perDay(_ interval: Duration) -> Int {
    let isDueOnly = each?.changed.isEmpty == true && !isWholeInEachSync
    return interval.perDay(isDueOnly ? recent : eachSync(interval))
      + (isWholeInEachSync ? 0 : period?.perDay(cost.whole) ?? 0)
  }

  /// Number of requests of an hour that has a whole pull; of a child, of an hour in which most lists are due.
  fileprivate func fullestHour(_ interval: Duration) -> Int {
    let syncs = max(1, Int((3600 / interval.seconds).rounded(.up)))
    if isWholeInEachSync { return syncs * cost.whole }
    let usual = (Double(syncs) * eachSync(interval)).roundedUp
    guard let each else { return (Double(syncs - 1) * eachSync(interval)).roundedUp + cost.whole }
    // A list is due at half of its period or later, and all may have been pulled at the same time.
    let due = min(syncs * cost.whole, due(in: max(interval, .seconds(3600)) * 2).roundedUp)
    return (each.changed.isEmpty ? 0 : usual) + due
  }

  fileprivate func text(_ interval: Duration) -> String {
    let day = "about \(HumanFormat.grouped(perDay(interval))) a day"
    let sync = "\(name): \(eachSync(interval).roundedUp.counted(as: "request")) for each sync"
    guard let each else {
      let every = since.map { since in " (every \(since.wholeEvery?.text ?? "first sync only"))" } ?? ""
      return "\(sync), \(HumanFormat.grouped(cost.whole)) for each whole pull\(every), \(day)"
    }
    let lists = cost.lists.map { "\(HumanFormat.grouped($0)) list\($0 == 1 ? "" : "s")" } ?? "lists"
    if isWholeInEachSync { return "\(sync), which pulls all \(lists), \(day)" }
    let every = period.map { "each once in \($0.text)" } ?? "in the first sync only"
    let all = "\(HumanFormat.grouped(cost.whole)) for all \(lists) (\(every)), \(day)"
    if each.changed.isEmpty || cost.incremental != nil { return "\(sync), \(all)" }
    return "\(name): a request for each changed \(each.parent), \(all) without changes"
  }
}

/// Compares a budget with the requests of the syncs.
private struct BudgetFit {
  let budget: RequestBudget
  /// Number of requests of one sync, on average.
  let requests: Double

  var name: String { "limit.budget = \"\(budget.text)\"" }

  func warning(_ interval: Duration) -> String? {
    if requests == 0 { return nil }
    let syncs = (Double(budget.limit) / requests).rounded(.down)
    guard syncs > 0 else { return "\(name) does not hold one sync of \(requests.roundedUp.counted(as: "request"))" }
    // The number of syncs that can start in one window.
    if (budget.window.seconds / interval.seconds).rounded(.up) <= syncs { return nil }
    return
      "\(name) does not hold them; sync.interval = \"\(Self.rounded(budget.window.seconds / syncs).text)\" would"
  }

  /// A whole pull that is larger than the budget is postponed for ever.
  func warning(ofWholePulls resources: [ResourceCost]) -> String? {
    let large = resources.compactMap(\.inseparable).max() ?? 0
    return large > budget.limit ? "\(name) does not hold a whole pull of \(large.counted(as: "request"))" : nil
  }

  /// Rounds up to a value that a person would write.
  private static func rounded(_ seconds: Double) -> Duration {
    let unit = seconds > minute ? minute : seconds > 1 ? 1 : 0.001
    return .milliseconds(((seconds / unit).rounded(.up) * unit * 1000).rounded())
  }

  private static let minute = 60.0
}

extension Double {
  /// The next whole number.
  fileprivate var roundedUp: Int { Int(rounded(.up)) }
}
