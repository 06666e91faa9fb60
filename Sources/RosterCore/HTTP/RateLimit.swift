/// One limit of a server, such as the one of a minute, as the headers of an answer describe it.
struct RateLimit: Equatable {
  /// Numbers of requests that remain. Copies of one header may differ.
  private(set) var remaining: [Double] = []
  /// The values that say when the limit permits requests again.
  private(set) var resets: [PauseValue] = []

  /// True if no permitted request remains.
  var isSpent: Bool { remaining.contains(0) }

  /// The limits in all dialects: `x-ratelimit-remaining` and `x-ratelimit-reset` with any spelling, prefix and suffix,
  /// and `RateLimit` with parameters (`"default";r=0;t=8`).
  static func all(in headers: [Request.Header]) -> [RateLimit] {
    var limits: [String: RateLimit] = [:]
    for header in headers {
      let words = HeaderWords(header.name)
      guard words.has(["ratelimit"]) else { continue }
      if header.value.utf8.contains(UInt8(ascii: "=")) {
        read(parameters: header.value, of: words.text, into: &limits)
      } else if words.has(["remaining"]) {
        limits[words.family, default: RateLimit()].remaining += header.value.split(separator: ",").compactMap {
          PauseValue.number($0.drop { $0 == " " })
        }
      } else if words.isReset {
        limits[words.family, default: RateLimit()].resets += PauseValue.all(in: header.value, unit: words.unit)
      }
    }
    return Array(limits.values)
  }

  /// Reads `"minute";r=0;t=8, "day";r=900;t=4000`, and the older forms `limit=100, remaining=0, reset=8` and
  /// `total=100; remaining=0; resets=8`.
  private static func read(parameters text: String, of header: String, into limits: inout [String: RateLimit]) {
    var family = header
    for part in text.split(whereSeparator: { $0 == ";" || $0 == "," }) {
      let pair = part.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " } }
      guard pair.count == 2 else {
        family = "\(header) \(part)"
        continue
      }
      switch pair[0].lowercased() {
      case "r", "remaining":
        limits[family, default: RateLimit()].remaining += [PauseValue.number(pair[1])].compactMap(\.self)
      case "t", "reset", "resets": limits[family, default: RateLimit()].resets += PauseValue.all(in: pair[1])
      case _: continue
      }
    }
  }
}

/// The words of a header's name in lower case. `Rate-Limit` is one word, as `RateLimit` is.
package struct HeaderWords {
  private let words: [String]

  /// The words between hyphens or underscores.
  package init(_ name: String) {
    let parts = name.lowercased().split { $0 == "-" || $0 == "_" }.map(String.init)
    words = parts.reduce(into: []) { words, part in
      if part == "limit", words.last == "rate" { words[words.count - 1] = "ratelimit" } else { words.append(part) }
    }
  }

  /// The last words of the name.
  package func last(_ number: Int) -> [String] { Array(words.suffix(number)) }

  var text: String { words.joined(separator: "-") }

  /// True if the words follow one another in the name.
  func has(_ wanted: [String]) -> Bool {
    words.indices.contains { words[$0...].starts(with: wanted) }
  }

  /// True for `reset`, `resets`, `resettime`, `reseton` and the like.
  var isReset: Bool { words.contains { $0.hasPrefix("reset") } }

  /// Unit of the header's number, in seconds.
  var unit: Double {
    words.last == "ms" || words.last == "milliseconds" ? PauseValue.milliseconds : PauseValue.seconds
  }

  /// The words that a limit's headers share: those before and after `remaining` or `reset…`.
  var family: String {
    words.filter { !Self.roles.contains($0) && !$0.hasPrefix("reset") }.joined(separator: "-")
  }

  private static let roles: Set<String> = [
    "remaining", "after", "at", "in", "on", "time", "ms", "milliseconds", "seconds",
  ]
}

/// `limit.budget`: a maximum number of requests in any window of this length.
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

  /// Number of requests per day, rounded, if this number on average is sent after each such interval.
  package func perDay(_ requests: Double) -> Int {
    Int(min(requests * 86_400 / seconds, Double(Int32.max)).rounded())
  }
}
