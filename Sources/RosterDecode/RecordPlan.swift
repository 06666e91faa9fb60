package import RosterCore

/// A definition in compiled form, used for any number of bodies. It says which member belongs to which column or list.
package final class RecordPlan: Sendable {
  /// The definition that was compiled.
  package let resource: Resource
  /// Index of the key's column; 0 for a detail, which has none.
  package let keyColumn: Int
  /// The columns of a key that is a JSON list; empty if the key is the value of one column.
  let keyParts: [Int]
  /// True if each list is one record without a key of its own. Its key is then 1.
  package let isDetail: Bool

  /// Maximum nesting depth of a record, which itself is level 1. Real APIs nest less deeply, and readers' tools accept
  /// more (SQLite's JSON functions 1,000 levels, sqlite.org/json1.html §3; Python's parser somewhat less).
  static let deepest = 128

  let shape: ShapePlan
  let tree: FieldTree
  let places: AnswerPlaces
  /// The places of an answer of `by_key`; nil if that is the record itself and nothing more.
  let placesByKey: AnswerPlaces?
  let record: RowPlan
  let lists: [ListPlan]
  let conditions: [ConditionPlan]

  /// Node of `since.at`; nil without `since`.
  let markNode: Int?
  /// True if each key's value at `since.at` is noted, since it decides which of several records of a key wins.
  package let isIncremental: Bool
  /// True if a record may be excluded after it was listed, as in a list with delta tokens.
  var ordersKinds: Bool { isIncremental || resource.since?.token != nil }

  /// True if records of one key contradict each other when they differ in one answer. False for changes, of which a key
  /// may have many, and for pages by number or offset, where a duplicate key is drift. False also if the name of a
  /// member is in the key: the last member of a name counts.
  let findsConflicts: Bool

  /// True if a sign that no key names keeps the list going.
  let takesUnnamedMore: Bool

  /// True if the records are events (`since.ask`).
  var readsEvents: Bool { isIncremental && resource.since?.asks == true && !isDetail && keyParts.isEmpty }

  var keyNode: Int { record.columns[keyColumn].node }

  /// Else they are integers of 1…2^63-1. A composite key is the text of a JSON list of its parts. The keys of a child
  /// are unique in its list only.
  package let hasTextKeys: Bool

  /// Throws `Failure` (70) if the definition cannot be compiled. It lacks columns or a column of the key, has two lists
  /// at one place, or has a place that is too deep. The configuration refuses all of these.
  package init(_ resource: Resource, isIncremental: Bool = false) throws(Failure) {
    isDetail = resource.isDetail
    guard let keyColumns = isDetail ? [0] : resource.keyColumns, let keyColumn = keyColumns.first,
      !resource.columns.isEmpty
    else { throw Self.failure(resource, cause: "no integer or text column is its key") }
    if resource.everyPlace.contains(where: { $0.segments.count >= Self.deepest }) {
      throw Self.failure(resource, cause: "a place nests deeper than \(Self.deepest) levels")
    }
    if resource.lists.indices.contains(where: { index in
      resource.lists[..<index].contains { $0.at == resource.lists[index].at }
    }) {
      throw Self.failure(resource, cause: "two lists are at one place")
    }
    if resource.lists.contains(where: \.columns.isEmpty) {
      throw Self.failure(resource, cause: "a list has no columns")
    }
    self.resource = resource
    self.keyColumn = keyColumn
    keyParts = resource.hasCompositeKey ? keyColumns : []
    hasTextKeys = !keyParts.isEmpty || (!isDetail && resource.columns[keyColumn].type.isText)
    var tree = FieldTree()
    places = AnswerPlaces(resource, into: &tree)
    let isBare = resource.byKeyRecords.isWhole && resource.answers == AnswerRules()
    placesByKey = resource.byKey == nil || isBare ? nil : AnswerPlaces(byKey: resource, into: &tree)
    // The nodes of a record are contiguous, so that one call clears them all.
    let root = tree.addRoot()
    let columns = Self.columns(resource.columns, below: root, into: &tree)
    conditions = resource.conditions.map { ConditionPlan(node: tree.node($0.at, below: root), test: $0.test) }
    let listNodes = resource.lists.map { list in
      let node = tree.node(list.at, below: root)
      tree.take(node, role: .list)
      return node
    }
    markNode = resource.since?.at.map { tree.node($0, below: root) }
    self.isIncremental = isIncremental
    shape = ShapePlan(resource, below: root, into: &tree)
    let end = tree.nodes.count
    lists = zip(resource.lists, listNodes).map { ListPlan($0, at: $1, into: &tree) }
    record = RowPlan(nodes: root..<end, columns: resource.columns, at: columns, tree)
    self.tree = tree
    let kind = resource.pages.style.kind
    let keyNodes = ([keyColumn] + keyParts).map { columns[$0] }
    let hasMemberKey = shape.memberName.map(keyNodes.contains) ?? false
    findsConflicts =
      !isDetail && !kind.isRecord && !kind.isPositional && !hasMemberKey && !isIncremental
      && resource.since?.token == nil
    takesUnnamedMore = resource.pages.takesUnnamedMore && !resource.records.isWhole
  }

  static func columns(_ columns: [Resource.Column], below root: Int, into tree: inout FieldTree) -> [Int] {
    columns.map { column in
      let node = tree.node(column.at, below: root)
      tree.take(node)
      return node
    }
  }

  private static func failure(_ resource: Resource, cause: String) -> Failure {
    Failure(
      .defect, step: "compile the definition", subject: "resource.\(resource.name)", cause: cause,
      hint: "report it with the definition")
  }
}

