package import RosterModel

/// The process that a sync runs in: what it has to see to, and who is told.
package protocol SyncHost: Sendable {
  /// As they are now: SIGHUP takes effect in a sync that runs.
  var settings: SyncSettings { get }

  /// Runs what mostly waits for upstream where that costs least: beside the transport.
  func onTransport<Value: Sendable>(_ work: @Sendable () async throws -> Value) async throws -> Value

  /// True if `limit.budget` has room for that many requests now.
  func permits(requests: Int) -> Bool

  /// Before the sync's row is written: whoever makes the cache's folder again must find the lock in it.
  func renewCacheLock() throws

  /// Before the session is looked at.
  func renewTokenStoreLock() throws

  /// The row is written: from here on the sync can be watched and joined.
  func began(_ record: SyncRecord, _ tally: Tally, isFresh: Bool) async

  /// The sync has come so far.
  func entered(_ phase: DaemonStatus.Current.Phase)

  /// Whatever else happens in it.
  func tell(_ event: Event)

  /// Told last, with what the sync ended with; readers can see what it published (P2).
  func ended(_ record: SyncRecord) async
}

/// What a sync is to keep to.
package struct SyncSettings: Sendable, Equatable {
  /// Pages in flight.
  package var concurrency: Int
  /// Of one list.
  package var maxPages: Int
  /// Percent of a resource's records that may go, where its definition says nothing else.
  package var maxRemoval: Int
  /// How long syncs and changes are kept.
  package var history: Duration
  /// A sync does not wait longer for a time that upstream has named (P11).
  package var maxRetryAfter: Duration
  /// What becomes of a next page's address elsewhere.
  package var links: NextLinks

  /// All of them.
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
