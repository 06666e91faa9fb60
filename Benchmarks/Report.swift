import FoundationEssentials

/// The minimum cost of each part, and its ratio to the base.
struct Report {
  static let append = "append"
  static let publishFirst = "publish, first"
  static let two = "append and publish, two resources"
  /// The maximum ratio of two resources with half the pages each to one resource with all pages.
  private static let maxOfTwo = 1.1
  /// Maximum ratio of a part to its base. Between a quiet machine and one with seven times its load, ratios differed by
  /// 0.08.
  private static let most = 1.5

  /// Nanoseconds.
  private var step = Double.infinity
  /// Nanoseconds per page, in the order of measurement.
  private var parts: [(name: String, cost: Double)] = []

  mutating func note(_ nanosecondsPerStep: Double) { step = min(step, nanosecondsPerStep) }

  mutating func note(_ name: String, _ cost: Double) {
    if let index = parts.firstIndex(where: { $0.name == name }) {
      parts[index].cost = min(parts[index].cost, cost)
    } else {
      parts.append((name, cost))
    }
  }

  func table(beside base: [String: Double]) -> String {
    let width = parts.map(\.name.count).max() ?? 0
    let head = "\("".padded(to: width))   µs a page      steps       base   ratio\n"
    return parts.reduce(into: head) { text, part in
      let known = base[part.name]
      let columns = [part.cost / 1000, part.cost / step, known, known.map { part.cost / step / $0 }]
      text += part.name.padded(to: width)
      for (column, width) in zip(columns, [12, 11, 11, 8]) {
        text += (column.map(Self.text) ?? "").padded(to: width, before: true)
      }
      text += "\n"
    }
  }

  /// A sentence for each part that costs too much, or that is missing in the base.
  func faults(beside base: [String: Double]) -> [String] {
    let slower = parts.compactMap { part -> String? in
      guard let known = base[part.name] else { return "\(part.name): it is not in the base; write a new base" }
      let ratio = part.cost / step / known
      return ratio > Self.most ? "\(part.name): \(Self.text(ratio)) × its base, more than \(Self.most)" : nil
    }
    let ratio = cost(Self.two) / (cost(Self.append) + cost(Self.publishFirst))
    if ratio <= Self.maxOfTwo { return slower }
    return slower + ["two resources: \(Self.text(ratio)) × one of the same size, more than \(Self.maxOfTwo)"]
  }

  /// Writes the steps per page, rounded to whole steps.
  func write(to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let steps = Dictionary(uniqueKeysWithValues: parts.map { ($0.name, ($0.cost / step).rounded()) })
    try (encoder.encode(steps) + Data("\n".utf8)).write(to: URL(filePath: path))
  }

  private func cost(_ name: String) -> Double { parts.first { $0.name == name }?.cost ?? .nan }

  /// The number with two decimals.
  static func text(_ number: Double) -> String {
    let hundredths = Int((number * 100).rounded())
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
  }
}

extension String {
  func padded(to width: Int, before: Bool = false) -> String {
    let space = String(repeating: " ", count: max(0, width - count))
    return before ? space + self : self + space
  }
}
