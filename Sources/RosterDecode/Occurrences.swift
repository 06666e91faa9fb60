/// The keys of one answer. Nothing moves within an answer, so that two different records of one key are a fault of the
/// definition or of upstream.
struct Occurrences {
  private var documents: [Int: Range<Int>] = [:]
  /// The earlier record of each such pair, with its number among the records of the answer.
  private(set) var conflicts: [(document: Range<Int>, position: Int)] = []
  private var positions: [Int: Int] = [:]

  mutating func removeAll() {
    documents.removeAll(keepingCapacity: true)
    positions.removeAll(keepingCapacity: true)
    conflicts = []
  }

  /// Notes a record that can be stored.
  /// - Parameter key: A hash of its key, of 64 bits.
  mutating func note(_ key: Int, document: Range<Int>, position: Int, in bytes: UnsafeBufferPointer<UInt8>) {
    guard let known = documents.updateValue(document, forKey: key) else {
      positions[key] = position
      return
    }
    let earlier = positions.updateValue(position, forKey: key) ?? 0
    if !bytes[known].elementsEqual(bytes[document]) { conflicts.append((known, earlier)) }
  }

  /// Removes the next conflict.
  mutating func popConflict() -> (document: Range<Int>, position: Int)? {
    conflicts.isEmpty ? nil : conflicts.removeFirst()
  }
}
