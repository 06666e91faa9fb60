package import FoundationEssentials
package import RosterCore
package import RosterDecode

/// The facts of a page, or of an answer of `by_key`, in `next`, besides its body.
struct StagedPage {
  /// Position of the resource among the definitions.
  var resource: Int
  /// Number of the list of a child; 0 for the only list of a resource.
  var list: Int64
  /// nil for an answer.
  var address: String?
  var number: Int
  var next: String?
  var validator: Validator
  var receivedAt: Date
  var count: Int?
  var last: Int?
  var records: Int
  var storable: Int
  var rejects: Int
  var rejectsOfUnknownKey: Int
  var skipped: Int
  var recordsAt: Int
  /// Digest of the body.
  var digest: Int64
  /// `KeyList.bytes`
  var keys: [UInt8]
  var rejectedKeys: [UInt8]
  var skippedKeys: [UInt8]
  /// More facts of a page, if the resource has `since`.
  var since: SinceFacts?

  /// - Parameter index: Position of its resource.
  init(_ page: PageBody, of index: Int, isAnswer: Bool = false) {
    (resource, list) = (index, page.place.number)
    (address, number) = (isAnswer ? nil : page.address, page.number)
    (next, validator, receivedAt) = (page.next, page.validator, page.receivedAt)
    (count, last, records) = (page.scan.count.integer, page.scan.last.integer, page.scan.records)
    (storable, rejects) = (page.scan.storable, page.scan.rejects)
    (rejectsOfUnknownKey, skipped) = (page.scan.rejectsOfUnknownKey, page.scan.skipped)
    (recordsAt, digest) = (page.scan.recordsAt, page.digest)
    (keys, rejectedKeys) = (page.scan.keys.bytes, page.scan.rejectedKeys.bytes)
    skippedKeys = page.scan.skippedKeys.bytes
  }

  // MARK: SQL

  /// The columns that `insert` and `select` have in common.
  static let columns = """
    received REAL NOT NULL, etag TEXT, last_modified TEXT, next TEXT, count INTEGER, last INTEGER,
    records INTEGER NOT NULL, storable INTEGER NOT NULL, rejects INTEGER NOT NULL, unknown INTEGER NOT NULL,
    skipped INTEGER NOT NULL, records_at INTEGER NOT NULL, digest INTEGER NOT NULL, keys BLOB NOT NULL,
    rejected_keys BLOB NOT NULL, skipped_keys BLOB NOT NULL, question INTEGER, answered REAL, highest TEXT, marks BLOB,
    kinds BLOB
    """

  private static let names = columns.split(separator: ",").compactMap { $0.split(whereSeparator: \.isWhitespace).first }
    .joined(separator: ", ")
  /// The columns that `cache_pages` has of a published page.
  static let published = [
    "etag", "last_modified", "next", "count", "last", "records", "storable", "rejects", "unknown", "skipped", "digest",
    "keys", "rejected_keys", "skipped_keys", "highest",
  ]

  static let insert = """
    INSERT OR REPLACE INTO next.page(resource, list, address, number, position, sync, \(names))
    VALUES (?1, ?2, ?3, ?4, ?4, ?5, \((6...26).map { "?\($0)" }.joined(separator: ", ")))
    """

  static let select = """
    SELECT resource, list, address, coalesce(number, position), \(names) FROM next.page WHERE place = ?1
    """

  func bind(to statement: Statement, sync: Int64) {
    let values: [Value] = [
      Value(resource), .integer(list), Value(address), Value(number), .integer(sync), Value(receivedAt),
      Value(validator.etag), Value(validator.lastModified), Value(next), Value(count.map(Int64.init)),
      Value(last.map(Int64.init)), Value(records), Value(storable), Value(rejects), Value(rejectsOfUnknownKey),
      Value(skipped), Value(recordsAt), .integer(digest),
    ]
    for (index, value) in values.enumerated() { statement.bind(Int32(index + 1), value) }
    statement.bind(19, blob: keys)
    statement.bind(20, blob: rejectedKeys)
    statement.bind(21, blob: skippedKeys)
    statement.bind(22, Value(since?.question))
    statement.bind(23, Value(since?.answered))
    statement.bind(24, Value(since?.highest))
    statement.bind(25, blob: since?.marks ?? [])
    statement.bind(26, blob: since?.kinds ?? [])
  }

  init(_ row: Row) {
    (resource, list, address, number) = (row.int(0), row.integer(1), row.optionalText(2), row.int(3))
    receivedAt = row.date(4)
    validator = Validator(etag: row.optionalText(5), lastModified: row.optionalText(6))
    next = row.optionalText(7)
    (count, last) = (row.optionalInteger(8).map { Int($0) }, row.optionalInteger(9).map { Int($0) })
    (records, storable, rejects, rejectsOfUnknownKey) = (row.int(10), row.int(11), row.int(12), row.int(13))
    (skipped, recordsAt, digest) = (row.int(14), row.int(15), row.integer(16))
    (keys, rejectedKeys, skippedKeys) = (row.bytes(17), row.bytes(18), row.bytes(19))
    since = row.optionalInteger(20).map {
      SinceFacts(
        question: $0, answered: row.date(21), highest: row.optionalText(22), marks: row.bytes(23), kinds: row.bytes(24))
    }
  }
}

