import FoundationEssentials
package import RosterModel

extension Cache {
  /// What earlier syncs left of these pages, in order: to ask conditionally (P6), or to take over (P4).
  package func held(pages: ClosedRange<Int>) throws -> [HeldPage] {
    try perform("read staged pages") { database in
      try database.rows(
        """
        SELECT page, etag, last_modified, published, count, pages, received_at, characters
        FROM staging.pages WHERE page BETWEEN ?1 AND ?2 AND page > 0 ORDER BY page
        """, Value(pages.lowerBound), Value(pages.upperBound)
      ) {
        HeldPage(
          number: $0.int(0),
          validator: Validator(etag: $0.optionalText(1), lastModified: $0.optionalText(2)),
          isPublished: $0.int(3) != 0, count: $0.int(4), pages: $0.int(5),
          characters: $0.int(7), receivedAt: Date(timeIntervalSince1970: $0.real(6)))
      }
    }
  }

  /// Keeps pulled pages in one small commit; a page that was there already is replaced, with its validator.
  package func stage(_ pages: [PulledPage]) throws {
    guard !pages.isEmpty else { return }
    compared = nil
    try perform("stage pages") { database in
      try database.transaction("BEGIN") {
        var writer = try PageWriter(database)
        for page in pages { try writer.write(page) }
      }
    }
  }

  /// Drops what is staged and not published, for it does not add up (P7) or was guarded (P8). `validators`: also those of
  /// published pages, so that the next pull asks for every page whole.
  package func discard(validators: Bool = false) throws {
    compared = nil
    try perform("discard staged pages") { database in
      try database.transaction("BEGIN") {
        try database.run("DELETE FROM staging.records")
        if validators {
          try database.run("DELETE FROM staging.rejected")
          try database.run("DELETE FROM staging.pages")
        } else {
          try database.run(
            "DELETE FROM staging.rejected WHERE page IN (SELECT page FROM staging.pages WHERE NOT published)")
          try database.run("DELETE FROM staging.pages WHERE NOT published")
        }
      }
    }
  }

  /// Stages what upstream still has of the ids that are on no page (P8): they stay and are updated; a record among them that
  /// cannot be stored keeps its last good version (P9).
  package func keep(_ characters: [RosterModel.Character], rejects: [Reject] = []) throws {
    try perform("stage characters asked for by id") { database in
      try database.transaction("BEGIN") {
        var writer = try PageWriter(database)
        try database.run(
          "INSERT OR IGNORE INTO staging.pages VALUES (0, 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, '[]')")
        for character in characters {
          _ = try writer.insert(character, page: 0)
          try database.run("DELETE FROM temp.missing WHERE id = ?", Value(character.id))
        }
        let next = try database.first("SELECT count(*) FROM staging.rejected WHERE page = 0") { $0.int(0) }
        for (offset, reject) in rejects.enumerated() {
          var reject = reject
          reject.position = (next ?? 0) + offset
          try writer.insert(reject, page: 0)
          try database.run("DELETE FROM temp.missing WHERE id = ?", Value(reject.id))
        }
      }
    }
  }

  /// Answers to questions by id hold for the sync that asked.
  func forgetAnswers(_ database: Database) throws {
    let any = try database.run("DELETE FROM staging.pages WHERE page = 0")
    guard any > 0 else { return }
    try database.run("DELETE FROM staging.records WHERE page = 0")
    try database.run("DELETE FROM staging.rejected WHERE page = 0")
  }
}

/// Writes pages into the staging; within one transaction.
private struct PageWriter {
  private let database: Database
  private let records: Statement
  private var row = TextRow()

  init(_ database: Database) throws {
    self.database = database
    let columns = ["id", "page", "extra"] + Columns.texts + ["episodes"]
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    records = try database.statement(
      "INSERT OR IGNORE INTO staging.records(\(columns.joined(separator: ", "))) VALUES (\(marks))")
  }

  mutating func write(_ staged: PulledPage) throws {
    try forget(staged.number)
    var fresh = 0
    for character in staged.page.characters {
      if try insert(character, page: staged.number) { fresh += 1 }
    }
    for reject in staged.page.rejects { try insert(reject, page: staged.number) }
    try database.run(
      "INSERT INTO staging.pages VALUES (?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      Value(staged.number), Value(staged.validator.etag), Value(staged.validator.lastModified),
      Value(staged.page.count), Value(staged.page.pages),
      .real(staged.receivedAt.timeIntervalSince1970), Value(staged.page.characters.count),
      Value(fresh), Value(staged.page.rejects.count),
      Value(staged.page.rejects.count { $0.id == nil }), .text(JSONList.text(staged.page.characters.map(\.id))))
  }

  /// False: another page has brought this id already.
  mutating func insert(_ character: RosterModel.Character, page: Int) throws -> Bool {
    row.clear()
    row.append(character.name)
    row.append(character.status)
    row.append(character.species)
    row.append(character.type)
    row.append(character.gender)
    row.append(character.origin.name)
    row.append(character.origin.url)
    row.append(character.location.name)
    row.append(character.location.url)
    row.append(character.image)
    row.append(character.url)
    row.append(character.created)
    row.append(list: character.episodes)
    records.bind(1, .integer(character.id))
    records.bind(2, Value(page))
    records.bind(3, Value(character.extra))
    let before = database.totalChanges
    try records.run(row, from: 4)
    return database.totalChanges != before
  }

  func insert(_ reject: Reject, page: Int) throws {
    try database.run(
      "INSERT OR REPLACE INTO staging.rejected VALUES (?, ?, ?, ?, ?)", Value(page),
      Value(reject.position), Value(reject.id), .text(reject.reason), .text(reject.document))
  }

  private func forget(_ page: Int) throws {
    let ids = try database.first("SELECT ids FROM staging.pages WHERE page = ?", Value(page)) {
      $0.text(0)
    }
    guard let ids else { return }
    try database.run(
      "DELETE FROM staging.records WHERE page = ?1 AND id IN (SELECT value FROM json_each(?2))",
      Value(page), .text(ids))
    try database.run("DELETE FROM staging.rejected WHERE page = ?", Value(page))
    try database.run("DELETE FROM staging.pages WHERE page = ?", Value(page))
  }
}
