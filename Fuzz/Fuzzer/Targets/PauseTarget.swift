import FoundationEssentials
import Glibc
import RosterCore

/// The pause that an answer's headers ask for: 0 to 24 hours, and equal to an independent reading of simple headers.
enum PauseTarget {
  /// 2026-11-22 12:00 UTC
  private static let now = Date(timeIntervalSince1970: 1_795_348_800)
  private static let day = 86_400.0

  static func check(_ input: [UInt8]) {
    var (choices, text) = Choices.split(input)
    let status = choices.pick([429, 403, 503, 200, 404])
    let response = Response(status: status, headers: Headers.read(text))
    let pause = response.pause(now: now)
    for wait in [pause?.duration, response.retryAfter(now: now)].compactMap(\.self) {
      promise((0...day).contains(wait.seconds), "a wait of \(wait)")
      let hold = RetryAfterHold(setAt: now, until: now + wait.seconds).remaining(at: now)
      promise((hold ?? .zero) <= .seconds(day) && (hold == nil || wait > .zero), "a hold of \(hold as Any)")
      // The current time has no finer resolution.
      promise(hold != nil || wait < .microseconds(1), "no hold for \(wait)")
      checkDelay(wait, attempt: choices.next(32), random: Double(choices.next(64)) / 64)
    }
    promise(!response.isSpent || status == 403, "a spent limit of a \(status)")
    let waits = response.headers.filter { $0.name.lowercased().contains("retry") }
    if let text = response["Retry-After"], waits.count == 1 { check(text, response) }
    for header in response.headers { check(date: header.value) }
  }

  private static func check(_ text: String, _ response: Response) {
    let found = response.retryAfter(now: now)?.seconds
    // A larger number may be a date.
    if !text.isEmpty, text.allSatisfy({ "0123456789".contains($0) }), let number = Double(text), number <= 10 * day {
      promise(found == min(number, day), "Retry-After: \(text) is \(found as Any)")
    } else if response["Date"] == nil, let date = standard(text) {
      promise(found == min(max(0, date - now.timeIntervalSince1970), day), "Retry-After: \(text) is \(found as Any)")
    }
  }

  /// An accepted date can be written and read again, and is equal to the C library's reading if that accepts it, too.
  private static func check(date text: String) {
    let date = Date(httpDate: text)
    if let seconds = standard(text) {
      promise(date?.timeIntervalSince1970 == seconds, "\(text) is \(date as Any), not \(seconds)")
    }
    // rosterd writes the year of earlier dates with fewer than four digits.
    guard let date, date.timeIntervalSince1970 >= 0 else { return }
    promise(Date(httpDate: date.httpDate) == date, "\(text) is \(date), and that \(date.httpDate)")
  }

  /// Reads an IMF-fixdate (RFC 9110 §5.6.7) by its columns and timegm(3); strftime(3) must produce the same text again.
  private static func standard(_ text: String) -> Double? {
    let bytes = Array(text.utf8)
    guard bytes.count == 29 else { return nil }
    func number(_ columns: Range<Int>) -> Int32 { Int32(String(decoding: bytes[columns], as: UTF8.self)) ?? -1 }
    var parts = tm()
    let month = String(decoding: bytes[8..<11], as: UTF8.self)
    parts.tm_mon = Int32(months.firstIndex(of: month) ?? 0)
    (parts.tm_mday, parts.tm_year) = (number(5..<7), number(12..<16) - 1900)
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (number(17..<19), number(20..<22), number(23..<25))
    let seconds = timegm(&parts)
    var written = [CChar](repeating: 0, count: 64)
    let count = strftime(&written, written.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
    let isSame = written[..<count].elementsEqual(bytes.map(CChar.init(bitPattern:)))
    return isSame && parts.tm_year >= 70 ? Double(seconds) : nil
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func checkDelay(_ wait: Duration, attempt: Int, random: Double) {
    let delays = RetryDelays()
    guard let delay = delays.delay(afterAttempt: attempt, retryAfter: wait, random: random) else { return }
    promise(attempt <= delays.maxRetries && wait <= delays.maxRetryAfter, "a retry too many")
    promise(delay >= wait && delay <= max(wait, delays.max) + delays.jitter, "a delay of \(delay) for \(wait)")
  }
}

/// Reads lines of `Name: value` in the form in which an HTTP parser delivers them: values contain no line ends.
enum Headers {
  static func read(_ text: [UInt8]) -> [Request.Header] {
    text.split(separator: UInt8(ascii: "\n")).compactMap { line in
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      let value = line[colon...].dropFirst().drop { $0 == UInt8(ascii: " ") }
      return Request.Header(String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self))
    }
  }
}
