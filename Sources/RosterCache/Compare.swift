package import RosterModel

extension Cache {
  /// Compares pages 1…`pages`, staged and kept, with the snapshot. What was staged beyond them is dropped.
  package func compare(pages: Int) throws -> Comparison {
    try perform("compare the pull with the snapshot") { database in
      try database.transaction("BEGIN") {
        try dropBeyond(pages, database)
        let comparison = try count(pages, database)
        compared = pages
        return comparison
      }
    }
  }

  /// The missing ids of the last `compare` that `keep` has not been told of, ascending.
  package func missing(after id: Int64, limit: Int) throws -> [Int64] {
    try perform("list missing characters") { database in
      try database.rows(
        "SELECT id FROM temp.missing WHERE id > ?1 ORDER BY id LIMIT ?2", .integer(id), Value(limit)
      ) { $0.integer(0) }
    }
  }

  private func dropBeyond(_ pages: Int, _ database: Database) throws {
    let beyond = try database.first(
      "SELECT 1 FROM staging.pages WHERE page > ?1 AND NOT published", Value(pages)
    ) { $0.int(0) }
    guard beyond != nil else { return }
    try database.run("DELETE FROM staging.records WHERE page > ?", Value(pages))
    try database.run(
      """
      DELETE FROM staging.rejected WHERE page > ?1
        AND page IN (SELECT page FROM staging.pages WHERE NOT published)
      """, Value(pages))
    try database.run("DELETE FROM staging.pages WHERE page > ? AND NOT published", Value(pages))
  }

  private func count(_ pages: Int, _ database: Database) throws -> Comparison {
    let sums = try database.first(
      """
      SELECT count(*), coalesce(sum(fresh), 0), coalesce(sum(rejects), 0), coalesce(sum(unknown), 0),
        coalesce(sum(published), 0), (SELECT characters FROM main.cache_info)
      FROM staging.pages WHERE page BETWEEN 1 AND ?1
      """, Value(pages)
    ) { row in (0..<6).map { row.int(Int32($0)) } }
    guard let sums else { throw SQLiteError.damaged("no sums") }
    let isMixed = (1..<sums[0]).contains(sums[4])
    let overlap = isMixed ? try overlap(pages, database) : 0
    let distinct = sums[1] - overlap
    // Nothing was transferred, and what was kept is all there is: the usual case needs no look at the rows.
    let isAllKept = sums[4] == sums[0] && distinct == sums[5]
    return Comparison(
      isComplete: sums[0] == pages, distinct: distinct, rejected: sums[2],
      rejectedUnknown: sums[3],
      missing: try isAllKept || sums[5] == 0 ? noneMissing(database) : findMissing(pages, database),
      snapshot: sums[5])
  }

  /// Ids that are on a staged page and on a kept one.
  private func overlap(_ pages: Int, _ database: Database) throws -> Int {
    try database.first(
      """
      SELECT count(*) FROM staging.pages p, json_each(p.ids) j JOIN staging.records r ON r.id = j.value
      WHERE p.published AND p.page BETWEEN 1 AND ?1 AND r.page > 0
      """, Value(pages)
    ) { $0.int(0) } ?? 0
  }

  private func noneMissing(_ database: Database) throws -> Int {
    try database.run("DELETE FROM temp.missing")
    return 0
  }

  private func findMissing(_ pages: Int, _ database: Database) throws -> Int {
    try database.run("DELETE FROM temp.missing")
    try database.run("DELETE FROM temp.seen")
    try database.run(
      """
      INSERT OR IGNORE INTO temp.seen SELECT j.value FROM staging.pages p, json_each(p.ids) j
      WHERE p.published AND p.page BETWEEN 1 AND ?1
      """, Value(pages))
    try database.run(
      """
      INSERT OR IGNORE INTO temp.seen
      SELECT id FROM staging.rejected WHERE id IS NOT NULL AND page <= ?1
      """, Value(pages))
    let missing = try database.run(
      """
      INSERT INTO temp.missing SELECT c.id FROM main.characters c
      WHERE NOT EXISTS (SELECT 1 FROM staging.records r WHERE r.id = c.id)
        AND NOT EXISTS (SELECT 1 FROM temp.seen s WHERE s.id = c.id)
      """)
    try database.run("DELETE FROM temp.seen")
    return missing
  }
}
