package import FoundationEssentials
package import RosterCore

/// Decides when the next sync starts. Pure.
package struct Schedule: Sendable, Equatable {
  /// The settings that decide when a sync starts.
  package struct Settings: Sendable, Equatable {
    /// Time from the end of a sync to the next.
    package var interval: Duration
    /// Largest random addition to the interval, so that many daemons do not ask at once.
    package var jitter: Duration
    /// Delay after a failed sync, which doubles up to the interval.
    package var retryInterval: Duration

    /// All settings.
    package init(interval: Duration, jitter: Duration, retryInterval: Duration) {
      self.interval = interval
      self.jitter = jitter
      self.retryInterval = retryInterval
    }
  }

  /// The current settings, which a reload changes.
  package var settings: Settings
  private var failures = 0
  /// The last time at which a damaged cache was replaced by an empty one; nil without such a time.
  private var damagedAt: Date?
  private var startsAtOnce = false

  /// The schedule of a new process: no sync has failed yet.
  /// - Parameter damagedAt: The time at which an earlier process replaced a damaged cache; nil if it is unknown.
  package init(_ settings: Settings, damagedAt: Date? = nil) {
    self.settings = settings
    self.damagedAt = damagedAt
  }

  /// - Parameters:
  ///   - isCacheLost: true if the cache was damaged and replaced by an empty one. The next sync starts at once then,
  ///     because readers have empty tables. If that has happened within a day before, the disk may be bad.
  ///   - hold: the time before which upstream wants no request (Retry-After).
  ///   - random: a number in 0..<1.
  package mutating func next(
    after outcome: SyncRecord.Outcome, isCacheLost: Bool = false, at end: Date, hold: Date?, random: Double
  ) -> Date {
    failures = outcome == .failed ? failures + 1 : 0
    startsAtOnce = isCacheLost && outcome == .failed && damagedAt.map { end.timeIntervalSince($0) >= Self.day } ?? true
    if isCacheLost { damagedAt = end }
    return due(after: outcome, at: end, hold: hold, random: random)
  }

  /// The time by the current settings, for the sync that `next` was called with.
  package func due(after outcome: SyncRecord.Outcome, at end: Date, hold: Date?, random: Double) -> Date {
    let usual = failures == 0 ? settings.interval + settings.jitter * random : retryDelay
    let due = end + (startsAtOnce ? 0 : usual.seconds)
    return hold.map { max($0, due) } ?? due
  }

  private static let day = 86_400.0

  private var retryDelay: Duration {
    let doubled = settings.retryInterval * (1 << min(failures - 1, Self.maxDoublings))
    return max(settings.retryInterval, min(doubled, settings.interval))
  }

  /// A hundred milliseconds doubled this number of times is longer than any interval.
  private static let maxDoublings = 30
}

/// Decides which pages a sync transfers without their validators, so that lying validators are found. Each page
/// has a moment of its own in each period, by a digest of its address. Pure.
struct AuditSchedule: Sendable, Equatable {
  /// Period in which each page is audited; nil if never.
  var period: Duration?
  /// Time of the last whole pull of the list; nil if it is unknown, so that nothing is due.
  var last: Date?
  /// Start of the sync.
  var now: Date

  /// True if the moment of this page came after the last whole pull.
  /// - Parameter address: That of `PageRequest`, which has the body of a POST.
  func isDue(_ address: String, digest: PageDigest) -> Bool {
    guard let period, let last, period > .zero else { return false }
    let phase = Double(UInt64(bitPattern: digest(Array(address.utf8))) >> 11) / 0x1p53
    func moments(until date: Date) -> Double { (date.timeIntervalSince1970 / period.seconds + phase).rounded(.down) }
    return moments(until: now) > moments(until: last)
  }
}
