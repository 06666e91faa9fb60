import RosterCore

/// Names of fields that the body does not have in front of their values: those that a shape adds (`@key`, `value`), and
/// those of rows.
struct LooseNames: ~Copyable {
  private var scratch: ByteScratch
  /// The place of each name, as JSON writes it between the quotes.
  private(set) var places: [Range<Int>] = []
  /// The node that each name leads to; -1 if none.
  private(set) var nodes: [Int] = []
  private let first: Int

  init(_ shape: Resource.Shape) {
    scratch = ByteScratch(capacity: shape.isPlain ? 0 : 64)
    guard !shape.isPlain else {
      first = 0
      return
    }
    for byte in Resource.Shape.memberName.utf8 { scratch.append(byte) }
    for byte in Resource.Shape.value.utf8 { scratch.append(byte) }
    first = scratch.count
  }

  /// Number of names of a row.
  var count: Int { places.count }

  var bytes: UnsafeBufferPointer<UInt8> { scratch[0..<scratch.count] }

  subscript(name: Range<Int>) -> UnsafeBufferPointer<UInt8> { scratch[name] }

  mutating func append(_ name: some Collection<UInt8>, node: Int) {
    let start = scratch.count
    for byte in name { scratch.append(byte) }
    places.append(start..<scratch.count)
    nodes.append(node)
  }

  mutating func removeAll() {
    scratch.removeLast(scratch.count - first)
    places.removeAll(keepingCapacity: true)
    nodes.removeAll(keepingCapacity: true)
  }

  /// The number of the value of that name; nil if no value has it.
  func index(of name: String) -> Int? {
    var written: [UInt8] = []
    JSONWriter.append(name, to: &written)
    let content = written.dropFirst().dropLast()
    return places.firstIndex { scratch[$0].elementsEqual(content) }
  }
}
