/// The composition of a whole pull that was not published: the pages of the file, the published pages and the answers
/// that belong to it. A reader needs it to compare the pull with the snapshot as the publication would.
struct PullManifest {
  struct Part {
    let removal: RemovalDecision.Removal
    /// Only the records that changed were pulled.
    let isIncremental: Bool
    let composition: PulledComposition
    /// Places of answers.
    let answers: [Int64]

    private var flags: Int64 {
      removal.flag + (isIncremental ? 2 : 0)
    }

    fileprivate var numbers: [Int64] {
      [flags] + [composition.pages.count, composition.same.count, answers.count].map { Int64($0) }
        + composition.numbers + answers
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
    parts = try removals.enumerated().map { index, removal in
      Part(
        removal: removal, isIncremental: incremental.contains(index),
        composition: try PulledComposition(index, in: database),
        answers: try database.rows("SELECT place FROM temp.answers WHERE resource = ?", Value(index)) {
          $0.integer(0)
        })
    }
  }

  /// Restores `same`, and the numbers of the pages in `pulled`, which already has the pages of the file. It does not
  /// restore the answers.
  func restore(_ database: Database) throws {
    let list = try database.statement("INSERT OR REPLACE INTO temp.listed VALUES (?1, ?2)")
    for (index, part) in parts.enumerated() {
      for (number, place) in part.composition.pages { try list.run([.integer(place), .integer(number)]) }
      try part.composition.restoreSame(index, in: database)
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
    guard let flags = reader.number(), let pages = reader.number(), let same = reader.number(),
      let count = reader.number(), let composition = PulledComposition(&reader, pages: pages, same: same)
    else { return nil }
    var answers: [Int64] = []
    for _ in 0..<count {
      guard let place = reader.number() else { return nil }
      answers.append(Int64(place))
    }
    self.init(
      removal: RemovalDecision.Removal(in: Int64(flags)), isIncremental: flags & 2 == 2,
      composition: composition,
      answers: answers)
  }
}
