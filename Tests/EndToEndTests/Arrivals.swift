import RosterSimulator
import Synchronization

/// When requests reached the upstream, by its own clock.
final class Arrivals: Sendable {
  private let times = Mutex<[ContinuousClock.Instant]>([])

  /// Notes each page request and each token request.
  var rules: [Rule] { [.on(.anyPage, .drift { _ in self.note() }), .on(.anyToken, .drift { _ in self.note() })] }

  var count: Int { times.withLock { $0.count } }

  func note() { times.withLock { $0.append(.now) } }

  /// Between a request and the one before it.
  func gap(before index: Int) -> Duration {
    times.withLock { $0.indices.contains(index) ? $0[index] - $0[index - 1] : .zero }
  }

  /// From the first request to the last.
  var span: Duration {
    times.withLock { times in times.first.flatMap { first in times.last.map { $0 - first } } ?? .zero }
  }

  /// The most that any time so long saw.
  func most(within window: Duration) -> Int {
    times.withLock { times in
      times.indices.map { first in times[first...].prefix { $0 - times[first] < window }.count }.max() ?? 0
    }
  }
}
