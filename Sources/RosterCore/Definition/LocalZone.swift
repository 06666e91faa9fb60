/// The offset of times without a zone: a constant, or that of a place, where it changes with the time of the year.
package struct LocalZone: Sendable, Equatable, ExpressibleByIntegerLiteral {
  /// A change of the offset.
  struct Change: Sendable, Equatable {
    /// Seconds since 1970.
    var at: Int64
    /// Seconds east of Greenwich from then on.
    var offset: Int
  }

  /// The name in the time zone database; nil for a constant offset.
  package let name: String?
  /// Seconds east of Greenwich before the first change.
  package let firstOffset: Int
  private let changes: [Change]

  /// A constant offset.
  package init(offset: Int) { self.init(name: nil, firstOffset: offset, changes: []) }

  /// A constant offset in seconds.
  package init(integerLiteral offset: Int) { self.init(offset: offset) }

  init(name: String?, firstOffset: Int, changes: [Change]) {
    self.name = name
    self.firstOffset = firstOffset
    self.changes = changes
  }

  /// Seconds by which local times may go back without the zone's knowledge: a constant offset may be the one of summer
  /// time. UTC has no summer time.
  var maxClockChange: Int64 { name == nil && firstOffset != 0 ? 3600 : 0 }

  /// Seconds east of Greenwich at a time in seconds since 1970.
  func offset(at time: Int64) -> Int { offset(after: changesUntil(time)) }

  private func offset(after count: Int) -> Int { count == 0 ? firstOffset : changes[count - 1].offset }

  /// The number of changes that have happened at that time.
  private func changesUntil(_ time: Int64) -> Int {
    var (low, high) = (0, changes.count)
    while low < high {
      let middle = (low + high) / 2
      if changes[middle].at <= time { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Seconds since 1970 of a local time. A time that occurs twice is the earlier one, so that an incremental pull
  /// starts early rather than late. A time that does not occur is read by the offset before the change.
  func time(ofLocal local: Int64) -> Int64 {
    if changes.isEmpty { return local - Int64(firstOffset) }
    let offsets = [offset(at: local - 86_400), offset(at: local + 86_400)]
    let times = offsets.map { local - Int64($0) }
    return zip(times, offsets).filter { offset(at: $0) == $1 }.map(\.0).min() ?? times[0]
  }

  /// The lowest local time that an instant from this one on can have, in seconds. When the clock is put back, the
  /// instants after that have lower local times.
  func lowestLocal(from time: Int64) -> Int64 {
    var count = changesUntil(time)
    var lowest = time + Int64(offset(after: count))
    while count < changes.count, changes[count].at <= time + 86_400 {
      lowest = min(lowest, changes[count].at + Int64(changes[count].offset))
      count += 1
    }
    return lowest
  }
}

extension LocalZone {
  /// Reads a compiled file of the time zone database (RFC 9636); nil if the bytes are not such a file.
  package init?(name: String, file: [UInt8]) {
    var reader = TimeZoneFile(bytes: file)
    guard let found = reader.read() else { return nil }
    self.init(name: name, firstOffset: found.first, changes: found.changes)
  }
}

/// The content of a TZif file (RFC 9636), as far as offsets need it.
private struct TimeZoneFile {
  let bytes: [UInt8]
  private var at = 0

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// The six numbers of a header.
  private struct Header {
    var version: UInt8
    var universal, standard, leaps, times, types, characters: Int

    /// Bytes of the block after the header.
    func length(timeBytes: Int) -> Int {
      times * (timeBytes + 1) + types * 6 + characters + leaps * (timeBytes + 4) + standard + universal
    }
  }

  mutating func read() -> (first: Int, changes: [LocalZone.Change])? {
    guard var header = header() else { return nil }
    var timeBytes = 4
    if header.version >= UInt8(ascii: "2") {
      at += header.length(timeBytes: 4)
      guard let second = self.header() else { return nil }
      (header, timeBytes) = (second, 8)
    }
    let end = at + header.length(timeBytes: timeBytes)
    guard header.types > 0, end <= bytes.count else { return nil }
    var times: [Int64] = []
    for _ in 0..<header.times { times.append(number(timeBytes)) }
    let indexes = bytes[at..<at + header.times].map(Int.init)
    at += header.times
    var offsets: [Int] = []
    for _ in 0..<header.types {
      offsets.append(Int(number(4)))
      at += 2
    }
    guard indexes.allSatisfy(offsets.indices.contains), offsets.allSatisfy({ abs($0) < 86_400 * 2 }) else { return nil }
    var changes = zip(times, indexes).map { LocalZone.Change(at: $0, offset: offsets[$1]) }
    let rule = bytes[end...].split(separator: UInt8(ascii: "\n")).first.map { String(decoding: $0, as: UTF8.self) }
    if timeBytes == 8, let rule, let rule = SummerTimeRule(rule) {
      let last = changes.last?.at ?? .min
      changes += rule.changes.filter { $0.at > last }
    }
    return (offsets[0], changes)
  }

  private mutating func header() -> Header? {
    guard bytes.count >= at + 44, bytes[at..<at + 4].elementsEqual("TZif".utf8) else { return nil }
    let version = bytes[at + 4]
    at += 20
    let numbers = (0..<6).map { _ in Int(number(4)) }
    // Far more than any zone has, and few enough that sums do not overflow.
    guard numbers.allSatisfy({ (0...100_000).contains($0) }) else { return nil }
    return Header(
      version: version, universal: numbers[0], standard: numbers[1], leaps: numbers[2], times: numbers[3],
      types: numbers[4], characters: numbers[5])
  }

  /// A signed number, the highest byte first.
  private mutating func number(_ length: Int) -> Int64 {
    defer { at += length }
    let sum = bytes[at..<at + length].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return length == 4 ? Int64(Int32(truncatingIfNeeded: sum)) : Int64(bitPattern: sum)
  }
}

/// The rule for the years after the last one of a file: `CET-1CEST,M3.5.0,M10.5.0/3` (POSIX TZ).
private struct SummerTimeRule {
  /// A day of each year, and seconds after its midnight.
  private struct Day {
    var month, week, weekday, seconds: Int

    /// `M3.5.0/2`; only this form is used by zones with summer time today.
    init?(_ text: Substring) {
      let parts = text.split(separator: "/", omittingEmptySubsequences: false)
      guard parts.count <= 2, let date = parts.first, date.hasPrefix("M") else { return nil }
      let numbers = date.dropFirst().split(separator: ".").compactMap { Int($0) }
      guard numbers.count == 3, (1...12).contains(numbers[0]), (1...5).contains(numbers[1]),
        (0...6).contains(numbers[2]), let seconds = parts.count == 2 ? SummerTimeRule.seconds(parts[1]) : 7200
      else { return nil }
      (month, week, weekday, self.seconds) = (numbers[0], numbers[1], numbers[2], seconds)
    }

    /// Local seconds since 1970.
    func local(in year: Int64) -> Int64 {
      let first = CivilDate.days(year, month: Int64(month), day: 1)
      let next = CivilDate.days(month == 12 ? year + 1 : year, month: Int64(month % 12 + 1), day: 1)
      // 1 January 1970 was a Thursday.
      var day = first + (Int64(weekday) - (first + 4) % 7 + 7) % 7 + Int64(week - 1) * 7
      while day >= next { day -= 7 }
      return day * 86_400 + Int64(seconds)
    }
  }

  private let offsets: (standard: Int, summer: Int)
  private let days: (start: Day, end: Day)

  /// nil without summer time.
  init?(_ text: String) {
    let parts = text.split(separator: ",")
    guard parts.count == 3, let start = Day(parts[1]), let end = Day(parts[2]) else { return nil }
    var rest = parts[0]
    guard Self.dropName(&rest), let standard = Self.takeOffset(&rest), Self.dropName(&rest) else { return nil }
    offsets = (-standard, Self.takeOffset(&rest).map { -$0 } ?? 3600 - standard)
    days = (start, end)
  }

  /// The changes until the year 2100.
  var changes: [LocalZone.Change] {
    (Int64(1970)...2100).flatMap { year in
      [
        LocalZone.Change(at: days.start.local(in: year) - Int64(offsets.standard), offset: offsets.summer),
        LocalZone.Change(at: days.end.local(in: year) - Int64(offsets.summer), offset: offsets.standard),
      ].sorted { $0.at < $1.at }
    }
  }

  private static func dropName(_ text: inout Substring) -> Bool {
    if text.first == "<" {
      guard let end = text.firstIndex(of: ">") else { return false }
      text = text[text.index(after: end)...]
      return true
    }
    let rest = text.drop { $0.isLetter }
    defer { text = rest }
    return rest.startIndex > text.startIndex
  }

  private static func takeOffset(_ text: inout Substring) -> Int? {
    let digits = text.prefix { $0.isNumber || "+-:".contains($0) }
    text = text[digits.endIndex...]
    return seconds(digits)
  }

  /// `[+-]hh[:mm[:ss]]`
  static func seconds(_ text: Substring) -> Int? {
    let numbers = text.drop { "+-".contains($0) }.split(separator: ":").map { Int($0) }
    guard !numbers.isEmpty, numbers.count <= 3 else { return nil }
    var seconds = 0
    for (number, unit) in zip(numbers, [3600, 60, 1]) {
      guard let number, number < 200 else { return nil }
      seconds += number * unit
    }
    return text.hasPrefix("-") ? -seconds : seconds
  }
}

/// Dates of the Gregorian calendar.
enum CivilDate {
  /// Days since 1970-01-01 in the Gregorian calendar. The year is counted from March, so that the leap day is its last
  /// day.
  static func days(_ year: Int64, month: Int64, day: Int64) -> Int64 {
    let years = month > 2 ? year : year - 1
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return years * 365 + years / 4 - years / 100 + years / 400 + dayOfYear - 719_468
  }
}
