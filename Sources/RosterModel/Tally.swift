import Synchronization

/// What one sync has done so far, counted from many tasks, read by the status at any time.
package final class Tally: Sendable {
  /// What was counted until one moment.
  package struct Counts: Sendable, Equatable {
    /// Pages of the current pull that arrived, were unchanged, or were taken over.
    package var pagesDone = 0
    /// As upstream told it; 0 until the first answer.
    package var pagesTotal = 0
    /// On the pages that are done.
    package var characters = 0
    /// Pages that are asked for, be it that they wait for a retry or a token.
    package var inFlight = 0
    /// Every attempt and redirect hop.
    package var requests = 0
    /// Pages answered 304.
    package var notModified = 0
    /// Pages taken over from a broken-off sync, by a 304 or without asking (P4).
    package var resumed = 0
    /// Repeats by P11 except those for 401.
    package var retries = 0
    /// Token requests that succeeded.
    package var refreshes = 0
    /// Body bytes as received.
    package var bytes = 0

    /// Nothing yet.
    package init() {}
  }

  private let counts = Mutex(Counts())

  /// Nothing yet.
  package init() {}

  /// All of them at one moment.
  package var now: Counts { counts.withLock { $0 } }

  /// Changes all of them at once; `change` must not wait.
  package func update(_ change: (inout Counts) -> Void) {
    counts.withLock { change(&$0) }
  }
}
