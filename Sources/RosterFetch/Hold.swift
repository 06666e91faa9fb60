package import FoundationEssentials
package import RosterModel
import Synchronization

/// The time before which upstream wants no page request (429, or a Retry-After that is too long to wait for).
package final class Hold: Sendable {
  private let until: Mutex<Date?>
  private let store: @Sendable (Date) async -> Void

  /// - Parameters:
  ///   - until: as an earlier process stored it.
  ///   - store: keeps a new time for the next process.
  package init(until: Date? = nil, store: @escaping @Sendable (Date) async -> Void = { _ in }) {
    self.until = Mutex(until)
    self.store = store
  }

  package var time: Date? { until.withLock { $0 } }

  /// Returns when it is stored; it holds at once.
  package func extend(to time: Date) async {
    let isLater = until.withLock { until in
      guard time > until ?? .distantPast else { return false }
      until = time
      return true
    }
    if isLater { await store(time) }
  }

  /// Returns when requests may start again. Throws CancellationError.
  package func wait(_ clock: WallClock) async throws {
    while let time, case let left = time.timeIntervalSince(clock.now()), left > 0 {
      try await clock.sleep(.seconds(left))
    }
  }
}
