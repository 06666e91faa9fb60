package import FoundationEssentials
package import RosterModel
import Synchronization

/// The time before which upstream wants no page request (429, or a Retry-After that is too long to wait for).
package final class Hold: Sendable {
  private let until: Mutex<Date?>

  package init(until: Date? = nil) {
    self.until = Mutex(until)
  }

  package var time: Date? { until.withLock { $0 } }

  package func extend(to time: Date) {
    until.withLock { $0 = max($0 ?? time, time) }
  }

  /// Returns when requests may start again. Throws CancellationError.
  package func wait(_ clock: WallClock) async throws {
    while let time, time > clock.now() {
      try await clock.sleep(.seconds(time.timeIntervalSince(clock.now())))
    }
  }
}
