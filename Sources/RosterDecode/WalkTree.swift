import RosterJSON
import RosterModel

/// A plan's tree as the decoder walks it: plain memory, looked up by the bytes of a name.
struct WalkTree: ~Copyable {
  /// What is read for each member.
  struct Step {
    var role: PlanTree.Role
    /// The children's table: its first entry, and its size less one; -1 without children.
    var table: Int32
    var mask: Int32
    var name: UnsafeBufferPointer<UInt8>
    /// The same with the escapes that JSON needs.
    var written: UnsafeBufferPointer<UInt8>
    /// As an element of a list; -1: it is none.
    var index: Int
    /// The last element of a list that a child is; -1: none is.
    var lastIndex: Int
    /// For `list` nodes, the definition's.
    var list: Int
  }

  let steps: UnsafeMutableBufferPointer<Step>
  private let tables: UnsafeMutableBufferPointer<Int32>
  private let names: UnsafeMutableBufferPointer<UInt8>

  init(_ plan: RecordPlan) {
    let nodes = plan.tree.nodes
    let written = nodes.map { Self.written($0.segment) }
    names = .allocate(capacity: zip(nodes, written).reduce(1) { $0 + $1.0.segment.utf8.count + $1.1.count })
    tables = .allocate(capacity: nodes.reduce(1) { $0 + Self.tableSize($1) })
    tables.initialize(repeating: -1)
    steps = .allocate(capacity: nodes.count)
    var free = names[...]
    for (index, node) in nodes.enumerated() {
      let name = Self.place(node.segment.utf8, &free)
      let step = Step(
        role: node.role, table: 0, mask: -1, name: name, written: Self.place(written[index], &free),
        index: JSONPointer.index(node.segment) ?? -1,
        lastIndex: node.children.compactMap { JSONPointer.index(nodes[$0].segment) }.max() ?? -1,
        list: plan.lists.firstIndex { $0.node == index } ?? -1)
      steps.initializeElement(at: index, to: step)
    }
    fillTables(nodes)
  }

  deinit {
    steps.deallocate()
    tables.deallocate()
    names.deallocate()
  }

  private static func written(_ name: String) -> ArraySlice<UInt8> {
    var bytes: [UInt8] = []
    JSONWriter.append(name, to: &bytes)
    return bytes.dropFirst().dropLast()
  }

  private static func place(
    _ bytes: some Collection<UInt8>, _ free: inout Slice<UnsafeMutableBufferPointer<UInt8>>
  ) -> UnsafeBufferPointer<UInt8> {
    let place = UnsafeMutableBufferPointer(rebasing: free.prefix(bytes.count))
    _ = place.initialize(from: bytes)
    free = free.dropFirst(bytes.count)
    return UnsafeBufferPointer(place)
  }

  /// Twice as many as children at least, so that a name that is none of theirs mostly meets an empty entry at once.
  private static func tableSize(_ node: PlanTree.Node) -> Int {
    var size = 1
    while size < node.children.count * 2 { size *= 2 }
    return node.children.isEmpty ? 0 : size
  }

  private func fillTables(_ nodes: [PlanTree.Node]) {
    var end = 0
    for (index, node) in nodes.enumerated() where !node.children.isEmpty {
      let mask = Self.tableSize(node) - 1
      steps[index].table = Int32(end)
      steps[index].mask = Int32(mask)
      for child in node.children {
        var entry = Self.hash(steps[child].name) & mask
        while tables[end + entry] >= 0 { entry = (entry + 1) & mask }
        tables[end + entry] = Int32(child)
      }
      end += mask + 1
    }
  }

  @inline(__always)
  private static func hash(_ name: UnsafeBufferPointer<UInt8>) -> Int {
    guard let first = name.first else { return 0 }
    return name.count &* 13 &+ Int(first) &* 7 &+ Int(name[name.count - 1]) &* 31 &+ Int(name[name.count / 2]) &* 3
  }

  /// The child of that name; -1: none.
  @inline(__always)
  func child(_ name: UnsafeBufferPointer<UInt8>, of node: Int) -> Int {
    let (table, mask) = (Int(steps[node].table), Int(steps[node].mask))
    guard mask >= 0 else { return -1 }
    var entry = Self.hash(name) & mask
    while true {
      let child = Int(tables[table + entry])
      if child < 0 || steps[child].name.isSame(name) { return child }
      entry = (entry + 1) & mask
    }
  }

  /// The children's table, with -1 for entries that are empty.
  func children(of node: Int) -> UnsafeMutableBufferPointer<Int32> {
    tables.extracting(Int(steps[node].table)..<Int(steps[node].table + steps[node].mask + 1))
  }

  /// The child that is an element of a list; -1: none.
  func child(at index: Int, of node: Int) -> Int {
    guard index <= steps[node].lastIndex else { return -1 }
    for child in children(of: node) where child >= 0 && steps[Int(child)].index == index { return Int(child) }
    return -1
  }
}

extension UnsafeBufferPointer<UInt8> {
  @inline(__always)
  func isSame(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
    guard count == other.count else { return false }
    for index in 0..<count where self[index] != other[index] { return false }
    return true
  }
}
