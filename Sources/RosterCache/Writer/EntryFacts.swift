internal import FoundationEssentials
internal import RosterDecode
internal import RosterModel

/// The facts of an entry in the file of pulled pages (`PageSpool`), besides its body. An entry is a page, or a note
/// about pages.
struct EntryFacts {
  enum Kind: Int {
    case page
    /// An answer of `by_key`.
    case answer
    /// The page was received again without a change; it is published or in this file.
    case again
    /// Earlier pages of the resource are dropped.
    case dropped
    /// An entry before the first page: the definitions by which the pages were pulled (`PullKey`).
    case source
    /// An entry after the last page: the pages that make up a whole pull (`PullManifest`).
    case conclusion
    /// The validators of the resource lied (P15).
    case lie
    /// The end of a child list: its pages that follow are those of a complete pull (E8.1).
    case list
    /// No request was allowed for `count` milliseconds after `receivedAt` (E8.1). `address` is that of the question of
    /// `by_key` that ended its sync so (E7.8); empty if another answer did.
    case pause
  }

  var kind = Kind.page
  var resource: String
  var number: Int
  var address: String
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
  /// `KeyList.bytes`
  var keys: [UInt8]
  var rejectedKeys: [UInt8]
  var skippedKeys: [UInt8]
  /// Digest of the body of a page; nil for another entry that was not read from the file.
  var digest: Int64?
  /// More facts of a page, if the resource has `since`.
  var since: SinceFacts?
  /// Path of the list: the JSON list of the keys of its ancestors; empty for the only list of a resource.
  var list = ""

  init(_ page: PageBody, kind: Kind = .page) {
    self.kind = kind
    resource = page.resource
    list = page.list
    number = page.number
    address = page.address
    next = page.next
    validator = page.validator
    receivedAt = page.receivedAt
    count = page.scan.count.integer
    last = page.scan.last.integer
    records = page.scan.records
    storable = page.scan.storable
    rejects = page.scan.rejects
    rejectsOfUnknownKey = page.scan.rejectsOfUnknownKey
    skipped = page.scan.skipped
    recordsAt = page.scan.recordsAt
    keys = page.scan.keys.bytes
    rejectedKeys = page.scan.rejectedKeys.bytes
    skippedKeys = page.scan.skippedKeys.bytes
    digest = page.digest
  }

  /// Makes the facts of an entry that is not a page.
  /// - Parameter number: the sync that wrote the entry.
  init(
    _ kind: Kind, number: Int64, resource: String = "", list: String = "", address: String = "",
    validator: Validator = Validator(), length: Int? = nil, receivedAt: Date = Date(timeIntervalSince1970: 0)
  ) {
    self.kind = kind
    count = length
    self.resource = resource
    self.list = list
    self.number = Int(number)
    self.address = address
    self.validator = validator
    self.receivedAt = receivedAt
    (records, storable, rejects, rejectsOfUnknownKey, skipped, recordsAt) = (0, 0, 0, 0, 0, 0)
    (keys, rejectedKeys, skippedKeys) = ([], [], [])
  }

  // MARK: Bytes

  func write(to bytes: inout [UInt8]) {
    func append(_ number: Int) { withUnsafeBytes(of: Int64(number).littleEndian) { bytes.append(contentsOf: $0) } }
    func append(_ list: some Collection<UInt8>) {
      append(list.count)
      bytes.append(contentsOf: list)
    }
    func append(_ text: String?) { if let text { append(text.utf8) } else { append(Self.none) } }
    for number in [kind.rawValue, number, records, storable, rejects, rejectsOfUnknownKey, skipped, recordsAt] {
      append(number)
    }
    for number in [count, last] { append(number ?? Self.none) }
    append(Int(truncatingIfNeeded: receivedAt.timeIntervalSince1970.bitPattern))
    for text in [resource, address, next, validator.etag, validator.lastModified] { append(text) }
    for list in [keys, rejectedKeys, skippedKeys] { append(list) }
    if !list.isEmpty {
      append(Self.listMark)
      append(list.utf8)
    }
    guard let since else { return }
    append(Int(since.question))
    append(Int(truncatingIfNeeded: since.answered.timeIntervalSince1970.bitPattern))
    append(since.highest)
    append(since.marks)
    append(since.kinds)
  }

