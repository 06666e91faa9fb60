/// A member that no column takes, packed into eight bytes. Offsets have 31 bits. The position of the value is not
/// stored: it is found again after the name.
struct ExtraField {
  private static let flag: UInt32 = 1 << 31
  private let first: UInt32
  private let last: UInt32

  /// - Parameter name: the name, from its opening quote.
  init(name: JSONSlice, value: JSONSlice) {
    first = name.start
    last = value.end | (value.hasSpace ? Self.flag : 0)
  }

  /// Represents the remaining members of an object, or the elements of a list, that the definition has places in.
  init(child: Int) {
    first = UInt32(child) | Self.flag
    last = 0
  }

  /// A field whose name is not in front of its value, by its number among such fields.
  init(loose: Int) {
    first = UInt32(loose) | Self.flag
    last = 1
  }

  /// True if the name is in front of the value in the body.
  var isInBody: Bool { first & Self.flag == 0 }
  var child: Int? { first & Self.flag == 0 || last != 0 ? nil : Int(first & ~Self.flag) }
  var loose: Int? { first & Self.flag == 0 || last == 0 ? nil : Int(first & ~Self.flag) }
  /// Offset of the name's opening quote. If a name occurs twice, the one with the larger offset wins.
  var start: Int { Int(first) }
  var end: Int { Int(last & ~Self.flag) }
  var hasSpace: Bool { last & Self.flag != 0 }
}

/// A field whose name is not in front of its value.
struct LooseField {
  /// Among the loose names.
  var name: Range<Int>
  var value: JSONSlice
}

/// The members of the current row that no column takes, grouped by the node of their object.
struct ExtraFields {
  private(set) var fields: [[ExtraField]]
  /// True for objects that have a name with escapes: there two different spellings may be the same name.
  private(set) var hasEscapes: [Bool]
  private var filled: [Int] = []
  private(set) var loose: [LooseField] = []

  init(nodes: Int) {
    fields = Array(repeating: [], count: nodes)
    hasEscapes = Array(repeating: false, count: nodes)
  }

  var isEmpty: Bool { filled.isEmpty }

  mutating func append(_ name: JSONSlice, _ value: JSONSlice, to node: Int) {
    if fields[node].isEmpty { filled.append(node) }
    fields[node].append(ExtraField(name: name, value: value))
    if name.kind == .escapedString { hasEscapes[node] = true }
  }

  mutating func append(loose value: JSONSlice, named name: Range<Int>, to node: Int) {
    if fields[node].isEmpty { filled.append(node) }
    fields[node].append(ExtraField(loose: loose.count))
    loose.append(LooseField(name: name, value: value))
  }

  mutating func append(child: Int, to node: Int) {
    if fields[node].isEmpty { filled.append(node) }
    fields[node].append(ExtraField(child: child))
  }

  mutating func remove(_ node: Int) {
    fields[node].removeAll(keepingCapacity: fields[node].capacity <= Self.kept)
    hasEscapes[node] = false
  }

  mutating func removeAll() {
    for node in filled { remove(node) }
    filled.removeAll(keepingCapacity: true)
    if !loose.isEmpty { loose.removeAll(keepingCapacity: true) }
  }

  /// Number of fields whose memory is kept for the next record.
  private static let kept = 4096

  mutating func sort(_ node: Int, by precedes: (ExtraField, ExtraField) -> Bool) {
    fields[node].sort(by: precedes)
  }

  /// Keeps only the last of adjacent fields with the same name.
  mutating func removeRepeated(_ node: Int, isSame: (ExtraField, ExtraField) -> Bool) {
    var kept = 0
    let count = fields[node].count
    for index in 0..<count where index + 1 == count || !isSame(fields[node][index], fields[node][index + 1]) {
      fields[node][kept] = fields[node][index]
      kept += 1
    }
    fields[node].removeLast(count - kept)
  }
}
