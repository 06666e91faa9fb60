package import FoundationEssentials

/// `windows`: a parent whose records are spans of time, for lists that take both bounds.
package struct Windows: Sendable, Equatable {
  /// Start of the first window, as the configuration has it.
  package var from: String
  /// Length of a window.
  package var every: Duration
  /// Number of windows, counted from the last one, whose lists are due in each sync.
  package var recent: Int
  /// Form of the bounds; nil for a day such as `2026-11-23`.
  package var form: TimeForm?
  /// True if the last window ends at the start of the sync, for upstreams that refuse a later bound.
  package var endsNow = false

  /// Windows without a form have days.
  package init(from: String, every: Duration, recent: Int = Self.usualRecent, form: TimeForm? = nil) {
    (self.from, self.every, self.recent, self.form) = (from, every, recent, form)
  }

  /// The default of `recent`. Reports are corrected for days.
  package static let usualRecent = 2
  /// Largest number of windows: that of the records of one answer.
  package static let maxCount = 100_000
  /// The member of a record with the first bound.
  package static let start = JSONPointer(segments: ["from"])
  /// The member of a record with the bound after it, which is the first bound of the next window.
  package static let end = JSONPointer(segments: ["to"])
  /// The default of `each.whole_every` of a child.
  package static let usualWhole = Duration.seconds(7 * 86_400)

  /// `from` in nanoseconds since 1970; nil if it is no time. A time without a zone is in UTC.
  package var begin: Int64? { Mark(from, form: .rfc3339, zone: 0)?.value }

  private var length: Int64 { every.components.seconds * Timestamp.second }

  /// True if each bound is the start of a day.
  package var areDays: Bool {
    let day = 86_400 * Timestamp.second
    return length % day == 0 && (begin.map { $0 % day == 0 } ?? true)
  }

  /// Number of windows that have begun. Boundaries depend on `from` alone, and never on today.
  package func count(at now: Date) -> Int {
    guard let begin, length > 0 else { return 0 }
    let (age, isFar) = Timestamp.seconds(of: now).subtractingReportingOverflow(begin)
    return isFar || age < 0 ? 0 : Int(age / length) + 1
  }

  /// The records of all windows that have begun, in their order.
  package func records(at now: Date) -> [JSONValue] {
    let count = count(at: now)
    return (0..<min(count, Self.maxCount + 1)).map { index in
      let isOpen = endsNow && index == count - 1
      let end = isOpen ? text(of: Timestamp.seconds(of: now)) : bound(index + 1)
      return .object([.init("from", bound(index)), .init("to", end)])
    }
  }

  /// The first bounds of the last windows, as texts.
  package func recentStarts(at now: Date) -> [String] {
    let count = count(at: now)
    return (max(0, count - recent)..<count).map { bound($0).queryText }
  }

  /// The bound before a window. A bound that Unix time writes is a number.
  private func bound(_ index: Int) -> JSONValue {
    let (distance, isFar) = length.multipliedReportingOverflow(by: Int64(index))
    let (value, isLate) = (begin ?? 0).addingReportingOverflow(distance)
    return text(of: isFar || isLate ? .max : value)
  }

  private func text(of time: Int64) -> JSONValue {
    guard let form else { return .text(Timestamp.day(of: time)) }
    let text = Timestamp.text(of: time, form)
    return form.isText ? .text(text) : .number(text)
  }

  /// The order of a window by its first bound.
  package func order(ofStart text: String) -> Int64? { Mark(text, form: form ?? .rfc3339, zone: 0)?.value }
}
