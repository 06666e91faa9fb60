/// Decisions from an input's first line, one per byte: `0` is the first option, `1` the second. After the end of the
/// line, all decisions are the first option, so that a seed can be written by hand.
struct Choices {
  private(set) var rest: ArraySlice<UInt8>

  /// Splits the input into the decisions on its first line and the remaining bytes.
  static func split(_ input: [UInt8]) -> (choices: Choices, body: [UInt8]) {
    let end = input.firstIndex(of: UInt8(ascii: "\n")) ?? input.endIndex
    return (Choices(rest: input[..<end]), Array(input[end...].dropFirst()))
  }

  /// 0..<options
  mutating func next(_ options: Int) -> Int {
    rest.popFirst().map { Int($0 &- UInt8(ascii: "0")) % options } ?? 0
  }

  mutating func pick<Value>(_ values: [Value]) -> Value { values[next(values.count)] }

  mutating func flag() -> Bool { next(2) == 1 }

  mutating func times<Value>(_ most: Int, _ make: (inout Choices) -> Value) -> [Value] {
    (0..<next(most + 1)).map { _ in make(&self) }
  }
}

extension [UInt8] {
  /// The parts between occurrences of that text; without an occurrence, a single part.
  func parted(by mark: String) -> [[UInt8]] {
    let mark = Array(mark.utf8)
    var parts: [[UInt8]] = [[]]
    var at = 0
    while at < count {
      if self[at...].starts(with: mark) {
        parts.append([])
        at += mark.count
      } else {
        parts[parts.count - 1].append(self[at])
        at += 1
      }
    }
    return parts
  }

  /// Splits the bytes into pieces whose sizes come from the remaining choices, used cyclically. A large input gets at
  /// most some hundred pieces.
  func pieces(_ choices: Choices) -> [ArraySlice<UInt8>] {
    let least = 1 + count / 256
    let sizes = choices.rest.map { Int($0 &- UInt8(ascii: "0")) % 64 + least }
    var pieces: [ArraySlice<UInt8>] = []
    var rest = self[...]
    while !rest.isEmpty {
      let piece = rest.prefix(sizes.isEmpty ? least : sizes[pieces.count % sizes.count])
      pieces.append(piece)
      rest = rest.dropFirst(piece.count)
    }
    return pieces
  }
}
