import RosterSimulator
import Synchronization

/// When requests reached the upstream, by its own clock.
final class Arrivals: Sendable {
  private let times = Mutex<[ContinuousClock.Instant]>([])

  /// Notes each page request and each token request.
  var rules: [Rule] { [.on(.anyPage, .drift { _ in self.note() }), .on(.anyToken, .drift { _ in self.note() })] }

  var count: Int { times.withLock { $0.count } }

  func note() { times.withLock { $0.append(.now) } }

  /// Time between a request and the previous one.
  func gap(before index: Int) -> Duration {
    times.withLock { $0.indices.contains(index) ? $0[index] - $0[index - 1] : .zero }
  }

  /// Time from the first request to the last one.
  var span: Duration { times.withLock { times in times.first.map { times[times.count - 1] - $0 } ?? .zero } }

  /// The requests after this one, as delays since it: those within the given time, and those after it.
  func beside(request: Int, for time: Duration) -> (before: [Duration], behind: [Duration]) {
    let since = times.withLock { times in times.map { $0 - times[request] } }
    return (since.filter { $0 < time }, since.filter { $0 >= time })
  }

  /// Number of requests in each second, counted from the first request.
  var perSecond: [Int] {
    times.withLock { times in
      let seconds = times.map { Int(times[0].duration(to: $0).components.seconds) }
      return seconds.isEmpty ? [] : (0...(seconds.max() ?? 0)).map { second in seconds.count { $0 == second } }
    }
  }

  /// Maximum number of requests in any window of this length.
  func most(within window: Duration) -> Int {
    times.withLock { times in
      times.indices.map { first in times[first...].prefix { $0 - times[first] < window }.count }.max() ?? 0
    }
  }
}
