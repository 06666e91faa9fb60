import Synchronization

/// What one sync has done so far, counted from many tasks, read by the status at any time.
package final class Tally: Sendable {
  package struct Counts: Sendable, Equatable {
    package var pagesDone = 0
    package var pagesTotal = 0
    package var characters = 0
    package var inFlight = 0
    package var requests = 0
    package var notModified = 0
    package var resumed = 0
    package var retries = 0
    package var refreshes = 0
    package var bytes = 0

    package init() {}
  }

  private let counts = Mutex(Counts())

  package init() {}

  package var now: Counts { counts.withLock { $0 } }

  package func update(_ change: (inout Counts) -> Void) {
    counts.withLock { change(&$0) }
  }
}
