import RosterJSON
import RosterModel

/// The places that a plan looks at, as a tree of names: one node a place, in the order in which they were added, roots
/// among them.
struct PlanTree: Sendable {
  private(set) var nodes: [Node] = []

  struct Node: Sendable {
    var segment = ""
    /// The segment with the escapes that JSON needs.
    var written: [UInt8] = []
    /// As an element of a list; -1: it is none.
    var index = -1
    /// The last element of a list that a child is; -1: none is.
    var lastIndex = -1
    var parent: Int?
    var children: [Int] = []
    var role = Role()
  }

  /// What a node is for.
  struct Role: OptionSet, Sendable {
    var rawValue: UInt8

    /// A column or list takes the value: it is not in `extra`.
    static let taken = Role(rawValue: 1)
    /// On the way to a column or list: of an object there, `extra` has only what is left.
    static let split = Role(rawValue: 2)
    /// The list of records.
    static let records = Role(rawValue: 4)
    /// A child may be an element of a list.
    static let indexed = Role(rawValue: 8)
    static let hasChildren = Role(rawValue: 16)
    /// A list of the definition.
    static let list = Role(rawValue: 32)

    /// Its lists and objects are gone through, not skipped.
    static let entered: Role = [.hasChildren, .records, .list]
  }

  mutating func addRoot() -> Int {
    nodes.append(Node())
    return nodes.count - 1
  }

  /// The node at a place below a root, made where there is none yet.
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

  mutating func mark(_ node: Int, _ role: Role) {
    nodes[node].role.insert(role)
  }

  /// A column or list takes what is there: what is on the way to it is split.
  mutating func take(_ node: Int, _ role: Role = []) {
    mark(node, role.union(.taken))
    var parent = nodes[node].parent
    while let above = parent {
      mark(above, .split)
      parent = nodes[above].parent
    }
  }

  /// How messages name a place: `location.url`.
  func path(_ node: Int) -> String {
    var segments: [String] = []
    var at = node
    while let parent = nodes[at].parent {
      segments.append(nodes[at].segment)
      at = parent
    }
    return segments.reversed().joined(separator: ".")
  }
}
