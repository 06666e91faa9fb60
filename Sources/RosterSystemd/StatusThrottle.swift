internal import FoundationEssentials

/// Lets a status through at most twice a second (S4); what comes too early is kept, the latest only.
struct StatusThrottle {
  enum Decision: Equatable {
    case send(String)
    /// `due` is to be asked after this time.
    case later(Duration)
    /// It is what the service manager knows, or `due` will be asked anyway.
    case ignore
  }

  private var latest: (text: String, at: Date)?
  private var pending: String?

  mutating func offered(_ text: String, now: Date) -> Decision {
    if pending != nil {
      pending = text
      return .ignore
    }
    if text == latest?.text { return .ignore }
    pending = text
    return due(now: now)
  }

  /// The time that `later` named has come, or an earlier one did that `goesAlong` has overtaken.
  mutating func due(now: Date) -> Decision {
    guard let text = pending else { return .ignore }
    if text != latest?.text, let wait = wait(from: now) { return .later(wait) }
    pending = nil
    if text == latest?.text { return .ignore }
    latest = (text, now)
    return .send(text)
  }

  /// Whether it may be sent with another message now; if not, it is for `offered` to bring it.
  mutating func goesAlong(_ text: String, now: Date) -> Bool {
    if text == latest?.text || wait(from: now) != nil { return false }
    latest = (text, now)
    return true
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
