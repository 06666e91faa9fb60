import RosterCore

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
