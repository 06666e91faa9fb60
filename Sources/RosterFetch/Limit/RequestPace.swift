/// When the next request may start by `limit.rate`. Pure; times are `WallClock.uptime`.
///
/// A bucket whose bursts are paid back before it fills again: time without a request earns up to a second's worth of
/// requests that may start at once, and what started early puts off the next ones. So no second sees more than a
/// second's worth: where a bucket fills while its burst is on the way, it may see twice as much.
package struct RequestPace: Sendable, Equatable {
  /// What one request takes of a second's worth.
  private let gap: Duration
  /// Requests of a burst besides the first.
  private let mostCredit: Double
  private var credit: Double
  /// Until then all that was permitted has been used.
  private var paidUntil: Duration

  /// - Parameters:
  ///   - rate: requests a second, above 0.
  ///   - isRested: nothing was sent for a second: the first may be a burst.
  package init(rate: Double, at now: Duration, isRested: Bool = true) {
    gap = .seconds(1 / rate)
    mostCredit = max(1, rate.rounded(.down)) - 1
    credit = isRested ? mostCredit : 0
    paidUntil = now
  }

  /// How long the next request has to wait; zero: it may start.
  package func wait(at now: Duration) -> Duration {
    let settled = settled(at: now)
    return settled.credit >= 1 ? .zero : max(.zero, settled.paidUntil - now)
  }

  /// A request starts, whose wait is over.
  package mutating func take(at now: Duration) {
    self = settled(at: now)
    if paidUntil > now { credit -= 1 }
    paidUntil += gap
  }

  private func settled(at now: Duration) -> RequestPace {
    guard now > paidUntil else { return self }
    var settled = self
    settled.credit = min(mostCredit, (now - paidUntil) / gap)
    settled.paidUntil = now
    return settled
  }
}
