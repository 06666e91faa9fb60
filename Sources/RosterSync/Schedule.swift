package import FoundationEssentials
package import RosterModel

/// When the next sync starts. Pure.
package struct Schedule: Sendable, Equatable {
  /// The configuration as far as it says when.
  package struct Settings: Sendable, Equatable {
    /// From the end of a sync to the next.
    package var interval: Duration
    /// Up to this much is added to the interval, so that many daemons do not ask at once.
    package var jitter: Duration
    /// After a failed sync; doubles up to the interval.
    package var retryInterval: Duration

    /// All of them.
    package init(interval: Duration, jitter: Duration, retryInterval: Duration) {
      self.interval = interval
      self.jitter = jitter
      self.retryInterval = retryInterval
    }
  }

  /// As they are now: a reload changes them.
  package var settings: Settings
  private var failures = 0

  /// As of a start: no sync has failed yet.
  package init(_ settings: Settings) {
    self.settings = settings
  }

  /// - Parameters:
  ///   - hold: upstream wants no request before (Retry-After).
  ///   - random: 0..<1.
  package mutating func next(after outcome: SyncRecord.Outcome, at end: Date, hold: Date?, random: Double) -> Date {
    failures = outcome == .failed ? failures + 1 : 0
    return due(after: outcome, at: end, hold: hold, random: random)
  }

  /// The same by the settings as they are now, for the sync that `next` was told of.
  package func due(after outcome: SyncRecord.Outcome, at end: Date, hold: Date?, random: Double) -> Date {
    let delay = failures == 0 ? settings.interval + settings.jitter * random : retryDelay
    let due = end + delay.seconds
    return hold.map { max($0, due) } ?? due
  }

  private var retryDelay: Duration {
    let doubled = settings.retryInterval * (1 << min(failures - 1, Self.mostDoublings))
    return max(settings.retryInterval, min(doubled, settings.interval))
  }

  /// A hundred milliseconds doubled so often is above any interval.
  private static let mostDoublings = 30
}
