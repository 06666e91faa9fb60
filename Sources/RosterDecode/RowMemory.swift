package import RosterCore

/// The values of the current row that are not slices of the body: unescaped texts, JSON without white space, and
/// `extra`.
struct RowMemory: ~Copyable {
  var scratch = ByteScratch()
  /// The range of a column's bytes in `scratch`; empty if the value is a slice of the body.
  private var places: [Range<Int>]
  var extra: Range<Int>?

  init(columns: Int) {
    places = Array(repeating: 0..<0, count: columns)
  }

  var extraBytes: UnsafeBufferPointer<UInt8>? {
    if let extra { scratch[extra] } else { nil }
  }

  mutating func begin() {
    scratch.removeAll()
    extra = nil
  }

  /// Prepares a value that cannot be a slice of the body.
  mutating func prepare(
    _ column: Int, slice: JSONSlice, type: Resource.ColumnType, body: UnsafeBufferPointer<UInt8>
  ) {
    let start = scratch.count
    switch type {
    case .text where slice.kind.isEscaped, .timestamp where slice.kind.isEscaped:
      scratch.append(slice.content.count) { JSONEscapes.unescape(body, content: slice.content, into: $0) }
      places[column] = start..<scratch.count
    case .json where slice.hasSpace:
      scratch.append(slice.range.count) { JSONCompact.write(body, range: slice.range, into: $0) }
      places[column] = start..<scratch.count
    case .text, .json, .integer, .real, .boolean, .timestamp: break
    }
  }

  /// The value of a column that was prepared and checked.
  @inline(__always)
  func value(
    _ column: Int, slice: JSONSlice, type: Resource.ColumnType, body: UnsafeBufferPointer<UInt8>
  ) -> FieldValue {
    switch (slice.kind, type) {
    case (.absent, _), (.null, _): .null
    case (.string, .text), (.string, .timestamp): .text(UnsafeBufferPointer(rebasing: body[slice.content]))
    case (.escapedString, .text), (.escapedString, .timestamp): .text(scratch[places[column]])
    case (_, .json):
      .json(slice.hasSpace ? scratch[places[column]] : UnsafeBufferPointer(rebasing: body[slice.range]))
    case (.integer, .integer): JSONNumber.integer(body, range: slice.range).map { .integer($0) } ?? .null
    case (.integer, .real), (.fraction, .real): JSONNumber.double(body, range: slice.range).map { .real($0) } ?? .null
    case (.true, .boolean): .boolean(true)
    case (.false, .boolean): .boolean(false)
    // Such a value is not storable.
    case (_, .text), (_, .integer), (_, .real), (_, .boolean), (_, .timestamp): .null
    }
  }
}

extension Resource.ColumnType {
  /// True if a column of this type stores the value.
  @inline(__always)
  func accepts(_ slice: JSONSlice, in body: UnsafeBufferPointer<UInt8>) -> Bool {
    switch (slice.kind, self) {
    case (.absent, _), (.null, _), (_, .json), (.string, .text), (.escapedString, .text): true
    case (.true, .boolean), (.false, .boolean): true
    case (.string, .timestamp): Timestamp.isTime(UnsafeBufferPointer(rebasing: body[slice.content]))
    case (.escapedString, .timestamp):
      Array(JSONEscapes.text(body, slice).utf8).withUnsafeBufferPointer(Timestamp.isTime)
    case (.integer, .integer): JSONNumber.integer(body, range: slice.range) != nil
    case (.integer, .real), (.fraction, .real): JSONNumber.double(body, range: slice.range) != nil
    case (_, .text), (_, .integer), (_, .real), (_, .boolean), (_, .timestamp): false
    }
  }

  /// True if a column of this type stores the JSON, which is one value.
  package func accepts(_ json: UnsafeBufferPointer<UInt8>) -> Bool {
    var scanner = JSONScanner(json)
    return (try? scanner.value()).map { accepts($0, in: json) } ?? false
  }
}

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
