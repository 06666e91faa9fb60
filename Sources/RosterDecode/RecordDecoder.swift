import RosterJSON
import RosterModel

/// Reads bodies by a plan: once in the pull (`scan`), once more in the publication (`begin`, `next`). Its memory is
/// used again for each body, so one belongs to one task. Does no I/O.
///
///     try decoder.begin(body, at: scan.recordsAt)
///     while let step = try decoder.next() {
///       switch step {
///       case .record: for column in 0..<columns { bind(decoder.column(column)) }
///       case .rejected: note(decoder.reject)
///       }
///     }
///
/// Of members of one name the last one counts. Names are compared byte by byte, once their escapes are read.
package struct RecordDecoder: ~Copyable {
  /// What it reads by.
  package let plan: RecordPlan

  /// In one body.
  static let mostRecords = 100_000

  let tree: WalkTree
  let keyNode: Int
  let hasCompositeKey: Bool
  /// The composite key of the record at hand.
  var compositeKey: ByteScratch
  /// A place is an element of a list by its number: such lists are in `extra`.
  let keepsLists: Bool
  let shape: Resource.Shape
  /// A value of the row at hand has escapes, or white space between its tokens.
  var needsPreparing = false
  var scanner = JSONScanner(UnsafeBufferPointer(start: nil, count: 0))
  /// A name that has escapes in the body.
  var name = ByteScratch()
  /// The name of the member at hand, if the records are a map.
  var memberName = JSONSlice.absent
  /// Names of values that do not stand before them in the body.
  var looseNames: LooseNames
  /// The first element of each list that cannot be stored.
  var listFaults: [RecordFault.ElementFault?]

  // Of the pull.
  var found = PageScan()
  var lastRecord: Int?

  // Of the publication.
  var collectsExtra = false
  var extras: ExtraFields
  var record: RowMemory
  var row: RowMemory
  var progress = Progress.ended
  var document = 0..<0
  var fault: RecordFault?
  var openedList = 0
  var rowsAt = 0
  var rowProgress = Progress.ended
  /// Of the record at hand, among all of the body, from 0.
  package internal(set) var position = -1

  /// How far a list has been gone through.
  enum Progress {
    /// The answer is the record itself.
    case single
    case beforeFirst, inside, ended
  }

  /// Takes the memory that any body needs.
  package init(_ plan: RecordPlan) {
    self.plan = plan
    tree = WalkTree(plan)
    keyNode = plan.keyNode
    hasCompositeKey = !plan.keyParts.isEmpty
    compositeKey = ByteScratch(capacity: 0)
    shape = plan.shape.shape
    looseNames = LooseNames(shape)
    keepsLists = plan.tree.nodes.contains { $0.role.contains(.indexed) }
    listFaults = Array(repeating: nil, count: plan.lists.count)
    extras = ExtraFields(nodes: plan.tree.nodes.count)
    record = RowMemory(columns: plan.resource.columns.count)
    row = RowMemory(columns: plan.resource.lists.map(\.columns.count).max() ?? 0)
  }

  var slots: UnsafeMutableBufferPointer<JSONSlice> { tree.slots }
  /// What ends the records of a body.
  var recordsEnd: UInt8 { shape == .map ? UInt8(ascii: "}") : UInt8(ascii: "]") }
  var bytes: UnsafeBufferPointer<UInt8> { scanner.bytes }

  /// Forgets what an earlier body needed more memory for than usual.
  mutating func start(_ body: UnsafeBufferPointer<UInt8>, at start: Int) throws(Malformed) {
    guard body.count <= JSONSlice.largestBody, start >= 0 else {
      throw Malformed(offset: 0, expected: "at most \(JSONSlice.largestBody) bytes")
    }
    scanner = JSONScanner(body, at: start)
    slots.update(repeating: .absent)
    extras.removeAll()
    name.shrink()
    record.scratch.shrink()
    row.scratch.shrink()
  }
}
