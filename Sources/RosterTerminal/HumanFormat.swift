/// Durations, sizes and number ranges in the form for people.
package enum HumanFormat {
  /// A duration with at most two units: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`.
  static func span(_ seconds: Double) -> String {
    let rounded = milliseconds(seconds)
    if rounded < 10_000 { return "\((rounded / 100).rounded() / 10) s" }
    let whole = Int((rounded / 1000).rounded())
    for (name, size, lesser, lesserSize) in units where whole >= size {
      let (count, rest) = (whole / size, whole % size / lesserSize)
      return rest == 0 ? "\(count) \(name)" : "\(count) \(name) \(rest) \(lesser)"
    }
    return "\(whole) s"
  }

  /// The age of a past event: `3 min 20 s ago`. An event in the future means that the clock was set back since.
  static func ago(_ seconds: Double) -> String { seconds < 0 ? "just now" : span(seconds) + " ago" }

  /// The time that an action took: as `span`, but in milliseconds (`12 ms`) below 0.1 s.
  static func took(_ seconds: Double) -> String {
    let rounded = milliseconds(seconds)
    return rounded < 100 ? "\(Int(rounded)) ms" : span(seconds)
  }

  /// Times have milliseconds. The difference of two dates has a rounding error, by which 150 ms would become 0.1 s.
  private static func milliseconds(_ seconds: Double) -> Double { seconds > 0 ? (seconds * 1000).rounded() : 0 }

  /// A number with separators: `826`, `4,032`.
  package static func grouped(_ number: Int) -> String {
    let digits = Array(String(number))
    return String(
      digits.indices.flatMap { ($0 > 0 && (digits.count - $0) % 3 == 0 ? [","] : []) + [digits[$0]] })
  }

  /// A time to the second: `2026-01-01 12:00:00` for `2026-01-01T12:00:00.000Z`.
  static func second(_ time: String) -> String {
    time.prefix("2026-01-01T12:00:00".count).split(separator: "T").joined(separator: " ")
  }

  /// `a day`, `an hour`, `in 2 d`.
  static func per(_ seconds: Double) -> String {
    [Double(minute): "a minute", Double(hour): "an hour", Double(day): "a day"][seconds] ?? "in \(span(seconds))"
  }

  /// `0 B`, `4.0 KiB`, `1.2 MiB`.
  static func bytes(_ bytes: Int64) -> String {
    var value = Double(bytes)
    guard value >= 1024 else { return "\(bytes) B" }
    for unit in ["KiB", "MiB", "GiB"] {
      value /= 1024
      if value < 1024 || unit == "GiB" { return "\((value * 10).rounded() / 10) \(unit)" }
    }
    return "\(bytes) B"
  }

  /// Ranges such as `2, 5–9, 12`, from numbers in any order.
  static func ranges(_ numbers: some Sequence<Int>) -> String {
    var ranges: [ClosedRange<Int>] = []
    for number in Set(numbers).sorted() {
      if let last = ranges.last, last.upperBound + 1 == number {
        ranges[ranges.count - 1] = last.lowerBound...number
      } else {
        ranges.append(number...number)
      }
    }
    return ranges.map { range in
      let separator = range.count == 2 ? ", " : "–"
      return range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)\(separator)\(range.upperBound)"
    }.joined(separator: ", ")
  }

  /// True for the units that may follow a number in these texts.
  static func isUnit(_ word: some StringProtocol) -> Bool {
    ["ms", "s", "min", "h", "d", "B", "KiB", "MiB", "GiB"].contains { $0 == word }
  }

  private static let minute = 60
  private static let hour = 60 * minute
  private static let day = 24 * hour
  private static let units = [("d", day, "h", hour), ("h", hour, "min", minute), ("min", minute, "s", 1)]
}
