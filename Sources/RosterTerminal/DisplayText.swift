import FoundationEssentials
internal import RosterCore

extension String {
  /// Number of terminal cells that the text takes.
  var cells: Int { isPrintableASCII ? utf8.count : reduce(0) { $0 + Self.cells(of: $1) } }

  /// The text, cut to at most `width` cells; `…` marks the cut.
  func cut(to width: Int) -> String {
    guard cells > width else { return self }
    var room = width - 1
    let kept = prefix { character in
      room -= Self.cells(of: character)
      return room >= 0
    }
    return kept + "…"
  }

  /// The text without characters that control a terminal. Line ends and tabs become spaces, and a run of them becomes
  /// one space.
  var oneLine: String {
    if isPrintableASCII { return self }
    let parts = unicodeScalars.split(omittingEmptySubsequences: false, whereSeparator: Self.blanks.contains)
    let ends = [0, parts.count - 1]
    return parts.enumerated().filter { !$1.isEmpty || ends.contains($0) }.map { String($1) }.joined(separator: " ")
      .printable
  }

  /// Scalars that end a line or move to another column.
  private static let blanks: Set<Unicode.Scalar> = [
    "\n", "\r", "\t", "\u{0B}", "\u{0C}", "\u{85}", "\u{2028}", "\u{2029}",
  ]

  private static func cells(of character: Character) -> Int {
    let scalars = character.unicodeScalars
    if scalars.contains(where: { $0 == "\u{FE0F}" || $0.properties.isEmojiPresentation }) { return 2 }
    return scalars.map { cells(of: $0) }.max() ?? 0
  }

  private static func cells(of scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: 0
    default: wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }
  }

  /// Blocks of characters that are wide or full-width in every font (UAX 11, East_Asian_Width W and F).
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
    0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x17000...0x18CFF, 0x1B000...0x1B2FF,
    0x20000...0x3FFFD,
  ]
}

/// Times as seen at one moment. Without that moment, each is nil.
struct Ages {
  /// The moment; nil if it is unknown.
  let now: Date?

  /// The words for the times of a headline.
  var times: Headline.Times {
    let absolute = Headline.Times.absolute
    return Headline.Times(past: { ago($0) ?? absolute.past($0) }, next: { due($0) ?? absolute.next($0) })
  }

  /// The number of seconds from the moment to a time.
  func seconds(until time: String?) -> Double? {
    guard let now, let date = time.flatMap(Date.init(rfc3339:)) else { return nil }
    return date.timeIntervalSince(now)
  }

  /// `3.2 s ago`.
  func ago(_ time: String?) -> String? { seconds(until: time).map { HumanFormat.ago(-$0) } }

  /// The start of the next sync: `in 14 min`, `now`, `due since 11:56:40 UTC (3 min 20 s ago)`.
  func due(_ time: String) -> String? {
    guard let seconds = seconds(until: time) else { return nil }
    if seconds > 0 { return "in \(HumanFormat.span(seconds))" }
    if -seconds < Self.beginning { return "now" }
    let parts = time.split { $0 == "T" || $0 == "." }
    let clock = -seconds < Self.day ? "\(parts[1])" : "\(parts[0]) \(parts[1])"
    return "due since \(clock) UTC (\(HumanFormat.span(-seconds)) ago)"
  }

  /// `expires in 14 min`, `expired 3.2 s ago`.
  func end(of time: String?) -> String? {
    guard let seconds = seconds(until: time) else { return nil }
    return seconds > 0 ? "expires in \(HumanFormat.span(seconds))" : "expired \(HumanFormat.span(-seconds)) ago"
  }

  /// Number of seconds that a due sync may take to begin.
  private static let beginning = 1.0
  private static let day = 86_400.0
}

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
