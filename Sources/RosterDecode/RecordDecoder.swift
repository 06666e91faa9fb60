import RosterCore

/// Reads bodies by a plan: once during the pull (`scan`), and once more during the publication (`begin`, `next`). Its
/// memory is reused for each body, so one decoder belongs to one task. It does no I/O.
///
/// Even reading a value is a mutating call: Swift would copy the whole decoder for a call that borrows it.
///
///     try decoder.begin(body, at: scan.recordsAt)
///     while let step = try decoder.next() {
///       switch step {
///       case .record: for column in 0..<columns { bind(decoder.column(column)) }
///       case .rejected: note(decoder.reject)
///       }
///     }
///
/// If an object has several members of one name, the last one wins. Names are compared byte by byte after unescaping.
package struct RecordDecoder: ~Copyable {
  /// The compiled definition.
  package let plan: RecordPlan

  /// Maximum number of records in one body.
  package static let maxRecords = 100_000
  /// The expectation that a body with more records fails.
  package static let tooManyRecords = "at most \(maxRecords) records"

  let tree: CompiledFieldTree
  let keyNode: Int
  /// True if the key is the text of a JSON list.
  let hasCompositeKey: Bool
  let isDetail: Bool
  /// True if a page is one record (`pages.style = "record"`).
  let isRecord: Bool
  /// The composite key of the record at hand.
  var compositeKey: ByteScratch
  /// True if the definition selects a list element by its index. Such lists stay in `extra`.
  let keepsLists: Bool
  let shape: Resource.Shape
  // Booleans, because the comparison of a shape is a call.
  let isShaped: Bool
  let isMap: Bool
  /// True if the records at hand are a list that PHP has written as an object, with numbers as names.
  var isNumbered = false
  /// True if a value of the current row has escapes, or white space between its tokens.
  var needsPreparing = false
  var scanner = JSONScanner(UnsafeBufferPointer(start: nil, count: 0))
  /// A name with escapes, after unescaping.
  var name = ByteScratch()
  /// The name of the member at hand, if the records are a map.
  var memberName = JSONSlice.absent
  /// Names of fields that the body does not have in front of their values: `@key`, `value`, and those of rows.
  var looseNames: LooseNames
  /// The first element of each list that cannot be stored.
  var listFaults: [RecordFault.ElementFault?]

  // The result of the pull's pass.
  var found = PageScan()
  var lastRecord: Int?
  /// The highest value at `since.at`, and where it is.
  var highest: (value: Int64, slice: JSONSlice)?

  /// The members of the answer that are signs by their names.
  var statements: [AnswerStatement] = []
  /// `PageScan.unseen` of the answer.
  var unseen: [JSONPointer] = []
  /// The records of the answer by their keys.
  var occurrences = Occurrences()

  /// A list of records that a later member of the same name replaces; nil if it has no record.
  var replacedList: JSONSlice?

  // State of the publication's pass.
  /// Offset of the records until their end is reached; nil afterwards.
  var recordsAt: Int?
  /// The records of an answer whose surroundings are read again.
  var passed: Range<Int>?
  var collectsExtra = false
  var extras: ExtraFields
  var record: RowMemory
  var row: RowMemory
  var progress = Progress.ended
  var document = 0..<0
  var fault: RecordFault?
  var openedList = 0
  var rowsAt = 0
  /// True if the opened list is an object with numbers as names.
  var areRowsNumbered = false
  var rowProgress = Progress.ended
  /// Position of the current record among all records of the body, counted from 0.
  package internal(set) var position = -1

  /// Number of the records that were read, storable or not.
  var elements = 0

  /// Progress through a list.
  enum Progress {
    /// The answer is a single record, not a list.
    case single
    case beforeFirst, inside, ended
  }

  /// Allocates the memory that every body needs.
  package init(_ plan: RecordPlan) {
    self.plan = plan
    tree = CompiledFieldTree(plan)
    keyNode = plan.keyNode
    hasCompositeKey = !plan.keyParts.isEmpty
    isDetail = plan.isDetail
    isRecord = plan.resource.pages.style.kind.isRecord
    compositeKey = ByteScratch(capacity: 0)
    shape = plan.shape.shape
    isShaped = !shape.isPlain
    isMap = shape.isMap
    looseNames = LooseNames(shape)
    keepsLists = plan.tree.nodes.contains { $0.role.contains(.indexed) }
    listFaults = Array(repeating: nil, count: plan.lists.count)
    extras = ExtraFields(nodes: plan.tree.nodes.count)
    record = RowMemory(columns: plan.resource.columns.count)
    row = RowMemory(columns: plan.resource.lists.map(\.columns.count).max() ?? 0)
  }

  var slots: UnsafeMutableBufferPointer<JSONSlice> { tree.slots }
  /// The byte that ends the records of a body.
  var recordsEnd: UInt8 { hasNames ? UInt8(ascii: "}") : UInt8(ascii: "]") }
  /// True if each of the records at hand has a name.
  var hasNames: Bool { isMap || isNumbered }
  var bytes: UnsafeBufferPointer<UInt8> { scanner.bytes }

  /// Releases memory that an unusually large earlier body needed.
  mutating func start(_ body: UnsafeBufferPointer<UInt8>, at start: Int) throws(Malformed) {
    guard body.count <= JSONSlice.largestBody, start >= 0 else {
      throw Malformed(offset: 0, expected: "at most \(JSONSlice.largestBody) bytes")
    }
    scanner = JSONScanner(body, at: start)
    slots.update(repeating: .absent)
    extras.removeAll()
    occurrences.removeAll()
    statements.removeAll()
    passed = nil
    (isNumbered, replacedList) = (false, nil)
    name.shrink()
    record.scratch.shrink()
    row.scratch.shrink()
  }
}
