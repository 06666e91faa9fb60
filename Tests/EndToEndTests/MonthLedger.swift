import RosterCore
import RosterSimulator
import Testing

/// Compares upstream's counts with rosterd's over a month.
struct MonthLedger {
  /// Sums in the form of a row of `syncs`.
  struct Sums: Equatable {
    var requests = 0
    var notModified = 0
    var retries = 0
    var refreshes = 0
  }

  private(set) var upstream = Sums()
  private(set) var rows = Sums()
  private(set) var outcomes: [SyncRecord.Outcome: Int] = [:]
  /// Upstream's answers to requests for pages and records in completed syncs, by status.
  private(set) var answers: [String: Int] = [:]
  /// Number of interrupted answers among them.
  private(set) var cuts = 0
  /// Number of tokens that were refreshed early or refused by upstream.
  private(set) var expired = 0
  private(set) var refused = 0
  private(set) var granted = 0
  /// Number of early refreshes that upstream answered after the end of their sync, so that no row counts them.
  private(set) var late = 0
  /// Retries that never reached upstream.
  private(set) var unsent = 0
  /// Number of requests by processes that were stopped during a sync, or killed.
  private(set) var unfinished = 0

  /// - Parameters:
  ///   - cuts: Number of interrupted answers.
  ///   - isDue: True if the token was old enough to be refreshed early.
  ///   - isOver: True if the token has expired meanwhile. On a busy machine a sync may take longer than the early
  ///   refresh allows for.
  ///   - stop: The way in which the process was ended; nil if it was not.
  mutating func book(_ row: SyncRecord, counts: Counts, cuts: Int, isDue: Bool, isOver: Bool, stop: MonthPlan.Stop?) {
    var seen = Sums(of: counts, refreshes: counts.tokensGranted - granted)
    granted = counts.tokensGranted
    outcomes[row.outcome, default: 0] += 1
    bookRefreshes(seen.refreshes, counts: counts, isDue: isDue, isOver: isOver, row: row)
    // A killed process has written nothing; a stopped one has not waited for its answers.
    guard stop == nil else {
      unfinished += seen.requests
      #expect(stop == .killed || row.requests == seen.requests, "\(row)")
      return
    }
    let own = Sums(
      requests: row.requests, notModified: row.notModified, retries: row.retries, refreshes: row.refreshes)
    if row.isOverBudget, own.retries > seen.retries {
      // These retries were reported, and then refused by the budget.
      #expect(own.retries - seen.retries <= Month.concurrency, "\(row)")
      unsent += own.retries - seen.retries
      seen.retries = own.retries
    }
    if isDue, own.refreshes == seen.refreshes - 1 {
      late += 1
      seen.refreshes = own.refreshes
    }
    #expect(own == seen, "\(row)")
    upstream += seen
    rows += own
    self.cuts += cuts
    for status in (counts.pageRequests + counts.byIDRequests).compactMap(\.status) {
      answers["\(status)", default: 0] += 1
    }
  }

  /// Each token that is due or was refused needs one refresh, and no other token needs one. The refused request may be
  /// a page request or one for a missing record.
  private mutating func bookRefreshes(_ new: Int, counts: Counts, isDue: Bool, isOver: Bool, row: SyncRecord) {
    let requests = counts.pageRequests + counts.byIDRequests
    let bad = Set(requests.filter { $0.status == 401 }.map(\.generation))
    #expect(isOver || bad.allSatisfy { $0.map(MonthPlan.diesUnannounced) == true }, "\(bad): \(row)")
    let isRight = bad.isEmpty ? new == 0 || isDue && new == 1 : new == 1 || new == 0 && row.isOverBudget
    #expect(isRight, "\(new) refreshes: \(row)")
    if bad.isEmpty { expired += new } else { refused += new }
  }
}

extension SyncRecord {
  /// True if `limit.budget` interrupted the sync.
  var isOverBudget: Bool { exit == 69 && error?.contains("limit.budget (") == true }
}

extension MonthLedger.Sums {
  init(of counts: Counts, refreshes: Int) {
    let pages = counts.pageRequests.filter { $0.status != 401 }
    requests = counts.pageRequests.count + counts.byIDRequests.count
    notModified = counts.pages(answered: 304)
    retries = pages.count - Set(pages.map(\.page)).count
    self.refreshes = refreshes
  }

  static func += (sums: inout Self, more: Self) {
    sums.requests += more.requests
    sums.notModified += more.notModified
    sums.retries += more.retries
    sums.refreshes += more.refreshes
  }
}
