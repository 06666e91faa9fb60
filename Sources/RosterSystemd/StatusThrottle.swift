internal import FoundationEssentials

/// Lets a status through at most twice a second (S4). It stores no rejected status: the caller returns later with the
/// current one.
struct StatusThrottle {
  enum Decision: Equatable {
    case send
    /// Too early by this much.
    case later(Duration)
    /// The service manager has this status already.
    case ignore
  }

  private var latest: (text: String, at: Date)?

  /// After `send`, the status counts as sent.
  mutating func offered(_ text: String, now: Date) -> Decision {
    if text == latest?.text { return .ignore }
    if let wait = wait(from: now) { return .later(wait) }
    latest = (text, now)
    return .send
  }

  /// nil if there is no need to wait.
  private func wait(from now: Date) -> Duration? {
    guard let latest else { return nil }
    let wait = Self.interval - now.timeIntervalSince(latest.at)
    // A clock that was set back must not prolong the wait. A rest below the precision is only a rounding error.
    if wait < Self.precision || wait > Self.interval + Self.precision { return nil }
    return .milliseconds((wait * 1000).rounded(.up))
  }

  private static let interval = 0.5
  private static let precision = 0.000_1
}
