internal import FoundationEssentials

/// The pages of a complete child list, which an interrupted sync leaves for the next one (E8.1).
struct ListManifest {
  /// `Date` of its last answer, in seconds since 1970; nil if unknown.
  var answered: Double?
  var count: Int64?
  /// Pages of the file.
  var pages: [(number: Int64, place: Int64)]
  /// Published pages that are unchanged.
  var same: [(number: Int64, page: Int64)]

  init(_ index: Int, list: Int64, _ end: ListEnd, _ database: Database) throws {
    answered = end.answered?.timeIntervalSince1970
    count = end.count.map(Int64.init)
    func pairs(_ sql: String) throws -> [(Int64, Int64)] {
      try database.rows(sql, Value(index), .integer(list)) { ($0.integer(0), $0.integer(1)) }
    }
    pages = try pairs(
      "SELECT number, place FROM temp.pulled WHERE resource = ?1 AND list = ?2 AND number IS NOT NULL"
    ).map { ($0, $1) }
    same = try pairs("SELECT number, page FROM temp.same WHERE resource = ?1 AND list = ?2").map { ($0, $1) }
  }

  /// Makes the pages part of this pull, and ends the list.
  func restore(_ index: Int, list: Int64, _ database: Database) throws {
    let take = try database.statement(
      "UPDATE temp.pulled SET number = ?3 WHERE resource = ?1 AND list = ?2 AND place = ?4")
    for page in pages { try take.run([Value(index), .integer(list), .integer(page.number), .integer(page.place)]) }
    let keep = try database.statement("INSERT OR REPLACE INTO temp.same VALUES (?1, ?2, ?3, ?4, NULL, NULL)")
    for page in same { try keep.run([.integer(page.page), Value(index), .integer(list), .integer(page.number)]) }
    try database.run(
      "UPDATE temp.lists SET state = 2, answered = ?2, count = ?3 WHERE list = ?1", .integer(list),
      answered.map(Value.real) ?? .null, Value(count))
  }

  private static let absent = Int64.min

  var bytes: [UInt8] {
    let numbers =
      [Int64(bitPattern: (answered ?? -1).bitPattern), count ?? Self.absent, Int64(pages.count), Int64(same.count)]
      + pages.flatMap { [$0.number, $0.place] } + same.flatMap { [$0.number, $0.page] }
    return numbers.flatMap { number in withUnsafeBytes(of: number.littleEndian) { Array($0) } }
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
    guard let pages = reader.pairs(pages), let same = reader.pairs(same) else { return nil }
    self.pages = pages.map { ($0, $1) }
    self.same = same.map { ($0, $1) }
  }
}
