import RosterSimulator

/// What befalls upstream and rosterd at each sync of a month, by its number from 0: the same in each run.
struct MonthPlan {
  /// How a rosterd ends before the next one is started.
  enum Stop: Equatable { case atRest, inSync, killed }

  /// Syncs of a day, at an interval of fifteen minutes.
  static let day = 96
  /// From then on nothing is deployed, so that one process grows old.
  static let lastDeploys = 21
  static let outage = Duration.seconds(3600)
  /// The deploy after it is one at rest: a sync in which four requests are held may have none left.
  private static let poorDay = 10
  /// Of twenty records each.
  static let pages = 7
  static let tokenLife = Duration.seconds(3600)

  /// A deploy a day, at noon.
  func stop(at number: Int) -> Stop? {
    guard number % Self.day == Self.day / 2, number / Self.day < Self.lastDeploys else { return nil }
    return [.killed, .inSync, .atRest][number / Self.day % 3]
  }

  /// How many times it was another definition: the first deploy of each week brings one.
  func redefinitions(at number: Int) -> Int {
    (0...number).count { stop(at: $0) != nil && $0 / Self.day % 7 == 0 }
  }

  /// Requests a day: one day has too few.
  func budget(at number: Int) -> Int { number / Self.day == Self.poorDay ? 600 : 1000 }

  /// Every third day upstream is away for an hour.
  func beginsOutage(at number: Int) -> Bool { number % (3 * Self.day) == 70 }

  /// Upstream has forgotten more than P8 lets go.
  func isGuarded(at number: Int) -> Bool { (50..<53).contains(number % 97) }

  /// By more than `max_retry_after`: the sync fails, and the next one waits.
  func isPutOff(at number: Int) -> Bool { number % 67 == 20 && !isPlain(at: number) }

  /// Without faults.
  private func isPlain(at number: Int) -> Bool { isGuarded(at: number) || stop(at: number) != nil }

  func rules(at number: Int) -> [Rule] {
    if isPlain(at: number) { return [] }
    if isPutOff(at: number) { return [.on(.page(1), times: 1, .status(429, retryAfter: "600"))] }
    let cuts = cutPages(at: number).map { Rule.on(.page($0), times: 1, .cut(after: .half, .close)) }
    return cuts + Self.faults.filter { number % $0.every == $0.at }.map(\.rule)
  }

  /// Whose first answer breaks off.
  func cutPages(at number: Int) -> [Int] {
    if isPlain(at: number) || isPutOff(at: number) { return [] }
    return (number % 11 == 3 ? [2] : []) + (number % 13 == 7 ? [5] : [])
  }

  /// Pages of which a record changes. What is cut does: an answer without a body cannot break off in it.
  func changedPages(at number: Int) -> [Int] {
    if isGuarded(at: number) || number % 4 == 0 { return cutPages(at: number) }
    return cutPages(at: number) + [number % Self.pages + 1, number * 3 % Self.pages + 1]
  }

  /// One record is gone, and another is new.
  func replaces(at number: Int) -> Bool { number % 10 == 4 && !isGuarded(at: number) }

  /// Each fifth token goes bad in the midst of a sync, and nobody has said so.
  static func isShortLived(_ generation: Int) -> Bool { generation % 5 == 2 }

  /// The operator's file does not say how long its token lives.
  static func diesUnannounced(_ generation: Int) -> Bool { generation == 0 || isShortLived(generation) }

  private static let faults: [(every: Int, at: Int, rule: Rule)] = [
    (17, 5, .on(.page(3), times: 1, .status(429, retryAfter: "20"))),
    (19, 6, .on(.page(4), times: 2, .status(503))),
    (23, 9, .on(.page(6), times: 1, .html())),
    (5, 2, .on(.anyToken, times: 1, .status(502))),
  ]
}
