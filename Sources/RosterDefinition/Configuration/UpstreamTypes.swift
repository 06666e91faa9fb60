import FoundationEssentials
import RosterCore

extension ValueType<String> {
  /// An origin with an optional path, without a trailing slash.
  static var baseURL: Self {
    .text(
      allowed: "an http or https URL without user, query and fragment",
      parse: { (text) throws(Mistakes) in
        if let mistake = WebAddress.mistake(in: text, queryAllowed: false) { throw Mistakes(mistake) }
        return String(text.reversed().drop { $0 == "/" }.reversed())
      },
      write: { $0 })
  }

  static var tokenURL: Self {
    .text(
      allowed: "an http or https URL without user and fragment, or a path",
      parse: { (text) throws(Mistakes) in
        // A path is valid or invalid whatever its base is.
        let url = WebAddress.resolve(text, against: "http://upstream")
        if !text.isEmpty, let mistake = WebAddress.mistake(in: url, queryAllowed: true) { throw Mistakes(mistake) }
        return text
      },
      write: \.queryMasked)
  }
}

extension ValueType<[String]> {
  static var pins: Self {
    .list(
      "a list of strings", of: .text("any text"), allowed: "\"sha256/\" and the base64 of 32 bytes, each",
      problem: { pin, _ in isPin(pin) ? nil : "\(pin.tomlString) is not a pin" })
  }

  private static func isPin(_ text: String) -> Bool {
    let prefix = "sha256/"
    let digestSize = 32
    return text.hasPrefix(prefix) && Data(base64Encoded: String(text.dropFirst(prefix.count)))?.count == digestSize
  }
}

extension ValueType<[Request.Header]> {
  static var headers: Self { .headers(shown: \.shown) }
}

extension ValueType<UInt16> {
  static var mode: Self {
    .text(
      allowed: "three or four octal digits in quotes, up to \"0777\"",
      problem: "is not a file mode",
      parse: { text in
        guard (3...4).contains(text.utf8.count), text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "7")).contains),
          let mode = UInt16(text, radix: 8), mode <= 0o777
        else { return nil }
        return mode
      },
      write: { mode in
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
      })
  }
}

extension Request.Header {
  /// The value. It is masked unless its name is one that never has a secret, because no list of secret-looking
  /// names is complete.
  package var shown: String { Self.harmlessNames.contains(name.lowercased()) ? value : "***" }

  private static let harmlessNames: Set<String> = [
    "accept", "accept-charset", "accept-language", "cache-control", "pragma", "user-agent",
  ]
}

extension ValueType<Double> {
  /// Requests per second; 0 means no limit.
  static var rate: Self {
    Self(
      name: "a number", allowed: "0 for no limit, or 0.001 to 1000000", isBare: false,
      read: { (item) throws(Mistakes) in
        let rate: Double
        switch item {
        case .integer(let number): rate = Double(number)
        case .float(let number): rate = number
        default: throw Mistakes(item.isNot("a number"))
        }
        // Use sync.interval for less than a request every quarter of an hour.
        guard rate == 0 || (0.001...1_000_000).contains(rate) else { throw Mistakes("\(rate) is out of range") }
        return rate
      },
      write: { .float($0) })
  }
}

extension ValueType<RequestBudget?> {
  static var budget: Self {
    .text(
      allowed:
        "a number, a slash and a duration, as in \"10000/1d\": 1 to \(RequestBudget.maxRequests) requests in \(RequestBudget.minWindow.text) or more; or nothing",
      parse: { (text) throws(Mistakes) in
        if text.isEmpty { return nil }
        guard let budget = RequestBudget(text: text) else { throw Mistakes("\(text.tomlString) is no budget") }
        return budget
      },
      write: { $0?.text ?? "" })
  }
}
