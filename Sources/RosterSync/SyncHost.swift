package import FoundationEssentials
package import RosterCore

/// The process that runs a sync. It provides settings and receives reports.
package protocol SyncHost: Sendable {
  /// The current settings: SIGHUP also changes a sync that runs.
  var settings: SyncSettings { get }

  /// Runs work that mostly waits for upstream on the transport's thread, where it costs least.
  func onTransport<Value: Sendable>(_ work: @Sendable () async throws -> Value) async throws -> Value

  /// True if `limit.budget` has room for that many requests now.
  func permits(requests: Int) -> Bool

  /// The time at which `limit.budget` has room for another sync; nil if it has room now.
  var pausedUntil: Date? { get }

  /// Called before the sync's row is written: a process that creates the cache's folder again must put the lock into
  /// it.
  func renewCacheLock() throws

  /// Called before the session is read.
  func renewTokenStoreLock() throws

  /// Called when the row is written: from then on the sync can be watched and joined.
  func began(_ record: SyncRecord, tally: Tally, isFresh: Bool) async

  /// Reports that the sync has reached a phase.
  func entered(_ phase: DaemonStatus.Current.Phase)

  /// Reports any other event of the sync.
  func tell(_ event: Event)

  /// Called last, with the result of the sync. Readers already see the snapshot that it published.
  func ended(_ record: SyncRecord) async
}

/// The settings of a sync.
package struct SyncSettings: Sendable, Equatable {
  /// Largest number of pages in flight.
  package var concurrency: Int
  /// Largest number of pages of one list.
  package var maxPages: Int
  /// Percent of a resource's records that a sync may remove, unless its definition has its own limit.
  package var maxRemoval: Int
  /// Period for which syncs and changes are kept.
  package var history: Duration
  /// Longest time that a sync waits for a time that upstream has named.
  package var maxRetryAfter: Duration
  /// The rule for next-page addresses at another origin.
  package var links: NextLinks

  /// All settings.
  package init(
    concurrency: Int, maxPages: Int, maxRemoval: Int, history: Duration, maxRetryAfter: Duration,
    links: NextLinks = .sameOrigin
  ) {
    self.concurrency = concurrency
    self.maxPages = maxPages
    self.maxRemoval = maxRemoval
    self.history = history
    self.maxRetryAfter = maxRetryAfter
    self.links = links
  }
}
