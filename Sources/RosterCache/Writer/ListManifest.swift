internal import FoundationEssentials
internal import RosterModel

/// The pages of a list in a pull.
struct PulledComposition {
  /// Pages of the file.
  let pages: [(Int64, place: Int64)]
  /// Published pages that are unchanged.
  let same: [(Int64, page: Int64)]

  /// - Parameter list: number of the list; 0 for the only list of a resource.
  init(_ index: Int, list: Int64 = 0, in database: Database) throws {
    func pairs(_ sql: String) throws -> [(Int64, Int64)] {
      try database.rows(sql, Value(index), .integer(list)) { ($0.integer(0), $0.integer(1)) }
    }
    pages = try pairs("SELECT number, place FROM temp.pulled WHERE resource = ?1 AND list = ?2 AND number IS NOT NULL")
    same = try pairs("SELECT number, page FROM temp.same WHERE resource = ?1 AND list = ?2")
  }

  /// nil if the bytes end before.
  init?(_ reader: inout FactsReader, pages: Int, same: Int) {
    guard let pages = reader.pairs(pages), let same = reader.pairs(same) else { return nil }
    (self.pages, self.same) = (pages, same)
  }

  var numbers: [Int64] { pages.flatMap { [$0, $1] } + same.flatMap { [$0, $1] } }

  /// Makes the unchanged pages part of this pull.
  func restoreSame(_ index: Int, list: Int64 = 0, in database: Database) throws {
    let keep = try database.statement(
      "INSERT OR REPLACE INTO temp.same VALUES (?1, ?2, ?3, ?4, NULL, NULL, NULL, NULL)")
    for (number, page) in same { try keep.run([.integer(page), Value(index), .integer(list), .integer(number)]) }
  }
}

/// The pages of a complete child list, which an interrupted sync leaves for the next one (E8.1).
struct ListManifest {
  /// `Date` of its last answer, in seconds since 1970; nil if unknown.
  var answered: Double?
  var count: Int64?
  /// The mark or the delta token after the pull; nil if the old one stays.
  var mark: String?
  var token: String?
  let composition: PulledComposition

  init(_ index: Int, list: Int64, end: ListEnd, in database: Database) throws {
    answered = end.answered?.timeIntervalSince1970
    count = end.count.map(Int64.init)
    (mark, token) = end.mark.stored
    composition = try PulledComposition(index, list: list, in: database)
  }

  var pages: Int { composition.pages.count + composition.same.count }

  /// Makes the pages part of this pull, and ends the list.
  /// - Parameter asEmpty: true if an incremental pull is planned, and the kept one has found that the list is empty.
  func restore(_ index: Int, list: Int64, asEmpty: Bool = false, in database: Database) throws {
    let take = try database.statement(
      "UPDATE temp.pulled SET number = ?3 WHERE resource = ?1 AND list = ?2 AND place = ?4")
    for (number, place) in composition.pages {
      try take.run([Value(index), .integer(list), .integer(number), .integer(place)])
    }
    try composition.restoreSame(index, list: list, in: database)
    try database.run(
      """
      UPDATE temp.lists SET state = ?6, is_resumed = 1, answered = ?2, count = ?3, mark = ?4, token = ?5,
        start = CASE WHEN ?6 = \(ParentTables.State.empty.rawValue) THEN NULL ELSE start END
      WHERE list = ?1
      """, .integer(list), answered.map(Value.real) ?? .null, Value(count), Value(mark), Value(token),
      Value((asEmpty ? ParentTables.State.empty : .pulled).rawValue))
  }

  private static let absent = Int64.min

  var bytes: [UInt8] {
    let numbers =
      [
        Int64(bitPattern: (answered ?? -1).bitPattern), count ?? Self.absent, Int64(composition.pages.count),
        Int64(composition.same.count),
      ] + composition.numbers
    return numbers.flatMap { Self.bytes(of: $0) } + Self.bytes(of: mark) + Self.bytes(of: token)
  }

  private static func bytes(of number: Int64) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }

  private static func bytes(of text: String?) -> [UInt8] {
    guard let text else { return bytes(of: Int64(EntryFacts.none)) }
    return bytes(of: Int64(text.utf8.count)) + text.utf8
  }

  /// nil if the bytes are not a list's end.
  init?(_ body: UnsafeRawBufferPointer) {
    var reader = FactsReader(body)
    guard let time = reader.number(), let count = reader.number(), let pages = reader.number(),
      let same = reader.number()
    else { return nil }
    let seconds = Double(bitPattern: UInt64(bitPattern: Int64(time)))
    answered = seconds < 0 ? nil : seconds
    self.count = Int64(count) == Self.absent ? nil : Int64(count)
    guard let composition = PulledComposition(&reader, pages: pages, same: same), let mark = reader.text(),
      let token = reader.text()
    else { return nil }
    (self.composition, self.mark, self.token) = (composition, mark, token)
  }
}

extension Since.MarkMove {
  /// The mark and the delta token that replace the stored ones; nil if they stay.
  var stored: (mark: String?, token: String?) {
    switch self {
    case .moves(let mark): (mark.text, nil)
    case .token(let token): (nil, token)
    case .stays, .unreadable: (nil, nil)
    }
  }
}
