/// Reusable memory for the bytes of one record or row. Positions in it are offsets, because the memory moves when it
/// grows.
struct ByteScratch: ~Copyable {
  private var memory: UnsafeMutableBufferPointer<UInt8>
  private(set) var count = 0

  init(capacity: Int = Self.usual) {
    memory = .allocate(capacity: capacity)
  }

  deinit { memory.deallocate() }

  /// `usual` is enough for a typical record. Memory above `kept` bytes is released before the next body.
  private static let usual = 4096
  private static let kept = 1 << 20

  mutating func removeAll() { count = 0 }

  mutating func removeLast(_ bytes: Int) { count -= bytes }

  mutating func shrink() {
    count = 0
    guard memory.count > Self.kept else { return }
    memory.deallocate()
    memory = .allocate(capacity: Self.usual)
  }

  mutating func append(_ byte: UInt8) {
    reserve(1)
    memory[count] = byte
    count += 1
  }

  mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    reserve(bytes.count)
    _ = memory.extracting(count..<count + bytes.count).update(fromContentsOf: bytes)
    count += bytes.count
  }

  /// Appends the bytes that `write` puts into the free room. `write` returns their number.
  mutating func append(_ room: Int, write: (UnsafeMutableBufferPointer<UInt8>) -> Int) {
    reserve(room)
    count += write(memory.extracting(count..<count + room))
  }

  private mutating func reserve(_ room: Int) {
    guard count + room > memory.count else { return }
    let larger = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(count + room, memory.count * 2))
    _ = larger.extracting(0..<count).update(fromContentsOf: memory.extracting(0..<count))
    memory.deallocate()
    memory = larger
  }

  subscript(range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(memory.extracting(range))
  }
}