/// The plan of one row: a record, or an element of a list.
struct RowPlan: Sendable {
  struct Column: Sendable {
    let node: Int
    let type: Resource.ColumnType
    let isNullable: Bool
    /// True if another written form of a number or flag is read: nothing else reads the same place.
    let readsForms: Bool
    /// True if the column has values that mean null.
    let hasNulls: Bool
  }

  /// The nodes of the row; the first one is the root.
  let nodes: Range<Int>
  let columns: [Column]
  /// Ancestors of columns and lists, an element's root included. Each must be an object, null or absent.
  let ways: [Int32]

  /// - Parameter at: The node of each column.
  init(
    nodes: Range<Int>, columns: [Resource.Column], at columnNodes: [Int], isElement: Bool = false, _ tree: FieldTree
  ) {
    self.nodes = nodes
    self.columns = zip(columns, columnNodes).map { column, node in
      let isAlone = columns.allSatisfy { $0.at != column.at || $0.type == column.type }
      // Where a list or an object is read too, `false` is an empty one. The number 0 is not.
      let isFlag = column.type.form == .flag && tree.nodes[node].role.isDisjoint(with: [.split, .list])
      return Column(
        node: node, type: column.type, isNullable: column.isNullable || !column.type.isText,
        readsForms: isAlone && (column.type.isNumber || isFlag), hasNulls: !column.nulls.isEmpty)
    }
    ways = nodes.filter { tree.nodes[$0].role.contains(.split) && (isElement || $0 != nodes.lowerBound) }
      .map(Int32.init)
  }

  var root: Int { nodes.lowerBound }
  /// True if elements are stored as whole values, without places inside them.
  var isBare: Bool { nodes.count == 1 }
}

struct ListPlan: Sendable {
  /// Node of the list in the record.
  let node: Int
  let row: RowPlan

  init(_ list: Resource.List, at node: Int, into tree: inout FieldTree) {
    self.node = node
    let root = tree.addRoot()
    let columns = RecordPlan.columns(list.columns, below: root, into: &tree)
    row = RowPlan(nodes: root..<tree.nodes.count, columns: list.columns, at: columns, isElement: true, tree)
  }
}

/// How a record is made the object that it is read as.
struct ShapePlan: Sendable {
  let shape: Resource.Shape
  /// The node of the member's name; nil without a map.
  let memberName: Int?
  /// The node of a value that is not an object; nil if each record is an object or a row.
  let value: Int?
  /// The place of the names of a row's values; nil if the values are called by their number.
  let rowNames: JSONPointer?

  init(_ resource: Resource, below root: Int, into tree: inout FieldTree) {
    func node(_ name: String) -> Int { tree.node(JSONPointer(segments: [name]), below: root) }
    shape = resource.shape
    memberName = shape.isMap ? node(Resource.Shape.memberName) : nil
    value = shape.wrapsValues ? node(Resource.Shape.value) : nil
    rowNames = shape.isRows && !resource.rowNames.isWhole ? resource.rowNames : nil
  }
}

