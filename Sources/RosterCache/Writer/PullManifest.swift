/// The composition of a whole pull that was not published: the pages of the file, the published pages and the answers
/// that belong to it. A reader needs it to compare the pull with the snapshot as the publication would.
struct PullManifest {
  struct Part {
    var removal = RemovalDecision.Removal.missing
    /// Only the records that changed were pulled.
    var isIncremental = false
    /// Pages of the file.
    var pages: [(number: Int64, place: Int64)] = []
    /// Published pages that are unchanged.
    var same: [(number: Int64, page: Int64)] = []
    /// Places of answers.
    var answers: [Int64] = []

    private var flags: Int64 { (removal == .missing ? 1 : 0) + (isIncremental ? 2 : 0) }

    fileprivate var numbers: [Int64] {
      [flags, Int64(pages.count), Int64(same.count), Int64(answers.count)]
        + pages.flatMap { [$0.number, $0.place] } + same.flatMap { [$0.number, $0.page] } + answers
    }
  }

  /// The sync that pulled it.
  var sync: Int64
  /// True if the removal guard stopped the pull.
  var isGuarded: Bool
  /// True if the sync was fresh, so that it requested every list.
  var isFresh: Bool
  /// One part for each resource, in the order of the definitions. The part of a child has no pages: its lists have
  /// entries of their own.
  var parts: [Part]

  /// Reads the conclusion of the current pull from the temporary tables.
  init(
    _ database: Database, sync: Int64, isGuarded: Bool, isFresh: Bool, removals: [RemovalDecision.Removal],
    incremental: Set<Int>
  ) throws {
    self.sync = sync
    self.isGuarded = isGuarded
    self.isFresh = isFresh
    func pairs(_ sql: String, index: Int) throws -> [(Int64, Int64)] {
      try database.rows(sql, Value(index)) { ($0.integer(0), $0.integer(1)) }
    }
    parts = try removals.enumerated().map { index, removal in
      Part(
        removal: removal, isIncremental: incremental.contains(index),
        pages: try pairs(
          "SELECT number, place FROM temp.pulled WHERE resource = ? AND list = 0 AND number IS NOT NULL", index: index
        )
        .map { ($0, $1) },
        same: try pairs("SELECT number, page FROM temp.same WHERE resource = ? AND list = 0", index: index).map {
          ($0, $1)
        },
        answers: try database.rows("SELECT place FROM temp.answers WHERE resource = ?", Value(index)) {
          $0.integer(0)
        })
    }
  }

  /// Restores `same`, and the numbers of the pages in `pulled`, which already has the pages of the file. It does not
  /// restore the answers.
  func restore(_ database: Database) throws {
    let list = try database.statement("INSERT OR REPLACE INTO temp.listed VALUES (?1, ?2)")
    let same = try database.statement("INSERT OR REPLACE INTO temp.same VALUES (?1, ?2, 0, ?3, NULL, NULL, NULL, NULL)")
    for (index, part) in parts.enumerated() {
      for page in part.pages { try list.run([.integer(page.place), .integer(page.number)]) }
      for page in part.same { try same.run([.integer(page.page), Value(index), .integer(page.number)]) }
    }
    try database.execute(
      """
      UPDATE temp.pulled SET number = (SELECT l.number FROM temp.listed l WHERE l.place = pulled.place);
      DELETE FROM temp.listed
      """)
  }

  // MARK: Bytes

  private var flags: Int64 { (isGuarded ? 1 : 0) + (isFresh ? 2 : 0) }

  var bytes: [UInt8] {
    let numbers = [sync, flags, Int64(parts.count)] + parts.flatMap(\.numbers)
    return numbers.flatMap { number in withUnsafeBytes(of: number.littleEndian) { Array($0) } }
  }

  /// nil if the bytes are not a conclusion.
  init?(_ body: UnsafeRawBufferPointer) {
    var reader = FactsReader(body)
    guard let sync = reader.number(), let flags = reader.number(), let count = reader.number() else { return nil }
    self.sync = Int64(sync)
    (isGuarded, isFresh) = (flags & 1 == 1, flags & 2 == 2)
    parts = []
    for _ in 0..<count {
      guard let part = Part(&reader) else { return nil }
      parts.append(part)
    }
  }
}

extension PullManifest.Part {
  fileprivate init?(_ reader: inout FactsReader) {
    guard let removal = reader.number(), let pages = reader.number(), let same = reader.number(),
      let answers = reader.number()
    else { return nil }
    self.removal = removal & 1 == 1 ? .missing : .keepsAll
    isIncremental = removal & 2 == 2
    guard let pages = reader.pairs(pages), let same = reader.pairs(same) else { return nil }
    self.pages = pages.map { ($0, $1) }
    self.same = same.map { ($0, $1) }
    for _ in 0..<answers {
      guard let place = reader.number() else { return nil }
      self.answers.append(Int64(place))
    }
  }
}