  /// nil if `write` did not make these bytes.
  init?(_ reader: inout FactsReader, digest: Int64) {
    guard let kind = reader.number().flatMap(Kind.init(rawValue:)), let number = reader.number(),
      let records = reader.number(), let storable = reader.number(), let rejects = reader.number(),
      let unknown = reader.number(), let skipped = reader.number(), let recordsAt = reader.number(),
      let count = reader.number(), let last = reader.number(), let time = reader.number(),
      let resource = reader.text(), let address = reader.text(), let next = reader.text(), let etag = reader.text(),
      let modified = reader.text(), let keys = reader.bytes(), let rejectedKeys = reader.bytes(),
      let skippedKeys = reader.bytes()
    else { return nil }
    guard let resource, let address, let keys, let rejectedKeys, let skippedKeys else { return nil }
    self.kind = kind
    self.number = number
    self.records = records
    self.storable = storable
    self.rejects = rejects
    rejectsOfUnknownKey = unknown
    self.skipped = skipped
    self.recordsAt = recordsAt
    self.count = count == Self.none ? nil : count
    self.last = last == Self.none ? nil : last
    receivedAt = Date(timeIntervalSince1970: Double(bitPattern: UInt64(bitPattern: Int64(time))))
    self.resource = resource
    self.address = address
    self.next = next
    validator = Validator(etag: etag, lastModified: modified)
    self.keys = keys
    self.rejectedKeys = rejectedKeys
    self.skippedKeys = skippedKeys
    self.digest = digest
    if reader.skip(Self.listMark) { list = (reader.text() ?? nil) ?? "" }
    if reader.isAtEnd { return }
    let isIncremental = address.hasPrefix(Resource.incrementalPrefix)
    guard let since = SinceFacts(&reader, isIncremental: isIncremental) else { return nil }
    self.since = since
  }

  /// Precedes the path of a list. The digest of a question, which may be in its place, is almost never this number.
  private static let listMark = Int.min + 1

  static let none = Int.min
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

  init(_ page: PageBody, question: Int64) {
    self.question = question
    answered = page.answered ?? page.receivedAt
    highest = page.token ?? page.scan.highest?.text
    marks = page.scan.marks.flatMap { mark in withUnsafeBytes(of: mark.littleEndian) { Array($0) } }
    kinds = page.scan.kinds.map(\.rawValue)
  }

  /// The facts of an answer without records.
  init(question: Int64, answered: Date) {
    (self.question, self.answered, marks, kinds) = (question, answered, [], [])
  }

  /// nil if the bytes end before these facts. Early builds of 0.3 wrote no kinds, which only incremental pages need.
  fileprivate init?(_ reader: inout FactsReader, isIncremental: Bool) {
    guard let question = reader.number(), let time = reader.number(), let highest = reader.text(),
      let marks = reader.bytes(), let marks, let kinds = reader.bytes() ?? (isIncremental ? nil : [])
    else { return nil }
    self.question = Int64(question)
    answered = Date(timeIntervalSince1970: Double(bitPattern: UInt64(bitPattern: Int64(time))))
    self.highest = highest
    self.marks = marks
    self.kinds = kinds
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

/// Parses the facts of a page. Each call returns nil if the bytes end too early.
struct FactsReader {
  private let source: UnsafeRawBufferPointer
  private var at = 0

  init(_ source: UnsafeRawBufferPointer) { self.source = source }

  var isAtEnd: Bool { at == source.count }

  mutating func number() -> Int? {
    guard at + 8 <= source.count else { return nil }
    defer { at += 8 }
    return Int(Int64(littleEndian: source.loadUnaligned(fromByteOffset: at, as: Int64.self)))
  }

  /// That many pairs of numbers; nil if there are fewer.
  mutating func pairs(_ count: Int) -> [(Int64, Int64)]? {
    var pairs: [(Int64, Int64)] = []
    for _ in 0..<max(count, 0) {
      guard let first = number(), let second = number() else { return nil }
      pairs.append((Int64(first), Int64(second)))
    }
    return pairs
  }

  /// Moves past that number, if it is the next one.
  mutating func skip(_ expected: Int) -> Bool {
    var other = self
    guard other.number() == expected else { return false }
    self = other
    return true
  }

  /// Outer nil: data truncated. Inner nil: field absent.
  mutating func bytes() -> [UInt8]?? {
    guard let length = number() else { return nil }
    if length == EntryFacts.none { return .some(nil) }
    guard length >= 0, length <= source.count - at else { return nil }
    defer { at += length }
    return .some(Array(source[at..<at + length]))
  }

  mutating func text() -> String?? {
    bytes().map { $0.map { String(decoding: $0, as: UTF8.self) } }
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