/// Facts of a page of a resource with `since`, or of a list that depends on columns of its ancestors.
struct SinceFacts {
  /// Digest of the question by which the page was read (`ListQuestions.digest`).
  var question: Int64
  /// `Date` of its answer.
  var answered: Date
  /// The highest value at `since.at`, or the delta token.
  var highest: String?
  /// `PageScan.marks`, eight bytes each.
  var marks: [UInt8]
  /// `PageScan.kinds`, one byte each.
  var kinds: [UInt8]

  fileprivate init(question: Int64, answered: Date, highest: String?, marks: [UInt8], kinds: [UInt8]) {
    (self.question, self.answered, self.highest) = (question, answered, highest)
    (self.marks, self.kinds) = (marks, kinds)
  }

  init(_ page: PageBody, question: Int64) {
    self.question = question
    answered = page.answered ?? page.receivedAt
    highest = page.token ?? page.scan.highest?.text
    marks = page.scan.marks.flatMap { mark in withUnsafeBytes(of: mark.littleEndian) { Array($0) } }
    kinds = page.scan.kinds.map(\.rawValue)
  }

  /// The mark of each key in the order of the body.
  var values: [Int64] {
    marks.withUnsafeBytes { bytes in
      stride(from: 0, to: bytes.count - 7, by: 8).map {
        Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0, as: Int64.self))
      }
    }
  }
}

extension PointedValue {
  /// The value as a number of records or pages; nil if it is not one.
  var integer: Int? {
    if case .integer(let number) = kind { Int(number) } else { nil }
  }
}

extension [UInt8] {
  /// Calls `body` for each key of a `KeyList`.
  func forEachKey(isText: Bool, _ body: (RecordKey) throws -> Void) rethrows {
    try withUnsafeBufferPointer { bytes in
      var cursor = KeyCursor(bytes, isText: isText)
      while let key = cursor.next() { try body(key) }
    }
  }
}

/// A page that was transferred and scanned, and is not stored yet.
package struct PageBody: Sendable {
  /// `Resource.name`.
  package var resource: String
  /// The list of a child; the only list of a resource by default.
  package var place = ListPlace()
  /// The page's position in this pull, from 1, which `rejects.page` shows.
  package var number: Int
  /// Identifies the page from pull to pull: its request's path and query, and its body for a POST.
  package var address: String
  /// The position where the list continues, as the caller encodes it; nil if the page does not say.
  package var next: String?
  /// The validator for the next conditional request; empty if the server sent no validator.
  package var validator: Validator
  /// The time at which the answer was complete.
  package var receivedAt: Date
  /// The body, decompressed and otherwise unchanged.
  package var body: [UInt8]
  /// The digest of `body` by `Cache.digest`.
  package var digest: Int64
  /// The scan of `body` by the resource's plan.
  package var scan: PageScan
  /// `Date` of the answer, or the local time without one; nil without `since`.
  package var answered: Date?
  /// The delta token of the page; nil if it has none.
  package var token: String?

  /// Unless arguments say otherwise, the page has no validator, and the list does not continue after it.
  package init(
    resource: String, number: Int, address: String, next: String? = nil, validator: Validator = Validator(),
    receivedAt: Date, body: [UInt8], digest: Int64, scan: PageScan, answered: Date? = nil,
    token: String? = nil, place: ListPlace = ListPlace()
  ) {
    self.place = place
    self.resource = resource
    self.number = number
    self.address = address
    self.next = next
    self.validator = validator
    self.receivedAt = receivedAt
    self.body = body
    self.digest = digest
    self.scan = scan
    self.answered = answered
    self.token = token
  }
}

/// Identifies a list in a pull.
package struct ListPlace: Sendable, Hashable {
  /// Number of the list in this process; 0 for the only list of a resource.
  package var number: Int64 = 0
  /// JSON list of the keys of its ancestors, outermost first; empty for the only list of a resource.
  package var path = ""
  /// Record id of the parent; 0 for the only list of a resource.
  package var parent: Int64 = 0

  /// True for the only list of a resource.
  package var isRoot: Bool { number == 0 }

  /// The only list of a resource.
  package init() {}

  /// The list of one parent.
  package init(number: Int64, path: String, parent: Int64) {
    (self.number, self.path, self.parent) = (number, path, parent)
  }
}

extension PageBody {
  var list: String { place.path }
  var parent: Int64 { place.parent }
}
