import RosterModel
import RosterSimulator
import Testing

/// What upstream counted in a month, beside what rosterd did.
struct MonthLedger {
  /// As a row of `syncs` has it.
  struct Sums: Equatable {
    var requests = 0
    var notModified = 0
    var retries = 0
    var refreshes = 0
  }

  private(set) var upstream = Sums()
  private(set) var rows = Sums()
  private(set) var outcomes: [SyncRecord.Outcome: Int] = [:]
  /// Of syncs that came to their end: upstream's answers to requests for pages and records, by status.
  private(set) var answers: [String: Int] = [:]
  /// Answers of them that broke off.
  private(set) var cuts = 0
  /// Tokens that were replaced ahead of their end, and those that upstream refused.
  private(set) var expired = 0
  private(set) var refused = 0
  private(set) var granted = 0
  /// Refreshes ahead of a token's end that upstream answered after the end of their sync: no row counts them.
  private(set) var late = 0
  /// Retries that never reached upstream.
  private(set) var unsent = 0
  /// By a process that was told to stop in the midst, or killed.
  private(set) var unfinished = 0

  /// - Parameters:
  ///   - cuts: answers that broke off.
  ///   - isDue: the token was so old that it may have been replaced ahead of its end.
  ///   - isOver: its end has come meanwhile: to a busy machine a sync may be longer than what it is replaced ahead.
  ///   - stop: its process did not live to its end.
  mutating func book(_ row: SyncRecord, _ counts: Counts, cuts: Int, isDue: Bool, isOver: Bool, stop: MonthPlan.Stop?) {
    var seen = Sums(of: counts, refreshes: counts.tokensGranted - granted)
    granted = counts.tokensGranted
    outcomes[row.outcome, default: 0] += 1
    bookRefreshes(seen.refreshes, counts, isDue: isDue, isOver: isOver, row)
    // Who was killed has written nothing; who was told to stop did not wait for its answers.
    guard stop == nil else {
      unfinished += seen.requests
      #expect(stop == .killed || row.requests == seen.requests, "\(row)")
      return
    }
    let own = Sums(
      requests: row.requests, notModified: row.notModified, retries: row.retries, refreshes: row.refreshes)
    if row.isOverBudget, own.retries > seen.retries {
      // Told, and refused by the budget when its time came.
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

  /// One refresh is right for each token that is due or was refused, and none for any other. A page request or a
  /// question for a missing record may be the one that is refused.
  private mutating func bookRefreshes(_ new: Int, _ counts: Counts, isDue: Bool, isOver: Bool, _ row: SyncRecord) {
    let requests = counts.pageRequests + counts.byIDRequests
    let bad = Set(requests.filter { $0.status == 401 }.map(\.generation))
    #expect(isOver || bad.allSatisfy { $0.map(MonthPlan.diesUnannounced) == true }, "\(bad): \(row)")
    let isRight = bad.isEmpty ? new == 0 || isDue && new == 1 : new == 1 || new == 0 && row.isOverBudget
    #expect(isRight, "\(new) refreshes: \(row)")
    if bad.isEmpty { expired += new } else { refused += new }
  }
}

extension SyncRecord {
  /// Broken off by `limit.budget`.
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
