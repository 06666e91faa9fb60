import RosterCore

/// A plan's tree in the form that the decoder walks: plain memory, with a hash table of names per node.
struct CompiledFieldTree: ~Copyable {
  /// The data of one node.
  struct Step {
    var role: FieldTree.Role
    /// First entry and mask (size minus 1) of the children's table; the mask is -1 without children.
    var table: Int32
    var mask: Int32
    var name: UnsafeBufferPointer<UInt8>
    /// The first eight bytes of the name.
    var word: UInt64
    /// The name in its JSON spelling, with escapes.
    var written: UnsafeBufferPointer<UInt8>
    /// The name as the index of a list element; -1 if it is not a number.
    var index: Int
    /// The highest index among the children that are list elements; -1 if there is no such child.
    var lastIndex: Int
    /// Index of the definition's list, for `list` nodes.
    var list: Int
    /// The child that is likely to be the first one in an object at this node; -1 if none is known. Most APIs write the
    /// members of every record in the same order.
    var firstChild: Int32 = -1
    /// The child that is likely to follow this one in its object; -1 if none is known.
    var successor: Int32 = -1
  }

  /// A record, or an element of a list.
  struct Row {
    var root: Int
    var nodes: UnsafeMutableBufferPointer<JSONSlice>
    var columns: UnsafeMutableBufferPointer<RowPlan.Column>
    var ways: UnsafeMutableBufferPointer<Int32>
    var isBare: Bool
    /// Index of the list with the elements; nil for a record.
    var list: Int?
  }

  let steps: UnsafeMutableBufferPointer<Step>
  /// The value found for each node.
  let slots: UnsafeMutableBufferPointer<JSONSlice>
  let record: Row
  let rows: UnsafeMutableBufferPointer<Row>
  private let tables: UnsafeMutableBufferPointer<Int32>
  private let names: UnsafeMutableBufferPointer<UInt8>

  init(_ plan: RecordPlan) {
    let nodes = plan.tree.nodes
    names = .allocate(capacity: nodes.reduce(1) { $0 + $1.segment.utf8.count + $1.written.count })
    tables = .allocate(capacity: nodes.reduce(1) { $0 + Self.tableSize($1) })
    tables.initialize(repeating: -1)
    steps = .allocate(capacity: nodes.count)
    var free = names[...]
    for (index, node) in nodes.enumerated() {
      let name = Self.place(node.segment.utf8, free: &free)
      let step = Step(
        role: node.role, table: 0, mask: -1, name: name, word: Self.word(name),
        written: Self.place(node.written, free: &free), index: node.index, lastIndex: node.lastIndex,
        list: plan.lists.firstIndex { $0.node == index } ?? -1)
      steps.initializeElement(at: index, to: step)
    }
    slots = .allocate(capacity: nodes.count)
    slots.initialize(repeating: .absent)
    record = Row(plan.record, list: nil, in: slots)
    rows = .allocate(capacity: plan.lists.count)
    for (index, list) in plan.lists.enumerated() {
      rows.initializeElement(at: index, to: Row(list.row, list: index, in: slots))
    }
    fillTables(nodes)
  }

  deinit {
    record.deallocate()
    for row in rows { row.deallocate() }
    rows.deallocate()
    slots.deallocate()
    steps.deallocate()
    tables.deallocate()
    names.deallocate()
  }

  private static func place(
    _ bytes: some Collection<UInt8>, free: inout Slice<UnsafeMutableBufferPointer<UInt8>>
  ) -> UnsafeBufferPointer<UInt8> {
    let place = UnsafeMutableBufferPointer(rebasing: free.prefix(bytes.count))
    _ = place.initialize(from: bytes)
    free = free.dropFirst(bytes.count)
    return UnsafeBufferPointer(place)
  }

  /// The table has at least twice as many entries as children, so that an unknown name usually hits an empty entry at
  /// once.
  private static func tableSize(_ node: FieldTree.Node) -> Int {
    var size = 1
    while size < node.children.count * 2 { size *= 2 }
    return node.children.isEmpty ? 0 : size
  }

  private func fillTables(_ nodes: [FieldTree.Node]) {
    var end = 0
    for (index, node) in nodes.enumerated() where !node.children.isEmpty {
      let mask = Self.tableSize(node) - 1
      steps[index].table = Int32(end)
      steps[index].mask = Int32(mask)
      for child in node.children {
        var entry = Self.hash(steps[child].word, count: steps[child].name.count) & mask
        while tables[end + entry] >= 0 { entry = (entry + 1) & mask }
        tables[end + entry] = Int32(child)
      }
      end += mask + 1
    }
  }

