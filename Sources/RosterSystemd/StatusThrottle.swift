internal import FoundationEssentials

/// Lets a status through at most twice a second (S4). It keeps none back: who came too early comes again with the
/// status of then.
struct StatusThrottle {
  enum Decision: Equatable {
    case send
    /// Too early by this time.
    case later(Duration)
    /// The service manager knows it.
    case ignore
  }

  private var latest: (text: String, at: Date)?

  /// `send` counts as sent.
  mutating func offered(_ text: String, now: Date) -> Decision {
    if text == latest?.text { return .ignore }
    if let wait = wait(from: now) { return .later(wait) }
    latest = (text, now)
    return .send
  }

  /// nil: none.
  private func wait(from now: Date) -> Duration? {
    guard let latest else { return nil }
    let wait = Self.interval - now.timeIntervalSince(latest.at)
    // A clock that was set back must not hold it up for longer; the error of the subtraction is no wait.
    if wait < Self.precision || wait > Self.interval + Self.precision { return nil }
    return .milliseconds((wait * 1000).rounded(.up))
  }

  private static let interval = 0.5
  private static let precision = 0.000_1
}
