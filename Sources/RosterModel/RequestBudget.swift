/// `limit.budget` of the configuration: at most so many requests in any time so long (P1).
package struct RequestBudget: Sendable, Equatable {
  /// 1…`mostRequests`.
  package var limit: Int
  /// `leastWindow` or longer.
  package var window: Duration

  /// Above what one program sends in a month, and far from any overflow.
  package static let mostRequests = 1_000_000_000
  /// As `sync.interval`: shorter times are what `limit.rate` is for.
  package static let leastWindow = Duration.milliseconds(100)

  /// Both within their ranges.
  package init(limit: Int, window: Duration) {
    self.limit = limit
    self.window = window
  }

  /// Reads a number, a slash and a duration: `10000/1d`; nil for anything else, and out of range.
  package init?(text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].utf8.allSatisfy(\.isDigit),
      let limit = Int(parts[0]), (1...Self.mostRequests).contains(limit),
      let window = Duration(text: parts[1]), window >= Self.leastWindow
    else { return nil }
    self.init(limit: limit, window: window)
  }

  /// What `init(text:)` reads as the same.
  package var text: String { "\(limit)/\(window.text)" }
}

extension Duration {
  /// What so many requests after each such interval come to in a day, rounded.
  package func perDay(_ requests: Int) -> Int {
    Int(min(Double(requests) * 86_400 / seconds, Double(Int32.max)).rounded())
  }
}
