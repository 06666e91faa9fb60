/// `limit.budget`: a maximum number of requests in any window of this length (P1).
package struct RequestBudget: Sendable, Equatable {
  /// Number of requests, 1 to `maxRequests`.
  package var limit: Int
  /// Length of the window, at least `minWindow`.
  package var window: Duration

  /// More than one program sends in a month, and far from any overflow.
  package static let maxRequests = 1_000_000_000
  /// Equal to the minimum of `sync.interval`; for shorter times there is `limit.rate`.
  package static let minWindow = Duration.milliseconds(100)

  /// - Parameters must be within their ranges.
  package init(limit: Int, window: Duration) {
    self.limit = limit
    self.window = window
  }

  /// Reads a number, a slash and a duration: `10000/1d`. nil for anything else, and for values out of range.
  package init?(text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].utf8.allSatisfy(\.isDigit),
      let limit = Int(parts[0]), (1...Self.maxRequests).contains(limit),
      let window = Duration(text: parts[1]), window >= Self.minWindow
    else { return nil }
    self.init(limit: limit, window: window)
  }

  /// The text from which `init(text:)` makes the same budget.
  package var text: String { "\(limit)/\(window.text)" }
}

extension Duration {
  /// Number of requests per day, rounded, if this number is sent after each such interval.
  package func perDay(_ requests: Int) -> Int { perDay(Double(requests)) }

  /// The same for an average number.
  package func perDay(_ requests: Double) -> Int {
    Int(min(requests * 86_400 / seconds, Double(Int32.max)).rounded())
  }
}
