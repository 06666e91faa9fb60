import RosterSimulator

/// The plan of a month: the events of upstream and rosterd at each sync, by its number from 0. It is the same in each
/// run.
struct MonthPlan {
  /// The way in which a rosterd ends before the next one is started.
  enum Stop: Equatable { case atRest, inSync, killed }

  /// Syncs of a day, at an interval of fifteen minutes.
  static let day = 96
  /// The last days have no deployments, so that one process runs for a long time.
  static let lastDeploys = 21
  static let outage = Duration.seconds(3600)
  /// The deployment after it happens between syncs: a sync in which four requests are held may have none left.
  private static let poorDay = 10
  /// Pages of twenty records each.
  static let pages = 7
  static let tokenLife = Duration.seconds(3600)

  /// One deployment each day at noon.
  func stop(at number: Int) -> Stop? {
    guard number % Self.day == Self.day / 2, number / Self.day < Self.lastDeploys else { return nil }
    return [.killed, .inSync, .atRest][number / Self.day % 3]
  }

  /// Number of changed definitions so far: the first deployment of each week brings one.
  func redefinitions(at number: Int) -> Int {
    (0...number).count { stop(at: $0) != nil && $0 / Self.day % 7 == 0 }
  }

  /// Requests per day; on one day they do not suffice.
  func budget(at number: Int) -> Int { number / Self.day == Self.poorDay ? 600 : 1000 }

  /// Upstream is down for an hour every third day.
  func beginsOutage(at number: Int) -> Bool { number % (3 * Self.day) == 70 }

  /// True if upstream has lost more records than a sync may remove.
  func isGuarded(at number: Int) -> Bool { (50..<53).contains(number % 97) }

  /// True if upstream asks for a pause longer than `max_retry_after`: the sync fails, and the next one waits.
  func isPutOff(at number: Int) -> Bool { number % 67 == 20 && !isPlain(at: number) }

  /// True for a sync without faults.
  private func isPlain(at number: Int) -> Bool { isGuarded(at: number) || stop(at: number) != nil }

  func rules(at number: Int) -> [Rule] {
    if isPlain(at: number) { return [] }
    if isPutOff(at: number) { return [.on(.page(1), times: 1, .status(429, retryAfter: "600"))] }
    let cuts = cutPages(at: number).map { Rule.on(.page($0), times: 1, .cut(after: .half, .close)) }
    return cuts + Self.faults.filter { number % $0.every == $0.at }.map(\.rule)
  }

  /// Pages whose first answer is interrupted.
  func cutPages(at number: Int) -> [Int] {
    if isPlain(at: number) || isPutOff(at: number) { return [] }
    return (number % 11 == 3 ? [2] : []) + (number % 13 == 7 ? [5] : [])
  }

  /// Pages with a changed record. All interrupted pages are among them, because an answer without a body cannot be
  /// interrupted in its body.
  func changedPages(at number: Int) -> [Int] {
    if isGuarded(at: number) || number % 4 == 0 { return cutPages(at: number) }
    return cutPages(at: number) + [number % Self.pages + 1, number * 3 % Self.pages + 1]
  }

  /// True if one record is removed and another one is new.
  func replaces(at number: Int) -> Bool { number % 10 == 4 && !isGuarded(at: number) }

  /// Every fifth token expires during a sync without an announcement.
  static func isShortLived(_ generation: Int) -> Bool { generation % 5 == 2 }

  /// The operator's file does not contain the lifetime of its token.
  static func diesUnannounced(_ generation: Int) -> Bool { generation == 0 || isShortLived(generation) }

  private static let faults: [(every: Int, at: Int, rule: Rule)] = [
    (17, 5, .on(.page(3), times: 1, .status(429, retryAfter: "20"))),
    (19, 6, .on(.page(4), times: 2, .status(503))),
    (23, 9, .on(.page(6), times: 1, .html())),
    (5, 2, .on(.anyToken, times: 1, .status(502))),
  ]
}
