package import FoundationEssentials

extension Date {
  /// Reads a time in one of the forms that people write; nil for anything else:
  /// - RFC 3339 with any offset: `2026-11-21T05:19:03Z`;
  /// - a date, which means its first moment in UTC;
  /// - an age: `2h`.
  package init?(pointInTime text: String, now: Date) {
    if let ago = Duration(text: text) {
      self = now.addingTimeInterval(-ago.seconds)
    } else {
      let time = Array(text.utf8).withUnsafeBufferPointer { Timestamp($0, form: .rfc3339, zone: nil) }
      // A time of day without a zone may be meant as a local one.
      guard let time, time.hasZone || time.isDay else { return nil }
      self.init(timeIntervalSince1970: Double(time.value) / Double(Timestamp.second))
    }
  }
}

extension Duration {
  /// Reads a number and a unit: `500ms`, `1.5s`, `15m`, `2h`, `90d`. nil for anything else, negative or beyond 100
  /// years included.
  package init?(text: some StringProtocol) {
    let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    let unit = text.dropFirst(number.count)
    guard let seconds = Self.units.first(where: { $0.name == unit })?.seconds,
      number.first?.isNumber == true, number.last?.isNumber == true,
      let value = Double(number), value * seconds <= Self.longest
    else { return nil }
    self = .milliseconds((value * seconds * 1000).rounded())
  }

  /// The shortest text from which `init(text:)` makes the same duration, to the millisecond.
  package var text: String {
    let milliseconds = Int64((seconds * 1000).rounded())
    for (name, unit) in Self.units.reversed() {
      let step = Int64(unit * 1000)
      if milliseconds != 0, milliseconds % step == 0 { return "\(milliseconds / step)\(name)" }
    }
    return "0s"
  }

  private static let units: [(name: String, seconds: Double)] = [
    ("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86400),
  ]
  private static let longest = 100 * 365.25 * 86400
}