struct ConditionPlan: Sendable {
  let node: Int
  let test: Resource.Condition.Test
}

/// The places of an answer outside the records' own fields.
struct AnswerPlaces: Sendable {
  let root: Int
  let records: Int
  /// Places of the conditions of `expect`.
  let expect: [Place]
  let partial: [Place]
  let count: Place
  let last: Place
  let more: Place
  let at: Place
  let token: Place
  /// The element of the list at `at` that has the value, if the definition has such a place.
  let entry: Resource.EntryPlace?
  /// True if the object at `at` is read member by member.
  let readsMembers: Bool
  /// True if a list or an object at `at` is sent in a body.
  let readsWhole: Bool

  /// True if an empty value at `at` means that no page follows. In a record it is a value like any other, and an object
  /// without members is sent as such.
  var isNextValueOfAnswer: Bool {
    if readsMembers { return false }
    switch at {
    case .nowhere, .inLastRecord: return false
    case .node, .inRecords: return true
    }
  }

  enum Place: Sendable {
    case nowhere
    /// The place is read on the way through the answer.
    case node(Int)
    /// The place is inside the list of records, and is looked up after the list was read.
    case inRecords(JSONPointer)
    case inLastRecord(JSONPointer)
  }

  init(_ resource: Resource, into tree: inout FieldTree) {
    let root = tree.addRoot()
    self.root = root
    records = tree.node(resource.records, below: root)
    let isRecord = resource.pages.style.kind.isRecord
    if !isRecord { tree.mark(records, role: .records) }
    func place(_ pointer: JSONPointer?) -> Place {
      pointer.map { Place($0, records: resource.records, below: root, in: &tree) } ?? .nowhere
    }
    expect = resource.answers.expect.map { place($0.at) }
    partial = resource.answers.partial.map { place($0) }
    count = place(resource.pages.count?.pointer)
    more = place(resource.pages.ending?.pointer)
    token = place(resource.since?.token?.pointer)
    let style = resource.pages.style
    entry = style.entry
    readsMembers = style.param == .everyMember
    readsWhole = if case .body? = style.param { true } else { false }
    last = place(style.last?.pointer)
    at =
      if style.kind.step == .sends(.ofLastRecord), let pointer = style.placeInBody {
        .inLastRecord(pointer)
      } else {
        place(style.placeInBody ?? entry?.list)
      }
    tree.markSurroundings(of: records, root: root)
  }

  /// The places of an answer of `by_key`.
  init(byKey resource: Resource, into tree: inout FieldTree) {
    let root = tree.addRoot()
    self.root = root
    let place = resource.byKeyRecords
    records = tree.node(place, below: root)
    expect = resource.answers.expect.map { Place($0.at, records: place, below: root, in: &tree) }
    partial = resource.answers.partial.map { Place($0, records: place, below: root, in: &tree) }
    (count, last, more, at, token) = (.nowhere, .nowhere, .nowhere, .nowhere, .nowhere)
    (entry, readsMembers, readsWhole) = (nil, false, false)
    if !place.isWhole { tree.markSurroundings(of: records, root: root) }
  }
}

extension AnswerPlaces.Place {
  fileprivate init(_ pointer: JSONPointer, records: JSONPointer, below root: Int, in tree: inout FieldTree) {
    let depth = records.segments.count
    let isInside =
      pointer.segments.count > depth && JSONPointer(segments: Array(pointer.segments.prefix(depth))) == records
    self =
      isInside
      ? .inRecords(JSONPointer(segments: Array(pointer.segments.dropFirst(depth))))
      : .node(tree.node(pointer, below: root))
  }
}

extension Resource {
  fileprivate var everyPlace: [JSONPointer] {
    [records, rowNames] + keyPlaces + answers.expect.map(\.at) + answers.partial
      + [pages.style.placeInBody, pages.style.entry?.list].compactMap(\.self)
      + [pages.style.last, pages.count, pages.ending].compactMap { $0?.pointer } + conditions.map(\.at)
      + columns.map(\.at)
      + lists.map(\.at) + lists.flatMap { $0.columns.map(\.at) }
      + [since?.at, since?.token?.pointer].compactMap(\.self)
  }
}

extension Resource.AnswerPlace {
  /// nil if the value is not in the body.
  fileprivate var pointer: JSONPointer? {
    if case .body(let pointer) = self { pointer } else { nil }
  }
}