  /// The first eight bytes of a name as a little-endian number, padded with 0.
  static func word(_ name: UnsafeBufferPointer<UInt8>) -> UInt64 {
    name.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// That number of the name at `start`, read in one step. At least eight bytes must be readable from `start`.
  @inline(__always)
  private static func word(_ body: UnsafeBufferPointer<UInt8>, start: Int, count: Int) -> UInt64 {
    let word = UInt64(
      littleEndian: UnsafeRawBufferPointer(body).loadUnaligned(fromByteOffset: start, as: UInt64.self))
    return count >= 8 ? word : word & (1 << (UInt64(count) &* 8) &- 1)
  }

  @inline(__always)
  private static func hash(_ word: UInt64, count: Int) -> Int {
    // A multiplication mixes upwards: the upper half depends on every byte (Knuth's multiplicative hashing).
    Int(truncatingIfNeeded: ((word &+ UInt64(truncatingIfNeeded: count)) &* 0x9E37_79B9_7F4A_7C15) >> 40)
  }

  /// The child whose unescaped name is at this range of the body; -1 if no child matches.
  @inline(__always)
  func child(_ body: UnsafeBufferPointer<UInt8>, content: Range<Int>, of node: Int) -> Int {
    let name = UnsafeBufferPointer(rebasing: body[content])
    let hasRoom = content.lowerBound + 8 <= body.count
    return child(
      name, word: hasRoom ? Self.word(body, start: content.lowerBound, count: name.count) : Self.word(name), of: node)
  }

  func child(_ name: UnsafeBufferPointer<UInt8>, of node: Int) -> Int {
    child(name, word: Self.word(name), of: node)
  }

  @inline(__always)
  private func child(_ name: UnsafeBufferPointer<UInt8>, word: UInt64, of node: Int) -> Int {
    let (table, mask) = (Int(steps[node].table), Int(steps[node].mask))
    guard mask >= 0 else { return -1 }
    var entry = Self.hash(word, count: name.count) & mask
    while true {
      let child = Int(tables[table + entry])
      if child < 0 || (steps[child].word == word && steps[child].name.isSame(name)) { return child }
      entry = (entry + 1) & mask
    }
  }

  /// Where the name ends, if these bytes are the name of this child, with quotes and a colon. Returns nil if there is
  /// white space before the colon.
  @inline(__always)
  func nameEnd(_ body: UnsafeBufferPointer<UInt8>, from start: Int, of child: Int) -> Int? {
    let name = steps[child].name
    let end = start + name.count + 2
    guard end + 8 <= body.count, body[start] == UInt8(ascii: "\""), body[end - 1] == UInt8(ascii: "\""),
      body[end] == UInt8(ascii: ":"), Self.word(body, start: start + 1, count: name.count) == steps[child].word,
      UnsafeBufferPointer(rebasing: body[start + 1..<end - 1]).isSame(name)
    else { return nil }
    return end
  }

  /// The children's table. An empty entry is -1.
  func children(of node: Int) -> UnsafeMutableBufferPointer<Int32> {
    tables.extracting(Int(steps[node].table)..<Int(steps[node].table + steps[node].mask + 1))
  }

  /// The child with this list index; -1 if no child matches.
  func child(at index: Int, of node: Int) -> Int {
    guard index <= steps[node].lastIndex else { return -1 }
    for child in children(of: node) where child >= 0 && steps[Int(child)].index == index { return Int(child) }
    return -1
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// Compares two names whose first eight bytes are equal.
  @inline(__always)
  fileprivate func isSame(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
    guard count == other.count else { return false }
    guard count > 8 else { return true }
    for index in 8..<count where self[index] != other[index] { return false }
    return true
  }
}

extension CompiledFieldTree.Row {
  fileprivate init(_ plan: RowPlan, list: Int?, in slots: UnsafeMutableBufferPointer<JSONSlice>) {
    self.list = list
    root = plan.root
    nodes = slots.extracting(plan.nodes)
    columns = .allocate(capacity: plan.columns.count)
    _ = columns.initialize(from: plan.columns)
    ways = .allocate(capacity: plan.ways.count)
    _ = ways.initialize(from: plan.ways)
    isBare = plan.isBare
  }

  fileprivate func deallocate() {
    columns.deallocate()
    ways.deallocate()
  }
}
