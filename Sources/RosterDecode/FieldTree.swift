import RosterCore

/// The places that a plan reads, as a tree of names with one node per place. Nodes, roots included, are in the order in
/// which they were added.
struct FieldTree: Sendable {
  private(set) var nodes: [Node] = []

  struct Node: Sendable {
    var segment = ""
    /// The segment in its JSON spelling, with escapes.
    var written: [UInt8] = []
    /// The segment as the index of a list element; -1 if it is not a number.
    var index = -1
    /// The highest index among the children that are list elements; -1 if there is no such child.
    var lastIndex = -1
    var parent: Int?
    var children: [Int] = []
    var role = Role()
  }

  /// The use of a node.
  struct Role: OptionSet, Sendable {
    var rawValue: UInt8

    /// A column or list takes the value, so that it is not in `extra`.
    static let taken = Role(rawValue: 1)
    /// The node is an ancestor of a column or list: if it is an object, `extra` contains only its remaining members.
    static let split = Role(rawValue: 2)
    /// The node is the list of records.
    static let records = Role(rawValue: 4)
    /// A child may be an element of a list, selected by its index.
    static let indexed = Role(rawValue: 8)
    static let hasChildren = Role(rawValue: 16)
    /// The node is a list of the definition.
    static let list = Role(rawValue: 32)

    /// The node is the whole answer, or an object on the way to the records.
    static let around = Role(rawValue: 64)
    /// The node is an object beside the records that speaks about the answer.
    static let envelope = Role(rawValue: 128)

    /// Lists and objects at these nodes are read member by member; at all others they are skipped.
    static let entered: Role = [.hasChildren, .records, .list, .surroundings]
    static let surroundings: Role = [.around, .envelope]
  }

  mutating func addRoot() -> Int {
    nodes.append(Node())
    return nodes.count - 1
  }

  /// Returns the node at a place below a root, and adds it if it does not exist.
  mutating func node(_ pointer: JSONPointer, below root: Int) -> Int {
    pointer.segments.reduce(root) { parent, segment in child(segment, of: parent) }
  }

  private mutating func child(_ segment: String, of parent: Int) -> Int {
    if let known = nodes[parent].children.first(where: { nodes[$0].segment.utf8.elementsEqual(segment.utf8) }) {
      return known
    }
    let child = nodes.count
    let index = JSONPointer.index(segment)
    nodes.append(Node(segment: segment, written: Self.written(segment), index: index ?? -1, parent: parent))
    nodes[parent].children.append(child)
    nodes[parent].role.insert(.hasChildren)
    if let index {
      nodes[parent].role.insert(.indexed)
      nodes[parent].lastIndex = max(nodes[parent].lastIndex, index)
    }
    return child
  }

  private static func written(_ name: String) -> [UInt8] {
    var bytes: [UInt8] = []
    JSONWriter.append(name, to: &bytes)
    return Array(bytes.dropFirst().dropLast())
  }

  mutating func mark(_ node: Int, role: Role) {
    nodes[node].role.insert(role)
  }

  /// Marks a node as taken by a column or list, and its ancestors as split.
  mutating func take(_ node: Int, role: Role = []) {
    mark(node, role: role.union(.taken))
    var parent = nodes[node].parent
    while let above = parent {
      mark(above, role: .split)
      parent = nodes[above].parent
    }
  }

  /// The place in the form that messages use: `location.url`.
  func path(_ node: Int) -> String { segments(node).joined(separator: ".") }

  /// The names on the way from the root to a node.
  func segments(_ node: Int) -> [String] {
    var segments: [String] = []
    var at = node
    while let parent = nodes[at].parent {
      segments.append(nodes[at].segment)
      at = parent
    }
    return segments.reversed()
  }

  /// Marks the objects around the records of an answer, or the whole answer if it has to be the records. All places
  /// that were added before belong to the definition.
  mutating func markSurroundings(of records: Int, root: Int) {
    for node in root..<nodes.count { mark(node, role: .taken) }
    var at: Int? = nodes[records].parent ?? records
    while let node = at {
      mark(node, role: .around)
      for child in nodes[node].children
      where child != records && AnswerSign.envelopes.contains(AnswerSign.word(nodes[child].segment.utf8)) {
        mark(child, role: .envelope)
      }
      at = nodes[node].parent
    }
  }
}
