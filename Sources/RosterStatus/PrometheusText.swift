/// Writes metrics in Prometheus' text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats).
struct PrometheusText {
  enum Kind: String {
    case counter, gauge, histogram
  }

  private(set) var text = ""

  mutating func metric(_ name: String, kind: Kind, help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  mutating func sample(_ name: String, labels: [(String, String)], value: Double) {
    let pairs = labels.map { "\($0)=\"\(Self.escape($1))\"" }.joined(separator: ",")
    text += labels.isEmpty ? name : "\(name){\(pairs)}"
    text += " \(Self.number(value))\n"
  }

  /// A counter with one label. The samples are ordered by the label's values.
  mutating func counters(_ name: String, help: String, by label: String, values: [String: Int]) {
    metric(name, kind: .counter, help: help)
    for (value, count) in values.sorted(by: { $0.key < $1.key }) {
      sample(name, labels: [(label, value)], value: Double(count))
    }
  }

  mutating func histogram(_ name: String, help: String, histogram: Histogram) {
    metric(name, kind: .histogram, help: help)
    var total = 0
    for (bound, count) in zip(histogram.bounds, histogram.counts) {
      total += count
      sample("\(name)_bucket", labels: [("le", Self.number(bound))], value: Double(total))
    }
    sample("\(name)_bucket", labels: [("le", "+Inf")], value: Double(histogram.count))
    sample("\(name)_sum", labels: [], value: histogram.sum)
    sample("\(name)_count", labels: [], value: Double(histogram.count))
  }

  /// Writes whole numbers without a fraction, like Prometheus' own clients.
  private static func number(_ value: Double) -> String {
    Int64(exactly: value).map(String.init) ?? value.description
  }

  private static func escape(_ value: String) -> String {
    value.reduce(into: "") { text, character in
      switch character {
      case "\\": text += "\\\\"
      case "\"": text += "\\\""
      case "\n": text += "\\n"
      default: text.append(character)
      }
    }
  }
}

struct Histogram {
  let bounds: [Double]
  /// One count per bound. Larger values are only in `count`.
  private(set) var counts: [Int]
  private(set) var count = 0
  private(set) var sum = 0.0

  init(bounds: [Double]) {
    self.bounds = bounds
    counts = bounds.map { _ in 0 }
  }

  mutating func observe(_ value: Double) {
    count += 1
    sum += value
    if let index = bounds.firstIndex(where: { value <= $0 }) { counts[index] += 1 }
  }
}
