import RosterCore

/// Decides when the next request may start by `limit.rate`. Pure; times are `WallClock.uptime`.
///
/// A plain token bucket fills during a burst, so that a second may see twice the rate. Here a burst is paid back before
/// the bucket fills again. Time without requests earns up to a second's worth of requests that may start at once, and
/// early requests delay the next ones. No second sees more than a second's worth.
package struct RequestPace: Sendable, Equatable {
  /// The time that one request occupies.
  private let gap: Duration
  /// Largest number of requests in a burst besides the first.
  private let maxCredit: Double
  private var credit: Double
  /// The time until which all permitted requests are used up.
  private var paidUntil: Duration

  /// - Parameters:
  ///   - rate: requests a second, above 0.
  ///   - isRested: true if no request was sent for a second, so that a burst may start.
  package init(rate: Double, at now: Duration, isRested: Bool = true) {
    gap = .seconds(1 / rate)
    maxCredit = max(1, rate.rounded(.down)) - 1
    credit = isRested ? maxCredit : 0
    paidUntil = now
  }

  /// The pace after a reload, without a burst, because recent requests followed another rate. A slower rate counts from
  /// the last request, and a faster one permits a request at once.
  package func changed(to rate: Double, at now: Duration) -> RequestPace {
    var next = RequestPace(rate: rate, at: now, isRested: false)
    if next.gap > gap { next.paidUntil = max(now, paidUntil - gap + next.gap) }
    return next
  }

  /// The wait of the next request; zero if it may start.
  package func wait(at now: Duration) -> Duration {
    let settled = settled(at: now)
    return settled.credit >= 1 ? .zero : max(.zero, settled.paidUntil - now)
  }

  /// Counts a request that starts after its wait.
  package mutating func take(at now: Duration) {
    self = settled(at: now)
    if paidUntil > now { credit -= 1 }
    paidUntil += gap
  }

  private func settled(at now: Duration) -> RequestPace {
    guard now > paidUntil else { return self }
    var settled = self
    settled.credit = min(maxCredit, (now - paidUntil) / gap)
    settled.paidUntil = now
    return settled
  }
}
